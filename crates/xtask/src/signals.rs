//! Ctrl-C, SIGTERM and SIGHUP end a command in order: its future is dropped, and with it every process it started.

use std::fmt;

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The error of an interrupted command.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Requests to stop.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Stop {
    pub(crate) fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next request.
    pub(crate) async fn requested(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }

    /// Runs `work` until it completes or a signal arrives; then `work` is dropped.
    pub(crate) fn race<T>(
        &mut self,
        work: impl Future<Output = Result<T>>,
    ) -> impl Future<Output = Result<T>> {
        let work = Box::pin(work); // commands are large futures
        async {
            tokio::select! {
                result = work => result,
                () = self.requested() => Err(Interrupted.into()),
            }
        }
    }
}
