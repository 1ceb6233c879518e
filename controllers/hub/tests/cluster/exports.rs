//! ConfigExports: the target follows the values, heals, and is never somebody else's.

use std::time::Duration;

use anyhow::Result;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::world::{World, message};

fn from_map(key: &str, name: &str, from: &str) -> Value {
    json!({"key": key, "valueFrom": {"configMap": {"name": name, "key": from}}})
}

#[tokio::test]
async fn an_export_follows_its_values_and_heals_its_target() -> Result<()> {
    let world = World::new().await?;
    world
        .export(
            "e",
            "ConfigMap",
            "app",
            json!([from_map("a", "src", "a"), {"key": "list", "value": [1, {"b": null}]}]),
        )
        .await?;
    let object = world.reason("ConfigExport", "e", "WaitingForValues").await?;
    assert_eq!(message(&object), "spec.entries[0]: ConfigMap src does not exist");
    assert!(world.get("ConfigMap", "app").await?.is_null());
    world.map("src", json!({"a": "3.10"})).await?;
    let object = world.reason("ConfigExport", "e", "Exported").await?;
    assert_eq!(object["status"]["target"], "ConfigMap/app");
    let wanted = json!({"a": "3.10", "list": "[1,{\"b\":null}]"});
    let target = world.until("ConfigMap", "app", |o| o["data"] == wanted).await?;
    assert_eq!(target["metadata"]["ownerReferences"][0]["kind"], "ConfigExport");
    // By hand: a changed value, an added key, binary data, a deletion.
    for patch in
        [json!({"data": {"a": "x"}}), json!({"data": {"b": "x"}}), json!({"binaryData": {"c": "/w=="}})]
    {
        world.patch("ConfigMap", "app", patch).await?;
        world.until("ConfigMap", "app", |o| o["data"] == wanted && o["binaryData"].is_null()).await?;
    }
    world.delete("ConfigMap", "app").await?;
    world.until("ConfigMap", "app", |o| o["data"] == wanted).await?;
    // At rest nothing is written.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = world.get("ConfigMap", "app").await?["metadata"]["resourceVersion"].clone();
    let status = world.get("ConfigExport", "e").await?["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(world.get("ConfigMap", "app").await?["metadata"]["resourceVersion"], before);
    assert_eq!(world.get("ConfigExport", "e").await?["metadata"]["resourceVersion"], status);
    // Immutable by hand: made anew.
    world.patch("ConfigMap", "app", json!({"immutable": true})).await?;
    world.map("src", json!({"a": "new"})).await?;
    world.until("ConfigMap", "app", |o| o["data"]["a"] == "new" && o["immutable"].is_null()).await?;
    // A key goes from the spec.
    world.export("e", "ConfigMap", "app", json!([from_map("a", "src", "a")])).await?;
    world.until("ConfigMap", "app", |o| o["data"] == json!({"a": "new"})).await?;
    // Another name, and another type.
    world.export("e", "ConfigMap", "app2", json!([from_map("a", "src", "a")])).await?;
    world.until("ConfigMap", "app2", |o| o["data"]["a"] == "new").await?;
    world.until("ConfigMap", "app", Value::is_null).await?;
    world.export("e", "Secret", "app2", json!([from_map("a", "src", "a")])).await?;
    world.until("Secret", "app2", |o| o["data"]["a"] == "bmV3").await?;
    world.until("ConfigMap", "app2", Value::is_null).await?;
    // A value disappears.
    world.delete("ConfigMap", "src").await?;
    world.until("Secret", "app2", Value::is_null).await?;
    world.reason("ConfigExport", "e", "WaitingForValues").await?;
    // The status follows the deletion of the target.
    world.until("ConfigExport", "e", |o| o["status"]["target"].is_null()).await?;
    world.map("src", json!({"a": "back"})).await?;
    world.until("Secret", "app2", |o| o["data"]["a"] == "YmFjaw==").await?;
    world.delete("ConfigExport", "e").await?;
    world.until("Secret", "app2", Value::is_null).await?;
    // Each change of the outcome was told, and nothing else.
    let events = world.api("Event").list(&ListParams::default()).await?;
    let mut told: Vec<_> = events.iter().filter_map(|event| event.data["reason"].as_str()).collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told, ["Exported", "WaitingForValues"]);
    let counts = events.iter().map(|event| event.data["series"]["count"].as_i64().unwrap_or(1));
    assert_eq!(counts.sum::<i64>(), 4, "{events:?}");
    Ok(())
}

#[tokio::test]
async fn an_export_writes_main_ids() -> Result<()> {
    let world = World::new().await?;
    let entries = json!([
        {"key": "id", "valueFrom": {"krakenResource": {"kind": "gadget", "name": "a"}}},
        {"key": "text", "valueFrom": {"templateString": "id={{ .Gadget.a }} size={{ .Gadget.a.size }}"}},
    ]);
    world.export("e", "ConfigMap", "app", entries).await?;
    world.state("a", json!({"size": 3})).await?;
    let object = world.reason("ConfigExport", "e", "WaitingForValues").await?;
    world.until("ConfigExport", "e", |o| message(o).contains("gadget a has no id yet")).await?;
    assert!(message(&object).contains("spec.entries[0]") && message(&object).contains("spec.entries[1]"));
    world.state_spec("a", json!({"data": {"size": 3}, "id": "g-1"})).await?;
    let wanted = json!({"id": "g-1", "text": "id=g-1 size=3"});
    world.until("ConfigMap", "app", |o| o["data"] == wanted).await?;
    Ok(())
}

#[tokio::test]
async fn an_export_never_touches_what_is_not_its_own() -> Result<()> {
    let world = World::new().await?;
    let theirs = world.map("app", json!({"mine": "1"})).await?;
    world.export("first", "ConfigMap", "app", json!([{"key": "a", "value": "1"}])).await?;
    let object = world.reason("ConfigExport", "first", "TargetNotOwned").await?;
    assert_eq!(
        message(&object),
        "ConfigMap app exists and was not made by this ConfigExport; it is left alone"
    );
    assert_eq!(
        world.get("ConfigMap", "app").await?["metadata"]["resourceVersion"],
        theirs["metadata"]["resourceVersion"]
    );
    world.delete("ConfigMap", "app").await?;
    world.reason("ConfigExport", "first", "Exported").await?;
    world.export("second", "ConfigMap", "app", json!([{"key": "a", "value": "2"}])).await?;
    let object = world.reason("ConfigExport", "second", "TargetNotOwned").await?;
    assert_eq!(message(&object), "ConfigMap app exists and belongs to ConfigExport first; it is left alone");
    assert_eq!(world.get("ConfigMap", "app").await?["data"]["a"], "1");
    world.delete("ConfigExport", "first").await?;
    world.reason("ConfigExport", "second", "Exported").await?;
    world.until("ConfigMap", "app", |o| o["data"]["a"] == "2").await?;
    Ok(())
}

#[tokio::test]
async fn a_secret_goes_only_where_it_is_not_seen() -> Result<()> {
    let world = World::new().await?;
    let entries =
        json!([{"key": "url", "valueFrom": {"templateString": "pg://u:{{ .Secret.db.password }}@h"}}]);
    world.export("e", "ConfigMap", "app", entries.clone()).await?;
    let object = world.reason("ConfigExport", "e", "InvalidSpec").await?;
    assert!(message(&object).contains("set configType: Secret"), "{object}");
    world.export("e", "Secret", "app", entries).await?;
    world.reason("ConfigExport", "e", "WaitingForValues").await?;
    world.apply("Secret", "db", json!({"stringData": {"password": "hunter22"}})).await?;
    world.reason("ConfigExport", "e", "Exported").await?;
    world.until("Secret", "app", |o| o["data"]["url"] == "cGc6Ly91Omh1bnRlcjIyQGg=").await?;
    world.apply("Secret", "db", json!({"stringData": {"password": "changed99"}})).await?;
    world.until("Secret", "app", |o| o["data"]["url"] == "cGc6Ly91OmNoYW5nZWQ5OUBo").await?;
    for kind in ["ConfigExport", "Event", "ConfigMap"] {
        let all = serde_json::to_string(&world.api(kind).list(&ListParams::default()).await?.items)?;
        assert!(!all.contains("hunter22") && !all.contains("changed99"));
    }
    Ok(())
}

#[tokio::test]
async fn what_the_api_server_refuses_is_told_in_its_words() -> Result<()> {
    let world = World::new().await?;
    let twice = json!([{"key": "a", "value": "x"}, {"key": "a", "value": "y"}]);
    let refused = world.refused("app", twice).await?;
    assert!(refused.contains("spec.entries") && refused.to_lowercase().contains("duplicate"), "{refused}");
    let elsewhere = world.refused("App/../x", json!([{"key": "a", "value": "x"}])).await?;
    assert!(elsewhere.contains("spec.configMetadata.name"), "{elsewhere}");
    let secret = json!([{"key": "a", "valueFrom": {"secret": {"name": "db", "key": "password"}}}]);
    assert!(world.refused("app", secret).await?.contains("needs configType: Secret"));
    let big = "x".repeat(600 * 1024);
    world
        .export("e", "ConfigMap", "app", json!([{"key": "a", "value": big}, {"key": "b", "value": big}]))
        .await?;
    world.reason("ConfigExport", "e", "InvalidSpec").await?;
    Ok(())
}

#[tokio::test]
async fn a_source_that_is_missing_for_a_moment_deletes_nothing() -> Result<()> {
    let world = World::new().await?;
    world.map("src", json!({"a": "1"})).await?;
    world.export("e", "ConfigMap", "app", json!([from_map("a", "src", "a")])).await?;
    world.reason("ConfigExport", "e", "Exported").await?;
    let before = world.get("ConfigMap", "app").await?;
    // As `kubectl replace --force` does.
    world.delete("ConfigMap", "src").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.map("src", json!({"a": "2"})).await?;
    let after = world.until("ConfigMap", "app", |map| map["data"]["a"] != "1").await?;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    Ok(())
}

#[tokio::test]
async fn a_target_is_kept_while_its_values_are_missing_if_the_spec_says_so() -> Result<()> {
    let world = World::new().await?;
    world.map("src", json!({"a": "1"})).await?;
    let spec = json!({
        "configType": "ConfigMap", "configMetadata": {"name": "app"}, "whileWaiting": "Keep",
        "entries": [from_map("a", "src", "a")],
    });
    world.apply("ConfigExport", "e", json!({"spec": spec})).await?;
    world.reason("ConfigExport", "e", "Exported").await?;
    world.delete("ConfigMap", "src").await?;
    let object = world.reason("ConfigExport", "e", "WaitingForValues").await?;
    assert!(message(&object).ends_with("ConfigMap app stays as it was (whileWaiting: Keep)"), "{object}");
    assert_eq!(object["status"]["target"], "ConfigMap/app");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(world.get("ConfigMap", "app").await?["data"]["a"], "1");
    Ok(())
}

#[tokio::test]
async fn an_object_that_copies_the_owner_reference_of_a_target_deletes_nothing() -> Result<()> {
    let (world, elsewhere) = (World::new().await?, World::new().await?);
    world.export("e", "ConfigMap", "app", json!([{"key": "a", "value": "1"}])).await?;
    world.reason("ConfigExport", "e", "Exported").await?;
    let target = world.get("ConfigMap", "app").await?;
    let owners = json!({"ownerReferences": target["metadata"]["ownerReferences"]});
    // Of the target's own name, in another namespace; and of another name, beside it.
    elsewhere.apply("ConfigMap", "app", json!({"metadata": owners})).await?;
    world.apply("ConfigMap", "beside", json!({"metadata": owners, "data": {"theirs": "1"}})).await?;
    world.export("e", "ConfigMap", "app", json!([{"key": "a", "value": "2"}])).await?;
    let after = world.until("ConfigMap", "app", |map| map["data"]["a"] == "2").await?;
    assert_eq!(after["metadata"]["uid"], target["metadata"]["uid"]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(world.get("ConfigMap", "app").await?["metadata"]["uid"], target["metadata"]["uid"]);
    assert_eq!(world.get("ConfigMap", "beside").await?["data"]["theirs"], "1");
    Ok(())
}

#[tokio::test]
async fn a_secret_is_written_with_its_type_and_again_when_that_changes() -> Result<()> {
    let world = World::new().await?;
    let export = |secret_type: Value| {
        let spec = json!({
            "configType": "Secret", "configMetadata": {"name": "login"}, "secretType": secret_type,
            "entries": [{"key": "username", "value": "u"}, {"key": "password", "value": "p"}],
        });
        json!({"spec": spec})
    };
    world.apply("ConfigExport", "e", export(json!("kubernetes.io/basic-auth"))).await?;
    world.until("Secret", "login", |secret| secret["type"] == "kubernetes.io/basic-auth").await?;
    world.apply("ConfigExport", "e", export(json!("Opaque"))).await?;
    world.until("Secret", "login", |secret| secret["type"] == "Opaque").await?;
    Ok(())
}

#[tokio::test]
async fn a_target_has_the_labels_and_annotations_of_the_spec_and_keeps_those_of_others() -> Result<()> {
    let world = World::new().await?;
    let export = |metadata: Value| {
        let spec = json!({"configType": "ConfigMap", "configMetadata": metadata, "entries": [{"key": "a", "value": "1"}]});
        json!({"spec": spec})
    };
    let annotation = "reloader.stakater.com/match";
    let labelled = json!({"name": "app", "labels": {"team": "web"}, "annotations": {annotation: "true"}});
    world.apply("ConfigExport", "e", export(labelled)).await?;
    world.reason("ConfigExport", "e", "Exported").await?;
    let target = world.get("ConfigMap", "app").await?;
    assert_eq!(target["metadata"]["labels"]["team"], "web");
    assert_eq!(target["metadata"]["annotations"][annotation], "true");

    world.patch("ConfigMap", "app", json!({"metadata": {"labels": {"team": "db", "theirs": "1"}}})).await?;
    let healed = |map: &Value| {
        map["metadata"]["labels"]["team"] == "web" && map["metadata"]["labels"]["theirs"] == "1"
    };
    world.until("ConfigMap", "app", healed).await?;

    world.apply("ConfigExport", "e", export(json!({"name": "app"}))).await?;
    let plain = |map: &Value| {
        map["metadata"]["labels"]["team"].is_null() && map["metadata"]["annotations"][annotation].is_null()
    };
    let after = world.until("ConfigMap", "app", plain).await?;
    assert_eq!(after["metadata"]["labels"]["theirs"], "1");
    assert_eq!(after["metadata"]["uid"], target["metadata"]["uid"]);

    let reserved = json!({"name": "app", "labels": {"app.kubernetes.io/managed-by": "me", "not valid": "x"}});
    world.apply("ConfigExport", "e", export(reserved)).await?;
    let object = world.reason("ConfigExport", "e", "InvalidSpec").await?;
    assert!(message(&object).contains("spec.configMetadata.labels[not valid]"), "{object}");
    assert!(
        message(&object).contains("spec.configMetadata.labels[app.kubernetes.io/managed-by]"),
        "{object}"
    );
    Ok(())
}
