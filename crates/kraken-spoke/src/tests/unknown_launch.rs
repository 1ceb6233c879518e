//! A launch of a former process whose result is not on record, after its visibility window: one response that lags is no proof that
//! it created nothing.

use std::time::Duration;

use kraken_model::memory::{Absence, LastLaunch, LaunchSearch, Memory};
use kraken_runtime::{queue::Requeue, watch::ObjectKey};
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    deletion::{READ_REQUEST, no_dependents},
    fixtures::{Disk, disk, remote, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, HOLD, LEDGER, STATE, STATUS, call},
};

/// A Disk whose first launch was persisted, and nothing else.
fn unknown() -> Disk {
    disk().ledger(&json!({"requested": 1})).creation("2020-01-01T00:00:00Z")
}

fn by_tag(objects: &[Value]) -> Call {
    call("observe by tag").returns(json!(objects))
}

/// The creation of another object, as the second launch.
fn second() -> [Call; 3] {
    let created = json!([with(remote("disk-2"), "epoch", json!(2))]);
    [call(LEDGER), call("create epoch 2").returns(created), call(EVENT)]
}

async fn without_tokens(disk: Disk) -> Scene {
    Setup { has_tokens: false, ..Setup::of(disk) }.start().await
}

#[tokio::test(start_paused = true)]
async fn its_objects_must_be_missing_for_ten_seconds_before_the_finalizer_is_removed() {
    let scene = Scene::of(unknown().deleted()).await;
    let report = scene.reconcile([no_dependents(), by_tag(&[])]).await;
    let again = || [no_dependents(), call("observe ").returns(json!([])), by_tag(&[])];
    assert_eq!((report.metric.as_str(), report.requeue), ("Deleting", Requeue::Soon(Duration::from_secs(1))));
    advance(Duration::from_secs(9)).await;
    assert_eq!(scene.reconcile(again()).await.metric, "Deleting");
    advance(Duration::from_secs(1)).await;
    let ends = [call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(again().into_iter().chain(ends)).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn its_deleted_objects_are_not_searched_for_again() {
    let scene = Scene::of(unknown().deleted()).await;
    let deletes = [call("delete disk-1"), call(EVENT)];
    scene.reconcile([no_dependents(), by_tag(&[remote("disk-1")])].into_iter().chain(deletes)).await;
    let gone = || call("observe disk-1").returns(json!([]));
    let by_tag = call("observe disk-1,by tag").returns(json!([]));
    let ends = [call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile([gone(), by_tag].into_iter().chain(ends)).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn its_objects_must_be_missing_for_ten_seconds_before_the_next_launch() {
    let scene = without_tokens(unknown()).await;
    assert_eq!(scene.reconcile([by_tag(&[])]).await.metric, "Creating");
    advance(Duration::from_secs(9)).await;
    assert_eq!(scene.reconcile([by_tag(&[])]).await.metric, "Creating");
    advance(Duration::from_secs(1)).await;
    scene.reconcile([by_tag(&[])].into_iter().chain(second()).chain([call(STATUS)])).await;
}

#[tokio::test(start_paused = true)]
async fn without_any_record_they_must_be_missing_for_ten_seconds_before_the_finalizer_is_removed() {
    let scene = Scene::of(disk().finalizer_only().creation("2020-01-01T00:00:00Z").deleted()).await;
    assert_eq!(scene.reconcile([no_dependents(), by_tag(&[])]).await.metric, "Deleting");
    let again = || [no_dependents(), call("observe ").returns(json!([])), by_tag(&[])];
    advance(Duration::from_secs(9)).await;
    assert_eq!(scene.reconcile(again()).await.metric, "Deleting");
    advance(Duration::from_secs(1)).await;
    let ends = [call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(again().into_iter().chain(ends)).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn some_of_its_objects_must_be_missing_for_ten_seconds_before_the_next_launch() {
    let two = disk().ledger(&json!({"requested": 2})).creation("2020-01-01T00:00:00Z");
    let scene = Scene::of(two.spec("count", json!(2))).await;
    assert_eq!(scene.reconcile([by_tag(&[remote("disk-1")])]).await.metric, "Creating");
    advance(Duration::from_secs(10)).await;
    let searched = call("observe disk-1,by tag").returns(json!([remote("disk-1")]));
    scene.reconcile([searched].into_iter().chain(second()).chain([call(STATUS)])).await;
}

#[tokio::test(start_paused = true)]
async fn search_before_a_pause_does_not_confirm_one_after_it() {
    let scene = without_tokens(unknown().lifecycle("paused", json!(true))).await;
    let (key, searched) = (ObjectKey::new("ns", "a"), LaunchSearch::Missing(1, Absence::begin()));
    let memory =
        Memory { launch: LastLaunch { search: searched, ..LastLaunch::default() }, ..Memory::default() };
    scene.context.memories.put(key.clone(), "u-1".to_owned(), memory);
    scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_eq!(scene.context.memories.take(&key, "u-1").launch.search, LaunchSearch::Open);
}

#[tokio::test(start_paused = true)]
async fn search_that_was_confirmed_before_a_pause_remains_so() {
    let scene = without_tokens(unknown().lifecycle("paused", json!(true))).await;
    let (key, settled) = (ObjectKey::new("ns", "a"), LaunchSearch::Settled(1));
    let memory =
        Memory { launch: LastLaunch { search: settled, ..LastLaunch::default() }, ..Memory::default() };
    scene.context.memories.put(key.clone(), "u-1".to_owned(), memory);
    scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_eq!(scene.context.memories.take(&key, "u-1").launch.search, settled);
}

/// A Disk of which one object is on record, and was launched twice.
fn scaled() -> Disk {
    disk().launched().ledger(&json!({"epoch": 2, "requested": 1}))
}

#[tokio::test(start_paused = true)]
async fn its_objects_are_searched_for_before_a_resource_in_place_is_observed_by_id_only() {
    // The controller was killed after the launch for a count of two, and no search succeeded within the visibility window. The
    // count is one again.
    let scene = Scene::of(scaled()).await;
    let by_tag = || call("observe disk-1,by tag").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([by_tag(), call(STATE), call(STATUS)]).await;
    let again = Requeue::Soon(Duration::from_secs(5));
    assert_eq!((report.metric.as_str(), report.requeue), ("Available", again));
    advance(Duration::from_secs(5)).await;
    assert_eq!(scene.reconcile([by_tag()]).await.requeue, again);
    advance(Duration::from_secs(5)).await;
    assert_ne!(scene.reconcile([by_tag()]).await.requeue, again);
    let by_id = call("observe disk-1").returns(json!([remote("disk-1")]));
    assert_eq!(scene.reconcile([by_id]).await.metric, "Available");
}

#[tokio::test(start_paused = true)]
async fn object_that_becomes_visible_when_a_resource_is_in_place_is_recorded() {
    let scene = Scene::of(scaled()).await;
    let by_tag = |objects: &[Value]| call("observe disk-1,by tag").returns(json!(objects));
    scene.reconcile([by_tag(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
    advance(Duration::from_secs(5)).await;
    let late = with(remote("disk-2"), "epoch", json!(2));
    let found = by_tag(&[remote("disk-1"), late]);
    let report = scene.reconcile([found, call(STATUS), call(EVENT)]).await;
    let status = &report.disk["status"];
    assert_eq!(
        (&status["externalIds"], &status["ledger"]["confirmed"]),
        (&json!(["disk-1", "disk-2"]), &json!(2))
    );
    assert_eq!(report.requeue, Requeue::Tick(Duration::from_mins(5)));
}

#[tokio::test(start_paused = true)]
async fn launch_of_which_objects_may_be_hidden_is_not_recorded() {
    let scene = Scene::of(disk().launched().ledger(&json!({"epoch": 2, "requested": 2}))).await;
    let late = |id| with(remote(id), "epoch", json!(2));
    let some = call("observe disk-1,by tag").returns(json!([remote("disk-1"), late("disk-2")]));
    let report = scene.reconcile([some, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(
        (&report.disk["status"]["ledger"]["confirmed"], report.requeue),
        (&json!(1), Requeue::Soon(Duration::from_secs(5)))
    );
    advance(Duration::from_secs(5)).await;
    let all = json!([remote("disk-1"), late("disk-2"), late("disk-3")]);
    let all = call("observe disk-1,disk-2,by tag").returns(all);
    let report = scene.reconcile([all, call(STATUS), call(EVENT)]).await;
    let status = &report.disk["status"];
    assert_eq!(
        (&status["externalIds"], &status["ledger"]["confirmed"]),
        (&json!(["disk-1", "disk-2", "disk-3"]), &json!(2))
    );
    assert_eq!(report.requeue, Requeue::Tick(Duration::from_mins(5)));
}

#[tokio::test(start_paused = true)]
async fn resource_that_was_scaled_down_is_not_searched_for_after_a_restart() {
    let scene = Scene::of(disk().launched().ledger(&json!({"requested": 3}))).await;
    let by_id = call("observe disk-1").returns(json!([remote("disk-1")]));
    assert_eq!(scene.reconcile([by_id, call(STATE), call(STATUS)]).await.metric, "Available");
}

#[tokio::test(start_paused = true)]
async fn record_of_a_launch_without_objects_is_not_doubted() {
    let none = disk().launched().objects(&[]).spec("count", json!(0));
    let scene = Scene::of(none).await;
    let report = scene.reconcile([by_tag(&[]), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(
        (report.metric.as_str(), &report.disk["status"]["ledger"]["confirmed"]),
        ("Available", &json!(1))
    );
    advance(Duration::from_secs(10)).await;
    assert_eq!(scene.reconcile([by_tag(&[])]).await.metric, "Available");
}
