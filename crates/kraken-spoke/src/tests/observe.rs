//! Steps 6 and 7: the observation, and the decision.

use std::time::Duration;

use kraken_kind::FailureClass;
use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{Disk, bare, disk, remote, with},
    scene::{Scene, Setup},
    script::{AT_ONCE, Call, EVENT, HOLD, LEDGER, STATE, STATUS, call, observe, observe_by_tag},
};

// 7. observe

#[tokio::test(start_paused = true)]
async fn observe_makes_no_call_for_a_new_resource() {
    let scene = Scene::of(disk()).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(HOLD), call(LEDGER), created, call(EVENT)]).await;
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
    let report = scene.reconcile([found, call(HOLD), call(LEDGER), call(EVENT)]).await;
    assert_eq!((report.ledger()["epoch"].clone(), report.requeue), (json!(2), AT_ONCE));
    assert_eq!(report.events(), [("Warning", "RecordRestored")]);
    // The restored record does not name the object, and the next response lags: nothing is created.
    assert_eq!(scene.reconcile([observe_by_tag(&[])]).await.metric, "Updating");
}

#[tokio::test(start_paused = true)]
async fn observe_restores_removed_owner_tags() {
    let scene = Scene::of(disk().launched()).await;
    let bare = bare("disk-1");
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
    let bare = bare("disk-1");
    let report = scene.reconcile([observe(&[bare]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Drifted"), ("True", "Drifted"));
}

#[tokio::test(start_paused = true)]
async fn observe_waits_for_a_created_object_to_become_visible() {
    let window = Duration::from_secs(90);
    let scene = Setup { visibility_window: window, ..Setup::of(disk()) }.start().await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(HOLD), call(LEDGER), created, call(EVENT)]).await;
    let report = scene.reconcile([observe(&[]), observe_by_tag(&[])]).await;
    assert_eq!((report.metric.as_str(), report.requeue), ("Creating", Requeue::Soon(Duration::from_secs(1))));
}

/// The scene of a restarted controller while objects of the last launch may be invisible.
async fn restarted(disk: Disk) -> Scene {
    Setup { visibility_window: Duration::from_secs(90), ..Setup::of(disk) }.start().await
}

#[tokio::test(start_paused = true)]
async fn observe_awaits_a_surplus_object_of_a_launch_that_is_visible_in_part() {
    // Two disks were launched, of which one was deleted, because the spec accounts for one again.
    let scene = restarted(disk().launched().edited().ledger(&json!({"epoch": 2, "requested": 2}))).await;
    let second = |id, state| with(with(remote(id), "epoch", json!(2)), "state", json!(state));
    let in_part = observe_by_tag(&[remote("disk-1"), second("disk-2", "deleted")]);
    let report = scene.reconcile([in_part, call(STATE)]).await;
    assert_eq!((report.metric.as_str(), report.requeue), ("Creating", Requeue::Soon(Duration::from_secs(1))));
    assert_eq!(report.disk["status"]["ledger"]["confirmed"], 1);
    let all = [remote("disk-1"), second("disk-2", "deleted"), second("disk-3", "available")];
    let report = scene.reconcile([observe_by_tag(&all), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.disk["status"]["ledger"]["confirmed"], 2);
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1", "disk-3"]));
}

#[tokio::test(start_paused = true)]
async fn observe_keeps_an_invisible_surplus_object_on_record() {
    let two = disk().launched().objects(&["disk-1", "disk-2"]);
    let scene = restarted(two).await;
    let one = json!([remote("disk-1")]);
    let by_id = call("observe disk-1,disk-2").returns(one.clone());
    let by_tag = call("observe disk-1,disk-2,by tag").returns(one);
    let report = scene.reconcile([by_id, by_tag, call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Creating"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1", "disk-2"]));
}

#[tokio::test(start_paused = true)]
async fn observe_awaits_an_invisible_launch_only_within_the_window_after_its_ledger() {
    let launched = |at: &str| disk().launched().ledger(&json!({"epoch": 2, "requested": 1, "at": at}));
    let recent = restarted(launched(&kraken_runtime::clock::now().to_string()).edited()).await;
    let report = recent.reconcile([observe_by_tag(&[remote("disk-1")]), call(STATE)]).await;
    assert_eq!(report.metric, "Creating");
    let old = restarted(launched("2020-01-01T00:00:00Z")).await;
    let report = old.reconcile([observe_by_tag(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

/// A Disk that is in place, with an attribute that needs one call per object.
fn deep() -> Disk {
    disk().launched().spec("deep", json!(true))
}

/// The observation of `disk-1` with that attribute.
fn observe_deeply(objects: &[Value]) -> Call {
    call("observe disk-1 deeply").returns(json!(objects))
}

#[tokio::test(start_paused = true)]
async fn observe_is_deep_until_a_drift_that_the_provider_refuses_to_revert_is_gone() {
    let refused = json!({"type": "Ready", "status": "False", "reason": "CloudRefused", "message": "before the restart",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let scene = Scene::of(deep().status("conditions", json!([refused]))).await;
    // Without the attribute, the disk would count as in place.
    let drifted = [with(remote("disk-1"), "size", json!(5))];
    let refused = || call("update size 1").fails(FailureClass::Terminal);
    scene.reconcile([observe_deeply(&drifted), refused(), call(STATUS), call(EVENT)]).await;
    let report = scene.reconcile([observe_deeply(&drifted), refused()]).await;
    assert_eq!(report.condition("Ready"), ("False", "CloudRefused"));
    let in_place = [remote("disk-1")];
    let report = scene.reconcile([observe_deeply(&in_place), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    scene.reconcile([observe(&in_place)]).await;
}

#[tokio::test(start_paused = true)]
async fn observe_is_deep_after_a_lost_object_was_recreated() {
    let scene = Scene::of(deep()).await;
    scene.reconcile([observe(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
    let lost = [with(remote("disk-1"), "state", json!("deleted"))];
    let created = call("create epoch 2").returns(json!([remote("disk-2")]));
    let calls = [call(LEDGER), created, call(EVENT), call(STATUS)];
    scene.reconcile([observe(&lost), observe_by_tag(&lost)].into_iter().chain(calls)).await;
    // Its size is set after its creation.
    let again = with(with(remote("disk-2"), "epoch", json!(2)), "size", json!(5));
    let found = call("observe disk-2,by tag deeply").returns(json!([lost[0], again]));
    let report = scene.reconcile([found, call(STATE), call("update size 1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "DriftReverted")]);
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
        scene.reconcile([observe_by_tag(&[]), call(LEDGER), created, call(EVENT), call(STATUS)]).await;
    assert_eq!(report.events(), [("Normal", "DriftReverted")]);
    assert_eq!(report.ledger()["epoch"], 2);
}
