//! The controllers' admission webhooks on this machine.

use anyhow::{Context as _, Result};
use kraken_local::webhooks;
use kube::Client;

use super::NAMESPACE;
use crate::{manifests, paths};

/// Installs the webhooks of a controller that will listen on this port.
pub(super) async fn install(client: &Client, controller: &str, port: u16) -> Result<()> {
    let path = format!("config/{controller}/webhook.yaml");
    let documents = manifests::read(&paths::workspace_root()?.join(&path))
        .with_context(|| format!("no manifests in {path}; run `cargo xtask gen`"))?;
    manifests::apply(client, &webhooks::at_port(documents, port)?, NAMESPACE).await.map(drop)
}

/// Waits until the controller has issued its certificate and the API server trusts it.
pub(super) async fn wait(client: &Client, controller: &str) -> Result<()> {
    webhooks::trusted(client, &format!("kraken-{controller}")).await
}
