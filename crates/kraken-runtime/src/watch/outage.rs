//! The backoff of one watch, and the reporting of its failures.

use std::time::Duration;

use kube::{core::Status, runtime::watcher};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::{errors::one_line, health::WatchBeat};

/// The delay after the first failure of a watch; it doubles with each further failure.
const BACKOFF_BASE: Duration = Duration::from_millis(800);
/// The maximum delay between two attempts of one watch.
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// The same while the API server does not serve the kind: the rejection is cheap, and whoever installs the CRD waits for it.
const NOT_SERVED_MAX: Duration = Duration::from_secs(5);
/// A watch without a failure for this time works, even without events.
const QUIET: Duration = Duration::from_mins(2);

/// The failures of one watch since it last worked: a completed list or an event ends an outage, an attempt does not.
#[derive(Debug, Default)]
pub(super) struct Outage {
    failures: u32,
    last: Option<Instant>,
}

/// What a failure means for a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The API server does not serve an optional kind.
    Absent,
    /// The CRD or a permission is missing.
    Rejected,
    /// It may succeed when it is repeated.
    Passing,
}

impl Outage {
    /// Records a failure and returns the delay before the next attempt. It is logged once per outage: a watch is
    /// retried indefinitely, and `/readyz` and the metric report the outage. `optional` is whether the process works without
    /// the kind as long as the API server does not serve it.
    pub(super) fn failed(
        &mut self,
        kind: &'static str,
        error: &watcher::Error,
        beat: &WatchBeat,
        optional: bool,
    ) -> (Failure, Duration) {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) > QUIET) {
            self.failures = 0;
        }
        self.last = Some(now);
        let why = cause(error);
        let not_served = is_not_served(error);
        let failure = match error {
            _ if optional && not_served => Failure::Absent,
            _ if is_rejected(error) => Failure::Rejected,
            _ => Failure::Passing,
        };
        match (self.failures, failure) {
            (0, Failure::Absent) => {
                info!(
                    kind,
                    "the API server does not serve this kind; working without it until its CRD is installed"
                );
            }
            (0, _) => warn!(
                kind,
                error = why,
                "failed to watch; retrying with backoff: is the CRD installed and the RBAC complete?"
            ),
            _ => debug!(kind, error = why, failures = self.failures, "failed to watch again"),
        }
        match failure {
            Failure::Absent => beat.absent(&why),
            Failure::Rejected => beat.rejected(&why),
            Failure::Passing => beat.failed(&why),
        }
        if let Some(delay) = requested_delay(error) {
            return (failure, delay);
        }
        let max = if not_served { NOT_SERVED_MAX } else { BACKOFF_MAX };
        let delay = BACKOFF_BASE.saturating_mul(1 << self.failures.min(16)).min(max);
        self.failures = self.failures.saturating_add(1);
        (failure, delay)
    }

    pub(super) fn ended(&mut self, kind: &'static str) {
        if std::mem::take(&mut self.failures) > 0 {
            info!(kind, "the watch has recovered");
        }
        self.last = None;
    }
}

/// The error response of the API server.
fn response(error: &watcher::Error) -> Option<&Status> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status),
        _ => None,
    }
}

/// Whether the CRD or a permission is missing.
fn is_rejected(error: &watcher::Error) -> bool {
    response(error).is_some_and(|status| [403, 404].contains(&status.code))
}

/// Whether the API server does not serve the kind.
fn is_not_served(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(_))
        && response(error).is_some_and(|status| status.code == 404)
}

/// The delay that the API server asks for, which is no failure of the watch: "storage is (re)initializing" for some seconds
/// after a CRD is created.
fn requested_delay(error: &watcher::Error) -> Option<Duration> {
    let status = response(error).filter(|status| status.code == 429)?;
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    Some(Duration::from_secs(seconds.into()).clamp(BACKOFF_BASE, BACKOFF_MAX))
}

/// Why a watch failed, in one line and without the body of a response.
fn cause(error: &watcher::Error) -> String {
    let text = one_line(error);
    if is_not_served(error) {
        return format!("{text}: the API server does not serve this kind; is its CRD installed?");
    }
    text
}
