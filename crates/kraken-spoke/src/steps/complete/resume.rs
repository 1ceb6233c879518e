//! Starts objects that a change in place has stopped and not started yet, if the spec of their resource cannot be
//! applied now: no server stays stopped because of an edit during a disruption. A paused resource reports it instead,
//! because its objects must not be changed. Client required.

use kraken_api::reasons::Reason;
use kube::core::object::HasStatus;

use crate::{
    actions::{event::publish_event, location},
    context::Reconcile,
    dynamic::Observed,
    model::{ids::listed, intent::Intent, outcome::Outcome},
};

/// The outcome of a reconcile that ended before anything was observed, with the action or message that stopped objects
/// require.
pub(super) async fn resume(reconcile: &mut Reconcile<'_>, outcome: Outcome) -> Outcome {
    if !is_due(reconcile, &outcome) {
        return outcome;
    }
    let intent = Intent::of(&*reconcile.object);
    // In another location, another object may have the same id.
    if location::here(reconcile, intent.as_ref()).await.is_err() {
        return outcome;
    }
    let recorded = reconcile.recorded(intent.as_ref(), reconcile.clock());
    let request = recorded.request(&reconcile.identity, false, false);
    let observed = reconcile.context.observe(reconcile.slot.lane(), request);
    match reconcile.slot.release_while(observed).await {
        Ok(observed) => start(reconcile, &observed, outcome).await,
        // A paused resource is not retried.
        Err(_) if matches!(outcome, Outcome::Paused) => outcome,
        Err(failure) => Outcome::Failed(failure),
    }
}

/// Whether the outcome leaves a disruption of this resource incomplete.
fn is_due(reconcile: &Reconcile<'_>, outcome: &Outcome) -> bool {
    let is_held_up = matches!(
        outcome,
        Outcome::Paused
            | Outcome::Account(Reason::NotAllowedByAccount, _)
            | Outcome::Invalid(_)
            | Outcome::Waiting(_)
    );
    let status = reconcile.object.status();
    reconcile.is_connected
        && !reconcile.is_deleted()
        && reconcile.context.info().disrupts
        && is_held_up
        && status.is_some_and(|status| !status.external_ids.is_empty())
}

/// Starts the objects that a disruption stopped, unless the resource is paused.
async fn start(reconcile: &mut Reconcile<'_>, observed: &Observed, outcome: Outcome) -> Outcome {
    let (ids, is_stopped) = reconcile.context.kind.disrupted(observed);
    if ids.is_empty() {
        return outcome;
    }
    let ids = listed(&ids);
    if matches!(outcome, Outcome::Paused) {
        reconcile.facts.note = Some(format!(
            "; {ids} was stopped for a change and will be started when the resource is no longer paused"
        ));
        return outcome;
    }
    if !is_stopped {
        let message = format!("{ids} is being stopped for a change, and will be started");
        return Outcome::InProgress(Reason::Updating, message);
    }
    if let Err(failure) = reconcile.context.external.resume(&reconcile.identity, observed).await {
        return Outcome::Failed(failure);
    }
    let note = format!("started {ids}, which was stopped for a change that cannot be made now");
    publish_event(reconcile, Reason::Updated, &note).await;
    outcome
}
