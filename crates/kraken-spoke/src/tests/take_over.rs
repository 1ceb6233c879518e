//! Resources that return under another UID.

use std::time::Duration;

use kraken_api::Location;
use kraken_model::memory::{Memory, Owned};
use kraken_runtime::watch::ObjectKey;
use serde_json::{Value, json};

use super::{
    fixtures::{disk, remote, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, HOLD, LEDGER, STATUS, call},
};

/// An object that a former resource of this name and UID left.
fn left(id: &str, name: &str, uid: &str) -> Value {
    with(with(remote(id), "owner", json!(uid)), "name", json!(name))
}

fn listed(objects: &[Value]) -> Call {
    call("list_owned").returns(json!(objects))
}

#[tokio::test(start_paused = true)]
async fn a_restored_resource_takes_over_the_objects_of_the_former_one_with_its_record() {
    let scene = Scene::of(disk().restored(&json!({"adopted": ["disk-1"]}))).await;
    let list = listed(&[left("disk-1", "a", "u-0"), left("disk-2", "b", "u-9")]);
    let calls = [list, call(LEDGER), call("claim disk-1"), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!(report.events(), [("Normal", "TakenOver")]);
    assert_eq!(report.ledger()["adopted"], json!(["disk-1"]));
}

#[tokio::test(start_paused = true)]
async fn a_restored_resource_without_objects_of_its_name_launches() {
    let scene = Scene::of(disk().restored(&json!({}))).await;
    let by_tag = call("observe by tag").returns(json!([]));
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    let calls = [listed(&[left("disk-2", "b", "u-9")]), by_tag, call(LEDGER), created, call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.metric, "Creating");
}

#[tokio::test(start_paused = true)]
async fn a_resource_with_the_status_of_another_one_lists_nothing() {
    let scene = Scene::of(disk().restored(&json!({"resource": "Disk/ns/original"}))).await;
    let by_tag = call("observe by tag").returns(json!([]));
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([by_tag, call(LEDGER), created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_restored_elsewhere_creates_nothing() {
    let place = |account: &str| Location { account: account.to_owned(), region: "r".to_owned() };
    let restored = disk().restored(&json!({"location": place("1")}));
    let scene = Setup { location: Some(place("2")), ..Setup::of(restored) }.start().await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "LocationMismatch"));
}

#[tokio::test(start_paused = true)]
async fn objects_of_several_former_resources_are_left_to_a_person() {
    let scene = Scene::of(disk().restored(&json!({}))).await;
    let list = listed(&[left("disk-1", "a", "u-0"), left("disk-2", "a", "u-8")]);
    let report = scene.reconcile([list, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "LaunchRefused"));
}

#[tokio::test(start_paused = true)]
async fn a_resource_of_an_orphan_takes_it_over() {
    let scene = Scene::of(disk()).await;
    scene.context.former.set_orphans(["Disk/ns/a".to_owned()].into_iter().collect());
    let list = listed(&[left("disk-1", "a", "u-0")]);
    let report = scene.reconcile([list, call(HOLD), call(LEDGER), call("claim disk-1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "TakenOver")]);
}

#[tokio::test(start_paused = true)]
async fn the_first_launch_of_a_process_looks_for_what_a_lost_resource_left() {
    let scene = Setup { is_listed: false, ..Setup::of(disk()) }.start().await;
    let list = listed(&[left("disk-1", "a", "u-0"), left("disk-2", "b", "u-9")]);
    let report = scene.reconcile([list, call(HOLD), call(LEDGER), call("claim disk-1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "TakenOver")]);
    assert!(scene.context.former.is_orphan("Disk/ns/b"), "no resource has its UID");
}

#[tokio::test(start_paused = true)]
async fn the_objects_are_listed_again_only_after_a_loss() {
    let scene = Setup { is_listed: false, ..Setup::of(disk()) }.start().await;
    let created = || call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([listed(&[]), call(HOLD), call(LEDGER), created(), call(EVENT)]).await;
    let account = ObjectKey::new("", "");
    assert!(scene.context.former.is_listed(&account, scene.context.memories.losses()));
    let owned = Owned { created: Some((1, vec!["disk-2".to_owned()])), ..Owned::default() };
    let memory = Memory { owned, ..Memory::default() };
    let key = ObjectKey::new("ns", "b");
    scene.context.memories.put(key.clone(), "u-9".to_owned(), memory);
    scene.context.memories.forget(&key);
    assert!(!scene.context.former.is_listed(&account, scene.context.memories.losses()));
}

const WINDOW: Duration = Duration::from_mins(2);

/// A new resource, when the deletion of the former one with this UID was just completed.
async fn after_the_deletion_of(uid: &str) -> Scene {
    let scene = Setup { is_listed: false, visibility_window: WINDOW, ..Setup::of(disk()) }.start().await;
    scene.context.former.set_ended(uid, scene.context.visibility_window);
    scene
}

#[tokio::test(start_paused = true)]
async fn what_a_resource_whose_deletion_ended_released_is_not_taken_over_while_its_old_tags_are_listed() {
    let scene = after_the_deletion_of("u-0").await;
    let list = listed(&[left("disk-1", "a", "u-0")]);
    let created = call("create epoch 1").returns(json!([remote("disk-2")]));
    assert_eq!(
        scene.reconcile([list, call(HOLD), call(LEDGER), created, call(EVENT)]).await.metric,
        "Creating"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_listed_of_an_ended_resource_after_the_visibility_window_is_taken_over() {
    let scene = after_the_deletion_of("u-0").await;
    // A restored backup brought it back, and it was lost.
    tokio::time::advance(WINDOW).await;
    let list = listed(&[left("disk-1", "a", "u-0")]);
    let report = scene.reconcile([list, call(HOLD), call(LEDGER), call("claim disk-1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "TakenOver")]);
}
