//! What the control plane must have before the controllers start: CRDs, roles, admission policies and webhooks of this version.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kraken_local::{
    manifests::{apply, parse},
    webhooks::at_port,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::embedded::{Controller, SHARED};

/// The namespace of the controllers.
pub(super) const NAMESPACE: &str = "kraken-system";
/// The ConfigMap that says what is installed. It is stored beside what it describes, so that a restored copy of the data has it too.
const INSTALLED: &str = "kraken-local";
const KEY: &str = "manifests";

/// Installs what differs from what is stored already.
pub(super) async fn install(client: &Client, controllers: &[&'static Controller]) -> Result<()> {
    let records: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let stored = records.get_opt(INSTALLED).await.context("cannot read what is installed")?;
    let wanted = digest(controllers);
    let stored = stored.and_then(|record| record.data?.remove(KEY));
    if stored.as_ref() == Some(&wanted) {
        return Ok(());
    }
    eprintln!("installing the kinds and roles of this version ...");
    let mut documents = vec![];
    for text in texts(controllers) {
        documents.extend(parse("a manifest of this version", text)?);
    }
    apply(client, &documents, NAMESPACE).await?;
    let record = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": INSTALLED}, "data": {KEY: wanted}});
    let params = PatchParams::apply("kubectl-kraken").force();
    let patched = records.patch(INSTALLED, &params, &Patch::Apply(record)).await;
    patched.map(drop).context("cannot record what is installed")
}

fn texts<'a>(controllers: &'a [&'static Controller]) -> impl Iterator<Item = &'static str> + 'a {
    let own = controllers.iter().flat_map(|of| [of.crds, of.roles, of.policies].into_iter().flatten());
    SHARED.iter().chain(own).copied()
}

/// Differs whenever a manifest does.
fn digest(controllers: &[&'static Controller]) -> String {
    let mut hasher = DefaultHasher::new();
    texts(controllers).for_each(|text| text.hash(&mut hasher));
    format!("{:016x}", hasher.finish())
}

/// Points the webhooks of each controller at its port of this start.
pub(super) async fn install_webhooks(
    client: &Client,
    controllers: &[(&'static Controller, u16)],
) -> Result<()> {
    let mut documents = vec![];
    for (controller, port) in controllers {
        for text in controller.webhooks {
            documents.extend(at_port(parse("the webhooks of this version", text)?, *port)?);
        }
    }
    apply(client, &documents, NAMESPACE).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::CONTROLLERS;

    #[test]
    fn every_manifest_is_kubernetes_and_the_digest_names_the_set() {
        let all: Vec<_> = CONTROLLERS.iter().collect();
        for controller in &all {
            assert!(!controller.crds.is_empty() && !controller.roles.is_empty(), "{}", controller.name);
            assert!(
                !controller.policies.is_empty() && !controller.webhooks.is_empty(),
                "{}",
                controller.name
            );
        }
        let texts: Vec<_> = texts(&all[..1]).collect();
        assert!(texts.iter().flat_map(|text| parse("a test", text).unwrap()).count() > texts.len());
        assert_ne!(digest(&all), digest(&all[1..]));
    }
}
