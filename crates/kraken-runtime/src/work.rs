//! Workers: they take keys from a queue, run one isolated reconcile per key, and requeue the key.

use std::{fmt::Debug, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error, info_span};

use crate::{
    clock,
    metrics::Metrics,
    queue::{Key, Lane, Queue, Requeue},
    task,
};

/// The maximum number of concurrent computations outside the workers: each takes a thread.
const COMPUTATIONS: usize = 2;
static COMPUTING: Semaphore = Semaphore::const_new(COMPUTATIONS);

/// The timeout of a single reconcile. Every request inside has its own, shorter deadline. This one is a safeguard, so
/// that a key can never be stuck.
const RECONCILE_DEADLINE: Duration = Duration::from_mins(2);

/// The permit of an active reconcile. A reconcile releases it while it waits for a shared response, so that a thousand
/// can wait while only a few are active.
#[derive(Debug)]
pub struct Slot {
    lane: Lane,
    slots: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
}

impl Slot {
    async fn take(lane: Lane, slots: Arc<Semaphore>) -> Self {
        let held = slots.clone().acquire_owned().await.ok();
        Self { lane, slots, held }
    }

    /// The priority of this reconcile.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// Releases the slot while it waits for `answer`.
    pub async fn release_while<T>(&mut self, answer: impl Future<Output = T>) -> T {
        drop(self.held.take());
        let answer = answer.await;
        self.held = self.slots.clone().acquire_owned().await.ok();
        answer
    }
}

/// Runs an expensive computation, such as a tenant's JSONPath over a large object, on a blocking thread, so that the worker
/// threads continue with requests, probes and watches. A few run concurrently; the others wait.
///
/// The computation must be bounded: nothing can cancel it, not even the end of the reconcile.
pub async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // The semaphore is shared by the whole process, and not needed with one thread. It is never closed, so this always
    // acquires a permit.
    let permit = if clock::is_simulated() { None } else { Some(COMPUTING.acquire().await) };
    let work = move || {
        let _permit = permit;
        work()
    };
    match task::compute(work).await {
        Ok(computed) => computed,
        // A panic of the computation is propagated to its reconcile.
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the end of the process cancels it, when nothing waits for the result.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Runs `handler` for every key of the queue until shutdown; then waits for the reconciles in flight. At most
/// `concurrency` of each lane are active; as many as the queue allows may wait with a released [`Slot`]. A panic or a
/// timeout causes a backoff of its own key only.
pub async fn run<K, F, Fut>(
    queue: Queue<K>,
    concurrency: usize,
    kind: &'static str,
    metrics: Metrics,
    shutdown: CancellationToken,
    handler: F,
) where
    K: Key,
    F: Fn(K, Slot) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Requeue> + Send + 'static,
{
    let in_flight = Arc::new(Semaphore::new(queue.in_flight()));
    // Each lane has its own slots: an edit never queues behind resyncs that return from the cloud.
    let [edits, resyncs] = [(); 2].map(|()| Arc::new(Semaphore::new(concurrency)));
    let mut runs = JoinSet::new();
    loop {
        let next = async {
            // Never closed, so this always acquires a permit.
            let permit = in_flight.clone().acquire_owned().await;
            (permit, queue.next().await)
        };
        let Some((permit, (key, lane))) = shutdown.run_until_cancelled(next).await else { break };
        let slots = if lane == Lane::Edit { edits.clone() } else { resyncs.clone() };
        metrics.queue_depth(kind, "edit", queue.depth(Lane::Edit));
        metrics.queue_depth(kind, "resync", queue.depth(Lane::Resync));
        let (queue, metrics, handler, stop) =
            (queue.clone(), metrics.clone(), handler.clone(), shutdown.clone());
        runs.spawn(task::inherit(async move {
            // Waiting for a slot does not count for the timeout of the reconcile.
            let Some(slot) = stop.run_until_cancelled(Slot::take(lane, slots)).await else { return };
            // Boxed, so that a waiting reconcile takes a few hundred bytes instead of tens of thousands.
            let requeue = isolated(kind, &key, &metrics, Box::pin(handler(key.clone(), slot))).await;
            queue.done(&key, requeue);
            drop(permit);
        }));
        while runs.try_join_next().is_some() {}
    }
    while runs.join_next().await.is_some() {}
}

/// Runs one reconcile, isolated, so that a panic or a timeout ends only this reconcile.
async fn isolated<K: Debug>(
    kind: &'static str,
    key: &K,
    metrics: &Metrics,
    reconcile: impl Future<Output = Requeue>,
) -> Requeue {
    let span = info_span!("reconcile", kind, key = ?key);
    let run = AssertUnwindSafe(reconcile).catch_unwind().instrument(span.clone());
    match tokio::time::timeout(RECONCILE_DEADLINE, run).await {
        Ok(Ok(requeue)) => requeue,
        Ok(Err(_)) => {
            metrics.reconcile_panicked(kind);
            // The panic's text is not logged, because it may contain a value. The panic hook logged its location.
            span.in_scope(|| error!("the reconcile panicked; retrying with backoff"));
            Requeue::Backoff
        }
        Err(_) => {
            span.in_scope(|| {
                error!(
                    seconds = RECONCILE_DEADLINE.as_secs(),
                    "the reconcile timed out; retrying with backoff"
                );
            });
            Requeue::Backoff
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_long_computation_does_not_block_other_tasks() {
        let busy = |length: Duration| {
            let begin = Instant::now();
            while begin.elapsed() < length {
                std::hint::black_box(begin.elapsed());
            }
        };
        let computing = tokio::spawn(compute(move || busy(Duration::from_millis(500))));
        let mut longest = Duration::ZERO;
        while !computing.is_finished() {
            let before = Instant::now();
            tokio::time::sleep(Duration::from_millis(5)).await;
            longest = longest.max(before.elapsed());
        }
        assert!(longest < Duration::from_millis(300), "{longest:?}");
        computing.await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_of_a_computation_is_propagated_to_its_caller() {
        let joined = tokio::spawn(compute(|| panic!("oh")));
        assert!(joined.await.unwrap_err().is_panic());
        assert_eq!(compute(|| 7).await, 7);
    }
}
