//! ConfigExports with `rotate`: each content has an immutable target of its own.

use std::time::Duration;

use anyhow::Result;
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

    /// Sets the value and waits until it is in the target with this revision, which is reported.
    async fn rotates(&self, value: &str, revision: i64) -> Result<Value> {
        self.map("src", json!({"a": value})).await?;
        self.has_rotated(value, revision).await
    }

    async fn has_rotated(&self, value: &str, revision: i64) -> Result<Value> {
        let name = format!("app-{revision}");
        let target = self.until("ConfigMap", &name, |map| map["data"]["a"] == value).await?;
        assert_eq!(target["immutable"], true);
        let is_reported = |export: &Value| {
            let status = &export["status"];
            status["target"] == format!("ConfigMap/{name}") && status["revision"] == revision
        };
        self.until("ConfigExport", "e", is_reported).await?;
        Ok(target)
    }
}

#[tokio::test]
async fn each_content_has_a_new_immutable_target_and_the_oldest_are_deleted() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.rotating("ConfigMap", json!({"revisionHistoryLimit": 1})).await?;
    hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    let first = hub.rotates("1", 1).await?;
    assert_eq!(first["metadata"]["ownerReferences"][0]["kind"], "ConfigExport");
    assert!(hub.get("ConfigMap", "app").await?.is_null());
    hub.rotates("2", 2).await?;
    assert_eq!(hub.get("ConfigMap", "app-1").await?["data"]["a"], "1");
    hub.rotates("3", 3).await?;
    hub.until("ConfigMap", "app-1", Value::is_null).await?;
    let fourth = hub.rotates("1", 4).await?;
    hub.until("ConfigMap", "app-2", Value::is_null).await?;

    // Neither other keys of the source nor the hub's own writes change anything.
    hub.map("src", json!({"a": "1", "unrelated": "x"})).await?;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(hub.get("ConfigMap", "app-5").await?.is_null());
    assert_eq!(hub.get("ConfigMap", "app-4").await?["metadata"], fourth["metadata"]);

    hub.rotating("ConfigMap", json!({"revisionHistoryLimit": 0})).await?;
    hub.until("ConfigMap", "app-3", Value::is_null).await?;
    hub.delete("ConfigExport", "e").await?;
    hub.until("ConfigMap", "app-4", Value::is_null).await?;
    Ok(())
}

#[tokio::test]
async fn a_deleted_target_is_recreated_with_its_content_or_gets_a_new_name() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.rotating("ConfigMap", json!({})).await?;
    hub.rotates("1", 1).await?;
    let second = hub.rotates("2", 2).await?;
    hub.delete("ConfigMap", "app-2").await?;
    let is_new = |map: &Value| !map.is_null() && map["metadata"]["uid"] != second["metadata"]["uid"];
    let recreated = hub.until("ConfigMap", "app-2", is_new).await?;
    assert_eq!((&recreated["data"]["a"], &recreated["immutable"]), (&json!("2"), &json!(true)));
    assert!(hub.get("ConfigMap", "app-3").await?.is_null());
    // A former one has a content that is not known any more.
    hub.delete("ConfigMap", "app-1").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(hub.get("ConfigMap", "app-1").await?.is_null());
    // Without any target, it is not known which content the name had.
    hub.delete("ConfigMap", "app-2").await?;
    hub.has_rotated("2", 3).await?;
    Ok(())
}

#[tokio::test]
async fn a_foreign_object_with_the_next_name_is_not_changed() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.rotating("ConfigMap", json!({})).await?;
    hub.rotates("1", 1).await?;
    hub.map("app-2", json!({"theirs": "x"})).await?;
    hub.map("src", json!({"a": "2"})).await?;
    let export = hub.reason("ConfigExport", "e", "TargetNotOwned").await?;
    let refused = "ConfigMap app-2 exists and was not created by this ConfigExport; it is not changed";
    assert!(message(&export).starts_with(refused), "{}", message(&export));
    assert_eq!(export["status"]["target"], "ConfigMap/app-1");
    assert_eq!(hub.get("ConfigMap", "app-2").await?["data"], json!({"theirs": "x"}));
    hub.delete("ConfigMap", "app-2").await?;
    hub.rotates("3", 2).await?;
    Ok(())
}

#[tokio::test]
async fn the_former_target_is_kept_when_rotation_begins_and_no_number_is_used_twice() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.map("src", json!({"a": "1"})).await?;
    hub.rotating("ConfigMap", json!({"rotate": false})).await?;
    hub.until("ConfigMap", "app", |map| map["data"]["a"] == "1").await?;
    hub.rotating("ConfigMap", json!({})).await?;
    hub.has_rotated("1", 1).await?;
    // Pods that were not replaced yet still mount it.
    assert_eq!(hub.get("ConfigMap", "app").await?["data"]["a"], "1");
    hub.rotates("2", 2).await?;
    hub.rotating("ConfigMap", json!({"rotate": false})).await?;
    hub.until("ConfigMap", "app", |map| map["data"]["a"] == "2").await?;
    for former in ["app-1", "app-2"] {
        hub.until("ConfigMap", former, Value::is_null).await?;
    }
    hub.until("ConfigExport", "e", |export| export["status"]["target"] == "ConfigMap/app").await?;
    hub.map("src", json!({"a": "3"})).await?;
    hub.until("ConfigMap", "app", |map| map["data"]["a"] == "3").await?;
    hub.rotating("ConfigMap", json!({})).await?;
    hub.has_rotated("3", 3).await?;
    Ok(())
}

#[tokio::test]
async fn a_rotated_secret_has_the_labels_of_the_spec() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.map("src", json!({"a": "1"})).await?;
    let labelled = |team: &str| json!({"configMetadata": {"name": "app", "labels": {"team": team}}});
    hub.rotating("Secret", labelled("web")).await?;
    let target = hub.until("Secret", "app-1", |secret| secret["metadata"]["labels"]["team"] == "web").await?;
    assert_eq!((&target["immutable"], &target["data"]["a"]), (&json!(true), &json!("MQ==")));
    hub.rotating("Secret", labelled("db")).await?;
    let after = hub.until("Secret", "app-1", |secret| secret["metadata"]["labels"]["team"] == "db").await?;
    assert_eq!(after["metadata"]["uid"], target["metadata"]["uid"]);
    assert!(hub.get("Secret", "app-2").await?.is_null());
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
