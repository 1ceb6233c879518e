//! The process of a plugin with its connection: bytes in, bytes out.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use nix::sys::signal::Signal;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::Code;

use crate::plugin::CallError;
use crate::process::{self, Process, StartError, StartOptions};
use crate::rpc::{Connection, Protocol};

/// The time from a lost connection until the end of the process is known.
const EXIT: Duration = Duration::from_secs(1);

/// A provider in this process, instead of a program of its own. It speaks protocol 6.
pub trait Service: fmt::Debug + Send + Sync {
    /// Answers an encoded call of the method at this path.
    fn call<'a>(&'a self, path: &'a str, body: Vec<u8>) -> BoxFuture<'a, Result<Vec<u8>, CallError>>;
}

/// A running plugin. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct RawPlugin {
    provider: Provider,
    operations: Running,
    calls: Running,
    usage: Mutex<Usage>,
}

#[derive(Debug)]
enum Provider {
    Program {
        connection: Connection,
        process: Process,
        /// The folder of its socket, deleted with it.
        _folder: Option<TempDir>,
    },
    Own(Arc<dyn Service>),
}

/// How much a plugin was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// The calls that were made.
    pub(super) calls: u64,
    /// When the last one began or ended.
    pub(super) last: Instant,
}

impl RawPlugin {
    /// Starts a plugin. The process belongs to the tokio runtime that it is started in.
    pub(super) async fn start(options: &StartOptions, folder: Option<TempDir>) -> Result<Self, StartError> {
        let process::Started { process, handshake } = process::start(options).await?;
        let connection = Connection::open(&handshake.socket, handshake.protocol).await?;
        // Nobody else shall connect, and a plugin that is killed would leave it. A plugin that ends removes it if it exists.
        let _ = tokio::fs::remove_file(&handshake.socket).await;
        tokio::spawn(connection.clone().discard_output());
        Ok(Self::of(Provider::Program { connection, process, _folder: folder }))
    }

    /// A provider in this process.
    pub(super) fn own(service: Arc<dyn Service>) -> Self {
        Self::of(Provider::Own(service))
    }

    fn of(provider: Provider) -> Self {
        let usage = Mutex::new(Usage { calls: 0, last: Instant::now() });
        Self { provider, operations: Running::default(), calls: Running::default(), usage }
    }

    pub(super) fn protocol(&self) -> Protocol {
        match &self.provider {
            Provider::Program { connection, .. } => connection.protocol,
            Provider::Own(_) => Protocol::V6,
        }
    }

    /// The id of its process.
    pub(super) fn id(&self) -> i32 {
        match &self.provider {
            Provider::Program { process, .. } => process.id(),
            Provider::Own(_) => std::process::id().cast_signed(),
        }
    }

    /// Whether its process ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(&self.provider, Provider::Program { process, .. } if process.status().is_some())
    }

    /// Counts a use, also one that makes no call.
    pub(super) fn used(&self, calls: u64) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        *usage = Usage { calls: usage.calls + calls, last: Instant::now() };
    }

    pub(super) fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether neither calls nor operations run.
    pub(super) fn is_idle(&self) -> bool {
        self.calls.count() == 0 && self.operations.count() == 0
    }

    /// Counts an operation, unless the plugin is being ended.
    pub(super) fn operate(&self) -> Result<Guard, CallError> {
        self.operations.begin()
    }

    /// Calls a method.
    pub(super) async fn call(&self, path: &str, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let _running = self.calls.begin()?;
        self.used(1);
        let answer = match &self.provider {
            Provider::Program { connection, process, .. } => called(connection, process, path, body).await,
            Provider::Own(service) => service.call(path, body).await,
        };
        self.used(0);
        answer
    }

    /// Ends the process: no operation starts any more, those that run are waited for without a limit, then the plugin is asked to end.
    /// After each `grace` it gets SIGTERM, then SIGKILL.
    pub(super) async fn shut_down(&self, grace: Duration) {
        self.operations.close().await;
        let Provider::Program { connection, process, .. } = &self.provider else { return };
        // Its response is lost if the plugin ends at once.
        let _ = timeout(grace, connection.shut_down()).await;
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            if process.ended_within(grace).await.is_some() {
                return;
            }
            process.signal(signal);
        }
        process.ended_within(grace).await;
    }
}

async fn called(
    connection: &Connection,
    process: &Process,
    path: &str,
    body: Vec<u8>,
) -> Result<Vec<u8>, CallError> {
    let status = match connection.call(path, body).await {
        Ok(body) => return Ok(body),
        Err(status) => status,
    };
    // A provider answers with diagnostics. All other codes than these are of a connection that ended.
    let is_answer =
        matches!(status.code(), Code::Unimplemented | Code::InvalidArgument | Code::ResourceExhausted);
    if !is_answer && let Some(exit) = process.ended_within(EXIT).await {
        return Err(CallError::Ended(exit.to_string()));
    }
    Err(CallError::Rpc { code: format!("{:?}", status.code()), message: status.message().to_owned() })
}

/// The operations of a plugin that run now, or its calls.
#[derive(Debug, Default)]
struct Running(watch::Sender<Count>);

#[derive(Debug, Default)]
struct Count {
    running: usize,
    is_closed: bool,
}

/// One that runs.
#[derive(Debug)]
pub(super) struct Guard(watch::Sender<Count>);

impl Running {
    /// Counts one, unless no more may start.
    fn begin(&self) -> Result<Guard, CallError> {
        let is_counted = self.0.send_if_modified(|count| {
            count.running += usize::from(!count.is_closed);
            !count.is_closed
        });
        if is_counted { Ok(Guard(self.0.clone())) } else { Err(CallError::Stopping) }
    }

    fn count(&self) -> usize {
        self.0.borrow().running
    }

    /// Lets no more start, and waits until none runs.
    async fn close(&self) {
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
