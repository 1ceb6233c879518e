//! A kind that is known at run time only passes through the whole loop: with JSON values, with
//! asynchronous creation, and if it does not decode.

use std::time::Duration;

use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};

use super::{
    deletion::{deleted, no_dependents},
    disk::of,
    fixtures::{disk, remote, with},
    scene::{Scene, Setup},
    script::{EVENT, HOLD, LEDGER, STATE, STATUS, call, observe_by_tag},
};

#[test]
fn observed_json_is_split_by_the_epoch_of_its_launch() {
    let both = [remote("disk-1"), with(remote("disk-2"), "epoch", json!(2))];
    let (before, since) = of(both).split(2);
    assert_eq!((before.ids(), since.ids()), (vec!["disk-1".to_owned()], vec!["disk-2".to_owned()]));
    assert_eq!((before.epoch(), since.epoch()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn asynchronous_creation_is_followed_until_the_object_is_available() {
    let scene = Scene::of(disk()).await;
    let pending = || with(remote("disk-1"), "state", json!("pending"));
    let accepted = call("create epoch 1").returns(json!([pending()]));
    scene.reconcile([call(HOLD), call(LEDGER), accepted, call(EVENT)]).await;
    let by_id = |object: Value| call("observe disk-1").returns(json!([object]));
    for _ in 0..3 {
        let report = scene.reconcile([by_id(pending())]).await;
        assert_eq!(report.requeue, Requeue::Soon(Duration::from_secs(1)));
    }
    let available = by_id(remote("disk-1"));
    let report = scene.reconcile([available, call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
}

#[tokio::test(start_paused = true)]
async fn creation_that_returns_no_id_is_found_by_its_tags() {
    let scene = Setup { visibility_window: Duration::from_secs(90), ..Setup::of(disk()) }.start().await;
    scene.reconcile([call(HOLD), call(LEDGER), call("create epoch 1"), call(EVENT)]).await;
    let by_tag = |objects: Value| call("observe by tag").returns(objects);
    let report = scene.reconcile([by_tag(json!([]))]).await;
    assert_eq!(report.requeue, Requeue::Soon(Duration::from_secs(1)), "no second object is created");
    let found = by_tag(json!([remote("disk-1")]));
    let report = scene.reconcile([found, call(STATE), call(STATUS)]).await;
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

/// Without tags, none is ever missing: its objects are not [untagged](kraken_kind::dynamic::ObservedObject::untagged).
#[tokio::test(start_paused = true)]
async fn kind_without_tags_is_identified_by_its_recorded_ids() {
    let scene = Scene::of(disk()).await;
    let object = || remote("disk-1");
    scene
        .reconcile([call(HOLD), call(LEDGER), call("create epoch 1").returns(json!([object()])), call(EVENT)])
        .await;
    let by_id = call("observe disk-1").returns(json!([object()]));
    let report = scene.reconcile([by_id, call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn object_that_does_not_decode_is_reported() {
    let scene = Scene::of(disk().spec("lifecycle", json!("none"))).await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_eq!(
        (report.condition("Ready"), report.condition("Stalled").0),
        (("False", "InvalidSpec"), "True")
    );
    assert!(report.message().contains("does not decode as Disk"), "{}", report.message());
    assert_eq!(report.requeue, Requeue::Never);
}

#[tokio::test(start_paused = true)]
async fn object_that_does_not_decode_is_deleted_as_far_as_its_lifecycle_permits() {
    let lifecycle = |lifecycle| deleted().spec("size", json!("large")).spec("lifecycle", lifecycle);
    let scene = Scene::of(lifecycle(json!({"protect": "yes"}))).await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "DeletionProtected"));
    assert!(report.message().contains("does not decode as Disk"), "{}", report.message());
    let scene = Scene::of(lifecycle(json!({"resyncInterval": 7}))).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    let calls = [no_dependents(), object, call("delete disk-1"), call(EVENT), call(STATUS)];
    let report = scene.reconcile(calls).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]), "the ids are not forgotten");
}
