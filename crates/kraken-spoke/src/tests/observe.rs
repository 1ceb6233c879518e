//! Steps 7 and 8: the observation, and the decision.

use std::time::Duration;

use kraken_runtime::queue::Requeue;
use serde_json::json;
use tokio::time::advance;

use super::{
    fixtures::{disk, remote, with},
    scene::{Scene, Setup},
    script::{AT_ONCE, EVENT, INTENT, STATE, STATUS, call, observe, observe_by_tag},
};

// 7. observe

#[tokio::test(start_paused = true)]
async fn observe_makes_no_call_for_a_new_resource() {
    let scene = Scene::of(disk()).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(INTENT), created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn observe_searches_by_tag_before_a_recorded_object_counts_as_missing() {
    let scene = Scene::of(disk().launched()).await;
    let found = observe_by_tag(&[remote("disk-1")]);
    let report = scene.reconcile([observe(&[]), found, call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn observe_restores_the_record_of_an_object_that_is_known_only_by_its_tags() {
    let restored = disk().without_finalizer().creation("2020-01-01T00:00:00Z");
    let scene = Scene::of(restored).await;
    let found = call("observe by tag").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([found, call(INTENT), call(EVENT)]).await;
    assert_eq!((report.intent()["epoch"].clone(), report.requeue), (json!(2), AT_ONCE));
    assert_eq!(report.events(), [("Warning", "RecordRestored")]);
}

#[tokio::test(start_paused = true)]
async fn observe_restores_removed_owner_tags() {
    let scene = Scene::of(disk().launched()).await;
    let bare = with(remote("disk-1"), "tagged", json!(false));
    let report = scene
        .reconcile([observe(std::slice::from_ref(&bare)), call("reclaim disk-1"), call(EVENT), call(STATUS)])
        .await;
    assert_eq!(report.events(), [("Normal", "DriftReverted")]);
    // Tags may become visible with a delay.
    let report = scene.reconcile([observe(&[bare])]).await;
    assert_eq!(report.requeue, Requeue::Soon(Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn observe_only_reports_removed_owner_tags_if_the_lifecycle_says_so() {
    let scene = Scene::of(disk().launched().lifecycle("drift", json!("Report"))).await;
    let bare = with(remote("disk-1"), "tagged", json!(false));
    let report = scene.reconcile([observe(&[bare]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Drifted"), ("True", "Drifted"));
}

#[tokio::test(start_paused = true)]
async fn observe_waits_for_a_created_object_to_become_visible() {
    let window = Duration::from_secs(90);
    let scene = Setup { visibility_window: window, ..Setup::of(disk()) }.start().await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(INTENT), created, call(EVENT)]).await;
    let report = scene.reconcile([observe(&[]), observe_by_tag(&[])]).await;
    assert_eq!((report.metric.as_str(), report.requeue), ("Creating", Requeue::Soon(Duration::from_secs(1))));
}

// 8. decide

#[tokio::test(start_paused = true)]
async fn decide_confirms_a_lost_object_before_it_is_recreated() {
    let scene = Scene::of(disk().launched()).await;
    let lost = || [observe(&[]), observe_by_tag(&[])];
    let report = scene.reconcile(lost().into_iter().chain([call(STATUS)])).await;
    assert_eq!(report.condition("Ready"), ("False", "Updating"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
    advance(Duration::from_secs(10)).await;
    // The next observation searches from the start.
    let created = call("create epoch 2").returns(json!([remote("disk-2")]));
    let report =
        scene.reconcile([observe_by_tag(&[]), call(INTENT), created, call(EVENT), call(STATUS)]).await;
    assert_eq!(report.events(), [("Normal", "DriftReverted")]);
    assert_eq!(report.intent()["epoch"], 2);
}
