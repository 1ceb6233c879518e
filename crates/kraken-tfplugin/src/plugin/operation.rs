//! Operations: applied plans. Each runs in a task of its own, because a provider that is interrupted forgets what it created.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Applied, CallError};

/// An operation that runs. It is a future of its result; dropping it loses the result, and **does not cancel** the operation.
#[derive(Debug)]
#[must_use = "the result is the state of the object"]
pub struct Operation {
    pub(super) task: JoinHandle<Result<Applied, CallError>>,
}

impl Operation {
    /// Whether its result is there.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl Future for Operation {
    type Output = Result<Applied, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // The task is never aborted: it ended with a panic or with its runtime.
        let ended = |error: tokio::task::JoinError| CallError::Ended(error.to_string());
        Pin::new(&mut self.task).poll(context).map(|joined| joined.map_err(ended)?)
    }
}

/// The operations of a plugin that run now.
#[derive(Debug, Default)]
pub(super) struct Running(watch::Sender<Count>);

#[derive(Debug, Default)]
struct Count {
    running: usize,
    is_closed: bool,
}

/// One running operation.
#[derive(Debug)]
pub(super) struct Guard(watch::Sender<Count>);

impl Running {
    /// Counts an operation, unless no more may start.
    pub(super) fn begin(&self) -> Result<Guard, CallError> {
        let is_counted = self.0.send_if_modified(|count| {
            count.running += usize::from(!count.is_closed);
            !count.is_closed
        });
        if is_counted { Ok(Guard(self.0.clone())) } else { Err(CallError::Stopping) }
    }

    pub(super) fn count(&self) -> usize {
        self.0.borrow().running
    }

    /// Lets no more operations start, and waits until none runs.
    pub(super) async fn close(&self) {
        self.0.send_modify(|count| count.is_closed = true);
        // The sender is here, so that it does not fail.
        let _ = self.0.subscribe().wait_for(|count| count.running == 0).await;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.send_modify(|count| count.running -= 1);
    }
}
