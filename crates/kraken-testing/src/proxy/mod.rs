//! A reverse proxy in front of moto: counts and records calls by `Action`, and injects scripted failures.
//!
//! It runs on a separate thread, as [`ServerThread`] describes.

mod script;
mod server;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kraken_simulator::serve::ServerThread;
use kraken_simulator::{FailureMode, FailurePoint};

use script::{Fault, Script};

/// One call that the proxy received.
#[derive(Debug, Clone)]
pub struct Call {
    /// When it arrived.
    pub at: Instant,
    /// `RunInstances`, `DescribeInstances`, ...
    pub action: String,
    /// The status of moto's response; for a call that never reached moto the scripted one, `None` if dropped.
    pub status: Option<u16>,
    /// From its arrival until moto's response (a scripted delay after that is not counted).
    pub duration: Duration,
}

/// A running proxy; stopped on drop.
#[derive(Debug)]
pub struct Proxy {
    server: ServerThread,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    journal: Vec<Call>,
    arrived: BTreeMap<String, u64>,
    script: Script,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// Starts a proxy to `upstream` (`http://127.0.0.1:<port>`) on a free port.
    ///
    /// # Errors
    /// When no port or thread is available.
    pub fn start(upstream: &str) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (upstream, seen) = (upstream.trim_end_matches('/').to_owned(), Arc::clone(&shared));
        let run = move |listener, stopped| server::run(listener, upstream, seen, stopped);
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self { server: ServerThread::start("AWS proxy", listen, run)?, shared })
    }

    /// The URL on which it listens.
    pub fn endpoint(&self) -> &str {
        self.server.endpoint()
    }

    /// How many calls arrived, by action.
    pub fn calls(&self) -> BTreeMap<String, u64> {
        self.shared.lock().arrived.clone()
    }

    /// How many calls of one action arrived.
    pub fn count(&self, action: &str) -> u64 {
        self.shared.lock().arrived.get(action).copied().unwrap_or_default()
    }

    /// Every call so far, in the order of moto's responses.
    pub fn journal(&self) -> Vec<Call> {
        self.shared.lock().journal.clone()
    }

    /// What was created and not deleted, by the successful calls so far, such as `2 of CreateQueue`.
    pub fn left(&self) -> Vec<String> {
        let mut created: BTreeMap<String, i64> = BTreeMap::new();
        for call in self.journal() {
            if !call.status.is_some_and(|status| (200..300).contains(&status)) {
                continue;
            }
            let action = call.action.as_str();
            if let Some(what) = action.strip_prefix("Delete") {
                *created.entry(what.to_owned()).or_default() -= 1;
            } else if let Some(what) = created_by(action) {
                *created.entry(what.to_owned()).or_default() += 1;
            }
        }
        created
            .into_iter()
            .filter(|(_, number)| *number > 0)
            .map(|(what, number)| format!("{number} {what}"))
            .collect()
    }

    /// The deletions that AWS rejected so far: those that were requested too early.
    pub fn rejected_deletions(&self) -> Vec<String> {
        let is_rejected = |call: &Call| call.status.is_some_and(|status| (400..500).contains(&status));
        let rejected =
            self.journal().into_iter().filter(|call| call.action.starts_with("Delete") && is_rejected(call));
        rejected.map(|call| call.action).collect()
    }

    /// Clears counts and journal; scripted failures remain.
    pub fn clear(&self) {
        let mut state = self.shared.lock();
        state.journal.clear();
        state.arrived.clear();
    }

    /// The next call of `action` (`*`: of any) fails this way; each call of this function adds one failure.
    pub fn fail_next(&self, action: &str, when: FailurePoint, how: FailureMode) {
        self.shared.lock().script.push(action, Fault { when, how }, Some(1));
    }

    /// All calls of `action` (`*`: of any) fail this way until [`Proxy::clear_failures`].
    pub fn fail_always(&self, action: &str, when: FailurePoint, how: FailureMode) {
        self.shared.lock().script.push(action, Fault { when, how }, None);
    }

    /// Clears all scripted failures.
    pub fn clear_failures(&self) {
        self.shared.lock().script = Script::default();
    }

    /// How many scripted single failures were not used yet.
    pub fn pending_failures(&self) -> usize {
        self.shared.lock().script.pending()
    }

    /// Waits until moto has responded to `number` calls of `action` (those failed before they reached it count too).
    ///
    /// # Errors
    /// When that has not happened within `limit`.
    pub async fn wait_for(&self, action: &str, number: usize, limit: Duration) -> Result<()> {
        let started = Instant::now();
        loop {
            let seen = self.shared.lock().journal.iter().filter(|call| call.action == action).count();
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
/// What a call creates that has to be deleted by a call of its own.
fn created_by(action: &str) -> Option<&str> {
    match action {
        "RequestCertificate" => Some("Certificate"),
        // They belong to an object.
        "CreateTags" | "CreateOrUpdateTags" | "CreateLaunchTemplateVersion" | "CreateRoute" => None,
        other => other.strip_prefix("Create"),
    }
}
