//! The end of a controller: a requested stop, a failure, or the loss of the lease.

use std::{future::Future, time::Duration};

use jiff::Timestamp;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::{
    errors::one_line,
    lease::{Lease, LeaseGuard},
};

/// Why a controller ended without a requested stop.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// It returned an error.
    #[error("{}", one_line(.0.as_ref()))]
    Failed(anyhow::Error),
    /// It panicked.
    #[error("the controller panicked: {0}")]
    Panicked(JoinError),
    /// Another replica may lead from now on.
    #[error("lost the lease: stopping at once, because another replica takes over")]
    LostLease,
}

/// Runs a controller with its lease until it ends, or until `grace` has passed since the shutdown. `acquired` is called when the
/// lease is acquired, with the latest time at which a former process can have worked.
pub(crate) async fn supervise(
    run: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    lease: Option<Lease>,
    acquired: impl Fn(Option<Timestamp>),
    shutdown: CancellationToken,
    grace: Duration,
) -> Result<(), EndError> {
    let mut run = crate::task::spawn(run);
    let stop = shutdown.clone();
    let mut acquiring = std::pin::pin!(async {
        match lease {
            Some(lease) => lease.acquire(stop).await,
            None => None,
        }
    });
    let mut overdue = std::pin::pin!(async {
        shutdown.cancelled().await;
        tokio::time::sleep(grace).await;
    });
    let mut guard: Option<LeaseGuard> = None;
    let mut settled = false;
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut run => break Some(ended),
            got = &mut acquiring, if !settled => {
                settled = true;
                guard = got;
                if let Some(held) = &guard {
                    acquired(held.predecessor_ended_at());
                }
            }
            () = lost(guard.as_ref()) => {
                run.abort();
                return Err(EndError::LostLease);
            }
            () = &mut overdue => break None,
        }
    };
    shutdown.cancel();
    if !settled {
        // It ends by itself, possibly after the lease was acquired.
        guard = acquiring.await;
    }
    let Some(ended) = ended else {
        run.abort();
        // Tasks that are still running may act until the process ends: the lease must not be released.
        guard.into_iter().for_each(LeaseGuard::abandon);
        tracing::warn!("the controller did not stop within {} s", grace.as_secs());
        return Ok(());
    };
    if let Some(guard) = guard {
        guard.release().await;
    }
    ended.map_err(EndError::Panicked)?.map_err(EndError::Failed)
}

async fn lost(guard: Option<&LeaseGuard>) {
    match guard {
        Some(guard) => guard.lost().cancelled().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use anyhow::{Context, anyhow};
    use tokio::time::Instant;

    use super::*;
    use crate::lease::tests::{Link, Server};

    /// A controller with an in-memory lease.
    #[derive(Default)]
    struct Setup {
        server: Server,
        link: Link,
        shutdown: CancellationToken,
    }

    impl Setup {
        async fn supervise(
            &self,
            run: impl Future<Output = anyhow::Result<()>> + Send + 'static,
        ) -> Result<(), EndError> {
            let lease = self.server.candidate("a", &self.link);
            supervise(run, Some(lease), |_| {}, self.shutdown.clone(), Duration::from_secs(8)).await
        }

        fn stop_after(&self, seconds: u64) {
            let shutdown = self.shutdown.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                shutdown.cancel();
            });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_controller_finishes_its_work_and_then_the_lease_is_released() {
        let setup = Setup::default();
        let finished = Arc::new(AtomicBool::new(false));
        let (done, shutdown) = (finished.clone(), setup.shutdown.clone());
        setup.stop_after(60);
        let run = async move {
            shutdown.cancelled().await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            done.store(true, Ordering::SeqCst);
            Ok(())
        };
        setup.supervise(run).await.unwrap();
        assert!(finished.load(Ordering::SeqCst));
        assert_eq!(setup.server.holder(), "");
    }

    #[tokio::test(start_paused = true)]
    async fn a_controller_that_does_not_stop_is_ended_and_its_lease_expires() {
        let setup = Setup::default();
        setup.stop_after(60);
        let start = Instant::now();
        setup.supervise(std::future::pending()).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 68);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(setup.server.holder(), "a");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_lease_ends_the_process_without_waiting_for_the_controller() {
        let setup = Setup::default();
        let down = setup.link.down.clone();
        let run = async move {
            tokio::time::sleep(Duration::from_mins(1)).await;
            down.store(true, Ordering::SeqCst);
            std::future::pending().await
        };
        let start = Instant::now();
        let error = setup.supervise(run).await.unwrap_err();
        assert!(matches!(error, EndError::LostLease));
        assert!(start.elapsed().as_secs() <= 70);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_reported_in_one_line_with_its_causes() {
        let setup = Setup::default();
        let run = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err(anyhow!("no credentials"))
                .context("failed to reach the cloud: no credentials")
                .context("starting")
        };
        let error = setup.supervise(run).await.unwrap_err();
        assert_eq!(error.to_string(), "starting: failed to reach the cloud: no credentials");
        assert_eq!(setup.server.holder(), "", "a standby need not wait");
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_a_failure() {
        let error = Setup::default().supervise(async { panic!("oh") }).await.unwrap_err();
        assert!(matches!(error, EndError::Panicked(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_standby_stops_without_ever_leading() {
        let setup = Setup::default();
        let _leader = setup.server.candidate("b", &Link::default()).acquire(CancellationToken::new()).await;
        setup.stop_after(60);
        let shutdown = setup.shutdown.clone();
        let run = async move {
            shutdown.cancelled().await;
            Ok(())
        };
        setup.supervise(run).await.unwrap();
        assert_eq!(setup.server.holder(), "b");
    }
}
