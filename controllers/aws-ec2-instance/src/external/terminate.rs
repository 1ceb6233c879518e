//! The termination of instances.

use kraken_aws::{Aws, missing::for_existing, tags};
use kraken_spoke::{Failure, Identity};

use crate::instance::Observed;

/// The live instances with the tags of the identity. The owner is verified again, because the deletion cannot be
/// undone.
pub(super) fn owned(identity: &Identity, observed: &Observed) -> Vec<String> {
    let owned = observed.live().into_iter().filter(|instance| tags::owned_by(identity, &instance.tags));
    owned.map(|instance| instance.instance_id.clone()).collect()
}

/// A missing instance counts as terminated.
pub(super) async fn terminate(aws: &Aws, ids: &[String]) -> Result<(), Failure> {
    for_existing(ids, |ids| {
        let call = aws.ec2().terminate_instances().set_instance_ids(Some(ids));
        aws.call("TerminateInstances", "failed to terminate instances", call.send())
    })
    .await?;
    Ok(())
}
