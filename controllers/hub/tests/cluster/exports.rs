//! ConfigExports: the target follows the values, is restored after manual changes, and a foreign object is never
//! changed.

use std::time::Duration;

use anyhow::Result;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::hub_test::{HubTest, message};

fn from_map(key: &str, name: &str, from: &str) -> Value {
    json!({"key": key, "valueFrom": {"configMap": {"name": name, "key": from}}})
}

#[tokio::test]
async fn an_export_follows_its_values_and_restores_its_target() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.export(
        "e",
        "ConfigMap",
        "app",
        json!([from_map("a", "src", "a"), {"key": "list", "value": [1, {"b": null}]}]),
    )
    .await?;
    let object = hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    assert_eq!(message(&object), "spec.entries[0]: ConfigMap src does not exist");
    assert!(hub.get("ConfigMap", "app").await?.is_null());
    hub.map("src", json!({"a": "3.10"})).await?;
    let object = hub.reason("ConfigExport", "e", "Exported").await?;
    assert_eq!(object["status"]["target"], "ConfigMap/app");
    let wanted = json!({"a": "3.10", "list": "[1,{\"b\":null}]"});
    let target = hub.until("ConfigMap", "app", |o| o["data"] == wanted).await?;
    assert_eq!(target["metadata"]["ownerReferences"][0]["kind"], "ConfigExport");
    // Manual changes: a changed value, an added key, binary data, a deletion.
    for patch in
        [json!({"data": {"a": "x"}}), json!({"data": {"b": "x"}}), json!({"binaryData": {"c": "/w=="}})]
    {
        hub.patch("ConfigMap", "app", patch).await?;
        hub.until("ConfigMap", "app", |o| o["data"] == wanted && o["binaryData"].is_null()).await?;
    }
    hub.delete("ConfigMap", "app").await?;
    hub.until("ConfigMap", "app", |o| o["data"] == wanted).await?;
    // In steady state nothing is written.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = hub.get("ConfigMap", "app").await?["metadata"]["resourceVersion"].clone();
    let status = hub.get("ConfigExport", "e").await?["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(hub.get("ConfigMap", "app").await?["metadata"]["resourceVersion"], before);
    assert_eq!(hub.get("ConfigExport", "e").await?["metadata"]["resourceVersion"], status);
    // Manually made immutable: recreated.
    hub.patch("ConfigMap", "app", json!({"immutable": true})).await?;
    hub.map("src", json!({"a": "new"})).await?;
    hub.until("ConfigMap", "app", |o| o["data"]["a"] == "new" && o["immutable"].is_null()).await?;
    // A key is removed from the spec.
    hub.export("e", "ConfigMap", "app", json!([from_map("a", "src", "a")])).await?;
    hub.until("ConfigMap", "app", |o| o["data"] == json!({"a": "new"})).await?;
    // Another name, and another type.
    hub.export("e", "ConfigMap", "app2", json!([from_map("a", "src", "a")])).await?;
    hub.until("ConfigMap", "app2", |o| o["data"]["a"] == "new").await?;
    hub.until("ConfigMap", "app", Value::is_null).await?;
    hub.export("e", "Secret", "app2", json!([from_map("a", "src", "a")])).await?;
    hub.until("Secret", "app2", |o| o["data"]["a"] == "bmV3").await?;
    hub.until("ConfigMap", "app2", Value::is_null).await?;
    // A value disappears.
    hub.delete("ConfigMap", "src").await?;
    hub.until("Secret", "app2", Value::is_null).await?;
    hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    // The status reflects the deletion of the target.
    hub.until("ConfigExport", "e", |o| o["status"]["target"].is_null()).await?;
    hub.map("src", json!({"a": "back"})).await?;
    hub.until("Secret", "app2", |o| o["data"]["a"] == "YmFjaw==").await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    hub.delete("ConfigExport", "e").await?;
    hub.until("Secret", "app2", Value::is_null).await?;
    // Each change of the outcome has an event, which is written after the status, and nothing else.
    let mut reported = (vec![], 0);
    for _ in 0..50 {
        let events = hub.api("Event").list(&ListParams::default()).await?;
        let reasons = events.iter().filter_map(|event| event.data["reason"].as_str().map(str::to_owned));
        let counts = events.iter().map(|event| event.data["series"]["count"].as_i64().unwrap_or(1));
        reported = (reasons.collect::<Vec<_>>(), counts.sum::<i64>());
        if reported.1 >= 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (mut reasons, count) = reported;
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!((reasons, count), (vec!["Exported".to_owned(), "WaitingForValues".to_owned()], 4));
    Ok(())
}

#[tokio::test]
async fn an_export_writes_main_ids() -> Result<()> {
    let hub = HubTest::new().await?;
    let entries = json!([
        {"key": "id", "valueFrom": {"krakenResource": {"kind": "gadget", "name": "a"}}},
        {"key": "text", "valueFrom": {"templateString": "id={{ .Gadget.a }} size={{ .Gadget.a.size }}"}},
    ]);
    hub.export("e", "ConfigMap", "app", entries).await?;
    hub.state("a", json!({"size": 3})).await?;
    let object = hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    hub.until("ConfigExport", "e", |o| message(o).contains("gadget a has no id yet")).await?;
    assert!(message(&object).contains("spec.entries[0]") && message(&object).contains("spec.entries[1]"));
    hub.state_spec("a", json!({"data": {"size": 3}, "id": "g-1"})).await?;
    let wanted = json!({"id": "g-1", "text": "id=g-1 size=3"});
    hub.until("ConfigMap", "app", |o| o["data"] == wanted).await?;
    Ok(())
}

#[tokio::test]
async fn an_export_never_changes_a_foreign_object() -> Result<()> {
    let hub = HubTest::new().await?;
    let theirs = hub.map("app", json!({"mine": "1"})).await?;
    hub.export("first", "ConfigMap", "app", json!([{"key": "a", "value": "1"}])).await?;
    let object = hub.reason("ConfigExport", "first", "TargetNotOwned").await?;
    let refused = "ConfigMap app exists and was not created by this ConfigExport; it is not changed";
    assert!(message(&object).starts_with(refused), "{}", message(&object));
    assert_eq!(
        hub.get("ConfigMap", "app").await?["metadata"]["resourceVersion"],
        theirs["metadata"]["resourceVersion"]
    );
    hub.delete("ConfigMap", "app").await?;
    hub.reason("ConfigExport", "first", "Exported").await?;
    hub.export("second", "ConfigMap", "app", json!([{"key": "a", "value": "2"}])).await?;
    let object = hub.reason("ConfigExport", "second", "TargetNotOwned").await?;
    assert_eq!(message(&object), "ConfigMap app exists and belongs to ConfigExport first; it is not changed");
    assert_eq!(hub.get("ConfigMap", "app").await?["data"]["a"], "1");
    hub.delete("ConfigExport", "first").await?;
    hub.reason("ConfigExport", "second", "Exported").await?;
    hub.until("ConfigMap", "app", |o| o["data"]["a"] == "2").await?;
    Ok(())
}

#[tokio::test]
async fn a_secret_value_is_exported_only_to_a_secret() -> Result<()> {
    let hub = HubTest::new().await?;
    let entries =
        json!([{"key": "url", "valueFrom": {"templateString": "pg://u:{{ .Secret.db.password }}@h"}}]);
    hub.export("e", "ConfigMap", "app", entries.clone()).await?;
    let object = hub.reason("ConfigExport", "e", "InvalidSpec").await?;
    assert!(message(&object).contains("set configType: Secret"), "{object}");
    hub.export("e", "Secret", "app", entries).await?;
    hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    hub.apply("Secret", "db", json!({"stringData": {"password": "hunter22"}})).await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    hub.until("Secret", "app", |o| o["data"]["url"] == "cGc6Ly91Omh1bnRlcjIyQGg=").await?;
    hub.apply("Secret", "db", json!({"stringData": {"password": "changed99"}})).await?;
    hub.until("Secret", "app", |o| o["data"]["url"] == "cGc6Ly91OmNoYW5nZWQ5OUBo").await?;
    for kind in ["ConfigExport", "Event", "ConfigMap"] {
        let all = serde_json::to_string(&hub.api(kind).list(&ListParams::default()).await?.items)?;
        assert!(!all.contains("hunter22") && !all.contains("changed99"));
    }
    Ok(())
}

#[tokio::test]
async fn an_error_of_the_api_server_is_quoted() -> Result<()> {
    let hub = HubTest::new().await?;
    let twice = json!([{"key": "a", "value": "x"}, {"key": "a", "value": "y"}]);
    let refused = hub.refused("app", twice).await?;
    assert!(refused.contains("spec.entries") && refused.to_lowercase().contains("duplicate"), "{refused}");
    let elsewhere = hub.refused("App/../x", json!([{"key": "a", "value": "x"}])).await?;
    assert!(elsewhere.contains("spec.configMetadata.name"), "{elsewhere}");
    let secret = json!([{"key": "a", "valueFrom": {"secret": {"name": "db", "key": "password"}}}]);
    assert!(hub.refused("app", secret).await?.contains("requires configType: Secret"));
    let big = "x".repeat(600 * 1024);
    hub.export("e", "ConfigMap", "app", json!([{"key": "a", "value": big}, {"key": "b", "value": big}]))
        .await?;
    hub.reason("ConfigExport", "e", "InvalidSpec").await?;
    Ok(())
}

#[tokio::test]
async fn a_briefly_missing_source_does_not_delete_the_target() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.map("src", json!({"a": "1"})).await?;
    hub.export("e", "ConfigMap", "app", json!([from_map("a", "src", "a")])).await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    let before = hub.get("ConfigMap", "app").await?;
    // Like `kubectl replace --force`.
    hub.delete("ConfigMap", "src").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    hub.map("src", json!({"a": "2"})).await?;
    let after = hub.until("ConfigMap", "app", |map| map["data"]["a"] != "1").await?;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    Ok(())
}

#[tokio::test]
async fn a_target_is_kept_while_its_values_are_missing_if_the_spec_requires_it() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.map("src", json!({"a": "1"})).await?;
    let spec = json!({
        "configType": "ConfigMap", "configMetadata": {"name": "app"}, "whileWaiting": "Keep",
        "entries": [from_map("a", "src", "a")],
    });
    hub.apply("ConfigExport", "e", json!({"spec": spec})).await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    hub.delete("ConfigMap", "src").await?;
    let object = hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    assert!(message(&object).ends_with("ConfigMap app is kept unchanged (whileWaiting: Keep)"), "{object}");
    assert_eq!(object["status"]["target"], "ConfigMap/app");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(hub.get("ConfigMap", "app").await?["data"]["a"], "1");
    Ok(())
}

#[tokio::test]
async fn an_object_that_copies_the_owner_reference_of_a_target_deletes_nothing() -> Result<()> {
    let (hub, elsewhere) = (HubTest::new().await?, HubTest::new().await?);
    hub.export("e", "ConfigMap", "app", json!([{"key": "a", "value": "1"}])).await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    let target = hub.get("ConfigMap", "app").await?;
    let owners = json!({"ownerReferences": target["metadata"]["ownerReferences"]});
    // With the target's name in another namespace, and with another name in the same namespace.
    elsewhere.apply("ConfigMap", "app", json!({"metadata": owners})).await?;
    hub.apply("ConfigMap", "beside", json!({"metadata": owners, "data": {"theirs": "1"}})).await?;
    hub.export("e", "ConfigMap", "app", json!([{"key": "a", "value": "2"}])).await?;
    let after = hub.until("ConfigMap", "app", |map| map["data"]["a"] == "2").await?;
    assert_eq!(after["metadata"]["uid"], target["metadata"]["uid"]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(hub.get("ConfigMap", "app").await?["metadata"]["uid"], target["metadata"]["uid"]);
    assert_eq!(hub.get("ConfigMap", "beside").await?["data"]["theirs"], "1");
    Ok(())
}

#[tokio::test]
async fn a_secret_is_recreated_when_its_type_changes() -> Result<()> {
    let hub = HubTest::new().await?;
    let export = |secret_type: Value| {
        let spec = json!({
            "configType": "Secret", "configMetadata": {"name": "login"}, "secretType": secret_type,
            "entries": [{"key": "username", "value": "u"}, {"key": "password", "value": "p"}],
        });
        json!({"spec": spec})
    };
    hub.apply("ConfigExport", "e", export(json!("kubernetes.io/basic-auth"))).await?;
    hub.until("Secret", "login", |secret| secret["type"] == "kubernetes.io/basic-auth").await?;
    hub.apply("ConfigExport", "e", export(json!("Opaque"))).await?;
    hub.until("Secret", "login", |secret| secret["type"] == "Opaque").await?;
    Ok(())
}

#[tokio::test]
async fn a_target_has_the_labels_and_annotations_of_the_spec_and_preserves_others() -> Result<()> {
    let hub = HubTest::new().await?;
    let export = |metadata: Value| {
        let spec = json!({"configType": "ConfigMap", "configMetadata": metadata, "entries": [{"key": "a", "value": "1"}]});
        json!({"spec": spec})
    };
    let annotation = "reloader.stakater.com/match";
    let labelled = json!({"name": "app", "labels": {"team": "web"}, "annotations": {annotation: "true"}});
    hub.apply("ConfigExport", "e", export(labelled)).await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    let target = hub.get("ConfigMap", "app").await?;
    assert_eq!(target["metadata"]["labels"]["team"], "web");
    assert_eq!(target["metadata"]["annotations"][annotation], "true");

    hub.patch("ConfigMap", "app", json!({"metadata": {"labels": {"team": "db", "theirs": "1"}}})).await?;
    let is_reverted = |map: &Value| {
        map["metadata"]["labels"]["team"] == "web" && map["metadata"]["labels"]["theirs"] == "1"
    };
    hub.until("ConfigMap", "app", is_reverted).await?;

    hub.apply("ConfigExport", "e", export(json!({"name": "app"}))).await?;
    let plain = |map: &Value| {
        map["metadata"]["labels"]["team"].is_null() && map["metadata"]["annotations"][annotation].is_null()
    };
    let after = hub.until("ConfigMap", "app", plain).await?;
    assert_eq!(after["metadata"]["labels"]["theirs"], "1");
    assert_eq!(after["metadata"]["uid"], target["metadata"]["uid"]);

    let reserved = json!({"name": "app", "labels": {"app.kubernetes.io/managed-by": "me", "not valid": "x"}});
    hub.apply("ConfigExport", "e", export(reserved)).await?;
    let object = hub.reason("ConfigExport", "e", "InvalidSpec").await?;
    assert!(message(&object).contains("spec.configMetadata.labels[not valid]"), "{object}");
    assert!(
        message(&object).contains("spec.configMetadata.labels[app.kubernetes.io/managed-by]"),
        "{object}"
    );
    Ok(())
}
