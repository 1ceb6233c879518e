//! After the steps: the search for remote objects of a resource without any record.

use std::time::Duration;

use kraken_api::FINALIZER;
use kraken_kind::FailureClass;
use kraken_model::memory::LaunchSearch;
use kraken_runtime::{
    clock::{Simulated, simulate},
    queue::Requeue,
    watch::ObjectKey,
};
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{Disk, disk, from_config_map, remote, request},
    scene::{Report, Scene, Setup},
    script::{Call, EVENT, HOLD, LEDGER, STATE, STATUS, call, observe, observe_by_tag},
};

/// A Disk that is older than the controller process, and whose finalizer, ledger and status another client removed.
fn unrecorded() -> Disk {
    disk().creation("2020-01-01T00:00:00Z")
}

fn invalid() -> Disk {
    unrecorded().spec("size", json!({"value": 0}))
}

/// Whether a reconcile is repeated after this time.
fn is_repeated(report: &Report, after: Duration) -> bool {
    matches!(report.requeue, Requeue::After(left) if left <= after && left + Duration::from_secs(1) > after)
}

fn by_tag(objects: &[Value]) -> Call {
    call("observe by tag").returns(json!(objects))
}

#[tokio::test(start_paused = true)]
async fn search_restores_the_record_of_a_resource_that_cannot_be_resolved() {
    let unmet = json!([{"kind": "ConfigMap", "name": "sizes", "entry": "small", "reason": "ConfigMapNotFound",
        "message": "ConfigMap sizes does not exist"}]);
    let answer = request(&json!({"observedGeneration": 1, "unmet": unmet}));
    let waiting = Setup { requests: vec![answer], ..Setup::of(unrecorded().spec("size", from_config_map())) };
    let paused = unrecorded().lifecycle("paused", json!(true));
    for (setup, reason) in [
        (waiting, "DependenciesNotReady"),
        (Setup::of(paused), "Paused"),
        (Setup::of(invalid()), "InvalidSpec"),
    ] {
        let scene = setup.start().await;
        let found = by_tag(&[remote("disk-1")]);
        let report =
            scene.reconcile([found, call(HOLD), call(LEDGER), call(EVENT), call(STATUS), call(EVENT)]).await;
        assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
        assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
        assert_eq!((report.condition("Ready"), report.requeue), (("False", reason), Requeue::Never));
        assert_eq!(report.events()[0], ("Warning", "RecordRestored"));
        // By its id, because it may have been stopped for a change: it is not searched for again.
        let requeue = scene.reconcile([observe(&[remote("disk-1")])]).await.requeue;
        assert_eq!(
            requeue,
            if reason == "Paused" { Requeue::Never } else { Requeue::Tick(Duration::from_mins(5)) }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn search_records_the_fields_that_refer_to_secrets() {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "password"}}});
    let scene = Scene::of(unrecorded().lifecycle("paused", json!(true)).spec("password", secret)).await;
    let found = by_tag(&[remote("disk-1")]);
    let report =
        scene.reconcile([found, call(HOLD), call(LEDGER), call(EVENT), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.ledger()["secretFields"], json!({"password": 1}));
    assert_eq!(report.disk["status"]["secretFields"], json!(["password"]));
}

#[tokio::test(start_paused = true)]
async fn search_that_finds_nothing_for_ten_seconds_is_not_repeated() {
    let scene = Scene::of(invalid()).await;
    let report = scene.reconcile([by_tag(&[]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready").1, "InvalidSpec");
    assert_eq!(report.disk["metadata"]["finalizers"], Value::Null);
    let delay = Duration::from_secs(5);
    assert!(is_repeated(&report, delay), "{report:?}");
    advance(delay).await;
    assert!(is_repeated(&scene.reconcile([by_tag(&[])]).await, delay));
    advance(delay).await;
    assert_eq!(scene.reconcile([by_tag(&[])]).await.requeue, Requeue::Never);
    scene.reconcile([]).await;
    // Nor is it before the first launch.
    let memory = scene.context.memories.take(&ObjectKey::new("ns", "a"), "u-1");
    assert_eq!(memory.launch.search, LaunchSearch::Settled(0));
}

#[tokio::test(start_paused = true)]
async fn search_is_repeated_after_the_visibility_window() {
    let visibility_window = Duration::from_mins(10);
    let scene = Setup { visibility_window, ..Setup::of(invalid()) }.start().await;
    let report = scene.reconcile([by_tag(&[]), call(STATUS), call(EVENT)]).await;
    assert!(is_repeated(&report, visibility_window), "{report:?}");
    let report = scene.reconcile([]).await;
    assert!(is_repeated(&report, visibility_window), "{report:?}");
    advance(visibility_window).await;
    let found = by_tag(&[remote("disk-1")]);
    let report = scene.reconcile([found, call(HOLD), call(LEDGER), call(EVENT), call(STATUS)]).await;
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
}

/// The scene of an unrecorded Disk whose spec can be applied. The wall clock follows the runtime's.
async fn restarted(has_tokens: bool) -> (Scene, Simulated) {
    let clock = simulate("2026-01-01T00:00:00Z".parse().unwrap());
    let visibility_window = Duration::from_secs(90);
    let setup = Setup { has_tokens, visibility_window, ..Setup::of(unrecorded()) };
    (setup.start().await, clock)
}

fn create() -> Call {
    call("create epoch 1").returns(json!([remote("disk-1")]))
}

#[tokio::test(start_paused = true)]
async fn first_launch_awaits_one_that_is_not_on_record() {
    let (scene, _clock) = restarted(false).await;
    let report = scene.reconcile([by_tag(&[])]).await;
    assert_eq!(report.metric, "Creating");
    let is_soon = matches!(report.requeue, Requeue::After(left) if left < Duration::from_secs(10));
    assert!(is_soon, "{report:?}");
    advance(Duration::from_secs(1)).await;
    let found = by_tag(&[remote("disk-1")]);
    let report = scene.reconcile([found, call(HOLD), call(LEDGER), call(EVENT)]).await;
    assert_eq!(report.events(), [("Warning", "RecordRestored")]);
}

#[tokio::test(start_paused = true)]
async fn first_launch_is_made_ten_seconds_after_the_visibility_window() {
    let (scene, _clock) = restarted(false).await;
    scene.reconcile([by_tag(&[])]).await;
    advance(Duration::from_secs(90)).await;
    let report = scene.reconcile([by_tag(&[]), call(STATUS)]).await;
    assert_eq!((report.metric.as_str(), report.requeue), ("Creating", Requeue::Soon(Duration::from_secs(1))));
    advance(Duration::from_secs(10)).await;
    scene.reconcile([by_tag(&[]), call(HOLD), call(LEDGER), create(), call(EVENT), call(STATUS)]).await;
}

#[tokio::test(start_paused = true)]
async fn first_launch_with_a_token_awaits_no_other() {
    let (scene, _clock) = restarted(true).await;
    scene.reconcile([by_tag(&[]), call(HOLD), call(LEDGER), create(), call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn adoption_that_finds_one_object_of_a_launch_awaits_the_others() {
    // Users edited the ledger, and the spec so that it adopts one of the two objects: no ledger is rebuilt.
    let _clock = simulate("2026-01-01T00:00:00Z".parse().unwrap());
    let unrecorded = unrecorded().finalizer_only().spec("count", json!(2));
    let adopting = unrecorded.lifecycle("adopt", json!({"id": "disk-1"}));
    let visibility_window = Duration::from_secs(90);
    let scene = Setup { visibility_window, ..Setup::of(adopting) }.start().await;
    // The ledger is rebuilt, as that of a launch in progress.
    scene.reconcile([by_tag(&[remote("disk-1")]), call(LEDGER), call(EVENT)]).await;
    advance(Duration::from_secs(90)).await;
    // One response may lag.
    let report = scene.reconcile([observe_by_tag(&[remote("disk-1")]), call(STATUS)]).await;
    assert_eq!(report.metric, "Creating");
    let both = observe_by_tag(&[remote("disk-1"), remote("disk-2")]);
    scene.reconcile([both, call(STATE), call(STATUS), call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn search_that_fails_is_repeated_and_not_reported() {
    let scene = Scene::of(invalid()).await;
    let fails = by_tag(&[]).fails(FailureClass::Transient);
    let report = scene.reconcile([fails, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready").1, "InvalidSpec");
    assert!(is_repeated(&report, Duration::from_secs(30)), "{report:?}");
    advance(Duration::from_secs(30)).await;
    assert!(is_repeated(&scene.reconcile([by_tag(&[])]).await, Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn launch_before_a_restored_backup_is_awaited_like_one_of_a_former_process() {
    // The resource was created after this process had started, launched after the backup, and deleted without its finalizer.
    let _clock = simulate("2026-01-01T00:00:00Z".parse().unwrap());
    let brought_back = || disk().creation("2026-01-01T00:00:10Z");
    let visibility_window = Duration::from_secs(90);
    let scene = Setup { has_tokens: false, visibility_window, ..Setup::of(brought_back()) }.start().await;
    scene.reconcile([call(HOLD), call(LEDGER), create(), call(EVENT)]).await;
    scene.context.memories.forget(&ObjectKey::new("ns", "a"));
    advance(Duration::from_mins(5)).await;
    scene.store(brought_back());
    assert_eq!(scene.reconcile([by_tag(&[])]).await.metric, "Creating");
    advance(Duration::from_secs(1)).await;
    let found = by_tag(&[remote("disk-1")]);
    let report = scene.reconcile([found, call(HOLD), call(LEDGER), call(EVENT)]).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
}

#[tokio::test(start_paused = true)]
async fn launch_that_the_orphan_sweep_found_is_searched_for_before_the_next_one() {
    let scene = Scene::of(disk()).await;
    scene.context.memories.search(ObjectKey::new("ns", "a"));
    let report = scene.reconcile([by_tag(&[remote("disk-1")]), call(HOLD), call(LEDGER), call(EVENT)]).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
}
