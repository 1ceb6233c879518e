//! DependencyRequests: values and causes, trust, and cycles.

use std::time::Duration;

use anyhow::Result;
use kraken_api::{CONTENT_HASH_ANNOTATION, StateDeclarationSpec};
use serde_json::{Value, json};

use crate::hub_test::{HubTest, message};

pub(crate) fn map_key(name: &str, key: &str) -> Value {
    json!({"configMapDependencies": [{"name": name, "key": key}]})
}

pub(crate) fn state_path(name: &str, path: &str) -> Value {
    json!({"krakenResourceDependencies": [{"kind": "Gadget", "name": name, "path": path, "type": "any"}]})
}

#[tokio::test]
async fn a_request_follows_a_config_map_as_it_appears_changes_and_disappears() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.request("a", map_key("sizes", "small")).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "ConfigMapNotFound").await?;
    assert_eq!(message(&object), "ConfigMap sizes does not exist");
    hub.map("sizes", json!({"large": "x"})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "KeyNotFound").await?;
    assert_eq!(message(&object), "ConfigMap sizes has no key \"small\" (it has: large)");
    for value in ["1", "2"] {
        hub.map("sizes", json!({"small": value})).await?;
        hub.until("DependencyRequest", "gadget.testing.a", |o| {
            o["status"]["dependentValues"]["fromConfigMaps"]["sizes"]["small"] == value
        })
        .await?;
    }
    hub.delete("ConfigMap", "sizes").await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "ConfigMapNotFound").await?;
    assert_eq!(object["status"]["dependentValues"], json!({}));
    hub.apply("ConfigMap", "sizes", json!({"binaryData": {"small": "/w=="}})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "KeyNotFound").await?;
    assert!(message(&object).contains("binary"), "{object}");
    Ok(())
}

#[tokio::test]
async fn a_secret_is_answered_by_its_version() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.request("a", json!({"secretDependencies": [{"name": "db", "key": "password"}]})).await?;
    hub.reason("DependencyRequest", "gadget.testing.a", "SecretNotFound").await?;
    let secret = hub.apply("Secret", "db", json!({"stringData": {"password": "hunter22"}})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    let mut found = object["status"]["dependentValues"]["fromSecrets"]["db"]["password"].clone();
    let digest = found.as_object_mut().and_then(|found| found.remove("digest")).unwrap_or_default();
    assert!(
        digest.as_str().is_some_and(|digest| digest.contains('.')),
        "by which it is recognized: {digest}"
    );
    assert_eq!(
        found,
        json!({"uid": secret["metadata"]["uid"], "resourceVersion": secret["metadata"]["resourceVersion"]})
    );
    Ok(())
}

#[tokio::test]
async fn only_a_state_that_its_owner_published_counts() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.request("a", state_path("b", "x.0")).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "StateNotFound").await?;
    assert_eq!(message(&object), "gadget b does not exist");
    hub.state("b", json!({"x": [1.5, 2.0], "n": null, "y": {"z": null}})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    assert_eq!(object["status"]["dependentValues"]["fromKrakenResources"]["Gadget"]["b"]["x.0"], 1.5);
    hub.request("a", state_path("b", "y")).await?;
    hub.until("DependencyRequest", "gadget.testing.a", |o| o["status"]["observedGeneration"] == 2).await?;
    // Written manually, without the digest of its controller, for an existing gadget.
    let forged = hub.gadget("forged").await?;
    let rest = json!({"metadata": {"ownerReferences": [forged]}, "spec": {"data": {"x": 1}}});
    hub.apply("StateDeclaration", "gadget.testing.forged", rest).await?;
    hub.request("c", state_path("forged", "x")).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.c", "StateNotTrusted").await?;
    assert!(message(&object).contains("does not match the state that its controller published"), "{object}");
    hub.request(
        "d",
        json!({"krakenResourceDependencies": [{"kind": "static", "name": "facts", "path": "x"}]}),
    )
    .await?;
    hub.apply("StateDeclaration", "static-facts", json!({"spec": {"data": {"x": "manual"}}})).await?;
    hub.reason("DependencyRequest", "gadget.testing.d", "Resolved").await?;
    hub.apply("StateDeclaration", "gadget.testing.unowned", json!({"spec": {"data": {"x": 1}}})).await?;
    hub.request("e", state_path("unowned", "x")).await?;
    hub.reason("DependencyRequest", "gadget.testing.e", "StateNotTrusted").await?;
    Ok(())
}

#[tokio::test]
async fn a_manually_edited_value_is_never_passed_on() -> Result<()> {
    let hub = HubTest::new().await?;
    let passed = |object: &Value| object["status"]["dependentValues"]["fromKrakenResources"].clone();
    hub.state("b", json!({"x": 1})).await?;
    hub.request("a", state_path("b", "x")).await?;
    let before = hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    // Reverted at once, like its controller does: dependents do not observe it.
    hub.patch("StateDeclaration", "gadget.testing.b", json!({"spec": {"data": {"x": 2}}})).await?;
    hub.state("b", json!({"x": 1})).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = hub.get("DependencyRequest", "gadget.testing.a").await?;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    // Not reverted, with a matching digest.
    let edited = StateDeclarationSpec { data: json!({"x": 3}), id: None, withheld: Vec::new() };
    let annotations = json!({CONTENT_HASH_ANNOTATION: edited.content_hash()});
    let patch = json!({"metadata": {"annotations": annotations}, "spec": edited});
    hub.patch("StateDeclaration", "gadget.testing.b", patch).await?;
    let refused = hub.reason("DependencyRequest", "gadget.testing.a", "StateNotTrusted").await?;
    assert!(message(&refused).contains("not by its controller"), "{refused}");
    assert!(passed(&refused).is_null());
    hub.state("b", json!({"x": 4})).await?;
    let back = hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    assert_eq!(passed(&back)["Gadget"]["b"]["x"], 4);
    Ok(())
}

#[tokio::test]
async fn a_reference_without_a_group_must_be_unambiguous() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.state("b", json!({"x": 1})).await?;
    hub.request("a", state_path("b", "x")).await?;
    hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    // Of another provider, whose kind is not installed.
    let owner = json!({
        "apiVersion": "acme.kraken-iac.eoinfennessy.com/v1", "kind": "Gadget", "name": "b", "controller": true,
        "uid": "00000000-0000-0000-0000-000000000000",
    });
    let content = StateDeclarationSpec { data: json!({"x": 2}), id: None, withheld: Vec::new() };
    let annotations = json!({CONTENT_HASH_ANNOTATION: content.content_hash()});
    let metadata = json!({"ownerReferences": [owner], "annotations": annotations});
    let state = json!({"metadata": metadata, "spec": content});
    hub.apply("StateDeclaration", "gadget.acme.b", state).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "AmbiguousReference").await?;
    assert!(message(&object).contains("gadget.acme b, gadget.testing b"), "{object}");
    for (kind, value) in [("Gadget.acme", 2), ("Gadget.testing.kraken-iac.eoinfennessy.com", 1)] {
        let wanted = json!([{"kind": kind, "name": "b", "path": "x", "type": "any"}]);
        hub.request("a", json!({"krakenResourceDependencies": wanted})).await?;
        let object = hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
        assert_eq!(object["status"]["dependentValues"]["fromKrakenResources"][kind]["b"]["x"], value);
    }
    Ok(())
}

#[tokio::test]
async fn an_unknown_kind_is_reported_with_the_most_similar_one() -> Result<()> {
    let hub = HubTest::new().await?;
    let wanted = json!([{"kind": "Gadgett", "name": "b", "path": "x", "type": "any"}]);
    hub.request("a", json!({"krakenResourceDependencies": wanted})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "UnknownKind").await?;
    assert_eq!(message(&object), "no controller serves the kind gadgett; did you mean Gadget?");
    Ok(())
}

#[tokio::test]
async fn an_expected_value_is_not_reported_as_missing() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.gadget("b").await?;
    hub.request("a", state_path("b", "x")).await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let object = hub.get("DependencyRequest", "gadget.testing.a").await?;
    assert!(object["status"]["observedGeneration"].is_null(), "{object}");
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "StateNotFound").await?;
    assert_eq!(
        message(&object),
        "gadget b exists and has not published a state yet: its Ready condition says why"
    );
    Ok(())
}

#[tokio::test]
async fn a_changed_label_of_a_secret_does_not_affect_dependents() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.apply("Secret", "db", json!({"stringData": {"password": "hunter22"}})).await?;
    hub.request("a", json!({"secretDependencies": [{"name": "db", "key": "password"}]})).await?;
    let before = hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    hub.patch("Secret", "db", json!({"metadata": {"labels": {"team": "shop"}}})).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = hub.get("DependencyRequest", "gadget.testing.a").await?;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    hub.patch("Secret", "db", json!({"stringData": {"password": "changed99"}})).await?;
    let version =
        |object: &Value| object["status"]["dependentValues"]["fromSecrets"]["db"]["password"].clone();
    hub.until("DependencyRequest", "gadget.testing.a", |o| version(o) != version(&before)).await?;
    Ok(())
}

#[tokio::test]
async fn a_reference_without_a_path_follows_the_main_id() -> Result<()> {
    let hub = HubTest::new().await?;
    let main_id = |kind: &str, name: &str, json_type: &str| json!({"krakenResourceDependencies": [{"kind": kind, "name": name, "type": json_type}]});
    hub.request("a", main_id("Gadget", "b", "string")).await?;
    hub.reason("DependencyRequest", "gadget.testing.a", "StateNotFound").await?;
    hub.state("b", json!({"x": 1})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "PathNotFound").await?;
    assert_eq!(message(&object), "gadget b has no id yet");
    assert_eq!(object["status"]["unmet"][0]["entry"], "");
    for id in ["g-1", "g-2"] {
        hub.state_spec("b", json!({"data": {"x": 1}, "id": id})).await?;
        let answered = json!({"Gadget": {"b": {"": id}}});
        hub.until("DependencyRequest", "gadget.testing.a", |o| {
            o["status"]["dependentValues"]["fromKrakenResources"] == answered
        })
        .await?;
    }
    hub.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    hub.state("b", json!({"x": 1})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "PathNotFound").await?;
    assert_eq!(object["status"]["dependentValues"], json!({}));
    // Written manually, with only the id.
    hub.request("c", main_id("static", "vpc", "integer")).await?;
    hub.apply("StateDeclaration", "static-vpc", json!({"spec": {}})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.c", "PathNotFound").await?;
    assert_eq!(
        message(&object),
        "StateDeclaration static-vpc has no id: set spec.id, or add a path to the reference"
    );
    hub.apply("StateDeclaration", "static-vpc", json!({"spec": {"id": "vpc-1"}})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.c", "TypeMismatch").await?;
    assert_eq!(message(&object), "static vpc: its id is of type string, and integer is expected");
    let empty = hub.apply("StateDeclaration", "static-vpc", json!({"spec": {"id": ""}})).await;
    assert!(format!("{:#}", empty.unwrap_err()).contains("spec.id"));
    Ok(())
}

#[tokio::test]
async fn a_cycle_is_reported_on_all_members_and_resolved_by_an_edit() -> Result<()> {
    let hub = HubTest::new().await?;
    for name in ["a", "b", "c"] {
        hub.state(name, json!({"x": 1})).await?;
    }
    hub.request("a", state_path("b", "x")).await?;
    hub.request("b", state_path("c", "x")).await?;
    hub.reason("DependencyRequest", "gadget.testing.b", "Resolved").await?;
    hub.request("c", state_path("a", "x")).await?;
    for name in ["gadget.testing.a", "gadget.testing.b", "gadget.testing.c"] {
        hub.reason("DependencyRequest", name, "ReferenceCycle").await?;
    }
    let object = hub.get("DependencyRequest", "gadget.testing.a").await?;
    assert_eq!(message(&object), "reference cycle: gadget a -> gadget b -> gadget c -> gadget a");
    hub.map("free", json!({"k": "1"})).await?;
    hub.request("c", map_key("free", "k")).await?;
    for name in ["gadget.testing.a", "gadget.testing.b", "gadget.testing.c"] {
        hub.reason("DependencyRequest", name, "Resolved").await?;
    }
    // Through an export.
    hub.export(
        "e",
        "ConfigMap",
        "app",
        json!([{"key": "k", "valueFrom": {"krakenResource": {"kind": "gadget", "name": "c", "path": "x"}}}]),
    )
    .await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    hub.request("c", map_key("app", "k")).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.c", "ReferenceCycle").await?;
    assert_eq!(message(&object), "reference cycle: gadget c -> ConfigMap app -> gadget c");
    hub.reason("ConfigExport", "e", "WaitingForValues").await?;
    hub.until("ConfigMap", "app", Value::is_null).await?;
    hub.request("c", map_key("free", "k")).await?;
    hub.reason("ConfigExport", "e", "Exported").await?;
    Ok(())
}

#[tokio::test]
async fn an_object_that_was_emptied_is_passed_on_as_an_empty_object() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.request("a", state_path("b", "x")).await?;
    for value in
        [json!({"t": {"a": 1}, "l": [{"p": {"q": 1}}]}), json!({"t": {}, "l": [{"p": {}}]}), json!({})]
    {
        hub.state("b", json!({"x": value})).await?;
        let found =
            |o: &Value| o["status"]["dependentValues"]["fromKrakenResources"]["Gadget"]["b"]["x"] == value;
        hub.until("DependencyRequest", "gadget.testing.a", found).await?;
    }
    Ok(())
}
