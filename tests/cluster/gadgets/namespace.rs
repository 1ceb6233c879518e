//! `kubectl delete namespace`: Kubernetes deletes everything in no order; what exists in the cloud goes in the order of
//! references, and what is protected stays with all that it needs.

use anyhow::Result;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use serde_json::json;

use super::{setting, small};

/// A gadget that refers to `first`.
fn dependent(protect: bool) -> serde_json::Value {
    let colour = json!({"valueFrom": {"krakenResource": {"kind": "Gadget", "name": "first", "path": "gadget.Colour"}}});
    json!({"size": {"value": 3}, "colour": colour, "lifecycle": {"protect": protect}})
}

#[tokio::test]
async fn a_namespace_is_deleted_in_order_and_protection_holds() -> Result<()> {
    let s = setting().await?;
    let first = s.ready("first", &small()).await?;
    let second = s.ready("second", &dependent(true)).await?;
    s.world.ns.delete().await?;
    s.world.not_ready("Gadget", "second", "DeletionProtected").await?;
    let message = s.world.not_ready("Gadget", "first", "DeletionBlocked").await?;
    assert!(message.contains("gadget second"), "{message}");
    // The namespace controller has been through: its states are gone, and who refers to whom is still known.
    s.world.gone("StateDeclaration", "gadget.testing.first").await?;
    assert!(!s.world.get("DependencyRequest", "gadget.testing.second").await?.is_null());
    assert_eq!((s.cloud.alive(&first).len(), s.cloud.alive(&second).len()), (1, 1));
    assert!(!s.world.all("Gadget").await?.contains("unable to create new content"));

    s.world.patch("Gadget", "second", json!({"spec": {"lifecycle": {"protect": false}}})).await?;
    s.world.gone("Gadget", "second").await?;
    s.world.gone("Gadget", "first").await?;
    assert!(s.cloud.alive(&first).is_empty() && s.cloud.alive(&second).is_empty());
    // Nothing of ours is left that would keep the namespace.
    s.world.gone("DependencyRequest", "gadget.testing.second").await?;
    let namespaces = Api::<Namespace>::all(s.world.client());
    for _ in 0..600 {
        if namespaces.get_opt(&s.world.ns.name).await?.is_none() {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    anyhow::bail!("the namespace is still there")
}

#[tokio::test]
async fn a_crash_between_a_resource_and_its_references_leaves_nothing_that_keeps_the_namespace() -> Result<()>
{
    let mut s = setting().await?;
    s.ready("first", &small()).await?;
    s.ready("second", &dependent(false)).await?;
    s = s.crash_and_restart().await?;
    // As a controller that was killed right after it took the finalizer off the resource.
    drop(s.spoke);
    s.world.patch("Gadget", "second", json!({"metadata": {"finalizers": null}})).await?;
    s.world.delete("Gadget", "second").await?;
    s.world.gone("Gadget", "second").await?;
    s.world
        .until("DependencyRequest", "gadget.testing.second", |request| {
            !request["metadata"]["deletionTimestamp"].is_null()
        })
        .await?;
    let _spoke = kraken_tests::InProcess::start(&s.world, &s.cloud).await?;
    s.world.gone("DependencyRequest", "gadget.testing.second").await
}
