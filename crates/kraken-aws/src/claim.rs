//! Adoption of existing objects: sets the identity's tags on them.

use kraken_kind::Failure;

use crate::{
    Aws,
    tags::{self, Tags},
};

/// Sets the identity's tags, and others of Kraken, on these EC2 ids.
///
/// # Errors
/// The failure of the call. The call is idempotent.
pub async fn claim(aws: &Aws, ids: Vec<String>, tags: &Tags) -> Result<(), Failure> {
    let call = aws.ec2().create_tags().set_resources(Some(ids)).set_tags(Some(tags::to_sdk(tags)));
    aws.call("CreateTags", "failed to tag the adopted objects", call.send()).await?;
    Ok(())
}
