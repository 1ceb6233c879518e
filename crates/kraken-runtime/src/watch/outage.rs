//! The backoff of one watch, and the reporting of its failures.

use std::time::Duration;

use kube::runtime::watcher;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::{errors::one_line, health::WatchBeat};

/// The delay after the first failure of a watch; it doubles with each further failure.
const BACKOFF_BASE: Duration = Duration::from_millis(800);
/// The maximum delay between two attempts of one watch.
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// A watch without a failure for this time works, even without events.
const QUIET: Duration = Duration::from_mins(2);

/// The failures of one watch since it last worked: a completed list or an event ends an outage, an attempt does not.
#[derive(Debug, Default)]
pub(super) struct Outage {
    failures: u32,
    last: Option<Instant>,
}

impl Outage {
    /// Records a failure and returns the delay before the next attempt. It is logged once per outage: a watch is
    /// retried indefinitely, and `/readyz` and the metric report the outage.
    pub(super) fn failed(
        &mut self,
        kind: &'static str,
        error: &watcher::Error,
        beat: &WatchBeat,
    ) -> Duration {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) > QUIET) {
            self.failures = 0;
        }
        self.last = Some(now);
        let why = cause(error);
        if self.failures == 0 {
            warn!(
                kind,
                error = why,
                "failed to watch; retrying with backoff: is the CRD installed and the RBAC complete?"
            );
        } else {
            debug!(kind, error = why, failures = self.failures, "failed to watch again");
        }
        if is_rejected(error) {
            beat.rejected(&why);
        } else {
            beat.failed(&why);
        }
        let delay = BACKOFF_BASE.saturating_mul(1 << self.failures.min(16)).min(BACKOFF_MAX);
        self.failures = self.failures.saturating_add(1);
        delay
    }

    pub(super) fn ended(&mut self, kind: &'static str) {
        if std::mem::take(&mut self.failures) > 0 {
            info!(kind, "the watch has recovered");
        }
        self.last = None;
    }
}

/// Whether the CRD or a permission is missing.
fn is_rejected(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(source)
    | watcher::Error::WatchStartFailed(source)
    | watcher::Error::WatchFailed(source)) = error
    else {
        return false;
    };
    matches!(source, kube::Error::Api(status) if [403, 404].contains(&status.code))
}

/// Why a watch failed, in one line and without the body of a response.
fn cause(error: &watcher::Error) -> String {
    let text = one_line(error);
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
            format!("{text}: the API server does not serve this kind; is its CRD installed?")
        }
        _ => text,
    }
}
