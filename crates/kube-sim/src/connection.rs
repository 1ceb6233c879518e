//! The server as the bottom of kube's client.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use kube::client::Body;

use super::{ApiServer, Reply};

/// One client's way to the server: its watches can be cut, and delayed, apart from those of others. It is the service below a client of
/// kube, and can be wrapped in layers.
#[derive(Clone, Debug)]
pub struct Connection {
    server: ApiServer,
    client: u64,
}

impl ApiServer {
    /// A client on a connection of its own.
    pub fn client(&self) -> kube::Client {
        self.connection().client()
    }

    /// A new connection.
    pub fn connection(&self) -> Connection {
        let mut state = self.0.state.lock();
        state.next_client += 1;
        Connection { client: state.next_client, server: self.clone() }
    }
}

impl Connection {
    /// A client of this connection.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// Handles a request. Its writes are complete when this returns.
    pub fn handle(&self, request: Request<Bytes>) -> Response<Reply> {
        self.server.handle_of(self.client, request)
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

impl tower::Service<Request<Body>> for Connection {
    type Response = Response<Reply>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Reply>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let connection = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            Ok(connection.handle(Request::from_parts(head, body)))
        })
    }
}
