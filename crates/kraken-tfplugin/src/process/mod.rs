//! The process of a plugin: its start, its end, and the end of its output.

mod handshake;
mod launch;
mod parent;
mod program;
mod tail;

use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

pub use launch::StartError;
pub(crate) use launch::{StartOptions, Started, start};
pub use parent::exec_plugin;
pub(crate) use tail::Tail;

/// A running or ended process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Kills when it is dropped.
    _kill: oneshot::Sender<()>,
    pub(crate) stderr: Tail,
}

impl Process {
    /// Supervises a child: a task waits for its end, so that no ended process is left behind and its id is never used after it.
    fn supervise(mut child: Child, pid: Pid, stderr: Tail) -> Self {
        let (ended, exit) = watch::channel(None);
        let (kill, killed) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let status = tokio::select! {
                biased;
                status = child.wait() => status,
                _ = killed => {
                    let _ = child.start_kill();
                    child.wait().await
                }
            };
            // If waiting fails, the receiver sees that the sender is gone.
            if let Ok(status) = status {
                ended.send_replace(Some(status));
            }
        });
        Self { pid, exit, _kill: kill, stderr }
    }

    pub(crate) fn id(&self) -> i32 {
        self.pid.as_raw()
    }

    /// How it ended; `None` while it runs.
    pub(crate) fn status(&self) -> Option<ExitStatus> {
        *self.exit.borrow()
    }

    /// How it ended, if it ends within a time.
    pub(crate) async fn ended_within(&self, time: Duration) -> Option<ExitStatus> {
        let mut exit = self.exit.clone();
        // Bound, because the guard of a watch must not be held.
        let ended = timeout(time, exit.wait_for(Option::is_some)).await.ok()?.map(|status| *status);
        ended.unwrap_or_default()
    }

    /// Sends a signal, unless it has ended.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.status().is_none() {
            let _ = kill(self.pid, signal);
        }
    }
}
