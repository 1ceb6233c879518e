//! Replacements of a resource that is edited again before they are complete.

use std::time::Duration;

use kraken_kind::FailureClass;
use serde_json::{Value, json};

use super::{
    fixtures::{disk, remote, stored, with},
    replace::{both, dependents, exports, new, old, replacing},
    scene::{Report, Scene},
    script::{Call, EVENT, LEDGER, STATE, STATUS, call, observe, observe_by_tag},
};

/// A replacement in progress, both of whose objects exist, and whose image was edited again.
async fn edited_again() -> Scene {
    let disk =
        disk().launched().edited().ledger(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}));
    let disk = disk.lifecycle("replace", json!("CreateFirst")).spec("image", json!({"value": "c"}));
    Scene::of(disk).await
}

/// The published state of this object.
fn state_of(id: &str) -> Call {
    let owner = json!({"apiVersion": "v1", "kind": "Disk", "name": "a", "uid": "u-1", "controller": true});
    let meta = json!({"name": "disk.testing.a", "ownerReferences": [owner]});
    call("GET statedeclarations/disk.testing.a")
        .returns(json!({"metadata": meta, "spec": {"data": {}, "id": id}}))
}

#[tokio::test(start_paused = true)]
async fn published_object_of_a_replacement_that_is_edited_again_is_replaced_like_the_first() {
    let scene = edited_again().await;
    let seen = observe_by_tag(&[old(), new()]);
    let report = scene.reconcile([seen, state_of("disk-2"), call(LEDGER)]).await;
    assert_eq!(report.ledger()["replacedBefore"], 3);
    assert_eq!(report.ledger()["outgoing"], json!(["disk-1", "disk-2"]));
    let third = with(with(remote("disk-3"), "image", json!("c")), "epoch", json!(3));
    let created = call("create epoch 3").returns(json!([third]));
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    scene.reconcile([both(), seen, created, call(EVENT)]).await;
    let all = call("observe disk-1,disk-2,disk-3,by tag").returns(json!([old(), new(), third]));
    let report = scene
        .reconcile([
            all,
            call(STATE),
            dependents(&[]),
            exports(&[]),
            call("delete disk-1,disk-2"),
            call(EVENT),
        ])
        .await;
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-3");
}

#[tokio::test(start_paused = true)]
async fn object_of_a_replacement_that_was_never_published_is_deleted_at_once() {
    let scene = edited_again().await;
    let seen = observe_by_tag(&[old(), new()]);
    let calls = [seen, state_of("disk-1"), call(LEDGER), call("delete disk-2"), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.metric, "Replacing");
    // Its launch is over: the next one does not wait for its objects to become visible.
    let created = call("create epoch 3").returns(json!([with(new(), "epoch", json!(3))]));
    let seen = |call: Call| call.returns(json!([old(), with(new(), "state", json!("deleting"))]));
    let calls = ["observe disk-1,disk-2", "observe disk-1,disk-2,by tag"].map(|name| seen(call(name)));
    scene.reconcile(calls.into_iter().chain([created, call(EVENT)])).await;
}

/// Edits the image again. The controller receives the edit by the response to its next write of the status.
fn edit_again(scene: &Scene, last: &Report, image: &str) {
    let mut disk = last.disk.clone();
    disk["metadata"]["generation"] = json!(3);
    disk["spec"]["image"] = json!({"value": image});
    scene.store(stored(disk));
}

fn third() -> Value {
    with(with(remote("disk-3"), "image", json!("c")), "epoch", json!(3))
}

#[tokio::test(start_paused = true)]
async fn edit_is_carried_out_while_the_provider_refuses_to_delete_the_replaced_object() {
    let scene = replacing("CreateFirst").start().await;
    scene.reconcile([observe(&[old()]), call(STATE), call(LEDGER)]).await;
    let created = call("create epoch 2").returns(json!([new()]));
    let last = scene.reconcile([observe(&[old()]), observe_by_tag(&[old()]), created, call(EVENT)]).await;
    edit_again(&scene, &last, "c");
    // Another client uses disk-1, and the dependents use disk-2, which is published.
    let in_use = |call: Call| call.fails_with(FailureClass::Terminal, "disk-1 is in use by rule-9");
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    let handed_over = [seen, call(STATE), dependents(&[]), exports(&[]), in_use(call("delete disk-1"))];
    let report = scene.reconcile(handed_over.into_iter().chain([call(STATUS), call(EVENT)])).await;
    assert_eq!(report.condition("Ready"), ("False", "CloudRefused"));
    assert!(report.message().contains("disk-1 is in use by rule-9"), "{}", report.message());
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-2");

    // The edit is carried out, and neither object is deleted before the third one is published.
    let report = scene.reconcile([both(), state_of("disk-2"), call(LEDGER)]).await;
    assert_eq!(report.ledger()["outgoing"], json!(["disk-1", "disk-2"]));
    let created = call("create epoch 3").returns(json!([third()]));
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    scene.reconcile([both(), seen, created, call(EVENT)]).await;
    let all = |name: &str| call(name).returns(json!([old(), new(), third()]));
    let handed_over =
        [all("observe disk-1,disk-2,disk-3,by tag"), call(STATE), dependents(&[]), exports(&[])];
    let refused = [in_use(call("delete disk-1,disk-2")), call(STATUS)];
    let report = scene.reconcile(handed_over.into_iter().chain(refused)).await;
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-3");
    assert_eq!(report.condition("Ready"), ("False", "CloudRefused"));

    // When the other client is done, both are deleted.
    tokio::time::advance(Duration::from_mins(5)).await;
    let freed =
        [all("observe disk-1,disk-2,disk-3"), call("delete disk-1,disk-2"), call(EVENT), call(STATUS)];
    assert_eq!(scene.reconcile(freed).await.events(), [("Normal", "Replaced")]);
    let gone = call("observe disk-1,disk-2,disk-3").returns(json!([third()]));
    let report = scene.reconcile([gone, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-3"]));
}

#[tokio::test(start_paused = true)]
async fn edit_during_a_replacement_that_deletes_first_creates_only_what_was_edited_last() {
    let scene = replacing("DeleteFirst").start().await;
    let last = scene.reconcile([observe(&[old()]), call(STATE), call(LEDGER)]).await;
    edit_again(&scene, &last, "c");
    let in_use = call("delete disk-1").fails_with(FailureClass::Terminal, "disk-1 is in use by rule-9");
    let seen = [observe(&[old()]), observe_by_tag(&[old()]), in_use, call(STATUS), call(EVENT)];
    let report = scene.reconcile(seen).await;
    assert_eq!(report.condition("Ready"), ("False", "CloudRefused"));
    // The edit neither creates an object beside the old one nor ends the replacement.
    let seen = [observe_by_tag(&[old()]), call("delete disk-1"), call(EVENT)];
    assert_eq!(scene.reconcile(seen).await.events(), [("Normal", "Replaced")]);
    let gone = with(old(), "state", json!("deleted"));
    let latest = with(with(remote("disk-2"), "image", json!("c")), "epoch", json!(3));
    let created = call("create epoch 3").returns(json!([latest]));
    scene.reconcile([observe_by_tag(&[gone]), call(LEDGER), created, call(EVENT)]).await;
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([latest]));
    let report = scene.reconcile([seen, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-2"]));
}

#[tokio::test(start_paused = true)]
async fn object_that_is_edited_again_is_deleted_before_its_successor_if_the_lifecycle_says_so() {
    // The first replacement is over: its new object is recorded.
    let disk = disk().launched().edited().objects(&["disk-2"]).ledger(&json!({"confirmed": 2}));
    let disk = disk.ledger(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}));
    let disk = disk.lifecycle("replace", json!("DeleteFirst")).spec("image", json!({"value": "c"}));
    let scene = Scene::of(disk).await;
    let seen = |how: &str, state: &str| {
        call(&format!("observe disk-2{how}")).returns(json!([with(new(), "state", json!(state))]))
    };
    let report = scene.reconcile([seen("", "available"), call(STATE), call(LEDGER)]).await;
    assert_eq!(
        (&report.ledger()["outgoing"], &report.ledger()["replacedBefore"]),
        (&json!(["disk-2"]), &json!(3))
    );
    let calls = [seen("", "available"), seen(",by tag", "available"), call("delete disk-2"), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.events(), [("Normal", "Replaced")]);
    let created = call("create epoch 3").returns(json!([third()]));
    scene.reconcile([seen(",by tag", "deleted"), created, call(EVENT)]).await;
}
