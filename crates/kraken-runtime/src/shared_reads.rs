//! Reads that concurrent callers share for a short period, and that are then wiped: for contents that must not stay in memory.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{hash::HashMap, task, watch::ObjectKey};

/// The last result, with the time at which its read started.
type Cell<T> = Arc<tokio::sync::Mutex<Option<(Instant, T)>>>;

/// The results of recent reads, by object. Clones share the same state.
pub struct SharedReads<T> {
    cells: Arc<Mutex<HashMap<ObjectKey, Cell<T>>>>,
    period: Duration,
}

impl<T> Clone for SharedReads<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), period: self.period }
    }
}

impl<T> fmt::Debug for SharedReads<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReads").field("period", &self.period).finish_non_exhaustive()
    }
}

impl<T: Clone + Send + 'static> SharedReads<T> {
    /// Results are shared for this period after their read started.
    pub fn new(period: Duration) -> Self {
        Self { cells: Arc::default(), period }
    }

    /// The last result of this object if `is_current` accepts it, otherwise that of `read`, which others get if `is_shared`
    /// accepts it. Concurrent callers wait for one read.
    ///
    /// # Errors
    /// The error of `read`, which is not shared.
    pub async fn get<E>(
        &self,
        key: &ObjectKey,
        is_current: impl FnOnce(&T) -> bool,
        is_shared: impl FnOnce(&T) -> bool,
        read: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let cell = self.cells.lock().entry(key.clone()).or_default().clone();
        // Held during the read: other callers wait for its result instead of making their own call.
        let mut held = cell.lock().await;
        if let Some((started, result)) = &*held
            && started.elapsed() < self.period
            && is_current(result)
        {
            return Ok(result.clone());
        }
        *held = None;
        let started = Instant::now();
        let result = read.await;
        *held =
            result.as_ref().ok().filter(|result| is_shared(result)).map(|result| (started, result.clone()));
        drop(held);
        self.wipe_later(key.clone(), cell);
        result
    }

    /// Wipes a result after the period, and removes its cell.
    fn wipe_later(&self, key: ObjectKey, cell: Cell<T>) {
        let (cells, period) = (self.cells.clone(), self.period);
        task::spawn(async move {
            tokio::time::sleep(period).await;
            let mut held = cell.lock().await;
            if held.as_ref().is_none_or(|(started, _)| started.elapsed() >= period) {
                *held = None;
                let mut cells = cells.lock();
                // A caller that waits for this cell reads without sharing; a newer cell of the key must stay.
                if cells.get(&key).is_some_and(|now| Arc::ptr_eq(now, &cell)) {
                    cells.remove(&key);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    const PERIOD: Duration = Duration::from_secs(2);

    async fn read(reads: &SharedReads<usize>, count: &AtomicUsize, is_shared: bool) -> usize {
        let read = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok::<_, Infallible>(count.fetch_add(1, Ordering::SeqCst) + 1)
        };
        reads.get(&ObjectKey::new("ns", "a"), |_| true, |_| is_shared, read).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_callers_share_one_read_and_the_result_is_wiped_after_the_period() {
        let (reads, count) = (SharedReads::new(PERIOD), AtomicUsize::new(0));
        let all = futures::future::join_all((0..100).map(|_| read(&reads, &count, true))).await;
        assert_eq!(all, vec![1; 100]);
        tokio::time::sleep(PERIOD * 2).await;
        assert!(reads.cells.lock().is_empty(), "nothing is kept after the period");
        assert_eq!(read(&reads, &count, true).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_that_is_not_to_be_shared_is_read_by_each_caller() {
        let (reads, count) = (SharedReads::new(PERIOD), AtomicUsize::new(0));
        let all = futures::future::join_all((0..3).map(|_| read(&reads, &count, false))).await;
        assert_eq!(all, [1, 2, 3]);
        tokio::time::sleep(PERIOD * 2).await;
        assert!(reads.cells.lock().is_empty());
    }
}
