//! The changes of a resource that trigger a reconcile.

use std::sync::Arc;

use kraken_api::DependencyRequest;
use kraken_kind::dynamic::Object;
use kraken_model::{
    policy::undecoded,
    trigger::{is_known, is_restored, is_trigger},
};
use kraken_runtime::{
    queue::{Lane, Requeue},
    watch::{Change, RawObject},
};
use serde_json::{Value, json};

use super::{
    disk::Disks,
    fixtures::{Disk, disk, remote, request, with},
    scene::Scene,
    script::{EVENT, STATE, STATUS, call, observe, observe_by_tag},
};
use crate::controller::triggers::search_unrecorded;

fn decoded(object: &Value) -> Arc<Object> {
    let raw: RawObject = serde_json::from_str(&object.to_string()).unwrap();
    Arc::new(undecoded::read(&Disks::new(false), &raw))
}

/// Whether the change from the first version of a Disk to the second one triggers a reconcile.
fn triggers(before: Disk, now: Disk, version: &str) -> bool {
    is_trigger(&change(before, now, version))
}

fn change(before: Disk, now: Disk, version: &str) -> Change<Object> {
    let (before, mut now) = (before.json(), now.json());
    now["metadata"]["resourceVersion"] = json!(version);
    Change::Applied(decoded(&now), Some(decoded(&before)))
}

#[test]
fn status_of_an_older_generation_triggers_a_reconcile() {
    let edited = || disk().launched().edited();
    let current = || edited().status("observedGeneration", json!(2));
    assert!(triggers(current(), edited(), "11"), "a status was set back");
    assert!(!triggers(edited(), current(), "11"), "this controller reports the current generation");
    assert!(!triggers(current(), current(), "11"));
}

#[test]
fn object_that_decodes_again_triggers_a_reconcile() {
    let reported = || disk().launched().status("observedGeneration", json!(1));
    let garbled = || reported().status("drift", json!("much"));
    assert!(triggers(garbled(), reported(), "11"), "only its status changed");
    assert!(triggers(reported(), garbled(), "11"));
    assert!(!triggers(garbled(), garbled(), "11"));
}

#[test]
fn older_version_of_a_restored_backup_triggers_a_reconcile() {
    assert!(triggers(disk().launched(), disk().launched(), "9"));
    assert!(!triggers(disk().launched(), disk().launched(), "11"));
}

#[test]
fn ledger_that_another_client_wrote_triggers_a_reconcile() {
    let of = |epoch: i64| disk().launched().ledger(&json!({"epoch": epoch}));
    let lost = || disk().launched().status("ledger", Value::Null);
    assert!(triggers(of(2), lost(), "11"), "it was lost");
    assert!(triggers(of(2), of(1), "11"), "a former one was put back");
    assert!(!triggers(of(1), of(2), "11"), "this controller launches");
    assert!(!triggers(lost(), of(2), "11"), "this controller restores it");
}

#[tokio::test(start_paused = true)]
async fn status_is_written_again_after_a_backup_from_before_it_was_restored() {
    let scene = Scene::of(disk().launched()).await;
    scene.reconcile([observe(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
    // The watch lags behind the write of the status.
    scene.reconcile([observe(&[remote("disk-1")])]).await;
    // The version of the backup is the one of the last reconcile: only the watch returned a newer one in between.
    assert!(is_restored(&change(disk().launched(), disk().launched(), "9")));
    assert!(!is_restored(&change(disk().launched(), disk().launched(), "11")));
    scene.restore(disk().launched());
    // The backup may be older than a launch.
    let report = scene.reconcile([observe_by_tag(&[remote("disk-1")]), call(STATUS)]).await;
    assert_eq!(report.disk["status"]["observedGeneration"], 1);
}

#[tokio::test(start_paused = true)]
async fn listed_request_triggers_a_reconcile_if_its_resource_does_not_exist() {
    // A restored backup brings back the request of a deleted Disk in the version that the watch returned last.
    let scene = Scene::of(disk()).await;
    let of = |name: &str| -> Arc<DependencyRequest> {
        let mut request = request(&Value::Null);
        request["metadata"]["name"] = json!(name);
        Arc::new(serde_json::from_value(request).unwrap())
    };
    let objects = &scene.context.objects;
    assert!(is_known(&Change::Listed(of("disk.testing.a")), objects));
    assert!(!is_known(&Change::Listed(of("disk.testing.b")), objects));
    assert!(!is_known(&Change::Applied(of("disk.testing.a"), None), objects));
    assert!(!is_known(&Change::Deleted(of("disk.testing.a")), objects));
}

#[tokio::test(start_paused = true)]
async fn object_of_a_launch_that_is_on_no_record_is_searched_for() {
    // A restored backup is older than the launch of disk-2, and the process that made it has ended.
    let scene = Scene::of(disk().launched()).await;
    let found = search_unrecorded(&scene.context);
    let queue = &scene.context.queue;
    let (key, _) = queue.next().await;
    queue.done(&key, Requeue::Never);
    found(&key, "u-1", 1);
    found(&key, "u-2", 2);
    assert_eq!(queue.depth(Lane::Edit), 0);
    found(&key, "u-1", 2);
    assert_eq!(queue.depth(Lane::Edit), 1);
    let two = [remote("disk-1"), with(remote("disk-2"), "epoch", json!(2))];
    let report = scene.reconcile([observe_by_tag(&two), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1", "disk-2"]));
}
