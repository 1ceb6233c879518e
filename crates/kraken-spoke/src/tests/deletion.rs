//! Step 3: the deletion of a resource, from its request to the removal of the finalizer.

use std::time::Duration;

use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{Disk, disk, remote, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, INTENT, STATUS, call, observe_by_tag},
};
use crate::FailureClass;

/// The read of the DependencyRequest, which is released with the resource.
const READ_REQUEST: &str = "GET dependencyrequests/disk.testing.a";

/// A Disk that is being deleted, with a status that is not ready.
fn deleted() -> Disk {
    disk().launched().deleted().status("conditions", json!([]))
}

fn no_dependents() -> Call {
    call("GET dependencyrequests").returns(json!({"metadata": {}, "items": []}))
}

fn gone() -> Value {
    with(remote("disk-1"), "state", json!("deleted"))
}

#[tokio::test(start_paused = true)]
async fn deletion_needs_no_valid_spec() {
    let scene = Scene::of(deleted().spec("size", json!({"value": 0}))).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    let calls = [no_dependents(), object, call("delete disk-1"), call(EVENT), call(STATUS)];
    let report = scene.reconcile(calls).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
    assert_eq!(report.requeue, Requeue::Soon(Duration::from_secs(1)));
    assert_eq!(report.events(), [("Normal", "Deleted")]);
}

#[tokio::test(start_paused = true)]
async fn finalizer_is_removed_when_the_provider_reports_the_deletion() {
    let scene = Scene::of(deleted()).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    scene.reconcile([no_dependents(), object, call("delete disk-1"), call(EVENT), call(STATUS)]).await;
    let by_id = call("observe disk-1").returns(json!([gone()]));
    let calls = [by_id, observe_by_tag(&[gone()]), call(READ_REQUEST), call(INTENT), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!((report.metric.as_str(), report.requeue), ("Removed", Requeue::Never));
    assert_eq!(report.disk["metadata"]["finalizers"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn finalizer_without_a_record_of_the_launch_is_kept_for_the_visibility_window() {
    let unrecorded = disk().finalizer_only().deleted().status("conditions", json!([]));
    let calls = || [no_dependents(), call("observe by tag").returns(json!([]))];
    let window = Duration::from_hours(24);
    let scene = Setup { visibility_window: window, ..Setup::of(unrecorded.clone()) }.start().await;
    assert_eq!(scene.reconcile(calls()).await.metric, "Deleting");
    let scene = Scene::of(unrecorded).await;
    let ends = [call(READ_REQUEST), call(INTENT), call(EVENT)];
    assert_eq!(scene.reconcile(calls().into_iter().chain(ends)).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn empty_response_is_confirmed_before_the_finalizer_is_removed() {
    let scene = Scene::of(deleted()).await;
    let report = scene.reconcile([no_dependents(), observe_by_tag(&[]), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
    advance(Duration::from_secs(10)).await;
    let by_id = call("observe disk-1").returns(json!([]));
    let calls = [no_dependents(), by_id, observe_by_tag(&[]), call(READ_REQUEST), call(INTENT), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn retained_object_is_released_and_not_deleted() {
    let scene = Scene::of(deleted().lifecycle("deletion", json!("Retain"))).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    let calls = [object, call("release disk-1"), call(READ_REQUEST), call(INTENT), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!((report.metric.as_str(), report.events()), ("Removed", vec![("Normal", "Released")]));
}

#[tokio::test(start_paused = true)]
async fn object_without_owner_tags_is_not_deleted() {
    let scene = Scene::of(deleted()).await;
    let bare = observe_by_tag(&[with(remote("disk-1"), "tagged", json!(false))]);
    let report =
        scene.reconcile([no_dependents(), bare, call("reclaim disk-1"), call(EVENT), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
}

#[tokio::test(start_paused = true)]
async fn deletion_protection_of_the_provider_is_turned_off_if_the_spec_says_so() {
    let protected = || call("delete disk-1").fails(FailureClass::Protected);
    let object = || observe_by_tag(&[remote("disk-1")]);
    let scene = Scene::of(deleted().spec("locked", json!(false))).await;
    let calls = [no_dependents(), object(), protected(), call("unprotect disk-1"), call(EVENT), call(STATUS)];
    assert_eq!(scene.reconcile(calls).await.condition("Ready"), ("False", "Deleting"));

    let scene = Scene::of(deleted()).await;
    let report = scene.reconcile([no_dependents(), object(), protected(), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "DeletionProtected"));
}

#[tokio::test(start_paused = true)]
async fn deletion_that_another_object_prevents_is_retried_with_backoff() {
    let scene = Scene::of(deleted()).await;
    let object = || call("observe disk-1").returns(json!([remote("disk-1")]));
    let in_use = || call("delete disk-1").fails(FailureClass::NotYet);
    let calls = [no_dependents(), observe_by_tag(&[remote("disk-1")]), in_use(), call(STATUS), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!(report.requeue, Requeue::After(Duration::from_secs(1)));
    let report = scene.reconcile([object(), in_use()]).await;
    assert_eq!(report.requeue, Requeue::After(Duration::from_secs(2)));
}

#[tokio::test(start_paused = true)]
async fn deletion_awaits_approval() {
    let scene = Scene::of(deleted().lifecycle("approval", json!("Manual"))).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    let report = scene.reconcile([no_dependents(), object, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AwaitingApproval"));
    assert_eq!(report.disk["status"]["plan"]["action"], "Delete");
}

#[tokio::test(start_paused = true)]
async fn rejected_removal_of_the_finalizer_is_retried() {
    let scene = Scene::of(deleted()).await;
    let rejected = call(INTENT).rejected(500);
    let report = scene
        .reconcile([
            no_dependents(),
            observe_by_tag(&[gone()]),
            call(READ_REQUEST),
            rejected,
            call(STATUS),
            call(EVENT),
        ])
        .await;
    assert_eq!((report.condition("Ready"), report.requeue), (("False", "KubernetesError"), Requeue::Backoff));
}

#[tokio::test(start_paused = true)]
async fn finalizer_is_kept_until_the_request_is_released() {
    let scene = Scene::of(deleted()).await;
    let rejected = call(READ_REQUEST).rejected(500);
    let report = scene
        .reconcile([no_dependents(), observe_by_tag(&[gone()]), rejected, call(STATUS), call(EVENT)])
        .await;
    assert_eq!((report.condition("Ready"), report.requeue), (("False", "KubernetesError"), Requeue::Backoff));
    assert_eq!(report.disk["metadata"]["finalizers"], json!([kraken_api::FINALIZER]));
}
