//! The admission webhooks of controllers that run as processes: their configuration, with the address of the process in the place of the
//! Service.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::{Api, Client};
use serde_json::json;

use crate::manifests::Document;

const TRUSTED_WITHIN: Duration = Duration::from_mins(1);

/// The webhooks of a controller that listens on this port of loopback, without its Service.
///
/// # Errors
/// When a webhook has no path.
pub fn at_port(mut documents: Vec<Document>, port: u16) -> Result<Vec<Document>> {
    documents.retain(|document| document.gvk.kind != "Service");
    for document in &mut documents {
        let webhooks = document.value.get_mut("webhooks").and_then(|webhooks| webhooks.as_array_mut());
        for webhook in webhooks.into_iter().flatten() {
            let path = webhook.pointer("/clientConfig/service/path").and_then(|path| path.as_str());
            let path = path.context("a webhook without a path")?;
            webhook["clientConfig"] = json!({"url": format!("https://127.0.0.1:{port}{path}")});
        }
    }
    Ok(documents)
}

/// Waits until the controller of this name (`kraken-hub`) has issued its certificate and the API server trusts it.
///
/// # Errors
/// When it has not within a minute.
pub async fn trusted(client: &Client, name: &str) -> Result<()> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let started = Instant::now();
    loop {
        let found = api.get_opt(name).await.with_context(|| format!("cannot read the webhooks of {name}"))?;
        let webhooks = found.and_then(|found| found.webhooks);
        if webhooks.is_some_and(|all| all.iter().all(|webhook| webhook.client_config.ca_bundle.is_some())) {
            return Ok(());
        }
        if started.elapsed() > TRUSTED_WITHIN {
            bail!("{name} has not published the certificate of its webhooks");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
