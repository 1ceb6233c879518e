//! The server as the bottom of kube's client.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use kraken_simulator::hook::{Answer, Call, Hook, HookAction};
use kraken_testing::fault_proxy::kubernetes_call;
use kube::client::Body;
use serde_json::json;

use super::{ApiServer, Reply};

/// One client's way to the server.
#[derive(Clone, Debug)]
pub struct Connection {
    server: ApiServer,
    client: u64,
}

impl ApiServer {
    /// A client with a `hook` for every request, before its effect and before its response.
    pub fn client(&self, hook: Arc<impl Hook>) -> kube::Client {
        self.connection().client(hook)
    }

    /// The service below such a client, for wrapping in layers.
    pub fn service<H: Hook>(&self, hook: Arc<H>) -> Service<H> {
        self.connection().service(hook)
    }

    /// A connection, for clients whose watches can be delayed apart from those of others.
    pub fn connection(&self) -> Connection {
        let mut state = self.0.state.lock();
        state.next_client += 1;
        Connection { client: state.next_client, server: self.clone() }
    }
}

impl Connection {
    /// A client of this connection.
    pub fn client(&self, hook: Arc<impl Hook>) -> kube::Client {
        let service = Service { connection: self.clone(), hook, calls: Arc::default() };
        kube::Client::new(service, "default")
    }

    /// The service below such a client, for wrapping in layers.
    pub fn service<H: Hook>(&self, hook: Arc<H>) -> Service<H> {
        Service { connection: self.clone(), hook, calls: Arc::default() }
    }

    /// Breaks every open watch of this connection.
    pub fn cut_watches(&self) {
        let mut state = self.server.0.state.lock();
        *state.cuts_of.entry(self.client).or_default() += 1;
        state.notify_all_watches();
    }

    /// How far the watches of a kind are behind on this connection. Different delays put the events of different kinds in
    /// another order.
    pub fn delay_watches(&self, group: &str, plural: &str, delay: Duration) {
        let inner = &self.server.0;
        let Some(kind) = inner.kinds.find(group, plural) else { return };
        let mut state = inner.state.lock();
        state.lags.insert((self.client, kind.index), delay);
        state.notify_all_watches();
    }
}

/// A tower service that handles requests of kube's client.
#[derive(Debug)]
pub struct Service<H> {
    connection: Connection,
    hook: Arc<H>,
    calls: Arc<AtomicU64>,
}

impl<H> Clone for Service<H> {
    fn clone(&self) -> Self {
        Self { connection: self.connection.clone(), hook: self.hook.clone(), calls: self.calls.clone() }
    }
}

impl<H: Hook> tower::Service<Request<Body>> for Service<H> {
    type Response = Response<Reply>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Reply>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let (connection, hook) = (self.connection.clone(), self.hook.clone());
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            let call = Call { number, ..kubernetes_call(&head, body.clone()) };
            if let Some(instead) = applied(hook.before(&call).await)? {
                return Ok(instead);
            }
            let response = connection.server.handle_of(connection.client, Request::from_parts(head, body));
            let body = if call.writes { response.body().bytes() } else { Bytes::new() };
            let answer = Answer { status: response.status().as_u16(), body };
            Ok(applied(hook.after(&call, &answer).await)?.unwrap_or(response))
        })
    }
}

/// The response instead of the real one; an error is a broken connection.
fn applied(action: HookAction) -> io::Result<Option<Response<Reply>>> {
    let code = match action {
        HookAction::Pass => return Ok(None),
        HookAction::Drop => {
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "the connection was closed"));
        }
        HookAction::Refuse(code) => code,
    };
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": "rejected by the fault injection",
    });
    let mut response = Response::new(Reply::json(&status));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Ok(Some(response))
}
