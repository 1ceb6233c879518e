//! What a deletion releases: objects that are retained, and the DependencyRequest of the resource.

use std::time::Duration;

use jiff::Timestamp;
use kraken_kind::FailureClass;
use kraken_model::memory::{Claimed, LastLaunch, Memory, Owned, Since};
use kraken_runtime::{queue::Requeue, watch::ObjectKey};
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::{
    deletion::{READ_REQUEST, deleted, no_dependents},
    fixtures::{Disk, bare, disk, remote, request, stored},
    scene::{Scene, Setup},
    script::{EVENT, HOLD, REQUEST, STATUS, call, observe_by_tag},
};

/// The read of the resource, before the request of one that the watch does not return is released.
const READ_DISK: &str = "GET disks/a";
const DELETE_REQUEST: &str = "DELETE dependencyrequests/disk.testing.a";

/// Another Disk, the only one that the watch returns.
fn other() -> Disk {
    let mut other = disk().json();
    other["metadata"]["name"] = json!("b");
    stored(other)
}

#[tokio::test(start_paused = true)]
async fn retained_object_is_released_and_not_deleted() {
    let scene = Scene::of(deleted().lifecycle("deletion", json!("Retain"))).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    let calls = [object, call("release disk-1"), call(HOLD), call(READ_REQUEST), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!((report.metric.as_str(), report.events()), ("Removed", vec![("Normal", "Released")]));
}

#[tokio::test(start_paused = true)]
async fn retained_object_is_released_again_if_the_finalizer_could_not_be_removed() {
    let scene = Scene::of(deleted().lifecycle("deletion", json!("Retain"))).await;
    let (object, release) = (observe_by_tag(&[remote("disk-1")]), || call("release disk-1"));
    let rejected = call(HOLD).rejected(500);
    scene.reconcile([object, release(), rejected, call(STATUS), call(EVENT)]).await;
    // It has no owner tags any more.
    let bare = || json!([bare("disk-1")]);
    let [by_id, by_tag] = ["observe disk-1", "observe disk-1,by tag"].map(|name| call(name).returns(bare()));
    let calls = [by_id, by_tag, release(), call(HOLD), call(READ_REQUEST), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!((report.metric.as_str(), report.events()), ("Removed", vec![("Normal", "Released")]));
}

#[tokio::test(start_paused = true)]
async fn released_object_is_deleted_if_the_spec_was_edited_before_the_finalizer_was_removed() {
    let scene = Scene::of(deleted().lifecycle("deletion", json!("Retain"))).await;
    let mut edited = deleted().edited().json();
    edited["metadata"]["resourceVersion"] = json!("11");
    scene.store(stored(edited.clone()));
    let rejected = call(HOLD).rejected(500);
    let reported = [call(STATUS).returns(edited), call(EVENT)];
    let released = [observe_by_tag(&[remote("disk-1")]), call("release disk-1"), rejected];
    scene.reconcile(released.into_iter().chain(reported)).await;
    let bare = call("observe disk-1").returns(json!([bare("disk-1")]));
    let report = scene.reconcile([no_dependents(), bare, call("reclaim disk-1"), call(EVENT)]).await;
    assert_eq!(report.metric, "Deleting");
}

#[tokio::test(start_paused = true)]
async fn retained_object_is_released_when_its_owner_tags_are_visible() {
    let known = |is_confirmed| {
        let ids = vec!["disk-1".to_owned()];
        let claimed = Some(Claimed { ids, at: Instant::now(), times: 0, is_confirmed });
        let launch = LastLaunch { last_create: Since(Timestamp::UNIX_EPOCH), ..LastLaunch::default() };
        Memory { owned: Owned { claimed, ..Owned::default() }, launch, ..Memory::default() }
    };
    // This process set the tags, or its call or a former process may have done so.
    for memory in [known(true), known(false), Memory::default()] {
        let retained = deleted().lifecycle("deletion", json!("Retain"));
        let visibility_window = Duration::from_mins(10);
        let scene = Setup { visibility_window, ..Setup::of(retained) }.start().await;
        scene.context.memories.put(ObjectKey::new("ns", "a"), "u-1".to_owned(), memory);
        let bare = observe_by_tag(&[bare("disk-1")]);
        let report = scene.reconcile([bare, call(STATUS)]).await;
        assert!(report.message().contains("waiting for the owner tags of disk-1"), "{}", report.message());
        let by_id = call("observe disk-1").returns(json!([remote("disk-1")]));
        let visible = [by_id, observe_by_tag(&[remote("disk-1")])];
        let ends = [call("release disk-1"), call(HOLD), call(READ_REQUEST), call(EVENT)];
        assert_eq!(scene.reconcile(visible.into_iter().chain(ends)).await.metric, "Removed");
    }
}

#[tokio::test(start_paused = true)]
async fn retained_object_does_not_prevent_the_search_before_the_finalizer_is_removed() {
    let retained = deleted().lifecycle("deletion", json!("Retain"));
    let scene = Scene::of(retained.objects(&["disk-1", "disk-2"])).await;
    let by_tag = |objects: &[Value]| call("observe disk-1,disk-2,by tag").returns(json!(objects));
    let report = scene.reconcile([by_tag(&[remote("disk-1")]), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
    advance(Duration::from_secs(10)).await;
    let by_id = call("observe disk-1,disk-2").returns(json!([remote("disk-1")]));
    let late = by_tag(&[remote("disk-1"), remote("disk-3")]);
    let release = call("release disk-1,disk-3");
    let calls = [by_id, late, release, call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn request_is_kept_until_the_finalizer_is_removed() {
    // An edit can decide that an object that was kept is deleted: its dependencies are deleted after it.
    let retained = deleted().lifecycle("deletion", json!("Retain"));
    let scene = Setup { requests: vec![request(&Value::Null)], ..Setup::of(retained) }.start().await;
    let rejected = [call(HOLD).rejected(500), call(STATUS), call(EVENT)];
    let calls = [observe_by_tag(&[remote("disk-1")]), call("release disk-1")];
    scene.reconcile(calls.into_iter().chain(rejected)).await;
    let bare = json!([bare("disk-1")]);
    let [by_id, by_tag] =
        ["observe disk-1", "observe disk-1,by tag"].map(|name| call(name).returns(bare.clone()));
    let calls = [by_id, by_tag, call("release disk-1"), call(HOLD)];
    let released = [call(REQUEST), call(DELETE_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(calls.into_iter().chain(released)).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn request_is_released_if_that_failed_when_the_finalizer_was_removed() {
    let retained = deleted().lifecycle("deletion", json!("Retain"));
    let scene = Setup { requests: vec![request(&Value::Null)], ..Setup::of(retained) }.start().await;
    let rejected = [call(REQUEST).rejected(500), call(EVENT), call(STATUS).rejected(404)];
    let calls = [observe_by_tag(&[remote("disk-1")]), call("release disk-1"), call(HOLD)];
    let report = scene.reconcile(calls.into_iter().chain(rejected)).await;
    assert_eq!((report.requeue, report.events()), (Requeue::Backoff, vec![("Normal", "Released")]));
    // The watch does not show the removal yet.
    let bare = json!([bare("disk-1")]);
    let [by_id, by_tag] =
        ["observe disk-1", "observe disk-1,by tag"].map(|name| call(name).returns(bare.clone()));
    let calls = [by_id, by_tag, call("release disk-1"), call(HOLD).rejected(404)];
    let released = [call(REQUEST), call(DELETE_REQUEST)];
    let report = scene.reconcile(calls.into_iter().chain(released)).await;
    assert_eq!((report.requeue, report.events()), (Requeue::Never, vec![]));
}

#[tokio::test(start_paused = true)]
async fn request_is_kept_while_its_resource_exists_that_the_watch_does_not_return() {
    let scene = Setup { requests: vec![request(&Value::Null)], ..Setup::of(other()) }.start().await;
    for found in [disk(), disk().deleted()] {
        let exists = call(READ_DISK).returns(found.json());
        assert_eq!(scene.reconcile([exists]).await.requeue, Requeue::Backoff);
    }
    let rejected = call(READ_DISK).rejected(500);
    assert_eq!(scene.reconcile([rejected]).await.requeue, Requeue::Backoff);
    let calls = [call(READ_DISK), call(REQUEST), call(DELETE_REQUEST)];
    assert_eq!(scene.reconcile(calls).await.requeue, Requeue::Never);
}

#[tokio::test(start_paused = true)]
async fn record_whose_release_failed_is_released_again() {
    let scene = Scene::of(other()).await;
    scene.context.memories.put(ObjectKey::new("ns", "a"), "o-1".to_owned(), Memory::default());
    let failed = scene.reconcile([call("forget").fails(FailureClass::Transient)]).await;
    assert_eq!(failed.requeue, Requeue::Backoff);
    let released = scene.reconcile([call("forget")]).await;
    assert_eq!(released.requeue, Requeue::Never);
}
