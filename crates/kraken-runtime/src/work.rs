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
    metrics::Metrics,
    queue::{Key, Lane, Queue, Requeue},
};

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
        runs.spawn(async move {
            // Standing in line is no part of the run, whose time is bounded.
            let Some(slot) = stop.run_until_cancelled(Slot::take(lane, slots)).await else { return };
            // Boxed, so that what stands in line takes a few hundred bytes and not the tens of thousands of a run.
            let requeue = isolated(kind, &key, &metrics, Box::pin(handler(key.clone(), slot))).await;
            queue.done(&key, requeue);
            drop(permit);
        });
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
