//! An HTTP server of archives in memory, in place of source-controller's.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use kraken_simulator::serve::serve;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

type Files = Arc<Mutex<BTreeMap<String, Bytes>>>;

/// The server; stopped on drop.
#[derive(Debug)]
pub(crate) struct Artifacts {
    address: String,
    files: Files,
    /// Dropping it stops the server.
    _stop: oneshot::Sender<()>,
}

impl Artifacts {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When no port is available.
    pub(crate) fn serve() -> Result<Self> {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).context("cannot listen for the artifact server")?;
        listener.set_nonblocking(true)?;
        let address = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let files = Files::default();
        let served = files.clone();
        tokio::spawn(serve(listener, "artifact server", stopped, move |request| {
            let body = served.lock().get(request.uri().path()).cloned();
            let mut response = Response::new(Full::new(body.clone().unwrap_or_default()));
            if body.is_none() {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            async move { Ok(response) }
        }));
        Ok(Self { address, files, _stop: stop })
    }

    /// The status of a source whose newest revision is this archive.
    pub(crate) fn add(&self, name: &str, archive: Vec<u8>) -> Value {
        let digest = hex::encode(Sha256::digest(&archive));
        let path = format!("/{name}/{digest}.tar.gz");
        let size = archive.len();
        self.files.lock().insert(path.clone(), archive.into());
        json!({
            "path": path.trim_start_matches('/'), "url": format!("{}{path}", self.address), "size": size,
            "revision": format!("main@sha1:{}", &digest[..40]), "digest": format!("sha256:{digest}"),
            "lastUpdateTime": "2026-01-01T00:00:00Z",
        })
    }
}
