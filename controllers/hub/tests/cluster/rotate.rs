//! ConfigExports with `rotate`: each content has an immutable target of its own.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::hub_test::{HubTest, message};

impl HubTest {
    /// An export of the key `a` of the ConfigMap `src` to targets named `app`, with more fields.
    async fn rotating(&self, config_type: &str, more: Value) -> Result<()> {
        let mut spec = json!({
            "configType": config_type, "configMetadata": {"name": "app"}, "rotate": true,
            "entries": [{"key": "a", "valueFrom": {"configMap": {"name": "src", "key": "a"}}}],
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        self.apply("ConfigExport", "e", json!({"spec": spec})).await.map(drop)
    }

    /// Sets the value and waits until it is in a target, which is reported.
    async fn rotates(&self, value: &str) -> Result<Value> {
        self.map("src", json!({"a": value})).await?;
        self.has_rotated(value).await
    }

    /// The reported target with this value.
    async fn has_rotated(&self, value: &str) -> Result<Value> {
        for _ in 0..200 {
            let reported = self.get("ConfigExport", "e").await?["status"]["target"].clone();
            if let Some(name) = reported.as_str().and_then(|target| target.strip_prefix("ConfigMap/app-")) {
                let target = self.get("ConfigMap", &format!("app-{name}")).await?;
                if target["data"]["a"] == value {
                    assert_eq!(target["immutable"], true);
                    return Ok(target);
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("no target has {value}")
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn each_content_has_an_immutable_target_and_the_oldest_are_deleted() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.rotating("ConfigMap", json!({"revisionHistoryLimit": 1})).await?;
    hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    let first = hub.rotates("1").await?;
    assert_eq!(first["metadata"]["ownerReferences"][0]["kind"], "ConfigExport");
    assert!(hub.get("ConfigMap", "app").await?.is_null());
    let second = hub.rotates("2").await?;
    assert_eq!(hub.get("ConfigMap", name(&first)).await?["data"]["a"], "1");
    let third = hub.rotates("3").await?;
    hub.until("ConfigMap", name(&first), Value::is_null).await?;
    // The content of a former target is desired again: it is in that target, and the one before it is kept.
    let again = hub.rotates("2").await?;
    assert_eq!(again["metadata"]["uid"], second["metadata"]["uid"]);
    let fourth = hub.rotates("1").await?;
    assert_eq!(name(&fourth), name(&first), "a content has one name");
    hub.until("ConfigMap", name(&third), Value::is_null).await?;
    assert_eq!(hub.get("ConfigMap", name(&second)).await?["data"]["a"], "2", "it was current last");

    // Neither other keys of the source nor the hub's own writes change anything.
    let fourth = hub.get("ConfigMap", name(&fourth)).await?;
    hub.map("src", json!({"a": "1", "unrelated": "x"})).await?;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(hub.get("ConfigMap", name(&fourth)).await?["metadata"], fourth["metadata"]);

    hub.rotating("ConfigMap", json!({"revisionHistoryLimit": 0})).await?;
    hub.until("ConfigMap", name(&second), Value::is_null).await?;
    hub.delete("ConfigExport", "e").await?;
    hub.until("ConfigMap", name(&fourth), Value::is_null).await?;
    Ok(())
}

#[tokio::test]
async fn a_deleted_target_is_recreated_with_its_content() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.rotating("ConfigMap", json!({})).await?;
    let first = hub.rotates("1").await?;
    let second = hub.rotates("2").await?;
    let is_new = |map: &Value| !map.is_null() && map["metadata"]["uid"] != second["metadata"]["uid"];
    hub.delete("ConfigMap", name(&second)).await?;
    let recreated = hub.until("ConfigMap", name(&second), is_new).await?;
    assert_eq!((&recreated["data"]["a"], &recreated["immutable"]), (&json!("2"), &json!(true)));
    // A former one has a content that is not known any more.
    hub.delete("ConfigMap", name(&first)).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(hub.get("ConfigMap", name(&first)).await?.is_null());
    hub.delete("ConfigMap", name(&second)).await?;
    let is_third = |map: &Value| is_new(map) && map["metadata"]["uid"] != recreated["metadata"]["uid"];
    hub.until("ConfigMap", name(&second), is_third).await?;
    Ok(())
}

#[tokio::test]
async fn a_target_that_somebody_created_again_with_another_content_is_replaced() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.rotating("ConfigMap", json!({})).await?;
    let first = hub.rotates("1").await?;
    let mut edited = first.clone();
    edited["data"]["a"] = json!("edited");
    edited["immutable"] = json!(false);
    for field in ["resourceVersion", "uid", "creationTimestamp", "managedFields"] {
        edited["metadata"].as_object_mut().context("metadata")?.remove(field);
    }
    hub.rotating("ConfigMap", json!({"entries": [{"key": "a", "valueFrom": {"configMap": {"name": "gone", "key": "a"}}}], "whileWaiting": "Keep"})).await?;
    hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    hub.delete("ConfigMap", name(&first)).await?;
    hub.apply("ConfigMap", name(&first), edited).await?;
    hub.rotating("ConfigMap", json!({})).await?;
    let is_restored = |map: &Value| map["data"]["a"] == "1" && map["immutable"] == true;
    hub.until("ConfigMap", name(&first), is_restored).await?;
    Ok(())
}

#[tokio::test]
async fn a_foreign_object_with_the_next_name_is_not_changed() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.rotating("ConfigMap", json!({"revisionHistoryLimit": 0})).await?;
    let first = hub.rotates("1").await?;
    let second = hub.rotates("2").await?;
    hub.until("ConfigMap", name(&first), Value::is_null).await?;
    hub.map(name(&first), json!({"theirs": "x"})).await?;
    hub.map("src", json!({"a": "1"})).await?;
    let export = hub.reason("ConfigExport", "e", "TargetNotOwned").await?;
    let refused = format!(
        "ConfigMap {} exists and was not created by this ConfigExport; it is not changed",
        name(&first)
    );
    assert!(message(&export).starts_with(&refused), "{}", message(&export));
    assert_eq!(export["status"]["target"], format!("ConfigMap/{}", name(&second)));
    assert_eq!(hub.get("ConfigMap", name(&first)).await?["data"], json!({"theirs": "x"}));
    hub.rotates("3").await?;
    Ok(())
}

#[tokio::test]
async fn the_former_target_is_kept_when_rotation_begins_and_targets_go_when_it_ends() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.map("src", json!({"a": "1"})).await?;
    hub.rotating("ConfigMap", json!({"rotate": false})).await?;
    hub.until("ConfigMap", "app", |map| map["data"]["a"] == "1").await?;
    hub.rotating("ConfigMap", json!({})).await?;
    let first = hub.has_rotated("1").await?;
    // Pods that were not replaced yet still mount it.
    assert_eq!(hub.get("ConfigMap", "app").await?["data"]["a"], "1");
    let second = hub.rotates("2").await?;
    hub.rotating("ConfigMap", json!({"rotate": false})).await?;
    hub.until("ConfigMap", "app", |map| map["data"]["a"] == "2").await?;
    for former in [first, second] {
        hub.until("ConfigMap", name(&former), Value::is_null).await?;
    }
    hub.until("ConfigExport", "e", |export| export["status"]["target"] == "ConfigMap/app").await?;
    Ok(())
}

#[tokio::test]
async fn a_rotated_secret_has_the_labels_of_the_spec() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.map("src", json!({"a": "1"})).await?;
    let labelled = |team: &str| json!({"configMetadata": {"name": "app", "labels": {"team": team}}});
    hub.rotating("Secret", labelled("web")).await?;
    let is_named = |export: &Value| {
        export["status"]["target"].as_str().is_some_and(|target| target.starts_with("Secret/app-"))
    };
    let export = hub.until("ConfigExport", "e", is_named).await?;
    let name =
        export["status"]["target"].as_str().unwrap_or_default().trim_start_matches("Secret/").to_owned();
    let target = hub.until("Secret", &name, |secret| secret["metadata"]["labels"]["team"] == "web").await?;
    assert_eq!((&target["immutable"], &target["data"]["a"]), (&json!(true), &json!("MQ==")));
    hub.rotating("Secret", labelled("db")).await?;
    let after = hub.until("Secret", &name, |secret| secret["metadata"]["labels"]["team"] == "db").await?;
    assert_eq!(after["metadata"]["uid"], target["metadata"]["uid"]);
    let public = hub.get("ConfigExport", "e").await?["status"]["target"].clone();
    assert_eq!(public, export["status"]["target"], "another label is the same content");
    Ok(())
}

#[tokio::test]
async fn rotation_requires_a_name_of_a_volume() -> Result<()> {
    let hub = HubTest::new().await?;
    for name in ["my.app".to_owned(), "a".repeat(64)] {
        let refused = hub.rotating("ConfigMap", json!({"configMetadata": {"name": name}})).await.unwrap_err();
        assert!(format!("{refused:#}").contains("because a volume has the same name"), "{refused:#}");
    }
    hub.rotating("ConfigMap", json!({"configMetadata": {"name": "a".repeat(63)}})).await?;
    let too_many = hub.rotating("ConfigMap", json!({"revisionHistoryLimit": 101})).await.unwrap_err();
    assert!(format!("{too_many:#}").contains("spec.revisionHistoryLimit"), "{too_many:#}");
    Ok(())
}
