//! Step 6: the outcome becomes the status, on every path, by one write, and only if something changed. Client required.

use jiff::Timestamp;
use kraken_api::{ResourceStatus, conditions, reasons::Reason};
use kraken_runtime::{
    events::EventType,
    patch::{ApiError, apply_status},
};
use kube::{
    Api, Resource,
    api::{DynamicObject, ObjectMeta},
    core::{ApiResource, object::HasStatus},
};
use serde_json::json;
use tracing::{info, warn};

use crate::{
    External,
    context::{Context, place},
    memory::{Memory, Progress},
    outcome::{Outcome, PROGRESS},
    status::{Learned, status_of},
};

/// Writes the status and the event that the outcome leads to.
pub(crate) async fn report<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    outcome: &Outcome,
    learned: &Learned,
) -> Result<(), ApiError> {
    if matches!(outcome, Outcome::Removed) {
        return Ok(());
    }
    let before = object.status();
    let generation = object.meta().generation;
    if outcome.is_in_progress() {
        if memory.progress(outcome).is_fresh() && (outcome.is_passing() || is_still_true(before, generation))
        {
            return Ok(());
        }
    } else {
        memory.in_progress = None;
    }
    let status = status_of(outcome, learned, before, generation, Timestamp::now());
    if before == Some(&status) {
        return Ok(());
    }
    let (namespace, name) = place(object);
    let api: Api<E::Kind> = Api::namespaced(context.shell.client.clone(), &namespace);
    let patch = json!({
        "apiVersion": E::Kind::api_version(&()),
        "kind": E::Kind::kind(&()),
        // The UID keeps an outcome off a later object of the same name.
        "metadata": {"name": name, "uid": object.meta().uid},
        "status": status,
    });
    match apply_status(&api, context.shell.name, &name, &patch).await {
        Ok(written) => {
            memory.latest = Some(written.into());
            memory.in_progress = outcome.is_in_progress().then(|| Progress::begin(outcome));
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

/// An event and a log line when the outcome is another one than before.
async fn tell<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    before: Option<&ResourceStatus>,
    after: &ResourceStatus,
    outcome: &Outcome,
) {
    let Some(ready) = conditions::get(&after.conditions, conditions::READY) else { return };
    let was = before.and_then(|status| conditions::get(&status.conditions, conditions::READY));
    if was.is_some_and(|was| {
        was.status == ready.status && was.reason == ready.reason && was.message == ready.message
    }) {
        return;
    }
    let (namespace, name) = place(object);
    if outcome.is_warning() {
        warn!(namespace, name, reason = ready.reason, message = ready.message, "not ready");
    } else {
        info!(namespace, name, reason = ready.reason, message = ready.message, "changed");
    }
    // Progress is in the status; an event is for what came of it.
    if !outcome.is_in_progress() {
        let kind = if outcome.is_warning() { EventType::Warning } else { EventType::Normal };
        let reference = object.object_ref(&());
        context.shell.events.publish(&reference, kind, &ready.reason, "Reconcile", &ready.message).await;
    }
}

/// Says on an object that does not decode as its kind why nothing happens to it.
pub(crate) async fn report_undecodable<E: External>(context: &Context<E>, meta: &ObjectMeta, error: &str) {
    let (namespace, name) =
        (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
    let message = format!("this object cannot be read as {}: {error}", E::Kind::kind(&()));
    warn!(namespace, name, error, "an object does not decode and is passed over");
    let mut list = vec![];
    let reason = Reason::InvalidSpec.as_str();
    let state = conditions::State::False;
    conditions::set(&mut list, conditions::READY, state, reason, &message, meta.generation, Timestamp::now());
    let resource = ApiResource::erase::<E::Kind>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(context.shell.client.clone(), &namespace, &resource);
    let patch = json!({
        "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, "uid": meta.uid},
        "status": {"conditions": list, "observedGeneration": meta.generation},
    });
    if let Err(error) = apply_status(&api, context.shell.name, &name, &patch).await {
        warn!(namespace, name, %error, "failed to report that an object does not decode");
    }
}
