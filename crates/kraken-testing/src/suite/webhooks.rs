//! The controllers' admission webhooks on this machine: their generated configuration, with the address of the process in the
//! place of the Service.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::{Api, Client};
use serde_json::json;

use super::NAMESPACE;
use crate::{manifests, paths};

const TRUSTED_WITHIN: Duration = Duration::from_mins(1);

/// Installs the webhooks of a controller that will listen on this port.
pub(super) async fn install(client: &Client, controller: &str, port: u16) -> Result<()> {
    let path = format!("config/{controller}/webhook.yaml");
    let mut documents = manifests::read(&paths::workspace_root()?.join(&path))
        .with_context(|| format!("no manifests in {path}; run `cargo xtask gen`"))?;
    documents.retain(|document| document.gvk.kind != "Service");
    for document in &mut documents {
        let webhooks = document.value.get_mut("webhooks").and_then(|webhooks| webhooks.as_array_mut());
        for webhook in webhooks.into_iter().flatten() {
            let path = webhook.pointer("/clientConfig/service/path").and_then(|path| path.as_str());
            let path = path.context("a webhook without a path")?;
            webhook["clientConfig"] = json!({"url": format!("https://127.0.0.1:{port}{path}")});
        }
    }
    manifests::apply(client, &documents, NAMESPACE).await.map(drop)
}

/// Waits until the controller has issued its certificate and the API server trusts it.
pub(super) async fn wait(client: &Client, controller: &str) -> Result<()> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let name = format!("kraken-{controller}");
    let started = Instant::now();
    loop {
        let found = api.get(&name).await.with_context(|| format!("cannot read the webhooks of {name}"))?;
        if found.webhooks.iter().flatten().all(|webhook| webhook.client_config.ca_bundle.is_some()) {
            return Ok(());
        }
        if started.elapsed() > TRUSTED_WITHIN {
            bail!("{name} has not published the certificate of its webhooks");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
