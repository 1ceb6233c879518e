//! One reconcile, isolated from all others, and the report of its outcome.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use kraken_model::{
    coverage as names,
    outcome::{Activity, Outcome, after_conflict},
    recorded::has_finalizer,
    status::ReconcileFacts,
};
use kraken_runtime::{
    clock::Instant, coverage, patch::ApiError, queue::Requeue, watch::ObjectKey, work::Slot,
};
use kube::ResourceExt;
use tracing::{debug, warn};

use crate::{
    actions::{release, states},
    context::{Context, Reconcile},
    reconcile::reconcile as steps,
    steps::report,
};

/// One reconcile, isolated from all others: a panic becomes a condition of its own resource.
pub(crate) async fn guarded(
    context: Arc<Context>,
    kind: &'static str,
    key: ObjectKey,
    mut slot: Slot,
) -> Requeue {
    let Some(watched) = context.objects.get(&key) else {
        return forget(&context, &key).await;
    };
    let uid = watched.uid().unwrap_or_default();
    let mut memory = context.memories.take(&key, &uid);
    memory.copies.drop_watched_copy(&watched);
    let object = memory.copies.newest(watched);
    let is_held = has_finalizer(&*object);
    let released = context.in_use.released();
    let mut reconcile = Reconcile::new(context.clone(), object.clone(), &mut memory, &mut slot);
    let outcome = catch_panic(&mut reconcile, kind).await;
    // The latest copy may be the response to the patch of the ledger.
    reconcile.object = reconcile.memory.copies.newest(object);
    let requeue = reported(&mut reconcile, &outcome).await;
    if outcome.is_in_use() {
        context.in_use.wait(&key, released, &context.queue);
    } else {
        context.in_use.forget(&key);
    }
    if matches!(outcome, Outcome::Removed | Outcome::Changed(_)) {
        context.in_use.release(&context.queue);
    }
    if matches!(outcome, Outcome::Removed) {
        context.memories.removed(&key, uid, &memory, is_held);
    } else {
        context.memories.put(key, uid, memory);
    }
    requeue
}

/// The outcome of the steps; a panic is one. It is counted in the metrics.
async fn catch_panic(reconcile: &mut Reconcile<'_>, kind: &'static str) -> Outcome {
    let started = Instant::now();
    let caught = AssertUnwindSafe(steps(reconcile)).catch_unwind().await;
    let metrics = &reconcile.context.manager.metrics;
    let outcome = caught.unwrap_or_else(|_| {
        metrics.reconcile_panicked(kind);
        reconcile.memory.reset();
        reconcile.facts = ReconcileFacts::default();
        Outcome::Internal("internal error; retrying, see the controller log".to_owned())
    });
    coverage::note(names::OUTCOME, (&outcome).into());
    if let Outcome::Failed(failure) = &outcome {
        coverage::note(names::FAILURE, failure.class.as_str());
        metrics.reconcile_failed(kind, failure.class.as_str());
    }
    if outcome.row().activity == Activity::LaunchWithheld {
        metrics.launch_withheld(kind, outcome.label());
    }
    metrics.reconciled(kind, outcome.label(), started.elapsed());
    debug!(outcome = outcome.label(), "reconciled");
    outcome
}

/// Reports the outcome, and returns when the next reconcile is due.
async fn reported(reconcile: &mut Reconcile<'_>, outcome: &Outcome) -> Requeue {
    let in_a_row = reconcile.memory.in_a_row(outcome);
    let written = Box::pin(report::report(reconcile, outcome)).await;
    // Another client wrote meanwhile, or the object was recreated: the next reconcile observes it.
    if outcome.is_conflict() || written.as_ref().is_err_and(ApiError::is_conflict) {
        return after_conflict(reconcile.memory.conflicted());
    }
    reconcile.memory.retries.conflicts = 0;
    match written {
        Ok(()) => outcome.requeue(&reconcile.circumstances(in_a_row)),
        Err(error) => {
            let ObjectKey { namespace, name } = reconcile.key();
            warn!(namespace = &*namespace, name = &*name, %error, "failed to write the status; retrying");
            Requeue::Backoff
        }
    }
}

/// Forgets a deleted resource, and releases its DependencyRequest: needed only if the resource had no finalizer, or another
/// client removed it, so that it was deleted before its request was released, or if a restored backup brought the request
/// back.
async fn forget(context: &Context, key: &ObjectKey) -> Requeue {
    if let Some(uses) = &context.uses {
        uses.wake();
    }
    context.in_use.forget(key);
    context.link.vanished.forget(key);
    context.connections.forget(key);
    context.published.forget(&context.owned_key(key));
    let is_released = release_records(context, key).await;
    // The memory is needed until the records are released.
    if is_released {
        context.memories.forget(key);
    }
    let released = async {
        let is_gone = release::release_of_missing(context, key).await?;
        Ok::<bool, ApiError>(is_gone && states::drop_ownerless(context, key).await?)
    };
    match released.await {
        Ok(true) if is_released => Requeue::Never,
        // Until the watch returns it, or it is deleted.
        Ok(_) => Requeue::Backoff,
        Err(error) => {
            let (namespace, name) = (&*key.namespace, &*key.name);
            warn!(namespace, name, %error, "failed to release the DependencyRequest or the state of a deleted resource");
            Requeue::Backoff
        }
    }
}

/// Releases what the controller of the kind recorded elsewhere of a deleted resource, if this process knew the resource. Whether
/// nothing is left.
async fn release_records(context: &Context, key: &ObjectKey) -> bool {
    let Some(uid) = context.memories.uid(key) else { return true };
    match context.link.external.forget(&context.identity(key, uid)).await {
        Ok(()) => true,
        Err(failure) => {
            let (namespace, name) = (&*key.namespace, &*key.name);
            warn!(namespace, name, error = %failure.message, "failed to release what is recorded of a deleted resource; retrying");
            false
        }
    }
}
