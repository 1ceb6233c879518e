//! `kubectl delete namespace`: Kubernetes deletes everything in no particular order; remote objects are deleted in the
//! order of references, and protected ones are kept with their dependencies.

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
    s.test_env.ns.delete().await?;
    s.test_env.not_ready("Gadget", "second", "DeletionProtected").await?;
    let message = s.test_env.not_ready("Gadget", "first", "DeletionBlocked").await?;
    assert!(message.contains("gadget second"), "{message}");
    // The namespace controller has deleted the states, and the references are still known.
    s.test_env.gone("StateDeclaration", "gadget.testing.first").await?;
    assert!(!s.test_env.get("DependencyRequest", "gadget.testing.second").await?.is_null());
    assert_eq!((s.cloud.alive(&first).len(), s.cloud.alive(&second).len()), (1, 1));
    assert!(!s.test_env.all("Gadget").await?.contains("unable to create new content"));

    s.test_env.patch("Gadget", "second", json!({"spec": {"lifecycle": {"protect": false}}})).await?;
    s.test_env.gone("Gadget", "second").await?;
    s.test_env.gone("Gadget", "first").await?;
    assert!(s.cloud.alive(&first).is_empty() && s.cloud.alive(&second).is_empty());
    // No object of Kraken blocks the namespace.
    s.test_env.gone("DependencyRequest", "gadget.testing.second").await?;
    let namespaces = Api::<Namespace>::all(s.test_env.client());
    for _ in 0..600 {
        if namespaces.get_opt(&s.test_env.ns.name).await?.is_none() {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    anyhow::bail!("the namespace still exists")
}

#[tokio::test]
async fn a_crash_between_two_finalizers_does_not_block_the_namespace() -> Result<()> {
    let mut s = setting().await?;
    s.ready("first", &small()).await?;
    s.ready("second", &dependent(false)).await?;
    s = s.crash_and_restart().await?;
    // Like a controller that was killed right after it removed the resource's finalizer.
    drop(s.spoke);
    s.test_env.patch("Gadget", "second", json!({"metadata": {"finalizers": null}})).await?;
    s.test_env.delete("Gadget", "second").await?;
    s.test_env.gone("Gadget", "second").await?;
    s.test_env
        .until("DependencyRequest", "gadget.testing.second", |request| {
            !request["metadata"]["deletionTimestamp"].is_null()
        })
        .await?;
    let _spoke = kraken_tests::InProcess::start(&s.test_env, &s.cloud).await?;
    s.test_env.gone("DependencyRequest", "gadget.testing.second").await
}
