//! Workers: they take keys from a queue, run one isolated reconcile per key, and requeue the key.

use std::{
    fmt::Debug,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinHandle, JoinSet},
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

/// The timeout of a single reconcile, without its [operations](Operation). Every request inside has its own, shorter deadline. This
/// one is a safeguard, so that a key can never be stuck.
const RECONCILE_DEADLINE: Duration = Duration::from_mins(2);

/// The permit of an active reconcile. A reconcile releases it while it waits for a shared response, so that a thousand
/// can wait while only a few are active.
#[derive(Debug)]
pub struct Slot {
    lane: Lane,
    slots: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
    operations: Operations,
}

/// How many operations of a reconcile began and ended: their number is odd while one is in progress.
type Operations = Arc<AtomicU64>;

/// An operation of the provider that may take minutes. It is a task of its own: whatever happens to the reconcile that waits for it, it
/// continues to its end, and only the end of the process interrupts it.
#[derive(Debug)]
pub struct Operation<T> {
    task: JoinHandle<T>,
    operations: Operations,
}

impl<T> Operation<T> {
    /// Waits until it ends. It can be awaited in parts: a call that is cancelled loses nothing.
    pub async fn ended(&mut self) -> T {
        match (&mut self.task).await {
            Ok(value) => value,
            // A panic is propagated to its reconcile.
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only the end of the process cancels it, when nothing waits for the result.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

impl<T> Drop for Operation<T> {
    fn drop(&mut self) {
        self.operations.fetch_add(1, Ordering::Relaxed);
    }
}

impl Slot {
    async fn take(lane: Lane, slots: Arc<Semaphore>, operations: Operations) -> Self {
        let held = slots.clone().acquire_owned().await.ok();
        Self { lane, slots, held, operations }
    }

    /// The slot of a look that no queue started: nothing else waits for it.
    pub fn of_its_own(lane: Lane) -> Self {
        Self { lane, slots: Arc::new(Semaphore::new(1)), held: None, operations: Operations::default() }
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

    /// Starts an operation. While it exists, the timeout of the reconcile does not run. One at a time.
    pub fn begin<T: Send + 'static>(
        &self,
        operation: impl Future<Output = T> + Send + 'static,
    ) -> Operation<T> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        Operation { task: task::spawn(operation), operations: self.operations.clone() }
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
            let operations = Operations::default();
            let slot = Slot::take(lane, slots, operations.clone());
            let Some(slot) = stop.run_until_cancelled(slot).await else { return };
            // Boxed, so that a waiting reconcile takes a few hundred bytes instead of tens of thousands.
            let reconcile = within(RECONCILE_DEADLINE, operations, Box::pin(handler(key.clone(), slot)));
            let requeue = isolated(kind, &key, &metrics, reconcile).await;
            queue.done(&key, requeue);
            drop(permit);
        }));
        while runs.try_join_next().is_some() {}
    }
    while runs.join_next().await.is_some() {}
}

/// A reconcile with a timeout, which does not run during its operations; `None` if it timed out.
async fn within<F: Future + Unpin>(
    length: Duration,
    operations: Operations,
    mut reconcile: F,
) -> Option<F::Output> {
    loop {
        let before = operations.load(Ordering::Relaxed);
        match tokio::time::timeout(length, &mut reconcile).await {
            Ok(done) => return Some(done),
            // An operation is in progress, or ended meanwhile: the time starts again.
            Err(_) if before % 2 == 1 || operations.load(Ordering::Relaxed) != before => {}
            Err(_) => return None,
        }
    }
}

/// Runs one reconcile, isolated, so that a panic or a timeout ends only this reconcile.
async fn isolated<K: Debug>(
    kind: &'static str,
    key: &K,
    metrics: &Metrics,
    reconcile: impl Future<Output = Option<Requeue>>,
) -> Requeue {
    let span = info_span!("reconcile", kind, key = ?key);
    let run = AssertUnwindSafe(reconcile).catch_unwind().instrument(span.clone());
    match run.await {
        Ok(Some(requeue)) => requeue,
        Err(_) => {
            metrics.reconcile_panicked(kind);
            // The panic's text is not logged, because it may contain a value. The panic hook logged its location.
            span.in_scope(|| error!("the reconcile panicked; retrying with backoff"));
            Requeue::Backoff
        }
        Ok(None) => {
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

    #[tokio::test(start_paused = true)]
    async fn timeout_does_not_run_during_an_operation_and_never_ends_one() {
        let (length, finished) = (Duration::from_secs(10), Arc::<AtomicU64>::default());
        let run = |operation: u64, after: u64| {
            let (operations, finished) = (Operations::default(), finished.clone());
            let counted = operations.clone();
            let reconcile = async move {
                let slots = Arc::new(Semaphore::new(1));
                let slot = Slot::take(Lane::Edit, slots, counted).await;
                let mut begun = slot.begin(async move {
                    tokio::time::sleep(Duration::from_secs(operation)).await;
                    finished.fetch_add(1, Ordering::Relaxed)
                });
                begun.ended().await;
                drop(begun);
                tokio::time::sleep(Duration::from_secs(after)).await;
            };
            within(length, operations, Box::pin(reconcile))
        };
        assert!(run(25, 5).await.is_some());
        assert!(run(25, 60).await.is_none(), "what follows the operation has a timeout");
        // The end of the reconcile is not that of the operation.
        let cut = tokio::time::timeout(Duration::from_secs(1), run(25, 0)).await;
        assert!(cut.is_err());
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(finished.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn a_panic_of_a_computation_is_propagated_to_its_caller() {
        let joined = tokio::spawn(compute(|| panic!("oh")));
        assert!(joined.await.unwrap_err().is_panic());
        assert_eq!(compute(|| 7).await, 7);
    }
}
