//! The way to a host: in this process, or behind a socket.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

use super::messages::{Ask, Call, Operate, Recall, Reply, Request, StartRequest, Started, Ticket};
use super::{Host, frame};
use crate::plugin::CallError;

/// The largest number of calls that wait for an answer, and of operations.
const REQUESTS: usize = 200;
/// How long a host may take to be started again, and between attempts to reach it.
const START: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(100);

/// The way to a host. Cloning gives another one to the same.
#[derive(Clone, Debug)]
pub enum HostLink {
    /// In this process.
    Own(Arc<Host>),
    /// In another process, which serves it on a Unix socket.
    Remote(Arc<Remote>),
    /// Reached in another way.
    Other(Arc<dyn Reach>),
}

/// A way to a host.
pub trait Reach: fmt::Debug + Send + Sync {
    /// Gets the reply of the host. An error says whether the request [may have got there](CallError::may_have_changed).
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<Replied, CallError>>;
}

/// What a host is asked.
#[derive(Clone, Debug)]
pub struct Asked(pub(super) Ask);

/// What it replies.
#[derive(Clone, Debug)]
pub struct Replied(pub(super) Reply);

/// A host behind a Unix socket.
#[derive(Debug)]
pub struct Remote {
    socket: PathBuf,
    /// Each request is a connection: those that wait for an answer do not delay the others, and none is without a descriptor.
    calls: Semaphore,
    operations: Semaphore,
}

/// What a host knows of the last operation of a resource.
#[derive(Debug)]
pub enum Recalled {
    /// It runs.
    Running {
        /// As it was passed with the operation.
        label: String,
    },
    /// It ended, and its answer was not acknowledged yet.
    Answered {
        /// Of the operation.
        ticket: Ticket,
        /// As it was passed with the operation.
        label: String,
        /// The bytes of the provider's answer.
        answer: Result<Vec<u8>, CallError>,
    },
    /// The ticket that was asked for was not used, and cannot be used any more: its operation was never begun.
    NeverBegun,
    /// Nothing: there is none, it was acknowledged, or it was one of another host.
    Nothing,
}

impl HostLink {
    /// The way to the host that is served on this Unix socket. It need not listen yet.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        let [calls, operations] = [REQUESTS; 2].map(Semaphore::new);
        Self::Remote(Arc::new(Remote { socket: socket.into(), calls, operations }))
    }

    async fn ask(&self, ask: Ask) -> Result<Reply, CallError> {
        match self {
            Self::Own(host) => host.answer(ask).await,
            Self::Remote(remote) => remote.ask(ask).await,
            Self::Other(way) => Ok(way.ask(Asked(ask)).await?.0),
        }
    }

    pub(crate) async fn start(&self, request: StartRequest) -> Result<Started, CallError> {
        let reply = self.ask(Ask::Start(request)).await?;
        reply.started.ok_or_else(|| incomplete("a process"))
    }

    pub(crate) async fn share(&self, plugin: u64) -> Result<(), CallError> {
        self.ask(Ask::Share(plugin)).await.map(drop)
    }

    pub(crate) async fn end(&self, plugin: u64) -> Result<(), CallError> {
        self.ask(Ask::End(plugin)).await.map(drop)
    }

    pub(crate) async fn call(&self, plugin: u64, path: &str, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        Ok(self.ask(Ask::Call(Call { plugin, path: path.to_owned(), body })).await?.body)
    }

    pub(crate) async fn operate(
        &self,
        ticket: Ticket,
        label: String,
        plugin: u64,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        let call = Some(Call { plugin, path: path.to_owned(), body });
        Ok(self.ask(Ask::Operate(Operate { ticket: Some(ticket), call, label })).await?.body)
    }

    /// A ticket for the next operation of a resource. Record it before the operation is sent.
    ///
    /// # Errors
    /// While the last operation runs or is not acknowledged, or if the host is ending, full or not reachable.
    pub async fn reserve(&self, uid: &str) -> Result<Ticket, CallError> {
        let reply = self.ask(Ask::Reserve(uid.to_owned())).await?;
        reply.ticket.ok_or_else(|| incomplete("a ticket"))
    }

    /// What is known of the last operation of a resource, and of a recorded ticket. A reserved ticket of the resource is withdrawn.
    ///
    /// # Errors
    /// If the host is not reachable.
    pub async fn recall(&self, uid: &str, ticket: Option<Ticket>) -> Result<Recalled, CallError> {
        let reply = self.ask(Ask::Recall(Recall { uid: uid.to_owned(), ticket })).await?;
        let Some(kept) = reply.kept else {
            return Ok(if reply.is_unused { Recalled::NeverBegun } else { Recalled::Nothing });
        };
        if kept.is_running {
            return Ok(Recalled::Running { label: kept.label });
        }
        let answer = kept.failure.map_or(Ok(kept.body), |failure| Err(failure.into()));
        let ticket = kept.ticket.ok_or_else(|| incomplete("a ticket"))?;
        Ok(Recalled::Answered { ticket, label: kept.label, answer })
    }

    /// The answer of an operation is recorded: the host may forget it.
    ///
    /// # Errors
    /// If the host is not reachable.
    pub async fn acknowledge(&self, ticket: Ticket) -> Result<(), CallError> {
        self.ask(Ask::Acknowledge(ticket)).await.map(drop)
    }
}

impl Asked {
    /// The name of the request, and of the method that it calls.
    pub fn name(&self) -> String {
        let method = |call: &Call| call.path.rsplit('/').next().unwrap_or_default().to_owned();
        match &self.0 {
            Ask::Start(_) => "start".to_owned(),
            Ask::Share(_) => "share".to_owned(),
            Ask::Call(call) => format!("call {}", method(call)),
            Ask::End(_) => "end".to_owned(),
            Ask::Reserve(_) => "reserve".to_owned(),
            Ask::Operate(_) => "operate".to_owned(),
            Ask::Recall(_) => "recall".to_owned(),
            Ask::Acknowledge(_) => "acknowledge".to_owned(),
        }
    }
}

fn incomplete(what: &str) -> CallError {
    CallError::Host(format!("its reply lacks {what}"))
}

impl Remote {
    async fn ask(&self, ask: Ask) -> Result<Reply, CallError> {
        let limit = if matches!(ask, Ask::Operate(_)) { &self.operations } else { &self.calls };
        // It is never closed.
        let _permit = limit.acquire().await;
        let unreachable = |error: io::Error| {
            let socket = self.socket.display();
            CallError::NotBegun(format!("the host of providers is not reachable at {socket}: {error}"))
        };
        let mut stream = connected(&self.socket).await.map_err(unreachable)?;
        let lost = |error: io::Error| CallError::Host(error.to_string());
        frame::write(&mut stream, &Request { ask: Some(ask) }).await.map_err(lost)?;
        let reply: Reply = frame::read(&mut stream).await.map_err(lost)?;
        match reply.failure {
            Some(failure) => Err(failure.into()),
            None => Ok(reply),
        }
    }
}

async fn connected(socket: &Path) -> io::Result<UnixStream> {
    let since = Instant::now();
    loop {
        match UnixStream::connect(socket).await {
            Err(_) if since.elapsed() < START => tokio::time::sleep(RETRY).await,
            connected => return connected,
        }
    }
}
