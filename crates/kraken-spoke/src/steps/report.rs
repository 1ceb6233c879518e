//! Step 6: the outcome becomes the status, on every path, by one write, and only if something changed. Client required.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{ResourceStatus, conditions};
use kraken_runtime::{
    events::EventType,
    patch::{ApiError, Version, replace_status},
};
use kube::{Resource, core::object::HasStatus};
use serde_json::json;
use tracing::{info, warn};

use crate::{
    context::{Context, place},
    dynamic::Object,
    memory::{Memory, Progress},
    outcome::{HUB_GRACE, Outcome, PROGRESS},
    status::{Learned, UNFOLLOWED, status_of},
};

/// How long a deletion may be under way before the status ceases to say that the resource is ready.
const DELETION_GRACE: Duration = Duration::from_secs(1);

/// Writes the status and the event that the outcome leads to.
pub(crate) async fn report(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    outcome: &Outcome,
    learned: &Learned,
) -> Result<(), ApiError> {
    if matches!(outcome, Outcome::Removed) {
        return Ok(());
    }
    let before = object.status();
    let generation = object.meta().generation;
    if outcome.is_in_progress() {
        // A resource that is being deleted is not ready, and must not say so for long.
        let is_wrong = object.meta().deletion_timestamp.is_some() && is_ready(before);
        let grace = if is_wrong { DELETION_GRACE } else { outcome.grace() };
        let is_silent = is_wrong || outcome.is_passing() || is_still_true(before, generation);
        let for_hub = matches!(outcome, Outcome::Asked);
        // Others of its kind get their answers: this one is on its way.
        let is_heard = for_hub && context.hub.was_heard(HUB_GRACE);
        if (memory.progress(grace, for_hub).is_fresh() || is_heard) && is_silent {
            return Ok(());
        }
    } else {
        memory.in_progress = None;
    }
    let status = status_of(outcome, learned, before, generation, kraken_runtime::clock::now());
    if before == Some(&status) {
        memory.edit_under_way &= !matches!(outcome, Outcome::InPlace);
        return Ok(());
    }
    let (namespace, name) = place(object);
    let api = context.api(&namespace);
    // Whole, whatever others own in it: a condition that somebody else's field keeps alive would fail the schema for ever.
    // The UID keeps an outcome off a later object of the same name, the version off what was written meanwhile.
    let version = Version::of(object);
    match replace_status(&api, context.shell.name, &name, &version, json!(status)).await {
        Ok(written) => {
            memory.latest = Some(context.written("write the status", &written)?);
            memory.edit_under_way &= !matches!(outcome, Outcome::InPlace);
            let for_hub = matches!(outcome, Outcome::Asked);
            memory.in_progress = outcome.is_in_progress().then(|| Progress::begin(outcome.grace(), for_hub));
            if learned.ids.as_ref().is_some_and(|ids| !ids.is_empty()) {
                memory.at_creation = None;
            }
        }
        // It went away while we worked: there is nobody to report to.
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    }
    tell(context, object, before, &status, outcome).await;
    Ok(())
}

/// Whether a status is not made false by progress: it speaks of an older generation, or of progress itself. Such a one is
/// brought up to date only now and then.
fn is_still_true(status: Option<&ResourceStatus>, generation: Option<i64>) -> bool {
    let Some(status) = status.filter(|status| status.observed_generation == generation) else { return true };
    let ready = conditions::get(&status.conditions, conditions::READY);
    ready.is_some_and(|ready| PROGRESS.iter().any(|reason| reason.as_str() == ready.reason))
}

/// Whether a status says that the resource is ready.
pub(crate) fn is_ready(status: Option<&ResourceStatus>) -> bool {
    let ready = status.and_then(|status| conditions::get(&status.conditions, conditions::READY));
    ready.is_some_and(|ready| ready.status == conditions::State::True.as_str())
}

/// An event and a log line when the outcome is another one than before.
async fn tell(
    context: &Context,
    object: &Object,
    before: Option<&ResourceStatus>,
    after: &ResourceStatus,
    outcome: &Outcome,
) {
    let about = if outcome.drift().is_some() { conditions::DRIFTED } else { conditions::READY };
    let Some(ready) = conditions::get(&after.conditions, about) else { return };
    let was = before.and_then(|status| conditions::get(&status.conditions, about));
    // That the hub does not run is one fact and not one of each resource.
    let message = |condition: &Condition| condition.message.trim_end_matches(UNFOLLOWED).to_owned();
    if was.is_some_and(|was| {
        was.status == ready.status && was.reason == ready.reason && message(was) == message(ready)
    }) {
        return;
    }
    let (namespace, name) = place(object);
    if outcome.is_warning() {
        warn!(namespace, name, reason = ready.reason, message = ready.message, "not ready");
    } else {
        info!(namespace, name, reason = ready.reason, message = ready.message, "changed");
    }
    // Progress is in the status; an event is for what came of it, and for what does not go on.
    if !outcome.is_in_progress() || outcome.is_not_yet() {
        let kind = if outcome.is_warning() { EventType::Warning } else { EventType::Normal };
        let reference = object.object_ref(&context.info().resource);
        context.shell.events.publish(&reference, kind, &ready.reason, "Reconcile", &ready.message).await;
    }
}
