//! Waits for the values of fields that are set after the creation, such as the rules of a security group. The resource is
//! created without them and its state is declared, so that what they refer to can refer to it in turn. Client required.

use kraken_api::reasons::Reason;
use kraken_options::summary;
use kube::{Resource, core::object::HasStatus};

use crate::{
    context::Reconcile,
    dynamic::Change,
    model::{
        decide::Decision,
        observation::Observation,
        outcome::{GRACE, Outcome},
    },
    steps::{act::declare, decide::adopt},
};

/// Ends the reconcile of what exists while such a value is missing. Nothing of it is changed, as with any other missing value.
pub(super) async fn follow(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    decision: Decision<Change>,
) -> Result<Decision<Change>, Outcome> {
    if observation.target.following.is_empty() {
        return Ok(decision);
    }
    // The plan of an adoption shows every consequence.
    let adopts =
        reconcile.lifecycle().adopt.is_some() && adopt::is_due(&*reconcile.context.kind, observation);
    match decision {
        Decision::Create(_) | Decision::Settle(_) | Decision::Resume(..) if !adopts => return Ok(decision),
        Decision::Create(_) | Decision::Settle(_) => {}
        _ => {
            declare::declare(reconcile, observation, &Decision::InPlace).await?;
            if let Some(error) = reconcile.unpublished.take() {
                return Err(Outcome::Kubernetes(error));
            }
        }
    }
    Err(waiting(reconcile, observation))
}

/// After a creation, the hub's response with the missing values is expected soon: a status is written only if it is not.
fn waiting(reconcile: &mut Reconcile<'_>, observation: &Observation<'_>) -> Outcome {
    let Reconcile { object, memory, .. } = reconcile;
    let missing = observation.target.following.clone();
    let is_reported =
        object.status().is_some_and(|status| status.observed_generation == object.meta().generation);
    if is_reported || !memory.progress(GRACE, false).is_fresh() {
        return Outcome::Waiting(missing);
    }
    Outcome::Unseen(Reason::Creating, summary(&missing), GRACE)
}
