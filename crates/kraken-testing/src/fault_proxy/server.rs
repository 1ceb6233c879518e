//! The HTTP side.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kraken_simulator::hook::{Answer, Call, Hook, HookAction};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::name::kubernetes_call;
use crate::headers::end_to_end;

type Streamed = UnsyncBoxBody<Bytes, io::Error>;

/// The upstream server.
#[derive(Clone)]
pub(super) enum Upstream {
    Kubernetes(kube::Client),
    Cloud { client: Box<Client<HttpConnector, Full<Bytes>>>, endpoint: Arc<str> },
}

impl Upstream {
    pub(super) fn cloud(endpoint: &str) -> Self {
        let client = Box::new(Client::builder(TokioExecutor::new()).build_http());
        Self::Cloud { client, endpoint: endpoint.trim_end_matches('/').into() }
    }

    fn name(&self, head: &Parts, body: Bytes) -> Call {
        match self {
            Self::Kubernetes(_) => kubernetes_call(head, body),
            Self::Cloud { .. } => Call::cloud(&body),
        }
    }

    async fn send(&self, head: Parts, body: Bytes) -> io::Result<Response<Streamed>> {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = match self {
            Self::Kubernetes(_) => path.to_owned(),
            Self::Cloud { endpoint, .. } => format!("{endpoint}{path}"),
        };
        let mut request =
            Request::builder().method(head.method).uri(uri).body(body).map_err(io::Error::other)?;
        *request.headers_mut() = end_to_end(head.headers);
        let mut response = match self {
            Self::Kubernetes(client) => {
                request.headers_mut().remove(HOST); // it contains the address of this proxy
                let answer = client.send(request.map(kube::client::Body::from)).await;
                answer.map_err(io::Error::other)?.map(|body| body.map_err(io::Error::other).boxed_unsync())
            }
            Self::Cloud { client, .. } => {
                let answer = client.request(request.map(Full::from)).await;
                answer.map_err(io::Error::other)?.map(|body| body.map_err(io::Error::other).boxed_unsync())
            }
        };
        let headers = std::mem::take(response.headers_mut());
        *response.headers_mut() = end_to_end(headers);
        Ok(response)
    }
}

/// Closes open connections.
#[derive(Clone)]
pub(super) struct Breaks {
    /// Watches.
    pub(super) cut: watch::Receiver<u64>,
    /// Connections.
    pub(super) reset: watch::Receiver<u64>,
}

/// Serves until it is aborted; its connections are closed then.
pub(super) async fn run(listener: TcpListener, upstream: Upstream, hook: Arc<impl Hook>, breaks: Breaks) {
    let mut connections = JoinSet::new();
    let numbers = Arc::new(AtomicU64::new(0));
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let Ok((stream, twin)) = two_handles(stream) else { continue };
        let (upstream, hook, Breaks { cut, mut reset }) =
            (upstream.clone(), Arc::clone(&hook), breaks.clone());
        let numbers = Arc::clone(&numbers);
        connections.spawn(async move {
            let service = service_fn(|request| {
                let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
                answer(request, number, upstream.clone(), Arc::clone(&hook), cut.clone())
            });
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            reset.mark_unchanged();
            tokio::select! {
                biased;
                Ok(()) = reset.changed() => {
                    let _ = twin.set_zero_linger(); // closing it then sends RST, and discards unsent data
                }
                // An error here is a connection that broke, on purpose or by the caller.
                _ = served => {}
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Two handles of one connection: hyper's, and one that controls how it is closed.
fn two_handles(stream: TcpStream) -> io::Result<(TcpStream, TcpStream)> {
    let stream = stream.into_std()?;
    let twin = stream.try_clone()?;
    Ok((TcpStream::from_std(stream)?, TcpStream::from_std(twin)?))
}

/// Handles one call. With an `Err`, hyper closes the connection without a response.
async fn answer(
    request: Request<Incoming>,
    number: u64,
    upstream: Upstream,
    hook: Arc<impl Hook>,
    cut: watch::Receiver<u64>,
) -> io::Result<Response<Streamed>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let call = Call { number, ..upstream.name(&head, body.clone()) };
    // A separate task: a forwarded call takes effect even if the caller ends.
    let work = tokio::spawn(async move {
        if let Some(instead) = applied(hook.before(&call).await)? {
            return Ok(instead);
        }
        let response = upstream.send(head, body).await?;
        let status = response.status().as_u16();
        if call.watches {
            let action = hook.after(&call, &Answer { status, body: Bytes::new() }).await;
            return Ok(applied(action)?
                .unwrap_or_else(|| response.map(|body| BreakableBody::new(body, cut).boxed_unsync())));
        }
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let action = hook.after(&call, &Answer { status, body: body.clone() }).await;
        Ok(applied(action)?.unwrap_or_else(|| Response::from_parts(head, full(body))))
    });
    work.await.map_err(io::Error::other)?
}

/// The response instead of the upstream's; an error closes the connection.
fn applied(action: HookAction) -> io::Result<Option<Response<Streamed>>> {
    match action {
        HookAction::Pass => Ok(None),
        HookAction::Drop => Err(io::Error::other("dropped on purpose")),
        HookAction::Refuse(code) => {
            let reason = match code {
                409 => "Conflict",
                410 => "Expired",
                _ => "InternalError",
            };
            let status = serde_json::json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "code": code, "reason": reason, "message": "rejected by the fault injection",
            });
            let mut response = Response::new(full(status.to_string().into()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(Some(response))
        }
    }
}

fn full(body: Bytes) -> Streamed {
    Full::from(body).map_err(|never| match never {}).boxed_unsync()
}

/// A body whose stream can be broken.
struct BreakableBody {
    body: Streamed,
    cut: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl BreakableBody {
    fn new(body: Streamed, mut cut: watch::Receiver<u64>) -> Self {
        cut.mark_unchanged();
        let cut = async move {
            if cut.changed().await.is_err() {
                std::future::pending::<()>().await; // the proxy has ended, which closes the connection
            }
        };
        Self { body, cut: Box::pin(cut) }
    }
}

impl Body for BreakableBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(io::Error::other("cut on purpose"))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}
