//! Objects that only a search by tag found: while they are not on record, their owner tags alone prove which resource they
//! belong to.

use std::time::Duration;

use kraken_model::{
    memory::{Memory, Owned, Progress, Retries},
    outcome::GRACE,
};
use kraken_runtime::watch::ObjectKey;
use serde_json::json;
use tokio::time::advance;

use super::{
    fixtures::{bare, disk, remote, with},
    scene::Scene,
    script::{EVENT, HOLD, LEDGER, STATE, STATUS, call, observe, observe_by_tag},
};

#[tokio::test(start_paused = true)]
async fn object_found_before_a_creation_is_left_without_its_owner_tags() {
    let scene = Scene::of(disk().launched().edited().spec("count", json!(3))).await;
    let created = |id, epoch| with(remote(id), "epoch", json!(epoch));
    let found = observe_by_tag(&[remote("disk-1"), remote("disk-9")]);
    let create = call("create epoch 2").returns(json!([created("disk-2", 2)]));
    scene.reconcile([observe(&[remote("disk-1")]), found, call(LEDGER), create, call(EVENT)]).await;
    let observed = || {
        let all = json!([remote("disk-1"), bare("disk-9"), created("disk-2", 2)]);
        call("observe disk-1,disk-9,disk-2,by tag").returns(all)
    };
    // One response may lag.
    assert_eq!(scene.reconcile([observed()]).await.metric, "Updating");
    advance(Duration::from_secs(10)).await;
    let report = scene.reconcile([observed(), call(STATUS)]).await;
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
    let rest = json!([remote("disk-1"), created("disk-2", 2)]);
    let rest = call("observe disk-1,disk-2,by tag").returns(rest);
    let create = call("create epoch 3").returns(json!([created("disk-3", 3)]));
    scene.reconcile([rest, call(LEDGER), create, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn created_object_without_owner_tags_is_tagged_before_it_is_on_record() {
    let scene = Scene::of(disk()).await;
    let create = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(HOLD), call(LEDGER), create, call(EVENT)]).await;
    let report = scene.reconcile([observe(&[bare("disk-1")]), call("reclaim disk-1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "DriftReverted")]);
}

#[tokio::test(start_paused = true)]
async fn found_object_without_owner_tags_is_not_put_on_record() {
    let scene = Scene::of(disk().ledger(&json!({})).spec("count", json!(2))).await;
    let memory = Memory {
        owned: Owned {
            created: Some((1, vec!["disk-1".to_owned(), "disk-9".to_owned()])),
            found_by_tag: vec!["disk-9".to_owned()],
            ..Owned::default()
        },
        retries: Retries { in_progress: Some(Progress::begin(GRACE, false)), ..Retries::default() },
        ..Memory::default()
    };
    scene.context.memories.put(ObjectKey::new("ns", "a"), "u-1".to_owned(), memory);
    let observed = || call("observe disk-1,disk-9").returns(json!([remote("disk-1"), bare("disk-9")]));
    advance(Duration::from_secs(5)).await;
    scene.reconcile([observed()]).await;
    // The tags may still become visible when the progress is reported.
    advance(Duration::from_secs(5)).await;
    let report = scene.reconcile([observed(), call(STATUS)]).await;
    assert!(report.message().contains("waiting for the owner tags of disk-9"), "{}", report.message());
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
}

#[tokio::test(start_paused = true)]
async fn object_found_without_any_record_is_not_deleted_without_its_owner_tags() {
    let unrecorded = disk().creation("2020-01-01T00:00:00Z");
    let scene = Scene::of(unrecorded.clone().spec("size", json!({"value": 0}))).await;
    let found = call("observe by tag").returns(json!([remote("disk-1")]));
    let mut deleted = unrecorded.ledger(&json!({"epoch": 2})).deleted().json();
    deleted["metadata"]["resourceVersion"] = json!("11");
    // The resource is deleted before its status could be written.
    let restored = [call(HOLD), call(LEDGER).returns(deleted), call(EVENT), call(STATUS).rejected(500)];
    scene.reconcile([found].into_iter().chain(restored)).await;
    let no_dependents = call("GET dependencyrequests").returns(json!({"metadata": {}, "items": []}));
    let report = scene.reconcile([no_dependents, observe_by_tag(&[bare("disk-1")])]).await;
    assert_eq!(report.metric, "Deleting");
}

#[tokio::test(start_paused = true)]
async fn object_found_before_a_status_that_is_not_written_is_not_created_again() {
    let scene = Scene::of(disk().ledger(&json!({}))).await;
    let found = call("observe by tag").returns(json!([remote("disk-1")]));
    scene.reconcile([found, call(STATE), call(STATUS).rejected(500)]).await;
    // One response may lag, also after the visibility window.
    scene.reconcile([observe_by_tag(&[])]).await;
}

#[tokio::test(start_paused = true)]
async fn object_found_before_the_deletion_must_be_missing_for_ten_seconds() {
    let launched = disk().ledger(&json!({}));
    let scene = Scene::of(launched.clone()).await;
    let found = call("observe by tag").returns(json!([remote("disk-1")]));
    // Users delete the resource, and its status does not name the object.
    let mut deleted = launched.deleted().json();
    deleted["metadata"]["resourceVersion"] = json!("11");
    scene.reconcile([found, call(STATE), call(STATUS).returns(deleted)]).await;
    let no_dependents = call("GET dependencyrequests").returns(json!({"metadata": {}, "items": []}));
    let report = scene.reconcile([no_dependents, observe_by_tag(&[])]).await;
    assert_eq!(report.metric, "Deleting");
}
