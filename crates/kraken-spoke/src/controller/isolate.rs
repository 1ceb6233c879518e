//! One reconcile, isolated from all others, and the report of its outcome.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use kraken_runtime::{clock::Instant, coverage, queue::Requeue, watch::ObjectKey, work::Slot};
use kube::ResourceExt;
use tracing::{debug, warn};

use crate::{
    actions::references,
    context::{Context, Reconcile},
    controller::undecodable,
    dynamic::Object,
    model::{
        coverage as names,
        memory::Memory,
        outcome::{AT_ONCE, Outcome},
        status::ReconcileFacts,
    },
    reconcile::reconcile,
    steps::report,
};

/// One reconcile, isolated from all others: a panic becomes a condition of its own resource.
pub(crate) async fn guarded(
    context: Arc<Context>,
    kind: &'static str,
    key: ObjectKey,
    mut slot: Slot,
) -> Requeue {
    let unreadable = context.undecodable.lock().get(&key).cloned();
    if let Some(error) = unreadable {
        return Box::pin(undecodable::run(&context, &key, &error, &mut slot)).await;
    }
    let Some(watched) = context.objects.get(&key) else {
        context.memories.forget(&key);
        context.vanished.forget(&key);
        context.connections.forget(&key);
        return released(&context, &key).await;
    };
    let started = Instant::now();
    let uid = watched.uid().unwrap_or_default();
    let mut memory = context.memories.take(&key, &uid);
    memory.caught_up(&watched);
    let object = memory.newest(watched);
    let metrics = &context.manager.metrics;

    let run = async {
        let mut run = Reconcile::new(context.clone(), object.clone(), &mut memory, &mut slot);
        (reconcile(&mut run).await, run.facts)
    };
    let run = AssertUnwindSafe(run).catch_unwind().await;
    let (outcome, facts) = run.unwrap_or_else(|_| {
        metrics.reconcile_panicked(kind);
        memory = Memory::default();
        let message = "internal error; retrying, see the controller log".to_owned();
        (Outcome::Internal(message), ReconcileFacts::default())
    });
    coverage::note(names::OUTCOME, names::outcome(&outcome));
    if let Outcome::Failed(failure) = &outcome {
        coverage::note(names::FAILURE, names::failure(failure.class));
        metrics.reconcile_failed(kind, failure.class.as_str());
    }
    if let Some(reason) = outcome.withheld() {
        metrics.launch_withheld(kind, reason);
    }
    metrics.reconciled(kind, outcome.label(), started.elapsed());
    debug!(outcome = outcome.label(), "reconciled");

    // The latest copy may be the response to the patch of the intent.
    let object = memory.newest(object);
    let refusals = memory.count_refusals(&outcome);
    let reported = Box::pin(report::report(&context, &object, &mut memory, &outcome, &facts)).await;
    let requeue = match reported {
        Ok(()) => outcome.requeue(resync_of(&context, &object), refusals),
        // Another client wrote meanwhile, or the object was recreated: the next reconcile observes it.
        Err(error) if error.is_conflict() => Requeue::Soon(AT_ONCE),
        Err(error) => {
            warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to write the status; retrying");
            Requeue::Backoff
        }
    };
    if matches!(outcome, Outcome::Removed) {
        context.memories.forget(&key);
    } else {
        context.memories.put(key, uid, memory);
    }
    requeue
}

/// Releases what a deleted resource has left: needed only after a crash between its deletion and the release of its
/// request.
async fn released(context: &Context, key: &ObjectKey) -> Requeue {
    context.published.forget(&ObjectKey::new(&key.namespace, &context.owned_name(&key.name)));
    match references::release_of(context, key, references::Expected::IfUnselected).await {
        Ok(()) => Requeue::Never,
        Err(error) => {
            warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to release the DependencyRequest");
            Requeue::Backoff
        }
    }
}

fn resync_of(context: &Context, object: &Object) -> Option<Duration> {
    match object.lifecycle().resync_interval.as_ref().map(kraken_api::Interval::duration) {
        Some(Ok(own)) => own,
        // An invalid interval is reported as a problem of the spec.
        Some(Err(_)) | None => context.manager.args.resync(),
    }
}
