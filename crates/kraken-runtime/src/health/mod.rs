//! The health of the process, for `/healthz` and `/readyz`.
//!
//! **Ready** means that every registered store has synced and every gate is open. It does not depend on the lease: if a
//! standby were not ready, a rolling update would never complete.
//!
//! **Healthy** means that a restart would not help. A watch may have no events for hours (kube-runtime reconnects
//! without an event), so this is not a failure. These are failures that a restart may solve:
//! - a watch loop that has ended, by a panic or a bug;
//! - a store that has not synced within [`SYNC_LIMIT`] of its registration;
//! - a watch that has failed repeatedly for [`FAILURE_LIMIT`] without an event in between.
//!
//! A watch that the API server rejects, because the CRD or a permission is missing, is no failure of the process: a restart does
//! not help, and would end in a crash loop.
//!
//! A watch that fails for longer than [`NOTICE`] makes the process unready, with its cause: a user who adds a missing CRD or
//! permission finds it there.
//!
//! A watch of a kind that another component brings is **optional**: while the API server does not serve the kind, there are no
//! such objects, and the process is ready without it, unless its flags need the kind.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

/// The watch of a store that has not synced after this time is stuck.
pub const SYNC_LIMIT: Duration = Duration::from_mins(10);
/// A watch that fails for this long without one event is stuck.
pub const FAILURE_LIMIT: Duration = Duration::from_mins(10);
/// A watch that fails for this long makes the process unready: longer than an API server needs to restart behind a load balancer.
pub const NOTICE: Duration = Duration::from_secs(10);
/// After this time without a failure, a watch has recovered: the backoff is at most 30 s, and a request takes at most
/// 60 s.
const FAILURE_GAP: Duration = Duration::from_mins(2);

/// The health of one process. Cloning it gives another handle of the same health.
#[derive(Clone, Debug, Default)]
pub struct Health {
    state: Arc<Mutex<State>>,
    /// Notified when a store has synced or a gate has opened.
    progress: Arc<Notify>,
    /// The health of the process that this one is a part of.
    whole: Option<Box<Health>>,
}

#[derive(Debug, Default)]
struct State {
    watches: Vec<Arc<Mutex<Watch>>>,
    gates: Vec<(String, Arc<AtomicBool>)>,
    warnings: Vec<String>,
    parts: Vec<Part>,
}

/// A part of the process: one of its controllers, or what starts while it runs.
#[derive(Debug)]
struct Part {
    state: Arc<Mutex<State>>,
    /// Whether the process is ready only when this part is.
    is_awaited: bool,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one watch")]
struct Watch {
    name: String,
    registered: Instant,
    synced: bool,
    ended: bool,
    /// The first and the last of the failures since the last event.
    failing: Option<(Instant, Instant)>,
    /// The cause of the last failure.
    cause: String,
    /// Whether the API server rejected the last attempt.
    rejected: bool,
    /// Whether the API server does not serve the kind, and the process works without it.
    absent: bool,
    /// Whether `/readyz` reports an absent kind.
    needed: bool,
}

impl Health {
    /// Registers a watch with a display name: `ConfigMap`, or `ConfigMap in team-a`. Its loop keeps the handle while it
    /// runs.
    pub fn register_watch(&self, name: impl Into<String>) -> WatchBeat {
        self.register(name.into(), true)
    }

    /// Registers the watch of an optional kind. `/readyz` reports that the kind is absent only if it is `needed`.
    pub fn register_optional_watch(&self, name: impl Into<String>, needed: bool) -> WatchBeat {
        self.register(name.into(), needed)
    }

    fn register(&self, name: String, needed: bool) -> WatchBeat {
        let watch = Watch {
            name,
            registered: Instant::now(),
            synced: false,
            ended: false,
            failing: None,
            cause: String::new(),
            rejected: false,
            absent: false,
            needed,
        };
        let watch = Arc::new(Mutex::new(watch));
        self.state.lock().watches.push(watch.clone());
        WatchBeat { watch, progress: self.progress.clone() }
    }

    /// The health of a controller of the process, which may have others. It waits for its own stores only, and the process is ready
    /// when all its controllers are.
    #[must_use]
    pub fn member(&self) -> Self {
        self.with_part(true)
    }

    /// The health of a part of the process that starts while the process runs. Its stores are awaited by itself only: the process
    /// stays ready while they sync. A watch of it that fails for longer than [`NOTICE`] is reported like any other.
    #[must_use]
    pub fn part(&self) -> Self {
        self.with_part(false)
    }

    fn with_part(&self, is_awaited: bool) -> Self {
        let state = Arc::<Mutex<State>>::default();
        self.state.lock().parts.push(Part { state: state.clone(), is_awaited });
        Self { state, progress: self.progress.clone(), whole: Some(Box::new(self.clone())) }
    }

    /// Ends a [part](Self::part): what happens to its watches from now on is no failure.
    pub fn retire(&self) {
        if let Some(whole) = &self.whole {
            whole.state.lock().parts.retain(|part| !Arc::ptr_eq(&part.state, &self.state));
        }
    }

    /// Registers another prerequisite for readiness, such as `webhook certificate`. One is registered before the port opens, and each
    /// further one before the last has opened: a process without prerequisites is ready.
    pub fn gate(&self, name: impl Into<String>) -> Gate {
        let open = Arc::new(AtomicBool::new(false));
        self.state.lock().gates.push((name.into(), open.clone()));
        Gate { open, progress: self.progress.clone() }
    }

    /// Adds a warning: `/readyz` shows it, and readiness does not depend on it.
    pub fn warn(&self, warning: impl Into<String>) {
        self.state.lock().warnings.push(warning.into());
    }

    /// The warnings, oldest first.
    pub fn warnings(&self) -> Vec<String> {
        self.state.lock().warnings.clone()
    }

    /// The prerequisites for readiness that are missing, in the order of registration; empty if the process, or this part of it, is
    /// ready.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = self.whole.as_ref().map(|whole| whole.missing()).unwrap_or_default();
        missing.extend(self.state.lock().missing());
        missing
    }

    /// Why the process is not ready: missing prerequisites, absent kinds that are needed, and watches that synced and have failed
    /// since.
    pub fn not_ready(&self, now: Instant) -> Vec<String> {
        let mut reported = self.whole.as_ref().map(|whole| whole.missing()).unwrap_or_default();
        reported.extend(self.state.lock().not_ready(now));
        // Several controllers wait for the same API server and kinds.
        let mut seen = BTreeSet::new();
        reported.retain(|line| seen.insert(line.clone()));
        reported
    }

    /// Waits until nothing is missing: before that, the stores are incomplete.
    pub async fn ready(&self) {
        loop {
            let mut progress = std::pin::pin!(self.progress.notified());
            // Subscribe before checking, or the last notification could be missed.
            progress.as_mut().enable();
            if self.missing().is_empty() {
                return;
            }
            progress.await;
        }
    }

    /// Failures that a restart may solve; empty if the process is healthy.
    pub fn faults(&self, now: Instant) -> Vec<String> {
        self.state.lock().faults(now)
    }
}

impl State {
    fn missing(&self) -> Vec<String> {
        let closed = self.gates.iter().filter(|(_, open)| !open.load(Ordering::Acquire));
        let closed = closed.map(|(name, _)| name.clone());
        let watches = self.watches.iter().map(|watch| watch.lock());
        let unsynced = watches.filter(|watch| !watch.synced && !watch.absent).map(|watch| watch.unsynced());
        closed.chain(unsynced).collect()
    }

    fn not_ready(&self, now: Instant) -> Vec<String> {
        let failing = |watch: &Arc<Mutex<Watch>>| {
            let watch = watch.lock();
            if watch.absent { watch.needed.then(|| watch.unsynced()) } else { watch.failing_since(now) }
        };
        let mut reported = self.missing();
        reported.extend(self.watches.iter().filter_map(failing));
        reported.extend(self.parts.iter().flat_map(|Part { state, is_awaited }| {
            let state = state.lock();
            if *is_awaited { state.not_ready(now) } else { state.failing_for_long(now) }
        }));
        reported
    }

    fn faults(&self, now: Instant) -> Vec<String> {
        let mut faults: Vec<String> =
            self.watches.iter().filter_map(|watch| watch.lock().fault(now)).collect();
        faults.extend(self.parts.iter().flat_map(|part| part.state.lock().faults(now)));
        faults
    }

    fn failing_for_long(&self, now: Instant) -> Vec<String> {
        let own = self.watches.iter().filter_map(|watch| watch.lock().failing_for_long(now));
        own.chain(self.parts.iter().flat_map(|part| part.state.lock().failing_for_long(now))).collect()
    }
}

impl Watch {
    /// Whether the last attempt failed, recently enough that the loop still runs.
    fn is_failing(&self, now: Instant) -> bool {
        self.failing.is_some_and(|(_, last)| now.duration_since(last) <= FAILURE_GAP)
    }

    /// The message of `/readyz` about a watch that has not synced.
    fn unsynced(&self) -> String {
        match self.failing {
            Some(_) => format!("{} has not synced: {}", self.name, self.cause),
            None => format!("{} has not synced", self.name),
        }
    }

    fn fault(&self, now: Instant) -> Option<String> {
        let name = &self.name;
        let minutes = |length: Duration| length.as_secs() / 60;
        if self.ended {
            return Some(format!("the watch of {name} has ended"));
        }
        // No restart helps against a rejection, and of a kind that is not served, another failure is no news.
        if (self.rejected || self.absent) && self.is_failing(now) {
            return None;
        }
        if !self.synced && now.duration_since(self.registered) > SYNC_LIMIT {
            return Some(format!("{name} has not synced in {} minutes", minutes(SYNC_LIMIT)));
        }
        let (first, last) = self.failing?;
        (now.duration_since(first) > FAILURE_LIMIT && now.duration_since(last) <= FAILURE_GAP)
            .then(|| format!("the watch of {name} has failed for {} minutes", minutes(FAILURE_LIMIT)))
    }

    /// The message of `/readyz` about a watch that has synced once.
    fn failing_since(&self, now: Instant) -> Option<String> {
        self.failing_for_long(now).filter(|_| self.synced)
    }

    fn failing_for_long(&self, now: Instant) -> Option<String> {
        let (first, last) = self.failing?;
        let length = now.duration_since(first);
        // A watch that resumes has no event while nothing changes: a single failure is none.
        (last.duration_since(first) > NOTICE && now.duration_since(last) <= FAILURE_GAP).then(|| {
            format!("the watch of {} has failed for {} s: {}", self.name, length.as_secs(), self.cause)
        })
    }

    fn failed(&mut self, now: Instant) {
        self.failing = match self.failing {
            Some((first, last)) if now.duration_since(last) <= FAILURE_GAP => Some((first, now)),
            _ => Some((now, now)),
        };
    }
}

/// The handle of a watch loop. Dropping it means that the loop has ended, which makes the process unhealthy.
#[derive(Debug)]
#[must_use = "a dropped handle means that the watch has ended"]
pub struct WatchBeat {
    watch: Arc<Mutex<Watch>>,
    progress: Arc<Notify>,
}

impl WatchBeat {
    /// The store is synced.
    pub fn synced(&self) {
        let mut watch = self.watch.lock();
        watch.synced = true;
        watch.absent = false;
        watch.failing = None;
        drop(watch);
        self.progress.notify_waiters();
    }

    /// An event arrived.
    pub fn beat(&self) {
        self.watch.lock().failing = None;
    }

    /// The watch failed and will be retried.
    pub fn failed(&self, cause: &str) {
        self.record(cause, false);
    }

    /// The API server rejected the watch: the CRD or a permission is missing. It will be retried.
    pub fn rejected(&self, cause: &str) {
        self.record(cause, true);
    }

    /// The API server does not serve this optional kind. It will be retried.
    pub fn absent(&self, cause: &str) {
        self.record(cause, true);
        self.watch.lock().absent = true;
        self.progress.notify_waiters();
    }

    fn record(&self, cause: &str, rejected: bool) {
        let mut watch = self.watch.lock();
        watch.failed(Instant::now());
        watch.rejected = rejected;
        cause.clone_into(&mut watch.cause);
    }
}

impl Drop for WatchBeat {
    fn drop(&mut self) {
        self.watch.lock().ended = true;
    }
}

/// A prerequisite for readiness. That of no process, by default.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    open: Arc<AtomicBool>,
    progress: Arc<Notify>,
}

impl Gate {
    /// Opens the gate.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
        self.progress.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
