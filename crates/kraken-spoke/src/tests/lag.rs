//! Reads that lag behind a launch, a change or a deletion.

use std::time::Duration;

use kraken_kind::FailureClass;
use kraken_model::memory::{Claimed, Memory, Owned};
use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::{
    deletion::{READ_REQUEST, deleted, no_dependents},
    disk::Disks,
    fixtures::{Disk, bare, disk, remote, stored, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, HOLD, LEDGER, STATE, STATUS, call, observe, observe_by_tag},
};

#[tokio::test(start_paused = true)]
async fn replacement_waits_until_the_objects_of_the_last_launch_are_visible() {
    // A copy that a user made is visible, and the object of the launch that an earlier process made is not.
    let copy = with(with(remote("disk-1"), "image", json!("a")), "epoch", json!(null));
    let found = || call("observe by tag").returns(json!([copy]));
    let disk = disk().ledger(&json!({})).spec("image", json!({"value": "b"}));
    let disk = disk.lifecycle("replace", json!("CreateFirst"));
    let visibility_window = Duration::from_hours(24);
    let scene = Setup { visibility_window, ..Setup::of(disk.clone()) }.start().await;
    let report = scene.reconcile([found(), call(STATE)]).await;
    assert_eq!((report.metric.as_str(), report.ledger()["epoch"].clone()), ("Replacing", json!(1)));
    let report = Scene::of(disk).await.reconcile([found(), call(STATE), call(LEDGER)]).await;
    assert_eq!(report.ledger()["outgoing"], json!(["disk-1"]));
}

#[tokio::test(start_paused = true)]
async fn repeated_launch_of_more_objects_is_complete_only_when_all_are_visible() {
    // The response to a launch of one object was lost, and the Disk was scaled to two.
    let scaled = disk().ledger(&json!({"requested": 1})).spec("count", json!(2));
    let visibility_window = Duration::from_hours(24);
    let scene = Setup { visibility_window, ..Setup::of(scaled) }.start().await;
    let repeated = call("create epoch 1").fails(FailureClass::Transient);
    let report = scene.reconcile([call("observe by tag").returns(json!([])), call(LEDGER), repeated]).await;
    assert_eq!((&report.ledger()["epoch"], &report.ledger()["requested"]), (&json!(1), &json!(2)));
    let report = scene.reconcile([call("observe by tag").returns(json!([remote("disk-1")]))]).await;
    assert_eq!(report.metric, "Creating");
}

#[tokio::test(start_paused = true)]
async fn reverted_edit_is_in_place_only_when_its_change_is_visible() {
    let edited = disk().launched().edited().spec("size", json!({"value": 2}));
    let visibility_window = Duration::from_secs(90);
    let scene = Setup { visibility_window, ..Setup::of(edited) }.start().await;
    let has = |size: i64| observe(&[with(remote("disk-1"), "size", json!(size))]);
    scene.reconcile([has(1), call("update size 2"), call(EVENT)]).await;
    // The edit is reverted; the response to the next write of the status has the new spec.
    let mut reverted: Value = disk().launched().json();
    reverted["metadata"]["generation"] = json!(3);
    scene.restore(stored(reverted));
    advance(Duration::from_secs(10)).await;
    let searched = observe_by_tag(&[remote("disk-1")]);
    scene.reconcile([searched, call("update size 2"), call(STATUS)]).await;
    let report = scene.reconcile([has(1), call(STATE)]).await;
    assert_eq!(report.requeue, Requeue::After(Duration::from_secs(1)));
    advance(Duration::from_secs(1)).await;
    scene.reconcile([has(2), call(STATE), call("update size 1"), call(EVENT)]).await;
    let report = scene.reconcile([has(1), call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn change_of_a_former_process_for_a_reverted_edit_is_found_when_it_is_visible() {
    let mut reverted = disk().launched().json();
    reverted["metadata"]["generation"] = json!(3);
    let has = |size: i64| observe(&[with(remote("disk-1"), "size", json!(size))]);
    let window = Duration::from_secs(90);
    for (visibility_window, is_observed_again) in [(window, true), (Duration::ZERO, false)] {
        let scene = Setup { visibility_window, ..Setup::of(stored(reverted.clone())) }.start().await;
        let report = scene.reconcile([has(1), call(STATE), call(STATUS)]).await;
        assert_eq!(report.condition("Ready"), ("True", "Available"));
        let is_before_resync = matches!(report.requeue, Requeue::After(left) if left <= window);
        assert_eq!(is_before_resync, is_observed_again, "{:?}", report.requeue);
        let update = [call("update size 1"), call(EVENT), call(STATUS)];
        let report = scene.reconcile([has(2), call(STATE)].into_iter().chain(update)).await;
        assert_eq!(report.metric, "Updating");
    }
}

#[tokio::test(start_paused = true)]
async fn value_that_the_provider_rejects_is_reported_without_waiting_for_its_change() {
    // A change takes several calls, such as to stop an instance: the provider accepts the first and rejects a later one.
    let edited = disk().launched().edited().spec("size", json!({"value": 2}));
    let scene = Setup { visibility_window: Duration::from_secs(90), ..Setup::of(edited) }.start().await;
    scene.reconcile([observe(&[remote("disk-1")]), call("update size 2"), call(EVENT)]).await;
    let rejected = observe(&[with(remote("disk-1"), "rejected", json!(2))]);
    let report = scene.reconcile([rejected, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "ImmutableField"));
}

/// A controller of a provider that returns deleted objects as deleted for some time.
async fn showing_deleted(disk: Disk) -> Scene {
    Setup { shows_deleted: true, ..Setup::of(disk) }.start().await
}

/// A resource of it that is being deleted. The provider has accepted the deletion of its object, and the next read does not
/// show the object.
async fn hidden_after_its_deletion() -> Scene {
    let scene = showing_deleted(disk().launched().deleted().status("conditions", json!([]))).await;
    let no_dependents = call("GET dependencyrequests").returns(json!({"metadata": {}, "items": []}));
    let seen = observe_by_tag(&[remote("disk-1")]);
    scene.reconcile([no_dependents, seen, call("delete disk-1"), call(EVENT), call(STATUS)]).await;
    assert_eq!(scene.reconcile([observe(&[]), observe_by_tag(&[])]).await.metric, "Deleting");
    scene
}

/// The removal of the finalizer.
fn removal() -> [Call; 3] {
    [call(HOLD), call("GET dependencyrequests/disk.testing.a"), call(EVENT)]
}

#[tokio::test(start_paused = true)]
async fn hidden_object_is_awaited_after_its_deletion_if_deleted_ones_are_shown() {
    let scene = hidden_after_its_deletion().await;
    advance(Duration::from_secs(2)).await;
    let disk = |state: &str| observe(&[with(remote("disk-1"), "state", json!(state))]);
    assert_eq!(scene.reconcile([disk("deleting")]).await.metric, "Deleting");
    // An object that was shown as deleted may be missing at once.
    let calls = [disk("deleted"), observe_by_tag(&[])].into_iter().chain(removal());
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn hidden_object_counts_as_deleted_ten_seconds_after_its_deletion_if_deleted_ones_are_shown() {
    let scene = hidden_after_its_deletion().await;
    advance(Duration::from_secs(10)).await;
    let calls = [observe(&[]), observe_by_tag(&[])].into_iter().chain(removal());
    assert_eq!(scene.reconcile(calls).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn hidden_object_is_awaited_in_a_replacement_if_deleted_ones_are_shown() {
    let disk = disk().launched().edited().spec("image", json!({"value": "b"}));
    let scene = showing_deleted(disk.lifecycle("replace", json!("DeleteFirst"))).await;
    let old = |state: &str| [with(with(remote("disk-1"), "image", json!("a")), "state", json!(state))];
    let new = || json!([with(with(remote("disk-2"), "image", json!("b")), "epoch", json!(2))]);
    scene.reconcile([observe(&old("available")), call(STATE), call(LEDGER)]).await;
    let seen = [observe(&old("available")), observe_by_tag(&old("available"))];
    scene.reconcile(seen.into_iter().chain([call("delete disk-1"), call(EVENT)])).await;
    // Nothing is created in its place while a lagging read does not show it.
    assert_eq!(scene.reconcile([observe_by_tag(&[])]).await.metric, "Updating");
    assert_eq!(scene.reconcile([observe_by_tag(&old("deleting"))]).await.metric, "Replacing");
    let created = call("create epoch 2").returns(new());
    scene.reconcile([observe_by_tag(&old("deleted")), created, call(EVENT)]).await;
    // It was shown as deleted: the provider does not show it any more.
    let gone = call("observe disk-1,disk-2,by tag").returns(new());
    let report = scene.reconcile([gone, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-2"]));
}

#[tokio::test(start_paused = true)]
async fn replaced_object_that_is_confirmed_as_deleted_is_not_on_record_with_its_replacement() {
    // A former process requested the deletion of disk-1.
    let disk = disk().launched().edited().spec("image", json!({"value": "b"}));
    let disk = disk.lifecycle("replace", json!("DeleteFirst"));
    let disk = disk.ledger(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}));
    let scene = Setup { has_tokens: false, ..Setup::of(disk) }.start().await;
    scene.reconcile([observe_by_tag(&[])]).await;
    advance(Duration::from_secs(10)).await;
    let new = || json!([with(with(remote("disk-2"), "image", json!("b")), "epoch", json!(3))]);
    let created = call("create epoch 3").returns(new());
    scene.reconcile([observe_by_tag(&[]), call(LEDGER), created, call(EVENT), call(STATUS)]).await;
    let seen = call("observe disk-2,by tag").returns(new());
    let report = scene.reconcile([seen, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn deletion_counts_an_object_as_missing_only_since_it_was_last_returned() {
    // The owner tags of another resource hide it, until they are removed.
    let scene = Scene::of(deleted()).await;
    let missing = || [no_dependents(), observe(&[]), observe_by_tag(&[])];
    scene.reconcile([no_dependents(), observe_by_tag(&[]), call(STATUS)]).await;
    advance(Duration::from_secs(9)).await;
    scene.reconcile([no_dependents(), observe(&[bare("disk-1")]), call("reclaim disk-1"), call(EVENT)]).await;
    advance(Duration::from_secs(2)).await;
    assert_eq!(scene.reconcile(missing()).await.metric, "Deleting");
    advance(Duration::from_secs(10)).await;
    let ends = [call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(scene.reconcile(missing().into_iter().chain(ends)).await.metric, "Removed");
}

#[tokio::test(start_paused = true)]
async fn object_counts_as_missing_only_since_it_was_last_returned() {
    let scene = Scene::of(disk().launched()).await;
    let missing = || [observe(&[]), observe_by_tag(&[])];
    assert_eq!(scene.reconcile(missing().into_iter().chain([call(STATUS)])).await.metric, "Updating");
    advance(Duration::from_secs(9)).await;
    scene.reconcile([observe_by_tag(&[bare("disk-1")]), call("reclaim disk-1"), call(EVENT)]).await;
    advance(Duration::from_secs(2)).await;
    assert_eq!(scene.reconcile([observe_by_tag(&[])]).await.metric, "Updating");
}

#[tokio::test(start_paused = true)]
async fn a_claimed_object_may_exist_until_its_tags_are_visible() {
    let ids = || vec!["disk-1".to_owned()];
    let claimed = Claimed { ids: ids(), at: Instant::now(), times: 1, is_confirmed: true };
    let mut memory =
        Memory { owned: Owned { claimed: Some(claimed), ..Owned::default() }, ..Memory::default() };
    let kind = Disks::new(false);
    let window = Duration::from_mins(1);
    assert!(memory.is_claim_hidden(&kind, &[], memory.clock(window)), "a search does not find it yet");
    assert!(!memory.is_claim_hidden(&kind, &ids(), memory.clock(window)), "it is shown");
    memory.absent.gone_ids = ids();
    assert!(!memory.is_claim_hidden(&kind, &[], memory.clock(window)), "it was deleted");
    memory.absent.gone_ids.clear();
    advance(window).await;
    assert!(!memory.is_claim_hidden(&kind, &[], memory.clock(window)), "a search would find it");
}
