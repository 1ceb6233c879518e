//! Approvals of a replacement in progress: its last step is the deletion of the replaced objects.

use kraken_api::APPROVED_PLAN_ANNOTATION;
use serde_json::{Value, json};

use super::{
    fixtures::{Disk, disk, remote, stored, with},
    scene::{Report, Scene},
    script::{Call, EVENT, STATE, STATUS, call, observe_by_tag},
};

/// A Disk with approvals, of which `disk-1` is being replaced. No plan of it was approved, because it had no approvals when the
/// replacement began.
fn replacing(how: &str) -> Disk {
    disk()
        .launched()
        .edited()
        .ledger(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}))
        .spec("image", json!({"value": "b"}))
        .lifecycle("replace", json!(how))
        .lifecycle("approval", json!("Manual"))
}

fn old() -> Value {
    with(remote("disk-1"), "image", json!("a"))
}

fn new() -> Value {
    with(with(remote("disk-2"), "image", json!("b")), "epoch", json!(2))
}

/// The report of a Disk that awaits the approval of the deletion of `disk-1`.
async fn awaiting(disk: Disk, calls: impl IntoIterator<Item = Call>) -> Report {
    let scene = Scene::of(disk).await;
    let report = scene.reconcile(calls.into_iter().chain([call(STATUS), call(EVENT)])).await;
    assert_eq!(report.condition("Ready"), ("False", "AwaitingApproval"));
    assert!(
        report.message().contains("would complete a replacement and delete disk-1"),
        "{}",
        report.message()
    );
    assert_eq!(report.disk["status"]["plan"]["action"], "Replace");
    report
}

/// The Disk after a person approved the plan that was reported.
fn approved(report: &Report) -> Disk {
    let hash = report.disk["status"]["plan"]["hash"].as_str().unwrap();
    stored(report.disk.clone()).annotated(APPROVED_PLAN_ANNOTATION, hash)
}

#[tokio::test(start_paused = true)]
async fn replaced_object_is_deleted_after_an_approval() {
    let report = awaiting(replacing("CreateFirst"), [observe_by_tag(&[old(), new()]), call(STATE)]).await;
    let scene = Scene::of(approved(&report)).await;
    let both = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    let nobody = ["dependencyrequests", "configexports"]
        .map(|plural| call(&format!("GET {plural}")).returns(json!({"metadata": {}, "items": []})));
    let deletion = [call("delete disk-1"), call(EVENT), call(STATUS)];
    let report = scene.reconcile([both, call(STATE)].into_iter().chain(nobody).chain(deletion)).await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
}

#[tokio::test(start_paused = true)]
async fn object_that_is_deleted_before_its_replacement_exists_requires_an_approval() {
    let seen = || [observe_by_tag(&[old()])];
    let report = awaiting(replacing("DeleteFirst"), seen()).await;
    let scene = Scene::of(approved(&report)).await;
    let deletion = [call("delete disk-1"), call(EVENT), call(STATUS)];
    let report = scene.reconcile(seen().into_iter().chain(deletion)).await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
    // The same approval is valid for the creation.
    let gone = with(old(), "state", json!("deleted"));
    let created = call("create epoch 2").returns(json!([new()]));
    scene.reconcile([observe_by_tag(&[gone]), created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn protected_object_is_reported_as_protected_and_not_as_awaiting_approval() {
    let disk = replacing("CreateFirst").lifecycle("protect", json!(true));
    let scene = Scene::of(disk).await;
    let both = observe_by_tag(&[old(), new()]);
    let report = scene.reconcile([both, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "DeletionProtected"));
}
