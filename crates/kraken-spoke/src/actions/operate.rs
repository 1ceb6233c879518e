//! A call that creates, changes or deletes remote objects: of a slow kind, an operation of its own, which may take minutes. Client
//! required to report it.
//!
//! The reconcile waits for it, so that a resource has one operation at a time, and an edit or a deletion follows it. It takes no slot and
//! no timeout meanwhile, and nothing interrupts the operation: of a creation that is interrupted, the object may exist, and its response
//! is lost.

use std::sync::Arc;

use kraken_api::reasons::Reason;
use kraken_runtime::clock;
use tracing::warn;

use crate::{
    Failure,
    context::Reconcile,
    dynamic::{DynExternal, Observed},
    model::outcome::{GRACE, Outcome},
    steps::report,
};

/// Requests the deletion of these objects, see [`crate::External::delete`].
pub(crate) async fn delete(
    reconcile: &mut Reconcile<'_>,
    reason: Reason,
    what: &str,
    doomed: &Observed,
) -> Result<Vec<String>, Failure> {
    let (identity, doomed) = (reconcile.identity.clone(), doomed.clone());
    let call = |external: Arc<dyn DynExternal>| async move { external.delete(&identity, &doomed).await };
    operate(reconcile, reason, what, call).await
}

/// Makes this call. `what` is what it does, for the status: `creating "web"`.
pub(crate) async fn operate<T, F>(
    reconcile: &mut Reconcile<'_>,
    reason: Reason,
    what: &str,
    call: impl FnOnce(Arc<dyn DynExternal>) -> F,
) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let call = call(reconcile.context.external.clone());
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
    // The first report of it is due: it is in progress for longer than need not be reported.
    reconcile.memory.retries.in_progress = None;
    if let Err(error) = Box::pin(report::report_progress(reconcile, &outcome)).await {
        warn!(%error, "failed to report an operation in progress");
    }
    reconcile.slot.release_while(operation.ended()).await
}
