//! Workers: they take keys from a queue, run one isolated reconcile per key, and put the key back when it is due again.

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

/// How many computations may run at once beside the workers: each takes a thread while it lasts.
const COMPUTATIONS: usize = 2;
static COMPUTING: Semaphore = Semaphore::const_new(COMPUTATIONS);

/// The longest a single reconcile may take. Every request inside has its own, shorter deadline; this one is for what
/// nobody thought of, so that a key can never be stuck.
const RECONCILE_DEADLINE: Duration = Duration::from_mins(2);

/// The right to work. A run gives it up while it waits for an answer that many share, so that a thousand may wait and
/// only a few work.
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

    /// Who waits for this run.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// Waits for something without keeping others from their work.
    pub async fn lend<T>(&mut self, answer: impl Future<Output = T>) -> T {
        drop(self.held.take());
        let answer = answer.await;
        self.held = self.slots.clone().acquire_owned().await.ok();
        answer
    }
}

/// Runs what may compute for long, such as a tenant's JSONPath over a large object, on a thread where it holds up nobody: the
/// workers' threads go on with everybody's requests, probes and watches. A few run at once; the others wait for their turn.
///
/// What it computes must be bounded by itself: nothing can end it from outside, not even the end of the reconcile.
pub async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // The semaphore is the whole process's, and of no use where there is one thread. It is never closed, so this always holds a permit.
    let permit = if clock::is_simulated() { None } else { Some(COMPUTING.acquire().await) };
    let work = move || {
        let _permit = permit;
        work()
    };
    match task::compute(work).await {
        Ok(computed) => computed,
        // A panic of the computation is one of the reconcile that asked for it.
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the end of the process cancels it: nobody waits for the answer any more.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Runs `handler` for every key of the queue until shutdown; then waits for the runs under way. At most `concurrency` of
/// each lane work at once; as many as the queue allows may wait with a lent [`Slot`]. A panic or a run without end costs
/// its own key a backoff and no other key anything.
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
    // Each lane has its own: an edit never stands in line behind the resyncs that come back from the cloud.
    let [edits, resyncs] = [(); 2].map(|()| Arc::new(Semaphore::new(concurrency)));
    let mut runs = JoinSet::new();
    loop {
        let next = async {
            // Never closed, so this always holds a permit.
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
            // Standing in line is no part of the run, whose time is bounded.
            let Some(slot) = stop.run_until_cancelled(Slot::take(lane, slots)).await else { return };
            // Boxed, so that what stands in line takes a few hundred bytes and not the tens of thousands of a run.
            let requeue = isolated(kind, &key, &metrics, Box::pin(handler(key.clone(), slot))).await;
            queue.done(&key, requeue);
            drop(permit);
        }));
        while runs.try_join_next().is_some() {}
    }
    while runs.join_next().await.is_some() {}
}

/// Runs one reconcile so that a panic in it, or a run without end, ends that run and nothing else.
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
            // The panic's text is not logged: it may hold a value. Its place was printed by the panic hook.
            span.in_scope(|| error!("the reconcile ended by a fault of the controller; it is tried again"));
            Requeue::Backoff
        }
        Err(_) => {
            span.in_scope(|| {
                error!(
                    seconds = RECONCILE_DEADLINE.as_secs(),
                    "the reconcile did not end in time; it is tried again"
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
    async fn a_long_computation_holds_up_no_other_task() {
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
    async fn a_panic_of_a_computation_is_one_of_who_asked_for_it() {
        let asked = tokio::spawn(compute(|| panic!("oh")));
        assert!(asked.await.unwrap_err().is_panic());
        assert_eq!(compute(|| 7).await, 7);
    }
}
