//! All objects of a cluster, to find those that uninstalling does not remove.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::discovery::{Discovery, verbs};

/// The timeout for deletions.
const GONE_WITHIN: Duration = Duration::from_mins(2);
/// Kinds that Kubernetes creates and deletes itself: events expire after an hour, and the others follow nodes and pods.
const PASSING: [&str; 4] = ["Event", "Lease", "EndpointSlice", "ControllerRevision"];

/// Kind, namespace and name of each object.
pub(super) async fn list(kubeconfig: &Path) -> Result<BTreeSet<String>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("cannot read the kubeconfig")?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .context("cannot use the kubeconfig")?;
    let client = Client::try_from(config).context("cannot use the kubeconfig")?;
    let discovery =
        Discovery::new(client.clone()).run().await.context("failed to discover the kinds of the cluster")?;
    let mut objects = BTreeSet::new();
    for (resource, capabilities) in
        discovery.groups().flat_map(kube::discovery::ApiGroup::recommended_resources)
    {
        if !capabilities.supports_operation(verbs::LIST) || PASSING.contains(&resource.kind.as_str()) {
            continue;
        }
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let found = match api.list_metadata(&ListParams::default()).await {
            Ok(found) => found,
            // The kind was deleted between the two requests, or cannot be listed.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.code == 405 => continue,
            Err(error) => return Err(error).with_context(|| format!("failed to list {}", resource.plural)),
        };
        for object in found.items {
            let namespace = object.metadata.namespace.unwrap_or_default();
            let name = object.metadata.name.unwrap_or_default();
            objects.insert(format!("{} {namespace}/{name}", resource.kind));
        }
    }
    Ok(objects)
}

/// Waits until the cluster has the same objects as before.
pub(super) async fn same(kubeconfig: &Path, before: &BTreeSet<String>) -> Result<()> {
    let started = Instant::now();
    loop {
        let now = list(kubeconfig).await?;
        let left: Vec<_> = now.difference(before).cloned().collect();
        let lost: Vec<_> = before.difference(&now).cloned().collect();
        if left.is_empty() && lost.is_empty() {
            return Ok(());
        }
        if started.elapsed() > GONE_WITHIN {
            bail!("objects remain: [{}]; objects are missing: [{}]", left.join(", "), lost.join(", "));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
