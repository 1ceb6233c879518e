//! Whether the hub responds, as seen from its responses to this kind: a resource that waits for a response must not
//! report the hub as silent while others of its kind receive theirs. The hub relies on this, and responds late only
//! then.

use std::time::Duration;

use kraken_api::DependencyRequest;
use kraken_runtime::watch::Change;
use parking_lot::Mutex;
use tokio::time::Instant;

/// When the controller of one kind last received a response from the hub.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    answered: Mutex<Option<Instant>>,
}

impl Hub {
    /// Records a change of a DependencyRequest, which may be a response.
    pub(crate) fn note(&self, change: &Change<DependencyRequest>) {
        if let Change::Applied(now, Some(before)) = change
            && now.status != before.status
        {
            *self.answered.lock() = Some(Instant::now());
        }
    }

    /// Whether the hub responded to any request within this time.
    pub(crate) fn has_responded(&self, within: Duration) -> bool {
        self.answered.lock().is_some_and(|at| at.elapsed() < within)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kraken_api::{DependencyRequestSpec, DependencyRequestStatus};

    use super::*;

    const TEN: Duration = Duration::from_secs(10);

    fn request(answered: bool) -> Arc<DependencyRequest> {
        let mut request = DependencyRequest::new("gadget.testing.a", DependencyRequestSpec::default());
        request.status = answered.then(DependencyRequestStatus::default);
        Arc::new(request)
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_recent_response_shows_that_the_hub_is_running() {
        let hub = Hub::default();
        hub.note(&Change::Applied(request(false), None));
        hub.note(&Change::Applied(request(false), Some(request(false))));
        hub.note(&Change::Deleted(request(true)));
        assert!(!hub.has_responded(TEN));
        hub.note(&Change::Applied(request(true), Some(request(false))));
        assert!(hub.has_responded(TEN));
        tokio::time::advance(TEN).await;
        assert!(!hub.has_responded(TEN));
    }
}
