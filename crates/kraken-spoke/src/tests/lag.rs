//! Step 11 while reads lag behind a launch or a change.

use std::time::Duration;

use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{disk, remote, stored, with},
    scene::{Scene, Setup},
    script::{EVENT, INTENT, STATE, STATUS, call, observe},
};
use crate::FailureClass;

#[tokio::test(start_paused = true)]
async fn replacement_waits_until_the_objects_of_the_last_launch_are_visible() {
    // A copy that a user made is visible, and the object of the launch that an earlier process made is not.
    let copy = with(with(remote("disk-1"), "image", json!("a")), "epoch", json!(null));
    let found = || call("observe by tag").returns(json!([copy]));
    let disk = disk().intent(&json!({})).spec("image", json!({"value": "b"}));
    let disk = disk.lifecycle("replace", json!("CreateFirst"));
    let visibility_window = Duration::from_hours(24);
    let scene = Setup { visibility_window, ..Setup::of(disk.clone()) }.start().await;
    let report = scene.reconcile([found(), call(STATE)]).await;
    assert_eq!((report.metric.as_str(), report.intent()["epoch"].clone()), ("Replacing", json!(1)));
    let report = Scene::of(disk).await.reconcile([found(), call(STATE), call(INTENT)]).await;
    assert_eq!(report.intent()["outgoing"], json!(["disk-1"]));
}

#[tokio::test(start_paused = true)]
async fn repeated_launch_of_more_objects_is_complete_only_when_all_are_visible() {
    // The response to a launch of one object was lost, and the Disk was scaled to two.
    let scaled = disk().intent(&json!({"requested": 1})).spec("count", json!(2));
    let visibility_window = Duration::from_hours(24);
    let scene = Setup { visibility_window, ..Setup::of(scaled) }.start().await;
    let repeated = call("create epoch 1").fails(FailureClass::Transient);
    let report = scene.reconcile([call("observe by tag").returns(json!([])), call(INTENT), repeated]).await;
    assert_eq!((&report.intent()["epoch"], &report.intent()["requested"]), (&json!(1), &json!(2)));
    let report = scene.reconcile([call("observe by tag").returns(json!([remote("disk-1")]))]).await;
    assert_eq!(report.metric, "Creating");
}

#[tokio::test(start_paused = true)]
async fn reverted_edit_is_in_place_only_when_its_change_is_visible() {
    let edited = disk().launched().edited().spec("size", json!({"value": 2}));
    let visibility_window = Duration::from_secs(90);
    let scene = Setup { visibility_window, ..Setup::of(edited) }.start().await;
    let has = |size: i64| observe(&[with(remote("disk-1"), "size", json!(size))]);
    scene.reconcile([has(1), call("update size 2"), call(EVENT)]).await;
    // The edit is reverted; the response to the next write of the status has the new spec.
    let mut reverted: Value = disk().launched().json();
    reverted["metadata"]["generation"] = json!(3);
    scene.restore(stored(reverted));
    advance(Duration::from_secs(11)).await;
    scene.reconcile([has(1), call("update size 2"), call(STATUS)]).await;
    let report = scene.reconcile([has(1), call(STATE)]).await;
    assert_eq!(report.requeue, Requeue::After(Duration::from_secs(1)));
    advance(Duration::from_secs(1)).await;
    scene.reconcile([has(2), call(STATE), call("update size 1"), call(EVENT)]).await;
    let report = scene.reconcile([has(1), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}
