//! The simulator's HTTP side.

use std::io;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::sync::oneshot;

use super::calling;
use super::form::Form;
use super::serve::serve;
use super::shared::Shared;

type Answered = io::Result<Response<Full<Bytes>>>;

/// Serves until `stopped`, then drops all connections.
pub(super) async fn run(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    serve(listener, "simulator", stopped, move |request| {
        let shared = Arc::clone(&shared);
        // Each call is a separate task: like in AWS, it is executed even if the caller has ended.
        let call = tokio::spawn(async move { answer(request, &shared).await });
        async { call.await.map_err(io::Error::other)? }
    })
    .await;
}

/// Handles one call. With an `Err`, hyper closes the connection without a response.
async fn answer(request: Request<Incoming>, shared: &Shared) -> Answered {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let form = Form::parse(&format!("{query}&{}", String::from_utf8_lossy(&body)));
    let closed = || io::Error::other("closed by the hook or the script");
    let reply = calling::answer(&form, shared).await.ok_or_else(closed)?;
    let mut response = Response::new(Full::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/xml;charset=UTF-8"));
    Ok(response)
}
