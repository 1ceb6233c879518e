//! An acquired lease.

use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// An acquired lease. It is renewed in the background until this is dropped.
#[derive(Debug)]
#[must_use = "a dropped guard releases the lease"]
pub struct LeaseGuard {
    pub(super) predecessor_ended_at: Option<Timestamp>,
    pub(super) lost: CancellationToken,
    pub(super) stop: DropGuard,
    pub(super) task: JoinHandle<()>,
}

impl LeaseGuard {
    /// The latest time at which a former process can have worked, if it is known.
    pub fn predecessor_ended_at(&self) -> Option<Timestamp> {
        self.predecessor_ended_at
    }

    /// Fires when the lease is lost: stop at once, because another replica may start.
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Releases the lease, so that a standby does not wait for its expiry. Takes at most the lease's duration.
    pub async fn release(self) {
        drop(self.stop);
        if let Err(error) = self.task.await {
            tracing::error!("failed to release the lease: {error}");
        }
    }

    /// Stops renewing without releasing the lease: no other replica leads until it expires.
    pub fn abandon(self) {
        self.task.abort();
    }
}
