//! Taking over things that exist already: they get the identity's tags.

use kraken_spoke::{Failure, Identity};

use crate::{Aws, tags};

/// Puts the identity's tags on these ids of EC2.
///
/// # Errors
/// The failure of the call. It may be repeated.
pub async fn claim(aws: &Aws, identity: &Identity, epoch: i64, ids: &[String]) -> Result<(), Failure> {
    let tags = tags::to_sdk(&tags::identity_tags(identity, epoch));
    let call = aws.ec2().create_tags().set_resources(Some(ids.to_vec())).set_tags(Some(tags));
    aws.call("CreateTags", "failed to put Kraken's tags on what is adopted", call.send()).await?;
    Ok(())
}
