//! Waits until CRDs are served.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::Value;

/// How long a kind may take to be served.
pub(super) const SERVED_WITHIN: Duration = Duration::from_secs(20);
/// The pause between two requests that ask for it.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// Waits until every CRD among `applied` is served.
pub(super) async fn served(client: &Client, applied: &[DynamicObject]) -> Result<()> {
    let deadline = Instant::now() + SERVED_WITHIN;
    let is_crd = |object: &&DynamicObject| {
        object.types.as_ref().is_some_and(|types| types.kind == "CustomResourceDefinition")
    };
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
    for crd in applied.iter().filter(is_crd) {
        let name = crd.name_any();
        loop {
            let now = crds.get(&name).await.with_context(|| format!("cannot read CRD {name}"))?;
            if condition(&now, "Established") == Some("True") {
                break;
            }
            if Instant::now() > deadline {
                let status = now.data.get("status").map(Value::to_string).unwrap_or_default();
                bail!("CRD {name} is not established; its status is {status}");
            }
            tokio::time::sleep(POLL).await;
        }
        listable(client, crd, deadline).await?;
    }
    Ok(())
}

/// Waits until the objects of a CRD can be listed: for a moment after it is established, its storage is being set up
/// and every request is rejected with 429 or 404.
async fn listable(client: &Client, crd: &DynamicObject, deadline: Instant) -> Result<()> {
    let text = |pointer: &str| crd.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let versions = crd.data.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| version["served"] == true);
    for version in served.filter_map(|version| version["name"].as_str()) {
        let gvk = GroupVersionKind::gvk(text("/spec/group"), version, text("/spec/names/kind"));
        let resource = ApiResource::from_gvk_with_plural(&gvk, text("/spec/names/plural"));
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        while let Err(problem) = objects.list_metadata(&ListParams::default().limit(1)).await {
            if Instant::now() > deadline {
                return Err(problem)
                    .with_context(|| format!("CRD {} is established but not served", crd.name_any()));
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

/// The status of a condition.
fn condition<'object>(object: &'object DynamicObject, kind: &str) -> Option<&'object str> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
}
