//! Whether the process works: what `/healthz` and `/readyz` answer from.
//!
//! **Ready** means that every registered store has synced and every gate is open. It does not depend on the
//! lease: a standby is as ready as the leader, or a rolling update would never end.
//!
//! **Healthy** means that a restart would not help. A quiet watch says nothing for hours (kube-runtime
//! reconnects without an event), so silence is no fault. These are, because a fresh process has a chance to
//! do better:
//! - a watch loop that has ended, by a panic or a mistake;
//! - a store that has not synced within [`SYNC_LIMIT`] of its registration;
//! - a watch that has failed again and again for [`FAILURE_LIMIT`] with no event between.
//!
//! A watch that fails for longer than [`NOTICE`] is a reason not to be ready, named with its cause: a missing CRD or right is
//! mended by people, who look there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

/// A store that has not synced after this time will not: its watch is stuck.
pub const SYNC_LIMIT: Duration = Duration::from_mins(10);
/// A watch that fails for this long without one event is stuck.
pub const FAILURE_LIMIT: Duration = Duration::from_mins(10);
/// A watch that fails for this long is named by `/readyz`.
pub const NOTICE: Duration = Duration::from_mins(1);
/// A failure this long ago was the last one: backoff between tries is at most 30 s, and a request at most 60
/// s.
const FAILURE_GAP: Duration = Duration::from_mins(2);

/// The health of one process. Cloning it gives another handle of the same health.
#[derive(Clone, Debug, Default)]
pub struct Health {
    state: Arc<Mutex<State>>,
    /// Rung whenever something that was missing has come.
    progress: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    watches: Vec<Arc<Mutex<Watch>>>,
    gates: Vec<(String, Arc<AtomicBool>)>,
}

#[derive(Debug)]
struct Watch {
    name: String,
    registered: Instant,
    synced: bool,
    ended: bool,
    /// The first and the last of the failures since the last event.
    failing: Option<(Instant, Instant)>,
    /// Why the last one failed.
    cause: String,
}

impl Health {
    /// Announces a watch, named for people: `ConfigMap`, or `ConfigMap in team-a`. Its loop keeps the handle
    /// for as long as it runs.
    pub fn register_watch(&self, name: impl Into<String>) -> WatchBeat {
        let watch = Watch {
            name: name.into(),
            registered: Instant::now(),
            synced: false,
            ended: false,
            failing: None,
            cause: String::new(),
        };
        let watch = Arc::new(Mutex::new(watch));
        self.state.lock().watches.push(watch.clone());
        WatchBeat { watch, progress: self.progress.clone() }
    }

    /// Announces something else to wait for before the process is ready, such as `webhook certificate`.
    pub fn gate(&self, name: impl Into<String>) -> Gate {
        let open = Arc::new(AtomicBool::new(false));
        self.state.lock().gates.push((name.into(), open.clone()));
        Gate { open, progress: self.progress.clone() }
    }

    /// What is missing before the process is ready, in the order of registration; nothing when it is.
    pub fn missing(&self) -> Vec<String> {
        let state = self.state.lock();
        let closed = state.gates.iter().filter(|(_, open)| !open.load(Ordering::Acquire));
        let closed = closed.map(|(name, _)| name.clone());
        let unsynced = state.watches.iter().map(|watch| watch.lock()).filter(|watch| !watch.synced);
        let unsynced = unsynced.map(|watch| match watch.failing {
            Some(_) => format!("{} has not synced: {}", watch.name, watch.cause),
            None => format!("{} has not synced", watch.name),
        });
        closed.chain(unsynced).collect()
    }

    /// Why the process is not ready, if it is not: what is missing, and what has synced and fails since.
    pub fn not_ready(&self, now: Instant) -> Vec<String> {
        let failing = |watch: &Arc<Mutex<Watch>>| watch.lock().failing_since(now);
        let failing: Vec<String> = self.state.lock().watches.iter().filter_map(failing).collect();
        self.missing().into_iter().chain(failing).collect()
    }

    /// Waits until nothing is missing: before that, a store does not show what exists.
    pub async fn ready(&self) {
        loop {
            let mut progress = std::pin::pin!(self.progress.notified());
            // Listening must begin before looking, or the last ring could be missed.
            progress.as_mut().enable();
            if self.missing().is_empty() {
                return;
            }
            progress.await;
        }
    }

    /// What only a restart may cure at this time; nothing when the process is healthy.
    pub fn faults(&self, now: Instant) -> Vec<String> {
        self.state.lock().watches.iter().filter_map(|watch| watch.lock().fault(now)).collect()
    }
}

impl Watch {
    fn fault(&self, now: Instant) -> Option<String> {
        let name = &self.name;
        let minutes = |length: Duration| length.as_secs() / 60;
        if self.ended {
            return Some(format!("the watch of {name} has ended"));
        }
        if !self.synced && now.duration_since(self.registered) > SYNC_LIMIT {
            return Some(format!("{name} has not synced in {} minutes", minutes(SYNC_LIMIT)));
        }
        let (first, last) = self.failing?;
        (now.duration_since(first) > FAILURE_LIMIT && now.duration_since(last) <= FAILURE_GAP)
            .then(|| format!("the watch of {name} has failed for {} minutes", minutes(FAILURE_LIMIT)))
    }

    /// What `/readyz` says of a watch that has synced once.
    fn failing_since(&self, now: Instant) -> Option<String> {
        let (first, last) = self.failing.filter(|_| self.synced)?;
        let length = now.duration_since(first);
        (length > NOTICE && now.duration_since(last) <= FAILURE_GAP)
            .then(|| format!("the watch of {} fails since {} s: {}", self.name, length.as_secs(), self.cause))
    }

    fn failed(&mut self, now: Instant) {
        self.failing = match self.failing {
            Some((first, last)) if now.duration_since(last) <= FAILURE_GAP => Some((first, now)),
            _ => Some((now, now)),
        };
    }
}

/// One watch loop's handle. Dropping it says that the loop has ended, which makes the process unhealthy.
#[derive(Debug)]
#[must_use = "a dropped handle says that the watch has ended"]
pub struct WatchBeat {
    watch: Arc<Mutex<Watch>>,
    progress: Arc<Notify>,
}

impl WatchBeat {
    /// The store holds everything there is.
    pub fn synced(&self) {
        let mut watch = self.watch.lock();
        watch.synced = true;
        watch.failing = None;
        drop(watch);
        self.progress.notify_waiters();
    }

    /// An event arrived.
    pub fn beat(&self) {
        self.watch.lock().failing = None;
    }

    /// The watch failed and will try again.
    pub fn failed(&self, cause: &str) {
        let mut watch = self.watch.lock();
        watch.failed(Instant::now());
        cause.clone_into(&mut watch.cause);
    }
}

impl Drop for WatchBeat {
    fn drop(&mut self) {
        self.watch.lock().ended = true;
    }
}

/// Something that must have happened before the process is ready.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<AtomicBool>,
    progress: Arc<Notify>,
}

impl Gate {
    /// It has happened.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
        self.progress.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn ready_once_every_store_has_synced_and_every_gate_is_open() {
        let health = Health::default();
        let gate = health.gate("webhook certificate");
        let (secrets, maps) = (health.register_watch("Secret"), health.register_watch("ConfigMap"));
        maps.synced();
        assert_eq!(health.missing(), ["webhook certificate", "Secret has not synced"]);
        gate.open();
        secrets.synced();
        assert!(health.missing().is_empty());
    }

    #[tokio::test]
    async fn whoever_waits_for_readiness_is_woken_by_the_last_thing_missing() {
        let health = Health::default();
        let gate = health.gate("webhook certificate");
        let watch = health.register_watch("Secret");
        let waiting = tokio::spawn({
            let health = health.clone();
            async move { health.ready().await }
        });
        watch.synced();
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        gate.open();
        waiting.await.unwrap();
    }

    #[test]
    fn a_quiet_watch_is_healthy_for_ever() {
        let health = Health::default();
        let watch = health.register_watch("Secret");
        watch.synced();
        assert!(health.faults(Instant::now() + MINUTE * 10_000).is_empty());
    }

    #[test]
    fn a_store_that_never_syncs_is_a_fault_after_ten_minutes() {
        let health = Health::default();
        let _watch = health.register_watch("Secret");
        assert!(health.faults(Instant::now() + MINUTE * 9).is_empty());
        assert_eq!(health.faults(Instant::now() + MINUTE * 11), ["Secret has not synced in 10 minutes"]);
    }

    #[test]
    fn an_ended_watch_is_a_fault_at_once() {
        let health = Health::default();
        let watch = health.register_watch("Secret");
        watch.synced();
        drop(watch);
        assert_eq!(health.faults(Instant::now()), ["the watch of Secret has ended"]);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_a_fault_only_without_a_pause_and_without_an_event() {
        let health = Health::default();
        let watch = health.register_watch("Secret");
        watch.synced();
        let fail_for = async |minutes: u32| {
            for _ in 0..minutes {
                watch.failed("forbidden");
                tokio::time::sleep(MINUTE).await;
            }
        };
        fail_for(9).await;
        assert!(health.faults(Instant::now()).is_empty(), "not long enough");
        tokio::time::sleep(MINUTE * 30).await;
        assert!(health.faults(Instant::now()).is_empty(), "it recovered in silence");
        fail_for(12).await;
        let named = ["the watch of Secret fails since 720 s: forbidden"];
        assert_eq!(health.not_ready(Instant::now()), named);
        assert_eq!(health.faults(Instant::now()), ["the watch of Secret has failed for 10 minutes"]);
        watch.beat();
        assert!(health.faults(Instant::now()).is_empty(), "an event came");
        assert!(health.not_ready(Instant::now()).is_empty(), "an event came");
    }
}
