//! The HTTPS server: with limits for connections, time and body size, because every pod may connect to it.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::{
    connections::{Connections, Place},
    served::{CertificateError, Certificates},
};

/// The maximum number of open connections: an API server opens one for each review in flight.
const MAX_CONNECTIONS: usize = 512;
/// The timeout of a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

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
    pub async fn bind(address: SocketAddr, certificates: &Certificates) -> Result<Self, ServeError> {
        let refuse = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        Ok(Self { listener, acceptor: Arc::new(certificates.tls()?), address })
    }

    /// Serves until shutdown, then finishes the requests in flight. `gave_way` is called for each connection that was closed because
    /// all places were taken. For interrupted requests, the API server follows the failurePolicy.
    pub async fn run(
        self,
        router: Router,
        shutdown: CancellationToken,
        gave_way: impl Fn() + Send + Sync + 'static,
    ) {
        let acceptor = TlsAcceptor::from(self.acceptor);
        let stop = shutdown.clone();
        Connections::new("webhooks", MAX_CONNECTIONS, gave_way)
            .accept(self.listener, shutdown, move |socket, place| {
                connection(socket, place, acceptor.clone(), router.clone(), stop.clone())
            })
            .await;
    }
}

async fn connection(
    socket: TcpStream,
    place: Place,
    acceptor: TlsAcceptor,
    router: Router,
    shutdown: CancellationToken,
) {
    match tokio::time::timeout(HANDSHAKE, acceptor.accept(socket)).await {
        Ok(Ok(stream)) => place.serve(stream, router, shutdown).await,
        Ok(Err(error)) => debug!(%error, "a TLS handshake failed"),
        Err(_) => debug!("a TLS handshake timed out"),
    }
}
