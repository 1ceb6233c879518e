//! One keyed queue per controller: two lanes, per-key backoff, timers, and one run per key at a time.
//!
//! kube-runtime's own scheduler has no lanes, no order and no backoff per object, so that one resource that fails, or a
//! resync of thousands, delays the edit a person is waiting for.

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

use crate::mutants::{self, Mutant};

/// The first delay after a failure; each further one doubles it.
const BACKOFF_BASE: Duration = Duration::from_millis(250);
/// The longest delay between two tries of one key.
const BACKOFF_MAX: Duration = Duration::from_mins(5);

/// What a key may be: small, ordered, cheap to clone.
pub trait Key: Clone + Eq + Hash + Ord + Debug + Send + Sync + 'static {}
impl<T: Clone + Eq + Hash + Ord + Debug + Send + Sync + 'static> Key for T {}

/// Who waits for the run. Edits are always taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// A person or a dependency changed something.
    Edit,
    /// A timer is due.
    Resync,
}

/// When a key runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Only when something wakes it.
    Never,
    /// At the next tick of this length, shared with every other key of the same length.
    Tick(Duration),
    /// After its own exponential backoff, because it failed. A resync that failed is tried again as a resync.
    Backoff,
    /// At the next tick of this length, anywhere between now and then, in the lane of edits: something was started, and all
    /// keys that wait for the same are observed by shared calls. Not for a delay that has to pass: that is `After`.
    Soon(Duration),
    /// When this much time has passed, and not before; in the lane that the run was in.
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
    wake: Notify,
    start: Instant,
    /// How many keys may run at once.
    in_flight: usize,
    /// How many runs may be resyncs at once: the rest is kept free for edits.
    max_resyncs: usize,
}

#[derive(Debug)]
struct State<K: Key> {
    edits: VecDeque<K>,
    resyncs: VecDeque<K>,
    /// The lane each waiting key is really in: an entry of a deque that disagrees is stale and skipped.
    waiting: HashMap<K, Lane>,
    /// How many of them wait for an edit and for a resync: asked for with every key that is taken.
    depth: [usize; 2],
    timers: BTreeSet<(Instant, K)>,
    timer_of: HashMap<K, (Instant, Lane)>,
    /// The keys that run now, and the lane in which each was asked for again meanwhile.
    running: HashMap<K, (Lane, Option<Lane>)>,
    /// How many of them are resyncs: counting them anew for each key would cost a look at all.
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
    /// An empty queue of which at most `in_flight` keys run at once; a quarter of that (at least one, if there are two) is
    /// kept for edits.
    pub fn new(in_flight: usize) -> Self {
        let max_resyncs = in_flight.saturating_sub((in_flight / 4).max(1)).max(1);
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State::default()),
                wake: Notify::new(),
                start: Instant::now(),
                in_flight,
                max_resyncs,
            }),
        }
    }

    /// Asks for a run now. A key that runs already runs once more afterwards; one that waits is not doubled.
    pub fn add(&self, key: K, lane: Lane) {
        self.inner.state.lock().add(key, lane);
        self.inner.wake.notify_one();
    }

    /// How many keys may run at once.
    pub fn in_flight(&self) -> usize {
        self.inner.in_flight
    }

    /// Waits for the next key and marks it as running; [`Queue::done`] must follow.
    pub async fn next(&self) -> (K, Lane) {
        loop {
            let wake = self.inner.wake.notified();
            let due = {
                let mut state = self.inner.state.lock();
                state.release_timers(Instant::now());
                if let Some(taken) = state.take(self.inner.max_resyncs) {
                    if !state.waiting.is_empty() {
                        self.inner.wake.notify_one();
                    }
                    return taken;
                }
                state.timers.first().map(|(at, _)| *at)
            };
            match due {
                Some(at) => {
                    tokio::select! { biased; () = wake => {}, () = tokio::time::sleep_until(at) => {} }
                }
                None => wake.await,
            }
        }
    }

    /// Ends a run and says when the key runs again. What was asked for meanwhile runs at once.
    pub fn done(&self, key: &K, requeue: Requeue) {
        let now = Instant::now();
        let mut state = self.inner.state.lock();
        let ran = state.running.remove(key);
        state.resyncing -= usize::from(ran.is_some_and(|(lane, _)| lane == Lane::Resync));
        let again = ran.and_then(|(_, again)| again);
        // What failed must not overtake the edit that a person waits for by failing.
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
        self.inner.wake.notify_one();
    }

    /// How many keys wait in a lane, timers not counted.
    pub fn depth(&self, lane: Lane) -> usize {
        self.inner.state.lock().depth[lane as usize]
    }
}

impl<K: Key> State<K> {
    fn add(&mut self, key: K, lane: Lane) {
        if let Some((_, again)) = self.running.get_mut(&key) {
            if mutants::active(Mutant::LostWakeUp) {
                return;
            }
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
            Lane::Edit if !mutants::active(Mutant::WrongLane) => self.edits.push_back(key),
            Lane::Edit | Lane::Resync => self.resyncs.push_back(key),
        }
    }

    /// One timer per key: the newest replaces the one before.
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

    /// A run makes the key's timer pointless: the run's end sets a new one.
    fn start(&mut self, key: K, lane: Lane) -> (K, Lane) {
        self.waiting.remove(&key);
        self.depth[lane as usize] -= 1;
        self.clear_timer(&key);
        self.resyncing += usize::from(lane == Lane::Resync);
        self.running.insert(key.clone(), (lane, None));
        (key, lane)
    }
}

/// The delay before try `failures + 1`.
fn backoff(failures: u32) -> Duration {
    BACKOFF_BASE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(BACKOFF_MAX)
}

/// The next multiple of `every` after `now`, counted from `start`: keys of one interval are due together, and their
/// looks at the cloud share calls.
fn next_tick(start: Instant, now: Instant, every: Duration) -> Instant {
    let every = every.max(Duration::from_millis(1));
    let ticks = (now - start).as_nanos() / every.as_nanos() + 1;
    let nanos = ticks.saturating_mul(every.as_nanos());
    start + u64::try_from(nanos).map_or(every, Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Queue<&'static str> {
        Queue::new(4)
    }

    async fn key(queue: &Queue<&'static str>) -> &'static str {
        queue.next().await.0
    }

    async fn nothing_is_due(queue: &Queue<&'static str>) -> bool {
        tokio::time::timeout(Duration::from_millis(1), queue.next()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_overtakes_every_resync() {
        let queue = queue();
        queue.add("a", Lane::Resync);
        queue.add("b", Lane::Resync);
        queue.add("c", Lane::Edit);
        queue.add("b", Lane::Edit);
        assert_eq!((queue.depth(Lane::Edit), queue.depth(Lane::Resync)), (2, 1));
        assert_eq!([key(&queue).await, key(&queue).await, key(&queue).await], ["c", "b", "a"]);
        assert!(nothing_is_due(&queue).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_never_runs_twice_at_once_and_is_not_forgotten() {
        let queue = queue();
        queue.add("a", Lane::Edit);
        assert_eq!(key(&queue).await, "a");
        queue.add("a", Lane::Edit);
        assert!(nothing_is_due(&queue).await);
        queue.done(&"a", Requeue::Never);
        assert_eq!(key(&queue).await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn some_runs_are_kept_for_edits() {
        let queue = queue();
        for key in ["a", "b", "c", "d"] {
            queue.add(key, Lane::Resync);
        }
        for _ in 0..3 {
            queue.next().await;
        }
        assert!(nothing_is_due(&queue).await);
        queue.add("edit", Lane::Edit);
        assert_eq!(key(&queue).await, "edit");
        queue.done(&"a", Requeue::Never);
        assert_eq!(key(&queue).await, "d");
    }

    #[tokio::test(start_paused = true)]
    async fn backoff_doubles_and_success_resets_it() {
        let queue = queue();
        queue.add("a", Lane::Edit);
        let mut key = queue.next().await.0;
        for (requeue, expected) in [
            (Requeue::Backoff, 250),
            (Requeue::Backoff, 500),
            (Requeue::Backoff, 1000),
            (Requeue::Soon(Duration::from_millis(1)), 1),
            (Requeue::Backoff, 250),
        ] {
            let before = Instant::now();
            queue.done(&key, requeue);
            key = queue.next().await.0;
            let waited = before.elapsed().as_millis();
            assert!((expected..=expected + 2).contains(&waited), "{waited} ms instead of {expected}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_passes_in_full_whatever_the_time_of_the_day() {
        let queue = queue();
        queue.add("a", Lane::Edit);
        let key = queue.next().await.0;
        // 8 s after the queue began, a tick of 9 s is only a second away.
        tokio::time::sleep(Duration::from_secs(8)).await;
        queue.done(&key, Requeue::After(Duration::from_secs(9)));
        let before = Instant::now();
        assert_eq!(queue.next().await.0, "a");
        let waited = before.elapsed();
        assert!(waited >= Duration::from_secs(9) && waited < Duration::from_millis(9010), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_resync_that_fails_stays_a_resync_and_an_edit_an_edit() {
        let queue = queue();
        queue.add("resync", Lane::Resync);
        queue.add("edit", Lane::Edit);
        for _ in 0..2 {
            queue.next().await;
        }
        queue.done(&"resync", Requeue::Backoff);
        queue.done(&"edit", Requeue::Backoff);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(queue.next().await, ("edit", Lane::Edit));
        assert_eq!(queue.next().await, ("resync", Lane::Resync));
        queue.done(&"resync", Requeue::After(Duration::from_secs(1)));
        assert_eq!(queue.next().await, ("resync", Lane::Resync));
    }

    #[tokio::test(start_paused = true)]
    async fn timers_of_one_interval_are_due_together() {
        let queue = queue();
        queue.add("a", Lane::Edit);
        queue.add("b", Lane::Edit);
        let a = key(&queue).await;
        queue.done(&a, Requeue::Tick(Duration::from_secs(10)));
        tokio::time::sleep(Duration::from_secs(3)).await;
        let b = key(&queue).await;
        queue.done(&b, Requeue::Tick(Duration::from_secs(10)));
        let first = key(&queue).await;
        let at = Instant::now();
        let second = key(&queue).await;
        assert_ne!(first, second);
        assert_eq!(at.elapsed(), Duration::ZERO);
    }
}
