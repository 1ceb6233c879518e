//! The HTTPS server: bounded in connections, in time and in the size of what it reads, because every pod may reach it.

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

/// How many connections are open at once: an API server opens one for each review that is under way.
const MAX_CONNECTIONS: usize = 512;
/// How long a handshake, and the head of a request, may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long what is under way may take when the process ends.
const DRAIN: Duration = Duration::from_secs(5);
/// After a failed `accept`, which says that files have run out.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or is not this machine's.
    #[error("failed to listen on {address} (--webhook-listen): {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] CertificateError),
}

/// A server that has its port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    acceptor: Arc<rustls::ServerConfig>,
    /// The address with the real port.
    pub address: SocketAddr,
}

impl Server {
    /// Takes the port.
    ///
    /// # Errors
    /// When the address is taken or is not this machine's.
    pub async fn bind(address: SocketAddr, served: &Served) -> Result<Self, ServeError> {
        let refuse = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        Ok(Self { listener, acceptor: Arc::new(served.tls()?), address })
    }

    /// Serves until shutdown, then lets what is under way end.
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
        // Whoever is cut off is answered as the failurePolicy says.
        let _ = tokio::time::timeout(DRAIN, async { while connections.join_next().await.is_some() {} }).await;
    }
}

async fn connection(socket: TcpStream, acceptor: TlsAcceptor, router: Router, shutdown: CancellationToken) {
    // Answers are one small write; Nagle's algorithm would only hold them back.
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
