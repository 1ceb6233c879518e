//! What all handles of a server share: the kinds, the clock, the objects, and what waits for a write.

use std::{collections::BTreeMap, sync::Arc, task::Waker, time::Duration};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    kinds::Kinds,
    store::Store,
    time::{self, Clock},
    uids::Uids,
};

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) kinds: Arc<Kinds>,
    pub(super) clock: Clock,
    pub(super) state: Mutex<State>,
    /// Notifies the controllers of a change.
    pub(super) changed: Arc<Notify>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) store: Store,
    pub(super) uids: Uids,
    /// The watches that wait for a write, by kind.
    pub(super) sleepers: Vec<BTreeMap<u64, Waker>>,
    pub(super) next_watch: u64,
    pub(super) next_client: u64,
    /// How often all watches were cut.
    pub(super) cuts: u64,
    /// How often those of one client were cut.
    pub(super) cuts_of: BTreeMap<u64, u64>,
    /// How often the history was thrown away.
    pub(super) compactions: u64,
    /// How far the cache is behind from which lists at version 0 are answered.
    pub(super) cache_lag: Option<Duration>,
    /// How far the watches of a client are behind, by kind.
    pub(super) lags: BTreeMap<(u64, usize), Duration>,
    /// The number of changes that concern the controllers of Kubernetes.
    pub(super) controller_changes: u64,
    pub(super) changed: Arc<Notify>,
}

impl Inner {
    /// The time, as objects have it.
    pub(super) fn now(&self) -> String {
        time::text((self.clock)())
    }
}

impl State {
    /// Something of this kind was written.
    pub(super) fn notify_watches(&mut self, kind: usize) {
        if let Some(sleepers) = self.sleepers.get_mut(kind) {
            for waker in std::mem::take(sleepers).into_values() {
                waker.wake();
            }
        }
    }

    /// Something happened that concerns the controllers of Kubernetes.
    pub(super) fn notify_controllers(&mut self) {
        self.controller_changes += 1;
        self.changed.notify_waiters();
    }

    pub(super) fn notify_all_watches(&mut self) {
        for sleepers in &mut self.sleepers {
            for waker in std::mem::take(sleepers).into_values() {
                waker.wake();
            }
        }
    }

    pub(super) fn sleep(&mut self, kind: usize, watch: u64, waker: Waker) {
        if let Some(sleepers) = self.sleepers.get_mut(kind) {
            sleepers.insert(watch, waker);
        }
    }

    pub(super) fn forget(&mut self, kind: usize, watch: u64) {
        if let Some(sleepers) = self.sleepers.get_mut(kind) {
            sleepers.remove(&watch);
        }
    }

    /// How often the watches of a client were cut.
    pub(super) fn cuts(&self, client: u64) -> u64 {
        self.cuts + self.cuts_of.get(&client).copied().unwrap_or_default()
    }

    pub(super) fn lag(&self, client: u64, kind: usize) -> Duration {
        self.lags.get(&(client, kind)).copied().unwrap_or_default()
    }
}
