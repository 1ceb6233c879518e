//! Deletion: in order, protected, retained, never too early; and orphans.

use std::time::Duration;

use anyhow::Result;
use kraken_kind::FailureClass;
use kraken_tests::{
    InProcess, TestEnv,
    toy::{Cloud, Fault},
};
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Value, json};

use super::{Setting, approve, gadget, setting, setting_with, small, uid};

#[tokio::test]
async fn a_deletion_completes_as_soon_as_the_object_is_missing() -> Result<()> {
    // This object was observed, and its deletion was requested: its visibility window, which is longer than any test, does not count.
    let s = setting_with(&["--visibility-window", "1h"]).await?;
    s.cloud.forget_what_is_deleted();
    let owner = s.ready("a", &small()).await?;
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_waiting_deletion_searches_by_tag_only_at_start_and_end() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    for _ in 0..2 {
        s.cloud.fault("delete", Fault::Before(FailureClass::NotYet));
    }
    let before = s.cloud.searches();
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    assert_eq!(s.cloud.searches() - before, 2, "{:?}", s.cloud.journal());
    Ok(())
}

#[tokio::test]
async fn a_deletion_does_not_leak_an_invisible_launch() -> Result<()> {
    let mut s = setting().await?;
    s.cloud.fault("create", Fault::Lag(3));
    s.test_env.apply(&gadget("a", &small())).await?;
    s.called("create", 1).await;
    let owner = uid(&s.test_env.get("Gadget", "a").await?);
    s.test_env.delete("Gadget", "a").await?;
    s = s.crash_and_restart().await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_deletion_that_orphans_dependents_leaves_no_state_behind() -> Result<()> {
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    s.test_env.until("StateDeclaration", "gadget.testing.a", |state| !state.is_null()).await?;
    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    s.test_env.api("Gadget").delete("a", &orphan).await?;
    s.test_env.gone("Gadget", "a").await?;
    s.test_env.gone("StateDeclaration", "gadget.testing.a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn deletion_respects_protect_paused_and_retain() -> Result<()> {
    let s = setting().await?;
    let with = |lifecycle: Value| json!({"size": {"value": 3}, "lifecycle": lifecycle});
    let owner = s.ready("kept", &with(json!({"protect": true}))).await?;
    s.test_env.delete("Gadget", "kept").await?;
    s.test_env.not_ready("Gadget", "kept", "DeletionProtected").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    s.test_env
        .patch("Gadget", "kept", json!({"spec": {"lifecycle": {"protect": false, "paused": true}}}))
        .await?;
    s.test_env.not_ready("Gadget", "kept", "Paused").await?;
    s.test_env
        .patch("Gadget", "kept", json!({"spec": {"lifecycle": {"paused": false, "deletion": "Retain"}}}))
        .await?;
    s.test_env.gone("Gadget", "kept").await?;
    assert!(s.cloud.journal().contains(&"release".to_owned()));
    assert!(!s.cloud.journal().contains(&"delete".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_resource_can_be_deleted_without_its_dependencies() -> Result<()> {
    let s = setting().await?;
    s.test_env
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: sizes}, data: {small: "2"}}"#)
        .await?;
    let spec = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    let owner = s.ready("a", &spec).await?;
    s.test_env.delete("ConfigMap", "sizes").await?;
    s.test_env.not_ready("Gadget", "a", "DependenciesNotReady").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1, "a missing value deletes nothing");
    s.test_env.delete("Gadget", "a").await?;
    s.test_env.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_deletion_waits_for_dependents_and_names_them() -> Result<()> {
    let s = setting().await?;
    let first = s.ready("first", &json!({"size": {"value": 3}, "colour": {"value": "blue"}})).await?;
    let colour = json!({"valueFrom": {"krakenResource": {"kind": "Gadget", "name": "first", "path": "gadget.Colour"}}});
    s.ready("second", &json!({"size": {"value": 3}, "colour": colour})).await?;
    s.test_env.delete("Gadget", "first").await?;
    let message = s.test_env.not_ready("Gadget", "first", "DeletionBlocked").await?;
    assert!(message.contains("gadget second"), "{message}");
    assert_eq!(s.cloud.alive(&first).len(), 1);
    s.test_env.delete("Gadget", "second").await?;
    s.test_env.gone("Gadget", "second").await?;
    s.test_env.gone("Gadget", "first").await?;
    assert!(s.cloud.alive(&first).is_empty());
    Ok(())
}

#[tokio::test]
async fn an_object_in_use_is_kept_while_the_edit_that_frees_it_waits_for_approval() -> Result<()> {
    let s = setting().await?;
    let first = s.ready("first", &small()).await?;
    let manual =
        |size: Value| json!({"size": size, "lifecycle": {"approval": "Manual", "resyncInterval": "1s"}});
    let named = json!({"krakenResource": {"kind": "Gadget", "name": "first", "path": "gadget.Size"}});
    s.test_env.apply(&gadget("second", &manual(json!({"valueFrom": named})))).await?;
    approve(&s, "second").await?;
    s.test_env.ready("Gadget", "second").await?;

    // The spec does not name the first one any more, and what is in the cloud still uses it.
    s.test_env.apply(&gadget("second", &manual(json!({"value": 5})))).await?;
    s.test_env.not_ready("Gadget", "second", "AwaitingApproval").await?;
    s.test_env.delete("Gadget", "first").await?;
    let message = s.test_env.not_ready("Gadget", "first", "DeletionBlocked").await?;
    assert!(message.contains("gadget second"), "{message}");
    // Reconciles that a user requests meanwhile decide the same.
    s.touch("first").await?;
    s.touch("second").await?;
    let plan = s.test_env.not_ready("Gadget", "second", "AwaitingApproval").await?;
    assert!(plan.contains("would change spec.size from 3 to 5"), "{plan}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    s.test_env.not_ready("Gadget", "first", "DeletionBlocked").await?;
    assert_eq!(s.cloud.alive(&first).len(), 1);

    approve(&s, "second").await?;
    s.test_env.gone("Gadget", "first").await?;
    assert!(s.cloud.alive(&first).is_empty());
    s.test_env.ready("Gadget", "second").await.map(drop)
}

#[tokio::test]
async fn orphans_are_reported_and_removed_only_with_the_flag() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let cloud = Cloud::default();
    cloud.insert("nobody");
    let s = Setting {
        spoke: InProcess::with(&test_env, &cloud, &["--orphan-interval", "200ms"]).await?,
        test_env,
        cloud,
    };
    let owner = s.ready("a", &small()).await?;
    s.called("list_owned", 5).await;
    assert_eq!(s.cloud.alive("nobody").len(), 1, "an orphan that is only reported is not deleted");
    drop(s.spoke);
    let flags = ["--orphan-interval", "200ms", "--remove-orphans"];
    let _spoke = InProcess::with(&s.test_env, &s.cloud, &flags).await?;
    for _ in 0..100 {
        if s.cloud.alive("nobody").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(s.cloud.alive("nobody").is_empty());
    assert_eq!(s.cloud.alive(&owner).len(), 1, "an object with an owner is not deleted");
    Ok(())
}
