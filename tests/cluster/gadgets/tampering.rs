//! What others do by hand to the objects that a resource owns is put right; and what a resource has in the cloud is deleted
//! even when the object itself cannot be read any more.

use anyhow::Result;
use serde_json::{Value, json};

use super::{setting, small};

fn colour(state: &Value) -> &Value {
    &state["spec"]["data"]["gadget"]["Colour"]
}

#[tokio::test]
async fn a_state_edited_by_hand_is_reverted_at_once_and_after_a_restart() -> Result<()> {
    let mut s = setting().await?;
    s.ready("a", &small()).await?;
    let edit = json!({"spec": {"data": {"gadget": {"Colour": "gold"}}}});
    let as_published = |state: &Value| {
        let meta = &state["metadata"];
        *colour(state) == "grey"
            && meta["annotations"]["kraken-iac.eoinfennessy.com/published-generation"]
                == meta["generation"].to_string()
            && meta["labels"]["kraken-iac.eoinfennessy.com/owner-kind"] == "gadget.testing"
            && meta["ownerReferences"][0]["controller"] == true
    };
    let (kind, name) = ("StateDeclaration", "gadget.testing.a");
    s.world.until(kind, name, as_published).await?;
    s.world.patch(kind, name, edit.clone()).await?;
    s.world.until(kind, name, as_published).await?;
    // An edit that forges the bookkeeping is none the less an edit, at the latest when the resource is looked at.
    for patch in [
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"annotations": null}}),
    ] {
        s.world.patch(kind, name, patch.clone()).await?;
        s.world.until(kind, name, as_published).await?;
    }
    s.world.delete(kind, name).await?;
    s.world.until(kind, name, as_published).await?;
    drop(s.spoke);
    s.world.patch(kind, name, edit).await?;
    s.spoke = kraken_tests::InProcess::start(&s.world, &s.cloud).await?;
    s.world.until(kind, name, as_published).await?;
    Ok(())
}

#[tokio::test]
async fn a_request_edited_or_deleted_by_hand_is_put_right() -> Result<()> {
    let s = setting().await?;
    s.world
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
    let first = s.world.until(kind, name, is_right).await?;
    let large = json!([{"name": "sizes", "key": "large"}]);
    for patch in [
        json!({"spec": {"configMapDependencies": large}}),
        json!({"metadata": {"finalizers": null}}),
        json!({"metadata": {"ownerReferences": null}}),
    ] {
        s.world.patch(kind, name, patch).await?;
        s.world.until(kind, name, is_right).await?;
    }
    s.world.delete(kind, name).await?;
    s.world
        .until(kind, name, |now| is_right(now) && now["metadata"]["uid"] != first["metadata"]["uid"])
        .await?;
    s.world.ready("Gadget", "a").await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 2);
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_read_is_protected_and_then_deleted_by_its_identity() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let kept = s.ready("kept", &small()).await?;
    let unreadable = |lifecycle: Value| json!({"spec": {"password": 7, "lifecycle": lifecycle}});
    s.world.patch("Gadget", "a", unreadable(json!({"protect": true}))).await?;
    s.world.patch("Gadget", "kept", unreadable(json!({"deletion": "Retain"}))).await?;
    let message = s.world.not_ready("Gadget", "a", "InvalidSpec").await?;
    assert!(message.contains("cannot be read as Gadget"), "{message}");
    let object = s.world.get("Gadget", "a").await?;
    assert_eq!(object["status"]["externalIds"][0], s.cloud.alive(&owner)[0].id, "the ids are not forgotten");
    s.world.delete("Gadget", "a").await?;
    s.world.not_ready("Gadget", "a", "DeletionProtected").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    s.world.patch("Gadget", "a", unreadable(json!({"protect": false}))).await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    s.world.delete("Gadget", "kept").await?;
    s.world.gone("Gadget", "kept").await?;
    assert!(s.cloud.journal().contains(&"release".to_owned()));
    assert!(s.cloud.alive(&kept).is_empty(), "released, it has no owner");
    Ok(())
}

#[tokio::test]
async fn a_state_that_is_too_large_keeps_nobody_from_acting() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    s.cloud.tamper(&id, |thing| thing.note = "x".repeat(3_200_000));
    s.world.apply(&gadget_of_size(5)).await?;
    let message = s.world.not_ready("Gadget", "a", "KubernetesError").await?;
    assert!(message.contains("spec.lifecycle.share.include"), "{message}");
    assert_eq!(s.cloud.alive(&owner)[0].size, 5, "the edit was carried out");
    // Published in part, it fits.
    let shared = json!({"spec": {"lifecycle": {"share": {"include": ["gadget.Size"]}}}});
    s.world.patch("Gadget", "a", shared).await?;
    s.world.ready("Gadget", "a").await.map(drop)
}

fn gadget_of_size(size: i64) -> String {
    super::gadget("a", &json!({"size": {"value": size}}))
}
