//! Every object of a cluster, to find what an installation leaves behind.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::discovery::{Discovery, verbs};

/// How long a cluster may take to finish deletions.
const GONE_WITHIN: Duration = Duration::from_mins(2);
/// What comes and goes by itself: events are kept for an hour, and the rest follows what nodes and pods do.
const PASSING: [&str; 4] = ["Event", "Lease", "EndpointSlice", "ControllerRevision"];

/// Kind, namespace and name of each object.
pub(super) async fn list(kubeconfig: &Path) -> Result<BTreeSet<String>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("cannot read the kubeconfig")?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .context("cannot use the kubeconfig")?;
    let client = Client::try_from(config).context("cannot use the kubeconfig")?;
    let discovery = Discovery::new(client.clone()).run().await.context("cannot learn the cluster's kinds")?;
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
            // A kind that went away between the two requests.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.code == 405 => continue,
            Err(error) => return Err(error).with_context(|| format!("cannot list {}", resource.plural)),
        };
        for object in found.items {
            let namespace = object.metadata.namespace.unwrap_or_default();
            let name = object.metadata.name.unwrap_or_default();
            objects.insert(format!("{} {namespace}/{name}", resource.kind));
        }
    }
    Ok(objects)
}

/// Waits until the cluster holds the same objects as before.
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
            bail!("left behind: [{}]; lost: [{}]", left.join(", "), lost.join(", "));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
