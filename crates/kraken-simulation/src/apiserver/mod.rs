//! The in-memory API server of the simulation: [`kube_sim`] with a hook on each request, before its effect and before its response.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use kraken_simulator::hook::{Answer, Call, Hook, HookAction};
use kraken_testing::fault_proxy::kubernetes_call;
use kube::client::Body;
use serde_json::json;

pub use kube_sim::{ApiServer, Connection, Kinds, Reply, Revisions, SchemaError, Snapshot};

/// A connection with a hook, for wrapping in layers.
pub fn service<H: Hook>(connection: &Connection, hook: Arc<H>) -> Service<H> {
    Service { connection: connection.clone(), hook, calls: Arc::default() }
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
            let response = connection.handle(Request::from_parts(head, body));
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

#[cfg(test)]
mod tests;
