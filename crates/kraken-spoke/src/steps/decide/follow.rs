//! Waits for the values of fields that are set after the creation, such as the rules of a security group. The resource is
//! created without them and its state is declared, so that what they refer to can refer to it in turn. No client required.

use kraken_api::reasons::Reason;
use kraken_kind::dynamic::Change;
use kraken_model::{
    decide::{Action, Decision},
    observation::Observation,
    outcome::{GRACE, Outcome},
};
use kraken_options::summary;
use kube::{Resource, core::object::HasStatus};

use crate::{context::Reconcile, steps::decide::adopt};

/// What exists is published while such a value is missing, and nothing of it is changed, as with any other missing value.
pub(super) fn follow(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    decision: Decision<Change>,
) -> Result<Action, Outcome> {
    if observation.target.following.is_empty() {
        return Ok(Action::Apply(decision));
    }
    // The plan of an adoption shows every consequence.
    let adopts = reconcile.lifecycle().adopt.is_some() && adopt::is_due(observation);
    match decision {
        Decision::Create(_) | Decision::Settle(_) | Decision::Resume(..) if !adopts => {
            Ok(Action::Apply(decision))
        }
        Decision::Create(_) | Decision::Settle(_) => Err(waiting(reconcile, observation)),
        _ => Ok(Action::Publish(waiting(reconcile, observation))),
    }
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
    Outcome::NotVisibleYet(Reason::Creating, summary(&missing), GRACE)
}
