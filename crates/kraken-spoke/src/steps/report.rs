//! The last step: converts the outcome to the status, on every path, by one write, and only if it changed. Client required.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{ResourceStatus, conditions, reasons::Reason};
use kraken_model::{
    memory::Progress,
    outcome::{Activity, HUB_GRACE, Outcome, PROGRESS},
    status::{Launched, UNFOLLOWED, is_ready, status_of},
};
use kraken_runtime::{events::EventType, patch::ApiError};
use kube::{Resource, core::object::HasStatus};
use tracing::{info, warn};

use crate::{
    actions::persist::write_status,
    context::{Reconcile, place},
};

/// How long a deletion may be in progress before the status stops reporting the resource as ready.
const DELETION_GRACE: Duration = Duration::from_secs(1);

/// Writes the status and publishes the event of the outcome.
pub(crate) async fn report(reconcile: &mut Reconcile<'_>, outcome: &Outcome) -> Result<(), ApiError> {
    if matches!(outcome, Outcome::Removed) || is_unreported(reconcile, outcome) {
        return Ok(());
    }
    report_progress(reconcile, outcome).await
}

/// The same, also if the progress is too fresh to be reported.
pub(crate) async fn report_progress(
    reconcile: &mut Reconcile<'_>,
    outcome: &Outcome,
) -> Result<(), ApiError> {
    let object = reconcile.object.clone();
    let (before, generation) = (object.status(), object.meta().generation);
    let now = kraken_runtime::clock::now();
    if object.meta().deletion_timestamp.is_none() {
        reconcile.facts.launched = Launched::of(reconcile.memory);
    }
    let status = status_of(outcome, &reconcile.facts, before, generation, now);
    let is_written = before != Some(&status) || reconcile.memory.copies.is_outdated(&object);
    if is_written {
        match write(reconcile, &status, outcome).await {
            // The object was deleted during the reconcile: there is no status to write.
            Err(error) if error.is_not_found() => return Ok(()),
            written => written?,
        }
    }
    if matches!(outcome, Outcome::InPlace) {
        reconcile.memory.changes.edit_under_way = false;
        if let Some(fields) = &reconcile.facts.secret_fields {
            reconcile.memory.secrets.fields.clone_from(&fields.in_place);
        }
    }
    if is_written {
        publish(reconcile, before, &status, outcome).await;
    }
    Ok(())
}

/// Whether progress need not be reported yet.
fn is_unreported(reconcile: &mut Reconcile<'_>, outcome: &Outcome) -> bool {
    let Reconcile { context, object, memory, .. } = reconcile;
    if !outcome.is_in_progress() {
        memory.retries.in_progress = None;
        return false;
    }
    let (before, generation) = (object.status(), object.meta().generation);
    // A resource that is being deleted is not ready, and must not be reported as ready for long.
    let is_wrong = object.meta().deletion_timestamp.is_some() && is_ready(before);
    let grace = if is_wrong { DELETION_GRACE } else { outcome.grace() };
    let is_unavailable = outcome.row().activity == Activity::Unavailable;
    let may_be_unreported = is_wrong || is_unavailable || is_still_true(before, generation);
    let for_hub = matches!(outcome, Outcome::WaitingForHub);
    // The hub responds to other resources of this kind: this response is expected soon.
    let hub_responds = for_hub && context.hub.has_responded(HUB_GRACE);
    (memory.progress(grace, for_hub).is_fresh() || hub_responds) && may_be_unreported
}

/// Writes the status, and remembers what follows from it.
async fn write(
    reconcile: &mut Reconcile<'_>,
    status: &ResourceStatus,
    outcome: &Outcome,
) -> Result<(), ApiError> {
    write_status(reconcile, &reconcile.object.clone(), status).await?;
    let Reconcile { memory, facts, .. } = reconcile;
    let for_hub = matches!(outcome, Outcome::WaitingForHub);
    memory.retries.in_progress = outcome.is_in_progress().then(|| Progress::begin(outcome.grace(), for_hub));
    if let Some(ids) = &facts.ids {
        memory.forgotten();
        if !ids.is_empty() {
            memory.changes.at_creation = None;
        }
    }
    Ok(())
}

/// Whether progress leaves a status true: it is about an older generation, or about progress itself. Such a status is
/// updated only from time to time.
fn is_still_true(status: Option<&ResourceStatus>, generation: Option<i64>) -> bool {
    let Some(status) = status.filter(|status| status.observed_generation == generation) else { return true };
    let ready = conditions::get(&status.conditions, conditions::READY);
    ready.is_some_and(|ready| PROGRESS.iter().any(|reason| reason.as_str() == ready.reason))
}

/// Publishes an event and writes a log line when the outcome differs from the previous one.
async fn publish(
    reconcile: &Reconcile<'_>,
    before: Option<&ResourceStatus>,
    after: &ResourceStatus,
    outcome: &Outcome,
) {
    let about = if outcome.drift().is_some() { conditions::DRIFTED } else { conditions::READY };
    let Some(ready) = conditions::get(&after.conditions, about) else { return };
    let was = before.and_then(|status| conditions::get(&status.conditions, about));
    // That the hub is not running is one fact, and not one per resource.
    let message = |condition: &Condition| condition.message.trim_end_matches(UNFOLLOWED).to_owned();
    if was.is_some_and(|was| {
        was.status == ready.status && was.reason == ready.reason && message(was) == message(ready)
    }) {
        return;
    }
    let Reconcile { context, object, .. } = reconcile;
    let (namespace, name) = place(&**object);
    if outcome.is_warning() {
        warn!(namespace, name, reason = ready.reason, message = ready.message, "not ready");
    } else {
        info!(namespace, name, reason = ready.reason, message = ready.message, "changed");
    }
    // The event of the creation, or of the adoption, says what was made: that it is in place is no news unless something else was
    // reported meanwhile.
    let is_first = was.is_none_or(|was| was.reason == Reason::Pending.as_str());
    if is_first && matches!(outcome, Outcome::InPlace) && !context.info().looks_up {
        return;
    }
    // Progress is in the status; events are for results, and for operations that cannot proceed.
    // A deletion may be blocked for days, and whom it waits for changes meanwhile: one event.
    let is_newly_blocked =
        matches!(outcome, Outcome::Blocked(_)) && was.is_none_or(|was| was.reason != ready.reason);
    if !outcome.is_in_progress() || outcome.is_not_yet() || is_newly_blocked {
        let kind = if outcome.is_warning() { EventType::Warning } else { EventType::Normal };
        let reference = object.object_ref(&context.info().resource);
        context.manager.events.publish(&reference, kind, &ready.reason, "Reconcile", &ready.message).await;
    }
}
