//! One simulator for tests: its start, its scripted failures, and its journal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use jiff::Timestamp;
use tokio::time::Instant;

use super::failure::{FailureMode, FailurePoint};
use super::journal::{Call, CallDecision, Phase};
use super::options::SimulatorOptions;
use super::record::InstanceRecord;
use super::script::Script;
use super::serve::ServerThread;
use super::shared::Shared;
use super::{served, server};

/// 2026-01-01T00:00:00Z
const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// A running simulator; stopped on drop.
#[derive(Debug)]
pub struct Simulator {
    /// `None` if it has no thread.
    server: Option<ServerThread>,
    pub(super) shared: Arc<Shared>,
}

impl Simulator {
    /// Starts one with an empty account.
    ///
    /// # Errors
    /// When no port or thread is available.
    pub fn start(options: SimulatorOptions) -> Result<Self> {
        let listen = options.listen;
        let shared = Arc::new(Shared::new(options));
        served::register(&shared);
        let served = Arc::clone(&shared);
        let run = move |listener, stopped| server::run(listener, served, stopped);
        Ok(Self { server: Some(ServerThread::start("simulator", listen, run)?), shared })
    }

    /// One without a thread and a socket, for [`Simulator::connector`]. Its clock is that of the runtime in which it is made and
    /// used, even if it is paused. By default, it starts at the beginning of 2026.
    pub fn in_process(mut options: SimulatorOptions) -> Self {
        options.epoch.get_or_insert(EPOCH);
        let shared = Arc::new(Shared::new(options));
        Self { server: None, shared }
    }

    /// The URL on which it listens; empty if it does not listen.
    pub fn endpoint(&self) -> &str {
        self.server.as_ref().map_or("", ServerThread::endpoint)
    }

    /// All calls and out-of-band changes, in the order of effects.
    pub fn journal(&self) -> Vec<Call> {
        self.shared.lock().journal.clone()
    }

    /// How many calls of an action (`*`: of any) are in the journal.
    pub fn count(&self, action: &str) -> usize {
        let state = self.shared.lock();
        let counted = |call: &&Call| !call.out_of_band && (action == "*" || call.action == action);
        state.journal.iter().filter(counted).count()
    }

    /// Clears the journal; the objects remain.
    pub fn clear_journal(&self) {
        self.shared.lock().journal.clear();
    }

    /// All current and former instances, oldest first.
    pub fn instances(&self) -> Vec<InstanceRecord> {
        self.shared.lock().records(Instant::now())
    }

    /// The number of live instances by the value of a tag: for checks by owner.
    pub fn alive_by_tag(&self, key: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for record in self.instances().iter().filter(|record| record.instance.is_alive()) {
            if let Some(value) = record.instance.tags.get(key) {
                *counts.entry(value.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// Changes its behaviour from now on. Transitions in progress are not affected.
    pub fn configure(&self, change: impl FnOnce(&mut SimulatorOptions)) {
        change(&mut self.shared.lock().cloud.options);
    }

    /// The next new launch gets at most this number of instances; fewer than its `MinCount` is an error.
    pub fn limit_next_launch(&self, most: usize) {
        self.shared.lock().cloud.next_launch = Some(most);
    }

    /// The next call of `action` (`*`: of any) fails this way; each call of this function adds one failure.
    pub fn fail_next(&self, action: &str, when: FailurePoint, how: FailureMode) {
        self.shared.lock().script.push(action, 0, false, when, how);
    }

    /// The `number`-th call of `action` from now on (1 is the next) fails this way.
    pub fn fail_nth(&self, action: &str, number: usize, when: FailurePoint, how: FailureMode) {
        self.shared.lock().script.push(action, number.saturating_sub(1), false, when, how);
    }

    /// All calls of `action` fail this way until [`Simulator::clear_failures`].
    pub fn fail_always(&self, action: &str, when: FailurePoint, how: FailureMode) {
        self.shared.lock().script.push(action, 0, true, when, how);
    }

    /// Every call is rejected as with expired credentials until [`Simulator::clear_failures`].
    pub fn expire_credentials(&self) {
        self.fail_always(
            "*",
            FailurePoint::Before,
            FailureMode::error(400, "RequestExpired", "Request has expired."),
        );
    }

    /// Clears all scripted failures.
    pub fn clear_failures(&self) {
        self.shared.lock().script = Script::default();
    }

    /// How many scripted single failures were not used yet.
    pub fn pending_failures(&self) -> usize {
        self.shared.lock().script.pending()
    }

    /// Runs `hook` before and after the effect of every call over HTTP, and replaces the previous hook.
    pub fn on_call(&self, hook: impl Fn(Phase, &Call) -> CallDecision + Send + Sync + 'static) {
        self.shared.set_hook(Some(Arc::new(hook)));
    }

    /// Removes the hook.
    pub fn clear_hook(&self) {
        self.shared.set_hook(None);
    }

    /// Waits until `number` calls of `action` (`*`: of any) are in the journal.
    ///
    /// # Errors
    /// When that has not happened within `limit`.
    pub async fn wait_for(&self, action: &str, number: usize, limit: Duration) -> Result<()> {
        let started = Instant::now();
        loop {
            let seen = self.count(action);
            if seen >= number {
                return Ok(());
            }
            if started.elapsed() > limit {
                bail!("saw {seen} calls of {action} in {} s, not {number}", limit.as_secs_f64());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
