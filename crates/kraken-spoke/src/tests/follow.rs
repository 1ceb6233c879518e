//! Step 7: fields that are set after the creation, whose references do not order it.

use kraken_model::outcome::GRACE;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{Disk, disk, from_config_map, remote, request, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, HOLD, LEDGER, REQUEST, STATE, STATUS, call},
};

/// A Disk whose peer comes from a ConfigMap.
fn with_peer(disk: Disk) -> Disk {
    disk.spec("peer", from_config_map())
}

/// The request of such a Disk, with this answer.
fn answered(status: Value) -> Value {
    let mut request = request(&with(status, "observedGeneration", json!(1)));
    request["spec"]["configMapDependencies"][0]["follows"] = json!(true);
    request
}

fn unanswered() -> Value {
    let missing = json!({"kind": "ConfigMap", "name": "sizes", "entry": "small", "reason": "ConfigMapNotFound",
        "message": "ConfigMap sizes does not exist"});
    answered(json!({"unmet": [missing]}))
}

async fn scene(disk: Disk, request: Value) -> Scene {
    Setup { requests: vec![request], ..Setup::of(with_peer(disk)) }.start().await
}

fn observe(peer: Value) -> Call {
    call("observe disk-1").returns(json!([with(remote("disk-1"), "peer", peer)]))
}

#[tokio::test(start_paused = true)]
async fn a_reference_that_follows_is_requested_as_one() {
    let report = Scene::of(with_peer(disk())).await.reconcile([call(REQUEST)]).await;
    let wanted = json!([{"name": "sizes", "key": "small", "follows": true}]);
    assert_eq!(report.body(REQUEST)["spec"]["configMapDependencies"], wanted);
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_created_and_declared_before_the_values_that_follow() {
    let scene = scene(disk(), unanswered()).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(HOLD), call(LEDGER), created, call(EVENT)]).await;
    // The response with the value is expected soon: no status is written.
    let report = scene.reconcile([observe(Value::Null), call(STATE)]).await;
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-1");
    advance(GRACE).await;
    let report = scene.reconcile([observe(Value::Null), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "DependenciesNotReady"));
    assert!(report.message().contains("spec.peer"), "{}", report.message());
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
}

#[tokio::test(start_paused = true)]
async fn a_value_that_follows_is_applied_by_a_change() {
    let scene = scene(
        disk().launched(),
        answered(json!({"dependentValues": {"fromConfigMaps": {"sizes": {"small": "b"}}}})),
    )
    .await;
    let report =
        scene.reconcile([observe(Value::Null), call("update peer b"), call(EVENT), call(STATUS)]).await;
    assert_eq!(report.message(), "changed spec.peer from null to b");
}

#[tokio::test(start_paused = true)]
async fn nothing_of_what_exists_is_changed_while_a_value_that_follows_is_missing() {
    let scene = scene(disk().launched(), unanswered()).await;
    let drifted = || call("observe disk-1").returns(json!([with(remote("disk-1"), "size", json!(5))]));
    // The second time for an object that may be stopped for a change.
    let report = scene.reconcile([drifted(), call(STATE), drifted(), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "DependenciesNotReady"));
}

#[tokio::test(start_paused = true)]
async fn an_adoption_waits_for_the_values_that_follow() {
    let scene = scene(disk().lifecycle("adopt", json!({"id": "disk-9"})), unanswered()).await;
    let report = scene.reconcile([]).await;
    assert_eq!(report.condition("Ready"), ("", ""));
}
