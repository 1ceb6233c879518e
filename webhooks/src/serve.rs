//! The HTTPS server: with limits for connections, time and body size, because every pod may connect to it.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::served::{CertificateError, Served};

/// The maximum number of open connections: an API server opens one for each review in flight.
const MAX_CONNECTIONS: usize = 512;
/// The timeout of a handshake, and of reading the head of a request.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The timeout of requests in flight at shutdown.
const DRAIN: Duration = Duration::from_secs(5);
/// The delay after a failed `accept`, when file descriptors are exhausted.
const PAUSE: Duration = Duration::from_millis(100);

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is in use or not available on this machine.
    #[error("failed to listen on {address} (--webhook-listen): {source}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] CertificateError),
}

/// A server with an open port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    acceptor: Arc<rustls::ServerConfig>,
    /// The address with the actual port.
    pub address: SocketAddr,
}

impl Server {
    /// Opens the port.
    ///
    /// # Errors
    /// If the address is in use or not available on this machine.
    pub async fn bind(address: SocketAddr, served: &Served) -> Result<Self, ServeError> {
        let refuse = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        Ok(Self { listener, acceptor: Arc::new(served.tls()?), address })
    }

    /// Serves until shutdown, then finishes the requests in flight.
    pub async fn run(self, router: Router, shutdown: CancellationToken) {
        let acceptor = TlsAcceptor::from(self.acceptor);
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { break };
            let accepted = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((socket, _)) = accepted else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            let (acceptor, router, shutdown) = (acceptor.clone(), router.clone(), shutdown.clone());
            connections.spawn(async move {
                connection(socket, acceptor, router, shutdown).await;
                drop(place);
            });
        }
        // For interrupted requests, the API server follows the failurePolicy.
        let _ = tokio::time::timeout(DRAIN, async { while connections.join_next().await.is_some() {} }).await;
    }
}

async fn connection(socket: TcpStream, acceptor: TlsAcceptor, router: Router, shutdown: CancellationToken) {
    // Responses are one small write, which Nagle's algorithm would only delay.
    let _ = socket.set_nodelay(true);
    let stream = match tokio::time::timeout(HANDSHAKE, acceptor.accept(socket)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!(%error, "a TLS handshake failed"),
        Err(_) => return,
    };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(Some(Duration::from_mins(2)));
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection ended");
    }
}
