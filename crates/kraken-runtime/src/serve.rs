//! The HTTP server for `/healthz`, `/readyz` and `/metrics`, without TLS, for the kubelet and Prometheus.

use std::{io, net::SocketAddr};

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use kraken_webhook::connections::Connections;
use tokio::{net::TcpListener, time::Instant};
use tokio_util::sync::CancellationToken;

/// The maximum number of open connections: the kubelet and a few scrapers use one each.
const MAX_CONNECTIONS: usize = 64;

pub use crate::health::Health;
use crate::metrics::{self, Metrics};

/// The port cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address} (--listen-address): {source}")]
pub struct ListenError {
    /// The requested address.
    pub address: SocketAddr,
    /// The error of the system.
    pub source: io::Error,
}

/// Serves until the process ends, in a separate task. The returned address has the actual port if the port of `address`
/// is 0.
///
/// # Errors
/// If the address is in use or not available on this machine.
pub async fn start(address: SocketAddr, health: Health, metrics: Metrics) -> Result<SocketAddr, ListenError> {
    let refuse = |source| ListenError { address, source };
    let listener = TcpListener::bind(address).await.map_err(refuse)?;
    let bound = listener.local_addr().map_err(refuse)?;
    let closed = metrics.clone();
    let connections =
        Connections::new("health and metrics", MAX_CONNECTIONS, move || closed.connection_closed("health"));
    crate::task::spawn(connections.serve(listener, routes(health, metrics), CancellationToken::new()));
    Ok(bound)
}

fn routes(health: Health, metrics: Metrics) -> Router {
    let ready = health.clone();
    Router::new()
        .route("/healthz", get(async move || answer(&health.faults(Instant::now()), &[])))
        .route("/readyz", get(async move || answer(&ready.not_ready(Instant::now()), &ready.warnings())))
        .route("/metrics", get(async move || ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics.encode())))
}

/// 200 and `ok`, or 503 and one problem per line; then the warnings.
fn answer(faults: &[String], warnings: &[String]) -> impl IntoResponse + use<> {
    let (status, first) = if faults.is_empty() {
        (StatusCode::OK, "ok".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, faults.join("\n"))
    };
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}\n"));
    (status, format!("{first}\n{}", warnings.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;

    const ANY_PORT: &str = "127.0.0.1:0";

    async fn get(address: SocketAddr, path: &str) -> String {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: kraken\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn readiness_names_missing_prerequisites_until_they_are_met() {
        let health = Health::default();
        let address = start(ANY_PORT.parse().unwrap(), health.clone(), Metrics::new("test")).await.unwrap();
        let (secret, map) = (health.register_watch("Secret"), health.register_watch("ConfigMap"));
        let before = get(address, "/readyz").await;
        assert!(before.starts_with("HTTP/1.1 503"), "{before}");
        assert!(before.ends_with("Secret has not synced\nConfigMap has not synced\n"), "{before}");
        secret.synced();
        map.synced();
        let after = get(address, "/readyz").await;
        assert!(after.starts_with("HTTP/1.1 200") && after.ends_with("ok\n"), "{after}");
    }

    #[tokio::test]
    async fn a_warning_is_shown_and_does_not_prevent_readiness() {
        let health = Health::default();
        let address = start(ANY_PORT.parse().unwrap(), health.clone(), Metrics::new("test")).await.unwrap();
        health.warn("another version");
        let answer = get(address, "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with("ok\nwarning: another version\n"), "{answer}");
        assert!(!get(address, "/healthz").await.contains("warning"));
    }

    #[tokio::test]
    async fn liveness_does_not_wait_for_readiness_but_ends_with_a_watch() {
        let health = Health::default();
        let address = start(ANY_PORT.parse().unwrap(), health.clone(), Metrics::new("test")).await.unwrap();
        let watch = health.register_watch("Secret");
        assert!(get(address, "/healthz").await.starts_with("HTTP/1.1 200"));
        drop(watch);
        let ended = get(address, "/healthz").await;
        assert!(ended.starts_with("HTTP/1.1 503"), "{ended}");
        assert!(ended.ends_with("the watch of Secret has ended\n"), "{ended}");
    }

    #[tokio::test]
    async fn metrics_are_served_in_their_format() {
        let metrics = Metrics::new("test");
        let address = start(ANY_PORT.parse().unwrap(), Health::default(), metrics.clone()).await.unwrap();
        metrics.watch_failed("Secret");
        let answer = get(address, "/metrics").await;
        assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0"), "{answer}");
        assert!(answer.contains(r#"kraken_watch_errors_total{kind="Secret"} 1"#), "{answer}");
    }

    #[tokio::test]
    async fn an_address_in_use_is_reported_with_its_flag() {
        let holder = TcpListener::bind(ANY_PORT).await.unwrap();
        let address = holder.local_addr().unwrap();
        let error = start(address, Health::default(), Metrics::new("test")).await.unwrap_err();
        assert!(error.to_string().contains(&format!("{address} (--listen-address)")), "{error}");
    }
}
