//! Step 3: the deletion of a resource, from its request to the removal of the finalizer.

use std::time::Duration;

use kraken_kind::FailureClass;
use kraken_model::memory::{Deletion, Memory};
use kraken_runtime::{queue::Requeue, watch::ObjectKey};
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{Disk, bare, disk, remote, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, HOLD, STATUS, call, observe, observe_by_tag},
};

/// The read of the DependencyRequest, which is released with the resource.
pub(super) const READ_REQUEST: &str = "GET dependencyrequests/disk.testing.a";

/// A Disk that is being deleted, with a status that is not ready.
pub(super) fn deleted() -> Disk {
    disk().launched().deleted().status("conditions", json!([]))
}

pub(super) fn no_dependents() -> Call {
    call("GET dependencyrequests").returns(json!({"metadata": {}, "items": []}))
}

pub(super) fn gone() -> Value {
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
    let calls = [by_id, observe_by_tag(&[gone()]), call(HOLD), call(READ_REQUEST), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!((report.metric.as_str(), report.requeue), ("Removed", Requeue::Never));
    assert_eq!(report.disk["metadata"]["finalizers"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn finalizer_without_a_record_of_the_launch_is_kept_for_the_visibility_window() {
    let unrecorded = disk().finalizer_only().creation("2020-01-01T00:00:00Z").deleted();
    let calls = || [no_dependents(), call("observe by tag").returns(json!([]))];
    let window = Duration::from_hours(24);
    let scene = Setup { visibility_window: window, ..Setup::of(unrecorded.clone()) }.start().await;
    assert_eq!(scene.reconcile(calls()).await.metric, "Deleting");
    // After it, they must be missing for ten seconds.
    let scene = Scene::of(unrecorded).await;
    assert_eq!(scene.reconcile(calls()).await.metric, "Deleting");
    advance(Duration::from_secs(10)).await;
    let again =
        [no_dependents(), call("observe ").returns(json!([])), call("observe by tag").returns(json!([]))];
    let ends = [call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(again.into_iter().chain(ends)).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn finalizer_is_kept_for_the_visibility_window_if_the_ledger_is_lost() {
    // The former process may have made another launch, or a client may have removed the id of one of its objects, too.
    let recorded = deleted().status("ledger", json!(null));
    let setup = Setup { visibility_window: Duration::from_hours(24), ..Setup::of(recorded) };
    let scene = setup.start().await;
    let deletes = || [observe_by_tag(&[remote("disk-1")]), call("delete disk-1"), call(EVENT), call(STATUS)];
    scene.reconcile([no_dependents()].into_iter().chain(deletes())).await;
    let gone = || [call("observe disk-1").returns(json!([])), observe_by_tag(&[])];
    assert_eq!(scene.reconcile(gone()).await.metric, "Deleting");
}

#[tokio::test(start_paused = true)]
async fn empty_response_is_confirmed_before_the_finalizer_is_removed() {
    let scene = Scene::of(deleted()).await;
    let report = scene.reconcile([no_dependents(), observe_by_tag(&[]), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
    advance(Duration::from_secs(10)).await;
    let by_id = call("observe disk-1").returns(json!([]));
    let calls = [no_dependents(), by_id, observe_by_tag(&[]), call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn deletion_that_does_not_find_the_object_is_no_request() {
    let scene = Scene::of(deleted()).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    let not_found = call("delete disk-1").returns(json!(["disk-1"]));
    let report = scene.reconcile([no_dependents(), object, not_found, call(STATUS)]).await;
    assert_eq!((report.condition("Ready"), report.events()), (("False", "Deleting"), vec![]));
    // The next read reaches a stale replica, too: the object still exists.
    let unseen = call("observe disk-1").returns(json!([]));
    assert_eq!(scene.reconcile([unseen, observe_by_tag(&[])]).await.metric, "Deleting");
    advance(Duration::from_secs(2)).await;
    let seen = || call("observe disk-1").returns(json!([remote("disk-1")]));
    let calls = [no_dependents(), seen(), call("delete disk-1"), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.events(), [("Normal", "Deleted")]);
    // A repeated request that does not find it confirms the first one.
    let not_found = call("delete disk-1").returns(json!(["disk-1"]));
    assert_eq!(scene.reconcile([seen(), not_found]).await.metric, "Deleting");
    let unseen = call("observe disk-1").returns(json!([]));
    let calls = [unseen, observe_by_tag(&[]), call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn object_that_the_deletion_never_found_counts_as_deleted_after_ten_seconds() {
    let scene = Scene::of(deleted()).await;
    let object = observe_by_tag(&[remote("disk-1")]);
    let not_found = call("delete disk-1").returns(json!(["disk-1"]));
    scene.reconcile([no_dependents(), object, not_found, call(STATUS)]).await;
    let gone = || [call("observe disk-1").returns(json!([])), observe_by_tag(&[])];
    assert_eq!(scene.reconcile(gone()).await.metric, "Deleting");
    advance(Duration::from_secs(10)).await;
    let [by_id, by_tag] = gone();
    let calls = [no_dependents(), by_id, by_tag, call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn object_that_only_a_search_found_must_be_missing_for_ten_seconds() {
    let scene = Scene::of(deleted().objects(&[])).await;
    let by_tag = call("observe by tag").returns(json!([remote("disk-1")]));
    let not_found = call("delete disk-1").returns(json!(["disk-1"]));
    scene.reconcile([no_dependents(), by_tag, not_found, call(STATUS)]).await;
    let unseen = || [call("observe disk-1").returns(json!([])), observe_by_tag(&[])];
    assert_eq!(scene.reconcile(unseen()).await.metric, "Deleting");
    for (seconds, ends, metric) in
        [(2, vec![], "Deleting"), (8, vec![call(HOLD), call(READ_REQUEST), call(EVENT)], "Removed")]
    {
        advance(Duration::from_secs(seconds)).await;
        let calls = [no_dependents()].into_iter().chain(unseen()).chain(ends);
        assert_eq!(scene.reconcile(calls).await.metric, metric);
    }
}

#[tokio::test(start_paused = true)]
async fn object_that_is_being_deleted_and_not_on_record_must_be_missing_for_ten_seconds() {
    let scene = Scene::of(deleted()).await;
    // A surplus object, which was removed from the record when its deletion began.
    let found = observe_by_tag(&[gone(), with(remote("disk-2"), "state", json!("deleting"))]);
    assert_eq!(scene.reconcile([no_dependents(), found, call(STATUS)]).await.metric, "Deleting");
    // The next reads lag.
    let unseen = || {
        let one = || json!([gone()]);
        let by_tag = call("observe disk-1,disk-2,by tag").returns(one());
        [call("observe disk-1,disk-2").returns(one()), by_tag]
    };
    assert_eq!(scene.reconcile(unseen()).await.metric, "Deleting");
    advance(Duration::from_secs(10)).await;
    let ends = [call(HOLD), call(READ_REQUEST), call(EVENT)];
    let calls = [no_dependents()].into_iter().chain(unseen()).chain(ends);
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn deletion_of_one_of_several_objects_that_is_not_found_is_no_request() {
    let scene = Scene::of(deleted().objects(&["disk-1", "disk-2"])).await;
    let by_id = |objects: &[Value]| call("observe disk-1,disk-2").returns(json!(objects));
    let by_tag = |objects: &[Value]| call("observe disk-1,disk-2,by tag").returns(json!(objects));
    let not_found = call("delete disk-1,disk-2").returns(json!(["disk-2"]));
    let both = by_tag(&[remote("disk-1"), remote("disk-2")]);
    scene.reconcile([no_dependents(), both, not_found, call(EVENT), call(STATUS)]).await;
    let report = scene.reconcile([by_id(&[]), by_tag(&[])]).await;
    assert_eq!(report.metric, "Deleting");
    let calls = [by_id(&[remote("disk-2")]), call("delete disk-2")];
    assert_eq!(scene.reconcile(calls).await.metric, "Deleting");
    let ends = [by_id(&[]), by_tag(&[]), call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(ends).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn object_without_owner_tags_is_not_deleted() {
    let scene = Scene::of(deleted()).await;
    let bare = observe_by_tag(&[bare("disk-1")]);
    let report =
        scene.reconcile([no_dependents(), bare, call("reclaim disk-1"), call(EVENT), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
}

#[tokio::test(start_paused = true)]
async fn object_that_is_not_on_record_is_left_without_its_owner_tags() {
    let scene = Scene::of(deleted()).await;
    let found = observe_by_tag(&[gone(), remote("disk-2")]);
    let rejected = call("delete disk-1,disk-2").fails(FailureClass::NotYet);
    scene.reconcile([no_dependents(), found, rejected, call(STATUS), call(EVENT)]).await;
    // One response may lag.
    let bare = || json!([gone(), bare("disk-2")]);
    let calls = || {
        let by_tag = call("observe disk-1,disk-2,by tag").returns(bare());
        [call("observe disk-1,disk-2").returns(bare()), by_tag]
    };
    assert_eq!(scene.reconcile(calls()).await.metric, "Deleting");
    advance(Duration::from_secs(10)).await;
    let ends = [call(HOLD), call(READ_REQUEST), call(EVENT)];
    let calls = [no_dependents()].into_iter().chain(calls()).chain(ends);
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
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
async fn a_deletion_is_made_as_the_spec_says_at_that_time() {
    for (spec, what) in [(json!(false), "delete disk-1 without archive"), (json!(true), "delete disk-1")] {
        let scene = Scene::of(deleted().spec("archive", spec)).await;
        let calls =
            [no_dependents(), observe_by_tag(&[remote("disk-1")]), call(what), call(EVENT), call(STATUS)];
        assert_eq!(scene.reconcile(calls).await.condition("Ready"), ("False", "Deleting"));
    }
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
    let rejected = call(HOLD).rejected(500);
    let calls = [no_dependents(), observe_by_tag(&[gone()]), rejected, call(STATUS), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!((report.condition("Ready"), report.requeue), (("False", "KubernetesError"), Requeue::Backoff));
}

#[tokio::test(start_paused = true)]
async fn finalizer_is_kept_if_the_spec_was_edited_since_the_decision() {
    let scene = Scene::of(deleted()).await;
    scene.store(deleted().edited());
    let (removal, status) = (call(HOLD), call(STATUS).rejected(409));
    let calls = [no_dependents(), observe_by_tag(&[gone()]), removal, status];
    let report = scene.reconcile(calls).await;
    assert_ne!(report.requeue, Requeue::Never);
    assert_eq!(report.disk["metadata"]["finalizers"], deleted().json()["metadata"]["finalizers"]);
}

#[tokio::test(start_paused = true)]
async fn deletion_after_a_restored_backup_checks_its_dependents_again() {
    // A backup from before the deletion was restored.
    let scene = Scene::of(disk().launched().lifecycle("paused", json!(true))).await;
    let found = Some(vec!["disk-1".to_owned()]);
    let deletion = Deletion { deleted: Some(1), found, ..Deletion::default() };
    let memory = Memory { deletion, ..Memory::default() };
    scene.context.memories.put(ObjectKey::new("ns", "a"), "u-1".to_owned(), memory);
    let mut again = deleted().json();
    again["metadata"]["resourceVersion"] = json!("11");
    scene.reconcile([observe(&[remote("disk-1")]), call(STATUS).returns(again), call(EVENT)]).await;
    let dependent = json!({
        "metadata": {"name": "subnet.aws.b", "namespace": "ns"},
        "spec": {"krakenResourceDependencies": [{"kind": "disk.testing", "name": "a", "type": "any"}]},
    });
    let dependents = json!({"metadata": {}, "items": [dependent]});
    let report = scene.reconcile([call("GET dependencyrequests").returns(dependents), call(STATUS)]).await;
    assert_eq!(report.metric, "DeletionBlocked");
}
