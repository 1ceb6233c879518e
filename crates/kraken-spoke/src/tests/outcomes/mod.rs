//! The outcome table: for each outcome the Ready condition, the requeue, the event and the metric.

mod failed;
mod withheld;

use std::time::Duration;

use kraken_api::APPROVED_PLAN_ANNOTATION;
use kraken_kind::FailureClass;
use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{disk, from_config_map, remote, request, with},
    scene::{Report, Scene, Setup},
    script::{AT_ONCE, Call, EVENT, HOLD, LEDGER, STATE, STATUS, call},
};

const RESYNC: Requeue = Requeue::Tick(Duration::from_mins(5));

/// What a row of the table expects: the Ready condition, the requeue, the events, and the metric.
struct Row<'a> {
    ready: (&'a str, &'a str),
    requeue: Requeue,
    events: &'a [(&'a str, &'a str)],
    metric: &'a str,
}

#[track_caller]
fn assert_row(report: &Report, row: &Row<'_>) {
    assert_eq!(report.condition("Ready"), row.ready, "{}", report.message());
    assert_eq!(report.requeue, row.requeue);
    assert_eq!(report.events(), row.events);
    assert_eq!(report.metric, row.metric);
}

/// A row of which metric and event have the reason of the condition.
fn row<'a>(reason: &'a str, requeue: Requeue, events: &'a [(&'a str, &'a str)]) -> Row<'a> {
    Row { ready: ("False", reason), requeue, events, metric: reason }
}

fn observe(objects: &[Value]) -> Call {
    call("observe disk-1").returns(json!(objects))
}

#[tokio::test(start_paused = true)]
async fn in_place_is_ready_until_the_next_resync() {
    let scene = Scene::of(disk().launched()).await;
    let report = scene.reconcile([observe(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
    assert_row(
        &report,
        &Row { ready: ("True", "Available"), requeue: RESYNC, events: &[], metric: "Available" },
    );
    assert_eq!(report.condition("Synced"), ("True", "InSync"));
    assert_eq!((report.condition("Stalled"), report.condition("Reconciling")), (("", ""), ("", "")));
}

#[tokio::test(start_paused = true)]
async fn waiting_names_the_missing_value_and_waits_for_the_watch() {
    let unmet = json!([{"kind": "ConfigMap", "name": "sizes", "entry": "small",
        "reason": "ConfigMapNotFound", "message": "ConfigMap sizes does not exist"}]);
    let requests = vec![request(&json!({"observedGeneration": 1, "unmet": unmet}))];
    let disk = disk().spec("size", from_config_map());
    let scene = Setup { requests, ..Setup::of(disk) }.start().await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("DependenciesNotReady", Requeue::Never, &[("Warning", "DependenciesNotReady")]));
    assert!(report.message().contains("ConfigMap sizes does not exist"), "{}", report.message());
    assert_eq!(report.condition("DependenciesResolved"), ("False", "DependenciesNotReady"));
}

#[tokio::test(start_paused = true)]
async fn invalid_is_stalled_until_an_edit() {
    let scene = Scene::of(disk().spec("size", json!({"value": 0}))).await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("InvalidSpec", Requeue::Never, &[("Warning", "InvalidSpec")]));
    assert_eq!(report.condition("Stalled"), ("True", "InvalidSpec"));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_hub_is_retried() {
    let scene = Scene::of(disk().ready().spec("size", from_config_map())).await;
    let report = scene.reconcile([call("PATCH dependencyrequests/disk.testing.a"), call(STATUS)]).await;
    assert_row(&report, &row("WaitingForHub", Requeue::After(Duration::from_secs(10)), &[]));
    assert_eq!(report.condition("DependenciesResolved"), ("Unknown", "WaitingForHub"));
    assert_eq!(report.condition("Reconciling").0, "True");
}

#[tokio::test(start_paused = true)]
async fn in_progress_observes_again_soon() {
    let scene = Scene::of(disk().launched()).await;
    let pending = with(remote("disk-1"), "state", json!("pending"));
    let report = scene.reconcile([observe(&[pending]), call(STATUS)]).await;
    assert_row(&report, &row("Creating", Requeue::Soon(Duration::from_secs(1)), &[]));
    assert_eq!(report.condition("Synced"), ("False", "Creating"));
}

#[tokio::test(start_paused = true)]
async fn not_yet_is_retried_with_backoff_and_warns() {
    for class in [FailureClass::NotYet, FailureClass::TokenUsed] {
        let scene = Scene::of(disk().ready()).await;
        let create = call("create epoch 1").fails(class);
        let report = scene.reconcile([call(HOLD), call(LEDGER), create, call(STATUS), call(EVENT)]).await;
        let requeue = Requeue::After(Duration::from_secs(1));
        assert_row(&report, &row("Creating", requeue, &[("Warning", "Creating")]));
    }
}

/// A Disk of which another client changed the size.
fn drifted() -> Value {
    with(remote("disk-1"), "size", json!(5))
}

#[tokio::test(start_paused = true)]
async fn changed_observes_at_once() {
    let scene = Scene::of(disk().launched()).await;
    let report =
        scene.reconcile([observe(&[drifted()]), call("update size 1"), call(EVENT), call(STATUS)]).await;
    assert_row(&report, &row("Updating", AT_ONCE, &[("Normal", "DriftReverted")]));
    assert_eq!(report.message(), "changed spec.size from 5 to 1");
}

#[tokio::test(start_paused = true)]
async fn unseen_change_is_not_repeated_before_its_delay() {
    let scene = Scene::of(disk().launched()).await;
    scene.reconcile([observe(&[drifted()]), call("update size 1"), call(EVENT), call(STATUS)]).await;
    let report = scene.reconcile([observe(&[drifted()])]).await;
    let Requeue::After(left) = report.requeue else { panic!("{:?}", report.requeue) };
    assert!(left <= Duration::from_secs(1), "{left:?}");
    assert_row(&report, &row("Updating", Requeue::After(left), &[]));
}

#[tokio::test(start_paused = true)]
async fn unheeded_change_is_reported_after_five_attempts() {
    let scene = Scene::of(disk().launched()).await;
    let update = || [observe(&[drifted()]), call("update size 1")];
    scene.reconcile(update().into_iter().chain([call(EVENT), call(STATUS)])).await;
    for delay in [1, 2, 4] {
        advance(Duration::from_secs(delay)).await;
        scene.reconcile(update()).await;
    }
    advance(Duration::from_secs(8)).await;
    let report = scene.reconcile(update().into_iter().chain([call(STATUS), call(EVENT)])).await;
    assert_row(&report, &row("Updating", Requeue::Backoff, &[("Warning", "Updating")]));
    assert!(report.message().contains("accepted the change 5 times or more"), "{}", report.message());
}

#[tokio::test(start_paused = true)]
async fn immutable_field_is_stalled_and_checked_at_the_resync() {
    let scene = Scene::of(disk().launched().edited().spec("image", json!({"value": "b"}))).await;
    let object = with(remote("disk-1"), "image", json!("a"));
    let report = scene.reconcile([observe(&[object]), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("ImmutableField", RESYNC, &[("Warning", "ImmutableField")]));
    assert_eq!(report.condition("Stalled"), ("True", "ImmutableField"));
    assert_eq!(report.message(), "spec.image: observed a, desired b: an image is fixed");
}

#[tokio::test(start_paused = true)]
async fn drift_that_is_only_reported_leaves_the_resource_ready() {
    let scene = Scene::of(disk().launched().lifecycle("drift", json!("Report"))).await;
    let report = scene.reconcile([observe(&[drifted()]), call(STATE), call(STATUS), call(EVENT)]).await;
    let events = [("Warning", "Drifted")];
    assert_row(
        &report,
        &Row { ready: ("True", "Available"), requeue: RESYNC, events: &events, metric: "Available" },
    );
    assert_eq!(report.condition("Drifted"), ("True", "Drifted"));
    assert_eq!(report.condition("Synced"), ("False", "Drifted"));
    assert_eq!(report.disk["status"]["drift"][0]["path"], "size");
}

#[tokio::test(start_paused = true)]
async fn plan_awaits_approval_and_an_approval_is_recorded_first() {
    let disk = disk().lifecycle("approval", json!("Manual"));
    let scene = Scene::of(disk.clone()).await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("AwaitingApproval", RESYNC, &[("Normal", "AwaitingApproval")]));
    let hash = report.disk["status"]["plan"]["hash"].as_str().unwrap();

    let scene = Scene::of(disk.annotated(APPROVED_PLAN_ANNOTATION, hash)).await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("Updating", AT_ONCE, &[("Normal", "Updating")]));
    assert_eq!(report.disk["status"]["plan"]["hash"], hash);
}

#[tokio::test(start_paused = true)]
async fn refused_adoption_is_retried_because_the_object_may_appear() {
    let scene = Scene::of(disk().lifecycle("adopt", json!({"id": "disk-9"}))).await;
    let report = scene.reconcile([call("find").returns(json!([])), call(STATUS), call(EVENT)]).await;
    let requeue = Requeue::After(Duration::from_secs(10));
    assert_row(&report, &row("AdoptionRefused", requeue, &[("Warning", "AdoptionRefused")]));
    assert_eq!(report.condition("Stalled"), ("True", "AdoptionRefused"));
}

#[tokio::test(start_paused = true)]
async fn removed_resource_is_not_reconciled_again() {
    let scene = Scene::of(disk().launched().deleted()).await;
    let gone = with(remote("disk-1"), "state", json!("deleted"));
    let report = scene
        .reconcile([
            call("GET dependencyrequests").returns(json!({"metadata": {}, "items": []})),
            call("observe disk-1,by tag").returns(json!([gone])),
            call(HOLD),
            call("GET dependencyrequests/disk.testing.a"),
            call(EVENT),
        ])
        .await;
    let events = [("Normal", "Deleted")];
    let ready = ("True", "Available");
    assert_row(&report, &Row { ready, requeue: Requeue::Never, events: &events, metric: "Removed" });
    assert_eq!(report.disk["metadata"]["finalizers"], json!([]));
}
