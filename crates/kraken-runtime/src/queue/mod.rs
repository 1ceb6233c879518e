//! One keyed queue per controller: two lanes, per-key backoff, timers, and one run per key at a time.
//!
//! kube-runtime's scheduler has no priorities, no order and no backoff per object, so that one failing resource, or a
//! resync of thousands, delays the edit that a user waits for.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt::Debug,
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use crate::hash::HashMap;

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

/// The delay after the first failure; it doubles with each further failure.
const BACKOFF_BASE: Duration = Duration::from_millis(250);
/// The maximum delay between two attempts for one key.
pub const BACKOFF_MAX: Duration = Duration::from_mins(5);

/// The bounds of a key: small, ordered, cheap to clone.
pub trait Key: Clone + Eq + Hash + Ord + Debug + Send + Sync + 'static {}
impl<T: Clone + Eq + Hash + Ord + Debug + Send + Sync + 'static> Key for T {}

/// The priority of a reconcile. Edits are always first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// A user or a dependency changed something.
    Edit,
    /// A timer is due.
    Resync,
}

/// When a key is reconciled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Only on an event.
    Never,
    /// At the next tick of this length, shared with every other key of the same length.
    Tick(Duration),
    /// After its exponential backoff, because it failed. A failed resync is retried as a resync.
    Backoff,
    /// At the next tick of this length, at any time until then, in the lane of edits: an operation is in progress, and keys
    /// that wait for the same share their reads. For a minimum delay use `After`.
    Soon(Duration),
    /// After at least this time, in the lane of the current reconcile.
    After(Duration),
}

/// A queue of keys. Cloning it gives another handle of the same queue.
#[derive(Debug)]
pub struct Queue<K: Key> {
    inner: Arc<Inner<K>>,
}

impl<K: Key> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

#[derive(Debug)]
struct Inner<K: Key> {
    state: Mutex<State<K>>,
    changed: Notify,
    start: Instant,
    /// The maximum number of keys in flight.
    in_flight: usize,
    /// The maximum number of resyncs in flight: the rest is reserved for edits.
    max_resyncs: usize,
}

#[derive(Debug)]
struct State<K: Key> {
    edits: VecDeque<K>,
    resyncs: VecDeque<K>,
    /// The actual lane of each waiting key: a different entry of a deque is stale and skipped.
    waiting: HashMap<K, Lane>,
    /// The number of keys in each lane, maintained because it is read with every key.
    depth: [usize; 2],
    timers: BTreeSet<(Instant, K)>,
    timer_of: HashMap<K, (Instant, Lane)>,
    /// The keys in flight, each with the lane in which it was added again in the meantime.
    running: HashMap<K, (Lane, Option<Lane>)>,
    /// The number of resyncs in flight, maintained because counting them for each key would be expensive.
    resyncing: usize,
    failures: HashMap<K, u32>,
}

impl<K: Key> Default for State<K> {
    fn default() -> Self {
        Self {
            edits: VecDeque::new(),
            resyncs: VecDeque::new(),
            waiting: HashMap::default(),
            depth: [0; 2],
            timers: BTreeSet::new(),
            timer_of: HashMap::default(),
            running: HashMap::default(),
            resyncing: 0,
            failures: HashMap::default(),
        }
    }
}

impl<K: Key> Queue<K> {
    /// An empty queue with at most `in_flight` keys in flight; a quarter of them (at least one, if there are two) is
    /// reserved for edits.
    pub fn new(in_flight: usize) -> Self {
        let max_resyncs = in_flight.saturating_sub((in_flight / 4).max(1)).max(1);
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State::default()),
                changed: Notify::new(),
                start: Instant::now(),
                in_flight,
                max_resyncs,
            }),
        }
    }

    /// Adds a key. A key in flight is reconciled once more afterwards; a waiting key is not duplicated.
    pub fn add(&self, key: K, lane: Lane) {
        self.inner.state.lock().add(key, lane);
        self.inner.changed.notify_one();
    }

    /// The maximum number of keys in flight.
    pub fn in_flight(&self) -> usize {
        self.inner.in_flight
    }

    /// Waits for the next key and marks it as in flight; [`Queue::done`] must follow.
    pub async fn next(&self) -> (K, Lane) {
        loop {
            let changed = self.inner.changed.notified();
            let due = {
                let mut state = self.inner.state.lock();
                state.release_timers(Instant::now());
                if let Some(taken) = state.take(self.inner.max_resyncs) {
                    if !state.waiting.is_empty() {
                        self.inner.changed.notify_one();
                    }
                    return taken;
                }
                state.timers.first().map(|(at, _)| *at)
            };
            match due {
                Some(at) => {
                    tokio::select! { biased; () = changed => {}, () = tokio::time::sleep_until(at) => {} }
                }
                None => changed.await,
            }
        }
    }

    /// Ends a reconcile and sets when the key is reconciled again. A key that was added in the meantime is reconciled
    /// at once.
    pub fn done(&self, key: &K, requeue: Requeue) {
        let now = Instant::now();
        let mut state = self.inner.state.lock();
        let ran = state.running.remove(key);
        state.resyncing -= usize::from(ran.is_some_and(|(lane, _)| lane == Lane::Resync));
        let again = ran.and_then(|(_, again)| again);
        // A failure must not move a resync ahead of an edit that a user waits for.
        let lane = ran.map_or(Lane::Edit, |(lane, _)| lane);
        if requeue == Requeue::Backoff {
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            let delay = backoff(*failures);
            state.set_timer(key.clone(), now + delay, lane);
        } else {
            state.failures.remove(key);
        }
        match requeue {
            Requeue::Tick(every) => {
                state.set_timer(key.clone(), next_tick(self.inner.start, now, every), Lane::Resync);
            }
            Requeue::Soon(every) => {
                state.set_timer(key.clone(), next_tick(self.inner.start, now, every), Lane::Edit);
            }
            Requeue::After(delay) => state.set_timer(key.clone(), now + delay, lane),
            Requeue::Never | Requeue::Backoff => {}
        }
        if let Some(lane) = again {
            state.add(key.clone(), lane);
        }
        drop(state);
        self.inner.changed.notify_one();
    }

    /// The number of keys that wait in a lane, without timers.
    pub fn depth(&self, lane: Lane) -> usize {
        self.inner.state.lock().depth[lane as usize]
    }
}

impl<K: Key> State<K> {
    fn add(&mut self, key: K, lane: Lane) {
        if let Some((_, again)) = self.running.get_mut(&key) {
            *again = Some(again.map_or(lane, |l| l.min(lane)));
            return;
        }
        if self.waiting.get(&key).is_some_and(|waiting| *waiting <= lane) {
            return;
        }
        if let Some(before) = self.waiting.insert(key.clone(), lane) {
            self.depth[before as usize] -= 1;
        }
        self.depth[lane as usize] += 1;
        match lane {
            Lane::Edit => self.edits.push_back(key),
            Lane::Resync => self.resyncs.push_back(key),
        }
    }

    /// One timer per key: a new one replaces the old one.
    fn set_timer(&mut self, key: K, at: Instant, lane: Lane) {
        self.clear_timer(&key);
        self.timer_of.insert(key.clone(), (at, lane));
        self.timers.insert((at, key));
    }

    fn clear_timer(&mut self, key: &K) {
        if let Some((at, _)) = self.timer_of.remove(key) {
            self.timers.remove(&(at, key.clone()));
        }
    }

    fn release_timers(&mut self, now: Instant) {
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, key)) = self.timers.pop_first() else { return };
            if let Some((_, lane)) = self.timer_of.remove(&key) {
                self.add(key, lane);
            }
        }
    }

    fn take(&mut self, max_resyncs: usize) -> Option<(K, Lane)> {
        while let Some(key) = self.edits.pop_front() {
            if self.waiting.get(&key) == Some(&Lane::Edit) {
                return Some(self.start(key, Lane::Edit));
            }
        }
        if self.resyncing >= max_resyncs {
            return None;
        }
        while let Some(key) = self.resyncs.pop_front() {
            if self.waiting.get(&key) == Some(&Lane::Resync) {
                return Some(self.start(key, Lane::Resync));
            }
        }
        None
    }

    /// A reconcile clears the key's timer: its end sets a new one.
    fn start(&mut self, key: K, lane: Lane) -> (K, Lane) {
        self.waiting.remove(&key);
        self.depth[lane as usize] -= 1;
        self.clear_timer(&key);
        self.resyncing += usize::from(lane == Lane::Resync);
        self.running.insert(key.clone(), (lane, None));
        (key, lane)
    }
}

/// The delay before attempt `failures + 1`.
fn backoff(failures: u32) -> Duration {
    BACKOFF_BASE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(BACKOFF_MAX)
}

/// The next multiple of `every` after `now`, counted from `start`: keys with the same interval are due together, and
/// share batched reads.
fn next_tick(start: Instant, now: Instant, every: Duration) -> Instant {
    let every = every.max(Duration::from_millis(1));
    let ticks = (now - start).as_nanos() / every.as_nanos() + 1;
    let nanos = ticks.saturating_mul(every.as_nanos());
    start + u64::try_from(nanos).map_or(every, Duration::from_nanos)
}

#[cfg(test)]
mod tests;
