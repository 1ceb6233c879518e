//! A call that creates, changes or deletes remote objects: of a slow kind, an operation of its own, which may take minutes. Client
//! required to report it.
//!
//! The reconcile waits for it, so that a resource has one operation at a time, and an edit or a deletion follows it. It takes no slot and
//! no timeout meanwhile, and nothing interrupts the operation: of a creation that is interrupted, the object may exist, and its response
//! is lost.

use std::sync::Arc;

use kraken_api::reasons::Reason;
use kraken_kind::{
    FailureClass,
    dynamic::{Calls, Object, Observed},
};
use kraken_model::{
    ids::without,
    outcome::{GRACE, Outcome, refused},
};
use kraken_runtime::clock;
use tracing::warn;

use crate::{actions::unprotect::unprotect, context::Reconcile, steps::report};

/// Requests the deletion of these objects, see [`kraken_kind::Calls::delete`], and returns the ids of those that the provider found. Of a
/// protected one, the protection is removed if the spec says so.
pub(crate) async fn delete(
    reconcile: &mut Reconcile<'_>,
    reason: Reason,
    what: &str,
    doomed: &Observed,
) -> Result<Vec<String>, Outcome> {
    let kind = &reconcile.context.kind;
    let ids = doomed.ids();
    let whole = kind.to_delete(reconcile.object.spec(), doomed.clone());
    let identity = reconcile.identity.clone();
    let call = |external: Arc<dyn Calls>| async move { external.delete(&identity, &whole).await };
    match operate(reconcile, reason, what, call).await {
        Ok(unknown) => Ok(without(&ids, &unknown)),
        Err(failure) if failure.class == FailureClass::Protected => {
            Err(unprotect(reconcile, doomed, failure, reason).await)
        }
        // Another object must be deleted first; the provider's message names it.
        Err(failure) => Err(refused(failure, reason)),
    }
}

/// Makes this call. `what` is what it does, for the status: `creating "web"`.
pub(crate) async fn operate<T, F>(
    reconcile: &mut Reconcile<'_>,
    reason: Reason,
    what: &str,
    call: impl FnOnce(Arc<dyn Calls>) -> F,
) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let call = call(reconcile.context.link.external.clone());
    if !reconcile.context.info().slow {
        return call.await;
    }
    let since = clock::now();
    let mut operation = reconcile.slot.begin(call);
    let first = tokio::time::timeout(GRACE, operation.ended());
    if let Ok(done) = reconcile.slot.release_while(first).await {
        return done;
    }
    let message = format!("{what} since {since:.0}; waiting for the provider's response");
    let outcome = Outcome::InProgress(reason, message);
    let begun = reconcile.object.clone();
    reconcile.object = edited_meanwhile(reconcile);
    if let Err(error) = Box::pin(report::report_progress(reconcile, &outcome)).await {
        warn!(%error, "failed to report an operation in progress");
    }
    // The operation is of the spec with which it began.
    reconcile.object = begun;
    reconcile.slot.release_while(operation.ended()).await
}

/// The newest copy of the resource, which may have been edited during the operation; the status is still about the spec with which that
/// began.
fn edited_meanwhile(reconcile: &mut Reconcile<'_>) -> Arc<Object> {
    let begun = reconcile.object.clone();
    let Some(watched) = reconcile.context.objects.get(&reconcile.key()) else { return begun };
    if watched.metadata.uid != begun.metadata.uid {
        return begun;
    }
    let mut newest = (*reconcile.memory.copies.newest(watched)).clone();
    newest.metadata.generation = begun.metadata.generation;
    Arc::new(newest)
}
