//! A reverse proxy for one controller, in front of kube-apiserver or of a cloud, that calls a [`Hook`] for every call:
//! before it is forwarded, and after it took effect but before the caller receives the response.
//!
//! In front of kube-apiserver it terminates TLS (the caller uses plain HTTP) and adds the credentials, watches stream
//! through, and they can all be cut at once. Unlike [`crate::proxy`], the hook decides call by call, and may take its
//! time: the caller waits.

mod name;
mod server;

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use kraken_simulator::hook::Hook;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::kubeconfig;

pub use name::kubernetes_call;

/// A running proxy; it and all its connections end on drop.
#[derive(Debug)]
pub struct FaultProxy {
    endpoint: String,
    streams: watch::Sender<u64>,
    connections: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts it in front of the API server of `kubeconfig`, with its credentials.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used or no port is available.
    pub async fn start(kubeconfig: &Path, hook: Arc<impl Hook>) -> Result<Self> {
        Self::serve(server::Upstream::Kubernetes(kubeconfig::client(kubeconfig).await?), hook).await
    }

    /// In front of a provider with plain HTTP: `http://127.0.0.1:<port>`.
    ///
    /// # Errors
    /// When no port is available.
    pub async fn before_cloud(endpoint: &str, hook: Arc<impl Hook>) -> Result<Self> {
        Self::serve(server::Upstream::cloud(endpoint), hook).await
    }

    async fn serve(upstream: server::Upstream, hook: Arc<impl Hook>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("cannot bind a loopback port for the proxy")?;
        let address = listener.local_addr().context("cannot read the proxy's port")?;
        let (streams, cut) = watch::channel(0);
        let (connections, reset) = watch::channel(0);
        let breaks = server::Breaks { cut, reset };
        let task = tokio::spawn(server::run(listener, upstream, hook, breaks));
        Ok(Self { endpoint: format!("http://{address}"), streams, connections, task })
    }

    /// The URL on which it listens.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// A handle that ends all open watches or connections.
    pub fn connection_control(&self) -> ConnectionControl {
        ConnectionControl { streams: self.streams.clone(), connections: self.connections.clone() }
    }
}

/// Cuts watches in the middle, as a load balancer or a restart does, and resets connections, as a firewall does.
#[derive(Debug, Clone)]
pub struct ConnectionControl {
    streams: watch::Sender<u64>,
    connections: watch::Sender<u64>,
}

impl ConnectionControl {
    /// Cuts all watches that are open.
    pub fn cut(&self) {
        self.streams.send_modify(|cuts| *cuts += 1);
    }

    /// Resets all open connections (TCP RST): waiting callers get an error. Forwarded calls take effect.
    pub fn reset(&self) {
        self.connections.send_modify(|resets| *resets += 1);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
