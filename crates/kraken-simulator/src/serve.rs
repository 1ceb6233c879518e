//! The accept loop that the HTTP servers of simulators and proxies share.

use std::io;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serves every request with `answer` until `stopped`, then drops all connections. With an `Err` of `answer`, hyper
/// closes the connection without a response.
pub async fn serve<F, Fut>(
    listener: std::net::TcpListener,
    name: &str,
    stopped: oneshot::Receiver<()>,
    answer: F,
) where
    F: Fn(Request<Incoming>) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = io::Result<Response<Full<Bytes>>>> + Send + 'static,
{
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(problem) => {
            eprintln!("the {name} cannot listen: {problem}");
            return;
        }
    };
    let accept = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let answer = answer.clone();
            tokio::spawn(async move {
                // An error here is a connection that broke, on purpose or by the caller.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}
