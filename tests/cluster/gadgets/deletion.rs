//! Deletion: in order, protected, retained, never too early; and orphans.

use std::time::Duration;

use anyhow::Result;
use kraken_spoke::FailureClass;
use kraken_testing::toy::{Cloud, Fault};
use kraken_tests::{InProcess, World};
use serde_json::{Value, json};

use super::{Setting, gadget, setting, small, uid};

#[tokio::test]
async fn what_leaves_no_trace_is_gone_as_soon_as_the_cloud_shows_nothing() -> Result<()> {
    let s = setting().await?;
    s.cloud.forget_what_is_deleted();
    let owner = s.ready("a", &small()).await?;
    let asked = std::time::Instant::now();
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    // Far below the window in which a launch may be invisible: this one was seen, and asked to go.
    assert!(asked.elapsed() < Duration::from_secs(45), "{:?}", asked.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_deletion_that_the_cloud_refuses_for_now_searches_when_it_begins_and_before_it_ends() -> Result<()>
{
    let s = setting().await?;
    let owner = s.ready("a", &small()).await?;
    for _ in 0..2 {
        s.cloud.fault("delete", Fault::Before(FailureClass::NotYet));
    }
    let before = s.cloud.searches();
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    assert_eq!(s.cloud.searches() - before, 2, "{:?}", s.cloud.journal());
    Ok(())
}

#[tokio::test]
async fn a_launch_that_is_not_visible_yet_is_not_left_behind_by_a_deletion() -> Result<()> {
    let mut s = setting().await?;
    s.cloud.fault("create", Fault::Lag(3));
    s.world.apply(&gadget("a", &small())).await?;
    s.called("create", 1).await;
    let owner = uid(&s.world.get("Gadget", "a").await?);
    s.world.delete("Gadget", "a").await?;
    s = s.crash_and_restart().await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn deletion_is_refused_while_protected_waits_while_paused_and_retains_if_told() -> Result<()> {
    let s = setting().await?;
    let with = |lifecycle: Value| json!({"size": {"value": 3}, "lifecycle": lifecycle});
    let owner = s.ready("kept", &with(json!({"protect": true}))).await?;
    s.world.delete("Gadget", "kept").await?;
    s.world.not_ready("Gadget", "kept", "DeletionProtected").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1);
    s.world
        .patch("Gadget", "kept", json!({"spec": {"lifecycle": {"protect": false, "paused": true}}}))
        .await?;
    s.world.not_ready("Gadget", "kept", "Paused").await?;
    s.world
        .patch("Gadget", "kept", json!({"spec": {"lifecycle": {"paused": false, "deletion": "Retain"}}}))
        .await?;
    s.world.gone("Gadget", "kept").await?;
    assert!(s.cloud.journal().contains(&"release".to_owned()));
    assert!(!s.cloud.journal().contains(&"delete".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_resource_can_be_deleted_while_its_references_are_gone() -> Result<()> {
    let s = setting().await?;
    s.world
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: sizes}, data: {small: "2"}}"#)
        .await?;
    let spec = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    let owner = s.ready("a", &spec).await?;
    s.world.delete("ConfigMap", "sizes").await?;
    s.world.not_ready("Gadget", "a", "DependenciesNotReady").await?;
    assert_eq!(s.cloud.alive(&owner).len(), 1, "a missing value takes nothing away");
    s.world.delete("Gadget", "a").await?;
    s.world.gone("Gadget", "a").await?;
    assert!(s.cloud.alive(&owner).is_empty());
    Ok(())
}

#[tokio::test]
async fn what_is_still_referred_to_waits_with_its_deletion_and_names_by_whom() -> Result<()> {
    let s = setting().await?;
    let first = s.ready("first", &json!({"size": {"value": 3}, "colour": {"value": "blue"}})).await?;
    let colour = json!({"valueFrom": {"krakenResource": {"kind": "Gadget", "name": "first", "path": "gadget.Colour"}}});
    s.ready("second", &json!({"size": {"value": 3}, "colour": colour})).await?;
    s.world.delete("Gadget", "first").await?;
    let message = s.world.not_ready("Gadget", "first", "DeletionBlocked").await?;
    assert!(message.contains("gadget second"), "{message}");
    assert_eq!(s.cloud.alive(&first).len(), 1);
    s.world.delete("Gadget", "second").await?;
    s.world.gone("Gadget", "second").await?;
    s.world.gone("Gadget", "first").await?;
    assert!(s.cloud.alive(&first).is_empty());
    Ok(())
}

#[tokio::test]
async fn orphans_are_reported_and_removed_only_if_told() -> Result<()> {
    let world = World::new().await?;
    let cloud = Cloud::default();
    cloud.insert("nobody");
    let s = Setting {
        spoke: InProcess::with(&world, &cloud, &["--orphan-interval", "200ms"]).await?,
        world,
        cloud,
    };
    let owner = s.ready("a", &small()).await?;
    s.called("survey", 5).await;
    assert_eq!(s.cloud.alive("nobody").len(), 1, "reported is not removed");
    drop(s.spoke);
    let flags = ["--orphan-interval", "200ms", "--remove-orphans"];
    let _spoke = InProcess::with(&s.world, &s.cloud, &flags).await?;
    for _ in 0..100 {
        if s.cloud.alive("nobody").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(s.cloud.alive("nobody").is_empty());
    assert_eq!(s.cloud.alive(&owner).len(), 1, "what has an owner stays");
    Ok(())
}
