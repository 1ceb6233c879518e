//! Observes the remote objects of a resource whose spec cannot be applied now. Those that a change in place has stopped are started,
//! unless the resource is paused: no server stays stopped because of an edit during a disruption. Those that do not exist any more are
//! named beside what holds the resource up; other drift cannot be told without a desired state. Client required.

use kraken_api::reasons::Reason;
use kraken_kind::dynamic::Observed;
use kraken_model::{
    ids::listed,
    ledger::{self, Ledger},
    outcome::{Outcome, Presence},
    recorded::{RecordedState, Shown},
};
use kube::core::object::HasStatus;

use crate::{
    actions::{event::publish_event, location},
    context::Reconcile,
};

/// The outcome of a reconcile that ended before anything was observed, with the action or message that its remote objects
/// require.
pub(super) async fn observe(reconcile: &mut Reconcile<'_>, outcome: Outcome) -> Outcome {
    if !is_held_up(reconcile, &outcome) {
        return outcome;
    }
    let ledger = ledger::of(&reconcile.object);
    // In another location, another object may have the same id.
    if location::here(reconcile, ledger.as_ref()).await.is_err() {
        return outcome;
    }
    let recorded = reconcile.recorded(ledger.as_ref(), reconcile.clock());
    let disrupts = reconcile.context.info().disrupts;
    match reconcile.observe(&recorded, false, false).await {
        Ok(observed) => {
            if !matches!(outcome, Outcome::Paused) {
                note_lost(reconcile, ledger.as_ref(), &recorded, &observed);
            }
            if disrupts { start(reconcile, &observed, outcome).await } else { outcome }
        }
        // What holds it up is what a person can act on. A paused resource is not retried.
        Err(_) if !disrupts || matches!(outcome, Outcome::Paused) => outcome,
        Err(failure) => Outcome::Failed(failure),
    }
}

/// Whether the resource has remote objects, and its spec cannot be applied. Of a paused resource, only a disruption is of interest.
fn is_held_up(reconcile: &Reconcile<'_>, outcome: &Outcome) -> bool {
    let is_held_up = match outcome {
        Outcome::Account(Reason::NotAllowedByAccount, _) | Outcome::Invalid(_) | Outcome::Waiting(_) => true,
        Outcome::Paused => reconcile.context.info().disrupts,
        _ => false,
    };
    let status = reconcile.object.status();
    is_held_up
        && reconcile.is_connected
        && !reconcile.is_deleted()
        && status.is_some_and(|status| !status.external_ids.is_empty())
}

/// Names the objects that do not exist any more. One response may lag, so they are named once they are missing for some seconds.
fn note_lost(
    reconcile: &mut Reconcile<'_>,
    ledger: Option<&Ledger>,
    recorded: &RecordedState,
    observed: &Observed,
) {
    let clock = reconcile.clock();
    let Reconcile { context, memory, facts, presence, .. } = reconcile;
    let lost = Shown::of(&*context.kind, observed, recorded, memory, ledger, clock).lost;
    if memory.is_vanishing(&lost, clock) {
        *presence = Some(Presence::Unconfirmed);
        return;
    }
    *presence = Some(Presence::Known);
    if !lost.is_empty() {
        facts.note = Some(format!("; {} does not exist any more", listed(&lost)));
    }
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
    if let Err(failure) = reconcile.context.link.external.resume(&reconcile.identity, observed).await {
        return Outcome::Failed(failure);
    }
    let note = format!("started {ids}, which was stopped for a change that cannot be made now");
    publish_event(reconcile, Reason::Updated, &note).await;
    outcome
}
