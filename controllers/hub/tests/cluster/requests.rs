//! DependencyRequests: values and causes, trust, circles, and what they cost.

use std::time::{Duration, Instant};

use anyhow::Result;
use kraken_api::{CONTENT_HASH_ANNOTATION, StateDeclarationSpec};
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::world::{PATIENCE, World, message, ready};

fn map_key(name: &str, key: &str) -> Value {
    json!({"configMapDependencies": [{"name": name, "key": key}]})
}

fn state_path(name: &str, path: &str) -> Value {
    json!({"krakenResourceDependencies": [{"kind": "Gadget", "name": name, "path": path, "type": "any"}]})
}

#[tokio::test]
async fn a_request_follows_a_config_map_as_it_appears_changes_and_disappears() -> Result<()> {
    let world = World::new().await?;
    world.request("a", map_key("sizes", "small")).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "ConfigMapNotFound").await?;
    assert_eq!(message(&object), "ConfigMap sizes does not exist");
    world.map("sizes", json!({"large": "x"})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "KeyNotFound").await?;
    assert_eq!(message(&object), "ConfigMap sizes has no key \"small\" (it has: large)");
    for value in ["1", "2"] {
        world.map("sizes", json!({"small": value})).await?;
        world
            .until("DependencyRequest", "gadget.testing.a", |o| {
                o["status"]["dependentValues"]["fromConfigMaps"]["sizes"]["small"] == value
            })
            .await?;
    }
    world.delete("ConfigMap", "sizes").await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "ConfigMapNotFound").await?;
    assert_eq!(object["status"]["dependentValues"], json!({}));
    world.apply("ConfigMap", "sizes", json!({"binaryData": {"small": "/w=="}})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "KeyNotFound").await?;
    assert!(message(&object).contains("binary"), "{object}");
    Ok(())
}

#[tokio::test]
async fn a_secret_is_answered_by_its_version() -> Result<()> {
    let world = World::new().await?;
    world.request("a", json!({"secretDependencies": [{"name": "db", "key": "password"}]})).await?;
    world.reason("DependencyRequest", "gadget.testing.a", "SecretNotFound").await?;
    let secret = world.apply("Secret", "db", json!({"stringData": {"password": "hunter22"}})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    let found = &object["status"]["dependentValues"]["fromSecrets"]["db"]["password"];
    assert_eq!(
        *found,
        json!({"uid": secret["metadata"]["uid"], "resourceVersion": secret["metadata"]["resourceVersion"]})
    );
    Ok(())
}

#[tokio::test]
async fn only_what_an_owner_has_published_counts() -> Result<()> {
    let world = World::new().await?;
    world.request("a", state_path("b", "x.0")).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "StateNotFound").await?;
    assert_eq!(message(&object), "gadget b does not exist");
    world.state("b", json!({"x": [1.5, 2.0], "n": null, "y": {"z": null}})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    assert_eq!(object["status"]["dependentValues"]["fromKrakenResources"]["Gadget"]["b"]["x.0"], 1.5);
    world.request("a", state_path("b", "y")).await?;
    world.until("DependencyRequest", "gadget.testing.a", |o| o["status"]["observedGeneration"] == 2).await?;
    // By hand, without the digest of its controller: for a gadget that exists.
    let forged = world.gadget("forged").await?;
    let rest = json!({"metadata": {"ownerReferences": [forged]}, "spec": {"data": {"x": 1}}});
    world.apply("StateDeclaration", "gadget.testing.forged", rest).await?;
    world.request("c", state_path("forged", "x")).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.c", "StateNotTrusted").await?;
    assert!(message(&object).contains("is not what its controller has published"), "{object}");
    world
        .request(
            "d",
            json!({"krakenResourceDependencies": [{"kind": "static", "name": "facts", "path": "x"}]}),
        )
        .await?;
    world.apply("StateDeclaration", "static-facts", json!({"spec": {"data": {"x": "by hand"}}})).await?;
    world.reason("DependencyRequest", "gadget.testing.d", "Resolved").await?;
    world.apply("StateDeclaration", "gadget.testing.unowned", json!({"spec": {"data": {"x": 1}}})).await?;
    world.request("e", state_path("unowned", "x")).await?;
    world.reason("DependencyRequest", "gadget.testing.e", "StateNotTrusted").await?;
    Ok(())
}

#[tokio::test]
async fn a_value_that_was_edited_by_hand_is_never_passed_on() -> Result<()> {
    let world = World::new().await?;
    let passed = |object: &Value| object["status"]["dependentValues"]["fromKrakenResources"].clone();
    world.state("b", json!({"x": 1})).await?;
    world.request("a", state_path("b", "x")).await?;
    let before = world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    // Put right at once, as its controller does: nobody hears of it.
    world.patch("StateDeclaration", "gadget.testing.b", json!({"spec": {"data": {"x": 2}}})).await?;
    world.state("b", json!({"x": 1})).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = world.get("DependencyRequest", "gadget.testing.a").await?;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    // Not put right, with a digest that fits.
    let edited = StateDeclarationSpec { data: json!({"x": 3}), id: None, withheld: Vec::new() };
    let annotations = json!({CONTENT_HASH_ANNOTATION: edited.content_hash()});
    let patch = json!({"metadata": {"annotations": annotations}, "spec": edited});
    world.patch("StateDeclaration", "gadget.testing.b", patch).await?;
    let refused = world.reason("DependencyRequest", "gadget.testing.a", "StateNotTrusted").await?;
    assert!(message(&refused).contains("not by its controller"), "{refused}");
    assert!(passed(&refused).is_null());
    world.state("b", json!({"x": 4})).await?;
    let back = world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    assert_eq!(passed(&back)["Gadget"]["b"]["x"], 4);
    Ok(())
}

#[tokio::test]
async fn a_kind_without_a_group_must_be_of_one_provider() -> Result<()> {
    let world = World::new().await?;
    world.state("b", json!({"x": 1})).await?;
    world.request("a", state_path("b", "x")).await?;
    world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    // Of another provider, whose kind is not installed here.
    let owner = json!({
        "apiVersion": "acme.kraken-iac.eoinfennessy.com/v1", "kind": "Gadget", "name": "b", "controller": true,
        "uid": "00000000-0000-0000-0000-000000000000",
    });
    let content = StateDeclarationSpec { data: json!({"x": 2}), id: None, withheld: Vec::new() };
    let annotations = json!({CONTENT_HASH_ANNOTATION: content.content_hash()});
    let metadata = json!({"ownerReferences": [owner], "annotations": annotations});
    let state = json!({"metadata": metadata, "spec": content});
    world.apply("StateDeclaration", "gadget.acme.b", state).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "AmbiguousReference").await?;
    assert!(message(&object).contains("gadget.acme b, gadget.testing b"), "{object}");
    for (kind, value) in [("Gadget.acme", 2), ("Gadget.testing.kraken-iac.eoinfennessy.com", 1)] {
        let wanted = json!([{"kind": kind, "name": "b", "path": "x", "type": "any"}]);
        world.request("a", json!({"krakenResourceDependencies": wanted})).await?;
        let object = world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
        assert_eq!(object["status"]["dependentValues"]["fromKrakenResources"][kind]["b"]["x"], value);
    }
    Ok(())
}

#[tokio::test]
async fn a_kind_that_nobody_serves_is_told_with_the_nearest_one() -> Result<()> {
    let world = World::new().await?;
    let wanted = json!([{"kind": "Gadgett", "name": "b", "path": "x", "type": "any"}]);
    world.request("a", json!({"krakenResourceDependencies": wanted})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "UnknownKind").await?;
    assert_eq!(message(&object), "no controller serves the kind gadgett; did you mean Gadget?");
    Ok(())
}

#[tokio::test]
async fn what_is_on_its_way_is_not_called_missing() -> Result<()> {
    let world = World::new().await?;
    world.gadget("b").await?;
    world.request("a", state_path("b", "x")).await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let object = world.get("DependencyRequest", "gadget.testing.a").await?;
    assert!(object["status"]["observedGeneration"].is_null(), "{object}");
    let object = world.reason("DependencyRequest", "gadget.testing.a", "StateNotFound").await?;
    assert_eq!(message(&object), "gadget b exists and has not published a state yet");
    Ok(())
}

#[tokio::test]
async fn a_label_of_a_secret_changes_nothing_for_those_who_refer_to_it() -> Result<()> {
    let world = World::new().await?;
    world.apply("Secret", "db", json!({"stringData": {"password": "hunter22"}})).await?;
    world.request("a", json!({"secretDependencies": [{"name": "db", "key": "password"}]})).await?;
    let before = world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    world.patch("Secret", "db", json!({"metadata": {"labels": {"team": "shop"}}})).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = world.get("DependencyRequest", "gadget.testing.a").await?;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    world.patch("Secret", "db", json!({"stringData": {"password": "changed99"}})).await?;
    let version =
        |object: &Value| object["status"]["dependentValues"]["fromSecrets"]["db"]["password"].clone();
    world.until("DependencyRequest", "gadget.testing.a", |o| version(o) != version(&before)).await?;
    Ok(())
}

#[tokio::test]
async fn a_reference_without_a_path_follows_the_main_id() -> Result<()> {
    let world = World::new().await?;
    let main_id = |kind: &str, name: &str, json_type: &str| json!({"krakenResourceDependencies": [{"kind": kind, "name": name, "type": json_type}]});
    world.request("a", main_id("Gadget", "b", "string")).await?;
    world.reason("DependencyRequest", "gadget.testing.a", "StateNotFound").await?;
    world.state("b", json!({"x": 1})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "PathNotFound").await?;
    assert_eq!(message(&object), "gadget b has no id yet");
    assert_eq!(object["status"]["unmet"][0]["entry"], "");
    for id in ["g-1", "g-2"] {
        world.state_spec("b", json!({"data": {"x": 1}, "id": id})).await?;
        let answered = json!({"Gadget": {"b": {"": id}}});
        world
            .until("DependencyRequest", "gadget.testing.a", |o| {
                o["status"]["dependentValues"]["fromKrakenResources"] == answered
            })
            .await?;
    }
    world.reason("DependencyRequest", "gadget.testing.a", "Resolved").await?;
    world.state("b", json!({"x": 1})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "PathNotFound").await?;
    assert_eq!(object["status"]["dependentValues"], json!({}));
    // By hand, with nothing but the id.
    world.request("c", main_id("static", "vpc", "integer")).await?;
    world.apply("StateDeclaration", "static-vpc", json!({"spec": {}})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.c", "PathNotFound").await?;
    assert_eq!(message(&object), "StateDeclaration static-vpc has no id: set spec.id, or name a path");
    world.apply("StateDeclaration", "static-vpc", json!({"spec": {"id": "vpc-1"}})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.c", "TypeMismatch").await?;
    assert_eq!(message(&object), "static vpc: its id is of type string, and integer is wanted");
    let empty = world.apply("StateDeclaration", "static-vpc", json!({"spec": {"id": ""}})).await;
    assert!(format!("{:#}", empty.unwrap_err()).contains("spec.id"));
    Ok(())
}

#[tokio::test]
async fn a_state_deeper_than_anybody_reads_is_told() -> Result<()> {
    let world = World::new().await?;
    world
        .request(
            "a",
            json!({"krakenResourceDependencies": [{"kind": "static", "name": "deep", "path": "x"}]}),
        )
        .await?;
    let (open, close) = ("[".repeat(300), "]".repeat(300));
    let body = format!(
        r#"{{"apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "StateDeclaration",
            "metadata": {{"name": "static-deep"}}, "spec": {{"data": {{"x": {open}1{close}}}}}}}"#
    );
    let url = format!(
        "/apis/core.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/{}/statedeclarations",
        world.ns.name
    );
    let request =
        http::Request::post(url).header("Content-Type", "application/json").body(body.into_bytes())?;
    world.client().request_text(request).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "ReadFailed").await?;
    assert_eq!(message(&object), "the state of static deep cannot be read: recursion limit exceeded");
    Ok(())
}

#[tokio::test]
async fn a_circle_is_named_in_all_its_members_and_an_edit_heals_all() -> Result<()> {
    let world = World::new().await?;
    for name in ["a", "b", "c"] {
        world.state(name, json!({"x": 1})).await?;
    }
    world.request("a", state_path("b", "x")).await?;
    world.request("b", state_path("c", "x")).await?;
    world.reason("DependencyRequest", "gadget.testing.b", "Resolved").await?;
    world.request("c", state_path("a", "x")).await?;
    for name in ["gadget.testing.a", "gadget.testing.b", "gadget.testing.c"] {
        world.reason("DependencyRequest", name, "ReferenceCycle").await?;
    }
    let object = world.get("DependencyRequest", "gadget.testing.a").await?;
    assert_eq!(message(&object), "reference cycle: gadget a -> gadget b -> gadget c -> gadget a");
    world.map("free", json!({"k": "1"})).await?;
    world.request("c", map_key("free", "k")).await?;
    for name in ["gadget.testing.a", "gadget.testing.b", "gadget.testing.c"] {
        world.reason("DependencyRequest", name, "Resolved").await?;
    }
    // Through an export.
    world.export("e", "ConfigMap", "app", json!([{"key": "k", "valueFrom": {"krakenResource": {"kind": "gadget", "name": "c", "path": "x"}}}])).await?;
    world.reason("ConfigExport", "e", "Exported").await?;
    world.request("c", map_key("app", "k")).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.c", "ReferenceCycle").await?;
    assert_eq!(message(&object), "reference cycle: gadget c -> ConfigMap app -> gadget c");
    world.reason("ConfigExport", "e", "WaitingForValues").await?;
    world.until("ConfigMap", "app", Value::is_null).await?;
    world.request("c", map_key("free", "k")).await?;
    world.reason("ConfigExport", "e", "Exported").await?;
    Ok(())
}

#[tokio::test]
async fn many_dependents_of_one_config_map_cost_one_read() -> Result<()> {
    const MANY: usize = 500;
    let world = World::new().await?;
    world.map("sizes", json!({"small": "1"})).await?;
    for n in 0..MANY {
        let rest = json!({"spec": map_key("sizes", "small")});
        world.apply("DependencyRequest", &format!("x-{n}"), rest).await?;
    }
    let all = async |value: &str| -> Result<()> {
        let start = Instant::now();
        loop {
            let list = world.api("DependencyRequest").list(&ListParams::default()).await?;
            let done = list
                .iter()
                .filter(|o| o.data["status"]["dependentValues"]["fromConfigMaps"]["sizes"]["small"] == value);
            if done.count() == MANY {
                return Ok(());
            }
            assert!(start.elapsed() < PATIENCE);
        }
    };
    all("1").await?;
    let before = world.requests("get", "configmaps");
    world.map("sizes", json!({"small": "2"})).await?;
    all("2").await?;
    // The other tests, which run at the same time, read a few of their own.
    let reads = world.requests("get", "configmaps") - before;
    assert!((1..50).contains(&reads), "{reads}");
    Ok(())
}

#[tokio::test]
async fn values_that_are_too_large_are_told() -> Result<()> {
    let world = World::new().await?;
    let half = "x".repeat(200 * 1024);
    for name in ["a", "b", "c", "d"] {
        world.map(name, json!({"k": half, "big": "y".repeat(300 * 1024)})).await?;
    }
    let keys: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| json!({"name": name, "key": "k"})).collect();
    world.request("a", json!({"configMapDependencies": keys})).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "ValueTooLarge").await?;
    assert_eq!(object["status"]["unmet"].as_array().map(Vec::len), Some(1), "{}", ready(&object));
    world.request("a", map_key("a", "big")).await?;
    let object = world.reason("DependencyRequest", "gadget.testing.a", "ValueTooLarge").await?;
    assert!(message(&object).contains("307200 bytes"), "{}", message(&object));
    // A value whose bookkeeping is larger than itself: thousands of short keys.
    let many: serde_json::Map<String, Value> = (0..25_000).map(|n| (format!("k{n}"), json!(n))).collect();
    world.state("b", json!({"x": many})).await?;
    world.request("c", state_path("b", "x")).await?;
    world.until("DependencyRequest", "gadget.testing.c", |o| o["status"]["observedGeneration"] == 1).await?;
    Ok(())
}

#[tokio::test]
async fn an_object_that_was_emptied_is_passed_on_as_an_empty_object() -> Result<()> {
    let world = World::new().await?;
    world.request("a", state_path("b", "x")).await?;
    for value in
        [json!({"t": {"a": 1}, "l": [{"p": {"q": 1}}]}), json!({"t": {}, "l": [{"p": {}}]}), json!({})]
    {
        world.state("b", json!({"x": value})).await?;
        let found =
            |o: &Value| o["status"]["dependentValues"]["fromKrakenResources"]["Gadget"]["b"]["x"] == value;
        world.until("DependencyRequest", "gadget.testing.a", found).await?;
    }
    Ok(())
}
