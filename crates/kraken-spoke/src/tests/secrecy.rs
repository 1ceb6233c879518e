//! The record of the fields that come from a Secret: it is stored before a remote object has their values, so that a controller
//! that restarts does not show them after an edit to a literal.

use std::time::Duration;

use kraken_api::OWNER_KIND_LABEL;
use kraken_model::in_place;
use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{Disk, disk, remote, request, stored, with},
    scene::{Scene, Setup},
    script::{AT_ONCE, Call, EVENT, HOLD, LEDGER, REQUEST, STATE, STATUS, call, observe},
};

/// The value of the Secret.
const VALUE: &str = "hunter2";

/// This Disk with a field from a Secret, and the hub's response.
pub(super) fn with_secret(disk: Disk, field: &str) -> Setup {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "password"}}});
    let versions = json!({"fromSecrets": {"s": {"password": {"uid": "s-1", "resourceVersion": "3"}}}});
    let mut request = request(&json!({"observedGeneration": 1, "dependentValues": versions}));
    request["spec"] =
        json!({"spoke": "kraken-test", "secretDependencies": [{"name": "s", "key": "password"}]});
    Setup { requests: vec![request], ..Setup::of(disk.spec(field, secret)) }
}

pub(super) fn read_secret() -> Call {
    call("GET secrets/s").returns(json!({
        "metadata": {"name": "s", "namespace": "ns", "uid": "s-1", "resourceVersion": "3"},
        "data": {"password": "aHVudGVyMg=="},
    }))
}

/// The remote object of the first launch, whose image is the value of the Secret.
fn secret_image() -> Value {
    with(remote("disk-1"), "image", json!(VALUE))
}

fn by_tag(objects: &[Value]) -> Call {
    call("observe by tag").returns(json!(objects))
}

fn created() -> Call {
    call("create epoch 1").returns(json!([secret_image()]))
}

#[tokio::test(start_paused = true)]
async fn missing_key_is_read_again_unless_the_hub_has_read_the_secret_without_it() {
    // If the key returns before the hub notices, its response does not change.
    let again = Requeue::After(Duration::from_secs(30));
    for (version, requeue) in [("4", again), ("3", Requeue::Never)] {
        let scene = with_secret(disk(), "image").start().await;
        let without = json!({"metadata": {"name": "s", "uid": "s-1", "resourceVersion": version}});
        let calls = [call("GET secrets/s").returns(without), call(STATUS), call(EVENT)];
        let report = scene.reconcile(calls).await;
        assert_eq!((report.condition("Ready"), report.requeue), (("False", "DependenciesNotReady"), requeue));
        advance(Duration::from_secs(30)).await;
        scene
            .reconcile([read_secret(), call(HOLD), call(LEDGER), created(), call(EVENT), call(STATUS)])
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn create_records_secret_fields_with_its_ledger() {
    let scene = with_secret(disk(), "image").start().await;
    let report = scene.reconcile([read_secret(), call(HOLD), call(LEDGER), created(), call(EVENT)]).await;
    assert_eq!(report.ledger()["secretFields"], json!({"image": 1}));
    assert!(!report.disk.to_string().contains(VALUE), "{}", report.disk);
}

#[tokio::test(start_paused = true)]
async fn former_secret_is_not_shown_by_a_controller_that_restarts_before_the_first_status() {
    let scene = with_secret(disk(), "image").start().await;
    let launched =
        scene.reconcile([read_secret(), call(HOLD), call(LEDGER), created(), call(EVENT)]).await.disk;
    assert_eq!(launched["status"]["externalIds"], Value::Null);
    let edited = stored(launched).spec("image", json!({"value": "b"})).edited();
    let scene = Scene::of(edited).await;
    let calls = [by_tag(&[secret_image()]), call(STATE), call(STATUS), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!(report.condition("Ready"), ("False", "ImmutableField"));
    for name in [STATE, STATUS, EVENT] {
        assert!(!report.body(name).to_string().contains(VALUE), "{}", report.body(name));
    }
    assert_eq!(report.disk["status"]["secretFields"], json!(["image"]));
}

#[tokio::test(start_paused = true)]
async fn field_of_a_launch_is_shown_after_an_edit_to_a_literal_once_the_status_reports_the_launch() {
    let disk = disk().launched().ledger(&json!({"secretFields": {"image": 1}}));
    let scene = Scene::of(disk.spec("image", json!({"value": "b"}))).await;
    let object = with(remote("disk-1"), "image", json!("b"));
    let report = scene.reconcile([observe(&[object]), call(STATE), call(STATUS)]).await;
    assert_eq!(report.body(STATE)["spec"]["data"], json!({"disk": {"size": 1}}));
    assert_eq!(report.disk["status"]["secretFields"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn field_stays_secret_after_its_removal_because_its_value_remains() {
    let removed = disk().launched().edited().status("secretFields", json!(["image"]));
    let scene = Scene::of(removed).await;
    let report = scene.reconcile([observe(&[secret_image()]), call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.disk["status"]["secretFields"], json!(["image"]));
    assert_eq!(report.body(STATE)["spec"]["data"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn repeated_create_records_a_field_that_was_edited_to_a_reference_meanwhile() {
    let interrupted = disk().ledger(&json!({}));
    let scene = with_secret(interrupted, "image").start().await;
    let report = scene.reconcile([read_secret(), by_tag(&[]), call(LEDGER), created(), call(EVENT)]).await;
    assert_eq!(report.ledger()["secretFields"], json!({"image": 1}));
    assert_eq!(report.ledger()["epoch"], 1);
}

#[tokio::test(start_paused = true)]
async fn repeated_create_writes_nothing_that_is_recorded_already() {
    let interrupted = disk().ledger(&json!({"secretFields": {"image": 1}}));
    let scene = with_secret(interrupted, "image").start().await;
    scene.reconcile([read_secret(), by_tag(&[]), created(), call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn replacement_records_secret_fields_with_its_ledger() {
    let disk = disk().launched().edited().lifecycle("replace", json!("DeleteFirst"));
    let scene = with_secret(disk, "image").start().await;
    let old = with(remote("disk-1"), "image", json!("a"));
    let report = scene.reconcile([read_secret(), observe(&[old]), call(STATE), call(LEDGER)]).await;
    assert_eq!(report.ledger()["secretFields"], json!({"image": 2}));
}

#[tokio::test(start_paused = true)]
async fn adopt_records_secret_fields_with_its_ledger() {
    let scene = with_secret(disk().lifecycle("adopt", json!({"id": "disk-9"})), "password").start().await;
    let found = call("find").returns(json!([with(remote("disk-9"), "epoch", json!(null))]));
    let calls = [read_secret(), found, call(HOLD), call(LEDGER), call("claim disk-9"), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.ledger()["secretFields"], json!({"password": 1}));
}

#[tokio::test(start_paused = true)]
async fn restored_record_has_the_secret_fields_of_the_spec() {
    let restored = disk().without_finalizer().creation("2020-01-01T00:00:00Z");
    let scene = with_secret(restored, "image").start().await;
    let calls = [read_secret(), by_tag(&[secret_image()]), call(HOLD), call(LEDGER), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!((report.ledger()["secretFields"].clone(), report.requeue), (json!({"image": 1}), AT_ONCE));
}

#[tokio::test(start_paused = true)]
async fn removed_record_is_restored_with_the_secret_fields_of_the_status() {
    let removed = disk()
        .ready()
        .status("externalIds", json!(["disk-1"]))
        .status("secretFields", json!(["image"]))
        .creation("2020-01-01T00:00:00Z")
        .lifecycle("paused", json!(true));
    let calls =
        [call(HOLD), call(LEDGER), call(EVENT), observe(&[remote("disk-1")]), call(STATUS), call(EVENT)];
    let report = Scene::of(removed).await.reconcile(calls).await;
    assert_eq!(report.ledger()["secretFields"], json!({"image": 0}));
}

#[tokio::test(start_paused = true)]
async fn no_digest_is_recorded_of_a_secret_that_is_applied_at_creation_only() {
    let scene = with_secret(disk(), "note").start().await;
    let made = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([read_secret(), call(HOLD), call(LEDGER), made, call(EVENT)]).await;
    let in_place = observe(&[remote("disk-1")]);
    let report = scene.reconcile([in_place, call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    let masked = in_place::at_creation("u-1", &[("note", "***".to_owned())]);
    assert_eq!(report.disk["status"]["atCreation"]["fields"], json!(masked));
}

#[tokio::test(start_paused = true)]
async fn field_that_the_state_withholds_stays_secret_if_clients_removed_every_other_record_of_it() {
    let state = json!({
        "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1",
        "kind": "StateDeclaration",
        "metadata": {"name": "disk.testing.a", "namespace": "ns", "uid": "s-1", "resourceVersion": "5", "generation": 0,
            "labels": {OWNER_KIND_LABEL: "disk.testing"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Disk", "name": "a", "uid": "u-1", "controller": true}]},
        "spec": {"data": {}, "withheld": [{"path": "*", "field": "image"}]},
    });
    // While no controller ran, its field was edited from a Secret to a literal, and its ledger and status were removed.
    let edited = disk().creation("2020-01-01T00:00:00Z").spec("image", json!({"value": "b"})).edited();
    let scene = Setup { states: vec![state.clone()], ..Setup::of(edited) }.start().await;
    let read = || call("GET statedeclarations/disk.testing.a");
    let report = scene.reconcile([read().rejected(500), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "KubernetesError"));
    let restored = [
        read().returns(state),
        by_tag(&[secret_image()]),
        call(HOLD),
        call(LEDGER),
        call(EVENT),
        call(STATUS),
    ];
    scene.reconcile(restored).await;
    let found = call("observe disk-1,by tag").returns(json!([secret_image()]));
    let report = scene.reconcile([found, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "ImmutableField"));
    assert_eq!(report.body(STATE)["spec"]["data"], json!({}));
    assert!(!report.disk.to_string().contains(VALUE), "{}", report.disk);
}

#[tokio::test(start_paused = true)]
async fn former_request_shows_that_a_field_was_secret_if_clients_removed_every_other_record_of_it() {
    // The controller stopped after the launch; the field was edited to a literal, and the ledger was removed.
    let Setup { requests, .. } = with_secret(disk(), "password");
    let launched = disk().finalizer_only().creation("2020-01-01T00:00:00Z");
    let edited = launched.spec("password", json!({"value": "b"}));
    let scene = Setup { requests, ..Setup::of(edited) }.start().await;
    let dropped = [call(REQUEST), call("DELETE dependencyrequests/disk.testing.a")];
    let found = [by_tag(&[remote("disk-1")]), call(LEDGER), call(EVENT)];
    let report = scene.reconcile(dropped.into_iter().chain(found)).await;
    // Which of the fields that accept a Secret is unknown.
    assert_eq!(report.ledger()["secretFields"], json!({"password": 1, "peer": 1}));
}
