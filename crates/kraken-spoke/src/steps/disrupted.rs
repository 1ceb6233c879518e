//! Starts objects that a change in place has stopped and not started yet, if the spec of their resource cannot be
//! applied now: no server stays stopped because of an edit during a disruption. A paused resource reports it instead,
//! because its objects must not be changed. Client required.

use kraken_api::reasons::Reason;
use kraken_runtime::work::Slot;
use kube::core::object::HasStatus;

use crate::{
    context::{Context, identity_of},
    dynamic::Object,
    intent::Intent,
    memory::Memory,
    outcome::{Outcome, listed},
    status::ReconcileFacts,
    steps::{
        location,
        observe::{RecordedState, observe},
        record::record,
    },
};

/// The outcome of a reconcile that ended before anything was observed, with the action or message that stopped objects
/// require.
pub(crate) async fn resume(
    context: &Context,
    object: &Object,
    memory: &Memory,
    slot: &mut Slot,
    outcome: Outcome,
    facts: &mut ReconcileFacts,
) -> Outcome {
    let is_paused = matches!(outcome, Outcome::Paused);
    let is_forbidden = matches!(outcome, Outcome::Account(Reason::NotAllowedByAccount, _));
    let is_held_up =
        is_paused || is_forbidden || matches!(outcome, Outcome::Invalid(_) | Outcome::Waiting(_));
    let has_objects = object.status().is_some_and(|status| !status.external_ids.is_empty());
    if !context.info().disrupts || !is_held_up || !has_objects {
        return outcome;
    }
    let intent = Intent::of(object);
    // In another location, another object may have the same id.
    if location::here(context, object, intent.as_ref()).await.is_err() {
        return outcome;
    }
    let identity = identity_of(context, object);
    let clock = memory.clock(context.visibility_window);
    let known = RecordedState::of(object, memory, intent.as_ref(), clock, context.began());
    let look = observe(context, slot.lane(), &identity, &known, false, false);
    let observed = match slot.release_while(look).await {
        Ok(observed) => observed,
        // A paused resource is not retried.
        Err(_) if is_paused => return outcome,
        Err(failure) => return Outcome::Failed(failure),
    };
    let (ids, is_stopped) = context.kind.disrupted(&observed);
    match (ids.is_empty(), is_paused, is_stopped) {
        (true, ..) => outcome,
        (false, true, _) => {
            let ids = listed(&ids);
            facts.note = Some(format!(
                "; {ids} was stopped for a change and will be started when the resource is not paused"
            ));
            outcome
        }
        (false, false, false) => {
            let message = format!("{} is being stopped for a change, and will be started", listed(&ids));
            Outcome::InProgress(Reason::Updating, message)
        }
        (false, false, true) => match context.external.resume(&identity, &observed).await {
            Ok(()) => {
                let note = format!(
                    "started {}, which was stopped for a change that cannot be made now",
                    listed(&ids)
                );
                record(context, object, Reason::Updated, &note).await;
                outcome
            }
            Err(failure) => Outcome::Failed(failure),
        },
    }
}
