//! Manual changes of the objects that a resource owns are reverted, and remote objects are deleted even if the resource
//! itself cannot be decoded any more.

use anyhow::Result;
use serde_json::{Value, json};

use super::{setting, small};

fn colour(state: &Value) -> &Value {
    &state["spec"]["data"]["gadget"]["Colour"]
}

#[tokio::test]
async fn a_manually_edited_state_is_reverted_at_once_and_after_a_restart() -> Result<()> {
    let mut s = setting().await?;
    s.ready("a", &small()).await?;
    let edit = json!({"spec": {"data": {"gadget": {"Colour": "gold"}}}});
    let as_published = |state: &Value| {
        let meta = &state["metadata"];
        let published = &meta["annotations"]["kraken-iac.eoinfennessy.com/published-generation"];
        let generation = meta["generation"].to_string();
        *colour(state) == "grey"
            && published.as_str() == Some(&generation)
            && meta["labels"]["kraken-iac.eoinfennessy.com/owner-kind"] == "gadget.testing"
            && meta["ownerReferences"][0]["controller"] == true
    };
    let (kind, name) = ("StateDeclaration", "gadget.testing.a");
    s.test_env.until(kind, name, as_published).await?;
    s.test_env.patch(kind, name, edit.clone()).await?;
    s.test_env.until(kind, name, as_published).await?;
    // An edit that also forges the annotations is detected at the latest by the next reconcile.
    for patch in [
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"annotations": null}}),
    ] {
        s.test_env.patch(kind, name, patch.clone()).await?;
        s.test_env.until(kind, name, as_published).await?;
    }
    s.test_env.delete(kind, name).await?;
    s.test_env.until(kind, name, as_published).await?;
    drop(s.spoke);
    s.test_env.patch(kind, name, edit).await?;
    s.spoke = kraken_tests::InProcess::start(&s.test_env, &s.cloud).await?;
    s.test_env.until(kind, name, as_published).await?;
    Ok(())
}

#[tokio::test]
async fn a_manually_edited_or_deleted_request_is_restored() -> Result<()> {
    let s = setting().await?;
    s.test_env
        .apply(
            r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: sizes}, data: {small: "2", large: "9"}}"#,
        )
        .await?;
    let spec = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    let owner = s.ready("a", &spec).await?;
    let (kind, name) = ("DependencyRequest", "gadget.testing.a");
    let is_right = |request: &Value| {
        request["spec"]["configMapDependencies"][0]["key"] == "small"
            && request["metadata"]["deletionTimestamp"].is_null()
            && request["metadata"]["finalizers"][0] == "kraken-iac.eoinfennessy.com/references"
            && request["metadata"]["ownerReferences"][0]["name"] == "a"
    };
    let first = s.test_env.until(kind, name, is_right).await?;
    let large = json!([{"name": "sizes", "key": "large"}]);
    for patch in [
        json!({"spec": {"configMapDependencies": large}}),
        json!({"metadata": {"finalizers": null}}),
        json!({"metadata": {"ownerReferences": null}}),
    ] {
        s.test_env.patch(kind, name, patch).await?;
        s.test_env.until(kind, name, is_right).await?;
    }
    for spoke in [Value::Null, json!("kraken-other")] {
        // It would not be found any more.
        let hidden = s.test_env.patch(kind, name, json!({"spec": {"spoke": spoke}})).await;
        let error = format!("{:#}", hidden.expect_err("the field cannot be changed"));
        assert!(error.contains("spoke"), "{error}");
    }
    s.test_env.delete(kind, name).await?;
    s.test_env
        .until(kind, name, |now| is_right(now) && now["metadata"]["uid"] != first["metadata"]["uid"])
        .await?;
    s.test_env.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 2);
    Ok(())
}

#[tokio::test]
async fn an_undecodable_resource_is_protected_and_deleted_by_its_identity() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let kept = s.ready("kept", &small()).await?;
    let unreadable = |lifecycle: Value| json!({"spec": {"password": 7, "lifecycle": lifecycle}});
    s.test_env.patch("Gadget", "a", unreadable(json!({"protect": true}))).await?;
    s.test_env.patch("Gadget", "kept", unreadable(json!({"deletion": "Retain"}))).await?;
    let message = s.test_env.not_ready("Gadget", "a", "InvalidSpec").await?;
    assert!(message.contains("does not decode as Gadget"), "{message}");
    let object = s.test_env.get("Gadget", "a").await?;
    assert_eq!(object["status"]["externalIds"][0], s.cloud.alive(&owner)[0].id, "the ids are not forgotten");
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.not_ready("Gadget", "a", "DeletionProtected").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    s.test_env.patch("Gadget", "a", unreadable(json!({"protect": false}))).await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    s.test_env.delete("Gadget", "kept").await?;
    s.test_env.gone("Gadget", "kept").await?;
    assert!(s.cloud.journal().contains(&"release".to_owned()));
    assert!(s.cloud.alive(&kept).is_empty(), "released, it has no owner");
    Ok(())
}

#[tokio::test]
async fn a_too_large_state_does_not_block_other_actions() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    s.cloud.tamper(&id, |object| object.note = "x".repeat(3_200_000));
    s.test_env.apply(&gadget_of_size(5)).await?;
    let message = s.test_env.not_ready("Gadget", "a", "KubernetesError").await?;
    assert!(message.contains("spec.lifecycle.share.include"), "{message}");
    assert_eq!(s.cloud.alive(&owner)[0].size, 5, "the edit was carried out");
    // A part of it is within the limit.
    let shared = json!({"spec": {"lifecycle": {"share": {"include": ["gadget.Size"]}}}});
    s.test_env.patch("Gadget", "a", shared).await?;
    s.test_env.ready("Gadget", "a").await.map(drop)
}

fn gadget_of_size(size: i64) -> String {
    super::gadget("a", &json!({"size": {"value": size}}))
}
