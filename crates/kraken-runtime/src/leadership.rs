//! Whether this process leads, and until when a former one may have.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

/// Whether this process leads. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leadership {
    /// Fires when it begins. Waiters are notified in order.
    begun: CancellationToken,
    /// The latest time at which a former process can have worked, if it is known.
    predecessor_ended_at: Arc<OnceLock<Timestamp>>,
}

impl Leadership {
    /// The leadership of a process that leads from the start; the end of a former process is not known.
    pub(crate) fn from_the_start() -> Self {
        let this = Self::default();
        this.begin(None);
        this
    }

    /// This process leads from now on. A former process can have worked until `predecessor_ended_at`; `None`: that is not known.
    pub(crate) fn begin(&self, predecessor_ended_at: Option<Timestamp>) {
        if let Some(predecessor_ended_at) = predecessor_ended_at {
            let _ = self.predecessor_ended_at.set(predecessor_ended_at);
        }
        self.begun.cancel();
    }

    /// Waits until it begins.
    pub(crate) async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// The latest time at which a former process can have worked; `None` if that is not known, or before it begins.
    pub(crate) fn predecessor_ended_at(&self) -> Option<Timestamp> {
        self.predecessor_ended_at.get().copied()
    }
}
