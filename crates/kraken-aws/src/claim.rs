//! Adoption of existing objects: sets the identity's tags on them.

use kraken_spoke::{Failure, Identity};

use crate::{Aws, tags};

/// Sets the identity's tags on these EC2 ids.
///
/// # Errors
/// The failure of the call. The call is idempotent.
pub async fn claim(aws: &Aws, identity: &Identity, epoch: i64, ids: &[String]) -> Result<(), Failure> {
    let tags = tags::to_sdk(&tags::identity_tags(identity, epoch));
    let call = aws.ec2().create_tags().set_resources(Some(ids.to_vec())).set_tags(Some(tags));
    aws.call("CreateTags", "failed to tag the adopted objects", call.send()).await?;
    Ok(())
}
