//! A look-up: it observes and publishes, and makes no other call.

use std::time::Duration;

use kraken_api::APPROVED_PLAN_ANNOTATION;
use kraken_runtime::queue::{Lane, Requeue};
use serde_json::{Value, json};

use super::{
    fixtures::{Disk, disk, remote, stored, with},
    scene::{Report, Scene, Setup},
    script::{Call, EVENT, STATE, STATUS, call},
};

async fn scene(disk: Disk) -> Scene {
    Setup { looks_up: true, ..Setup::of(disk) }.start().await
}

/// A look-up that published `disk-1`.
fn answered() -> Disk {
    let in_place = json!({"generation": 1, "spec": "digest", "inputs": ""});
    disk()
        .ready()
        .status("inPlace", in_place)
        .status("answer", json!({"ids": ["disk-1"]}))
        .creation("2020-01-01T00:00:00Z")
}

/// The observation of what is searched for, and of `disk-1`, which is published.
fn found(objects: &[Value]) -> Call {
    call("observe disk-1").returns(json!(objects))
}

/// A disk that is published, and not searched for any more.
fn former() -> Value {
    with(remote("disk-1"), "matches", json!(false))
}

fn answer(report: &Report) -> &Value {
    &report.disk["status"]["answer"]
}

fn plan_hash(report: &Report) -> String {
    report.disk["status"]["plan"]["hash"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn look_up_publishes_its_answer_without_a_finalizer_and_with_two_writes() {
    let scene = scene(disk()).await;
    let observed = call("observe ").returns(json!([remote("disk-7")]));
    let report = scene.reconcile([observed, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.message(), "found disk-7 (a disk)");
    assert_eq!(answer(&report), &json!({"ids": ["disk-7"]}));
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-7");
    assert!(report.disk["metadata"]["finalizers"].is_null(), "{}", report.disk);
    assert!(report.disk["status"]["externalIds"].is_null(), "it owns nothing: {}", report.disk);
    assert_eq!(report.requeue, Requeue::Tick(Duration::from_mins(5)));
}

#[tokio::test(start_paused = true)]
async fn look_up_without_a_change_writes_nothing() {
    let scene = scene(answered()).await;
    scene.reconcile([found(&[remote("disk-1")]), call(STATE), call(STATUS), call(EVENT)]).await;
    scene.reconcile_in(Lane::Resync, [found(&[remote("disk-1")])]).await;
}

#[tokio::test(start_paused = true)]
async fn look_up_keeps_its_answer_until_the_plan_of_a_newer_one_is_approved() {
    let both = [remote("disk-2"), former()];
    let scene = scene(answered()).await;
    let report = scene.reconcile([found(&both), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-1");
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.condition("Synced"), ("True", "InSync"));
    assert_eq!(report.condition("UpdateAvailable"), ("True", "NewerAnswer"));
    assert_eq!(answer(&report), &json!({"ids": ["disk-1"], "newer": ["disk-2"]}));
    let hash = plan_hash(&report);
    let message = format!(
        "found disk-2 (a disk), and keeps disk-1 (a disk); to publish what it found, annotate the resource with \
         {APPROVED_PLAN_ANNOTATION}={hash}"
    );
    assert_eq!(report.message(), message);
    assert_eq!(report.events(), [("Normal", "Available")]);

    let approved = stored(report.disk).annotated(APPROVED_PLAN_ANNOTATION, &hash);
    let report =
        self::scene(approved).await.reconcile([found(&both), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-2");
    assert_eq!(report.condition("UpdateAvailable"), ("", ""));
    assert_eq!(answer(&report), &json!({"ids": ["disk-2"]}));
    assert_eq!(report.disk["status"]["completedPlan"], json!(hash));
}

#[tokio::test(start_paused = true)]
async fn look_up_that_is_not_pinned_publishes_the_newest_answer() {
    let scene = scene(answered().spec("pin", json!(false))).await;
    let observed = found(&[remote("disk-2"), former()]);
    let report = scene.reconcile([observed, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(answer(&report), &json!({"ids": ["disk-2"]}));
}

#[tokio::test(start_paused = true)]
async fn edit_of_a_look_up_publishes_the_newest_answer() {
    let scene = scene(answered().edited()).await;
    let observed = found(&[remote("disk-2"), former()]);
    let report = scene.reconcile([observed, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(answer(&report), &json!({"ids": ["disk-2"]}));
}

#[tokio::test(start_paused = true)]
async fn look_up_reports_that_it_found_nothing_or_too_much() {
    let scene = scene(disk()).await;
    let report = scene.reconcile([call("observe "), call(STATUS), call(EVENT)]).await;
    assert_eq!((report.condition("Ready"), report.condition("Stalled")), (("False", "NotFound"), ("", "")));
    assert_eq!((report.message().as_str(), report.requeue), ("found 0", Requeue::Backoff));
    let several = call("observe ").returns(json!([remote("disk-1"), remote("disk-2")]));
    let report = scene.reconcile([several, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Ambiguous"));
    assert_eq!(report.condition("Stalled"), ("True", "Ambiguous"));
}

#[tokio::test(start_paused = true)]
async fn look_up_stays_ready_while_its_answer_exists() {
    let scene = scene(answered()).await;
    let report = scene.reconcile([found(&[former()]), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.condition("Synced"), ("False", "NotFound"));
    assert_eq!(report.message(), "found 0; keeps disk-1 (a disk)");
}

#[tokio::test(start_paused = true)]
async fn look_up_does_not_replace_an_answer_that_is_lost() {
    let scene = scene(answered()).await;
    let report = scene.reconcile([found(&[remote("disk-2")]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AnswerLost"));
    assert_eq!(report.condition("UpdateAvailable"), ("True", "NewerAnswer"));
    assert_eq!(answer(&report), &json!({"ids": ["disk-1"]}));
    assert!(
        report
            .message()
            .contains("disk-1 is not found any more, and stays published; the search now finds disk-2")
    );
}

#[tokio::test(start_paused = true)]
async fn look_up_is_deleted_at_once() {
    let scene = scene(answered().deleted()).await;
    // Only the record of its references is looked for, so that nothing waits for it.
    let report = scene.reconcile([call("GET dependencyrequests/disk.testing.a")]).await;
    assert_eq!(report.requeue, Requeue::Never);
}
