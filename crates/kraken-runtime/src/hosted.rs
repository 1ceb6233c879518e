//! The controllers of a process: one, or several that share its client, its servers and its threads.
//!
//! Each has what it would have in a process of its own: its lease, its field manager, its webhooks and its health. So it can move
//! between a process of its own and a shared one at any time: the lease ensures that only one of them works.

use std::fmt::{self, Debug};

use clap::Args;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;

use crate::{embedded::Process, program::Program, supervise::EndError};

/// A binary that runs several controllers in one process, to use less memory. The manifests remain those of each controller.
pub trait SharedProcess {
    /// The name of the binary, its Deployment and its service account: `kraken-aws-all`.
    const NAME: &'static str;
    /// One line for `--help`.
    const ABOUT: &'static str;
    /// The flags of its controllers, in addition to [`RunArgs`](crate::RunArgs).
    type Args: Args + Debug + Clone + Send + Sync;

    /// Its controllers, with these flags.
    fn controllers(args: &Self::Args) -> Vec<Hosted>;
}

/// A controller with its own flags, ready to run in a process.
pub struct Hosted {
    name: &'static str,
    run: Box<dyn FnOnce(Process) -> BoxFuture<'static, Result<(), EndError>> + Send>,
}

impl Hosted {
    /// The controller `P` with its own flags.
    pub fn new<P: Program>(own: P::Args) -> Self {
        Self { name: P::NAME, run: Box::new(|process| process.run::<P>(own).boxed()) }
    }

    /// The controller's name: `kraken-aws-vpc`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs until it ends.
    pub(crate) fn start(self, process: Process) -> Running {
        let (name, running) = (self.name, (self.run)(process));
        async move { (name, running.await) }.boxed()
    }
}

impl Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hosted").field(&self.name).finish()
    }
}

/// A running controller, which returns its name and why it ended.
pub(crate) type Running = BoxFuture<'static, (&'static str, Result<(), EndError>)>;

/// Waits until all controllers have ended. The first that ends stops the others, which finish their work and release their leases:
/// Kubernetes restarts only the whole process.
///
/// # Errors
/// That of the first controller that failed, with its name. If it lost its lease, the others are not awaited: tasks of it may still
/// run, and only the end of the process ends them.
pub(crate) async fn until_all_end(
    running: impl IntoIterator<Item = Running>,
    shutdown: &CancellationToken,
) -> Result<(), (&'static str, EndError)> {
    let mut running: FuturesUnordered<_> = running.into_iter().collect();
    let mut result = Ok(());
    while let Some((name, ended)) = running.next().await {
        shutdown.cancel();
        match ended {
            Err(EndError::LostLease) => return Err((name, EndError::LostLease)),
            Err(error) if result.is_ok() => result = Err((name, error)),
            Err(error) => tracing::error!("{name} ended: {error}"),
            Ok(()) => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::anyhow;
    use tokio::time::Instant;

    use super::*;

    fn until_stopped(shutdown: &CancellationToken) -> Running {
        let shutdown = shutdown.clone();
        let stopped = async move {
            shutdown.cancelled().await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            ("kraken-b", Ok(()))
        };
        stopped.boxed()
    }

    fn ended(error: EndError) -> Running {
        async { ("kraken-a", Err(error)) }.boxed()
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_fails_stops_the_others_which_finish() {
        let (shutdown, start) = (CancellationToken::new(), Instant::now());
        let all = [until_stopped(&shutdown), ended(EndError::Failed(anyhow!("no credentials")))];
        let (name, error) = until_all_end(all, &shutdown).await.unwrap_err();
        assert_eq!((name, error.to_string().as_str()), ("kraken-a", "no credentials"));
        assert_eq!(start.elapsed().as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_loses_its_lease_ends_the_process_at_once() {
        let (shutdown, start) = (CancellationToken::new(), Instant::now());
        let all = [until_stopped(&shutdown), ended(EndError::LostLease)];
        let (_, error) = until_all_end(all, &shutdown).await.unwrap_err();
        assert!(matches!(error, EndError::LostLease));
        assert_eq!(start.elapsed().as_secs(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_requested_stop_waits_for_all() {
        let shutdown = CancellationToken::new();
        shutdown.cancel();
        let start = Instant::now();
        until_all_end([until_stopped(&shutdown), until_stopped(&shutdown)], &shutdown).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 5);
    }
}
