//! The thread and the accept loop that the HTTP servers of simulators and proxies share.

use std::io;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A server on a thread with a runtime of its own, because a server on the runtime of one test would end with that test. Stopped on
/// drop.
#[derive(Debug)]
pub struct ServerThread {
    endpoint: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Listens on this address, and runs `server` with the listener and a receiver that completes when it must stop. `name` is for
    /// messages.
    ///
    /// # Errors
    /// When no port or thread is available.
    pub fn start<F, Fut>(name: &str, listen: SocketAddr, server: F) -> Result<Self>
    where
        F: FnOnce(std::net::TcpListener, oneshot::Receiver<()>) -> Fut + Send + 'static,
        Fut: Future<Output = ()>,
    {
        let listener = std::net::TcpListener::bind(listen)
            .with_context(|| format!("the {name} cannot listen on {listen}"))?;
        listener.set_nonblocking(true).with_context(|| format!("cannot set up the port of the {name}"))?;
        let address = listener.local_addr().with_context(|| format!("cannot read the port of the {name}"))?;
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .with_context(|| format!("cannot start the runtime of the {name}"))?;
        let thread = thread::Builder::new()
            .name(name.replace(' ', "-"))
            .spawn(move || runtime.block_on(server(listener, stopped)))
            .with_context(|| format!("cannot start the thread of the {name}"))?;
        Ok(Self { endpoint: format!("http://{address}"), stop: Some(stop), thread: Some(thread) })
    }

    /// The URL on which it listens.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic in the server was already printed
        }
    }
}

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
