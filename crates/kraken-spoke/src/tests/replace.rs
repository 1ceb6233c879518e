//! Replacements.

use std::time::Duration;

use kraken_api::{FINALIZER, config_export};
use kraken_model::in_place::references_digest;
use serde_json::{Value, json};

use super::{
    disk::GROUP,
    fixtures::{disk, remote, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, LEDGER, STATE, STATUS, call, observe, observe_by_tag},
};

/// A Disk whose image was edited, and which is replaced in this way.
pub(super) fn replacing(how: &str) -> Setup {
    let disk = disk().launched().edited().spec("image", json!({"value": "b"}));
    Setup::of(disk.lifecycle("replace", json!(how)))
}

pub(super) fn old() -> Value {
    with(remote("disk-1"), "image", json!("a"))
}

pub(super) fn new() -> Value {
    with(with(remote("disk-2"), "image", json!("b")), "epoch", json!(2))
}

#[tokio::test(start_paused = true)]
async fn replacement_deletes_first_if_the_lifecycle_says_so() {
    let scene = replacing("DeleteFirst").start().await;
    let report = scene.reconcile([observe(&[old()]), call(STATE), call(LEDGER)]).await;
    assert_eq!((report.ledger()["replacedBefore"].clone(), report.metric.as_str()), (json!(2), "Replacing"));
    let seen = [observe(&[old()]), observe_by_tag(&[old()])];
    let report = scene.reconcile(seen.into_iter().chain([call("delete disk-1"), call(EVENT)])).await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
    let gone = with(old(), "state", json!("deleted"));
    let created = call("create epoch 2").returns(json!([new()]));
    scene.reconcile([observe_by_tag(&[gone]), created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn replacement_creates_first_if_the_lifecycle_says_so() {
    let scene = replacing("CreateFirst").start().await;
    scene.reconcile([observe(&[old()]), call(STATE), call(LEDGER)]).await;
    let created = call("create epoch 2").returns(json!([new()]));
    scene.reconcile([observe(&[old()]), observe_by_tag(&[old()]), created, call(EVENT)]).await;
    let both = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    let report = scene
        .reconcile([both, call(STATE), dependents(&[]), exports(&[]), call("delete disk-1"), call(EVENT)])
        .await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
}

#[tokio::test(start_paused = true)]
async fn replacement_awaits_an_object_that_only_the_ledger_names() {
    let ledger = json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]});
    let disk = disk().edited().ledger(&ledger).spec("image", json!({"value": "b"}));
    let scene = Scene::of(disk.lifecycle("replace", json!("CreateFirst"))).await;
    let created = call("create epoch 2").returns(json!([new()]));
    scene.reconcile([observe_by_tag(&[old()]), created, call(EVENT)]).await;
    let delayed = call("observe disk-1,disk-2,by tag").returns(json!([new()]));
    let report = scene.reconcile([delayed]).await;
    assert_eq!(report.metric, "Updating");
    let both = call("observe disk-1,disk-2").returns(json!([old(), new()]));
    let report = scene
        .reconcile([both, call(STATE), dependents(&[]), exports(&[]), call("delete disk-1"), call(EVENT)])
        .await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
    let gone = call("observe disk-1,disk-2").returns(json!([new()]));
    let report = scene.reconcile([gone, call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-2"]));
}

#[tokio::test(start_paused = true)]
async fn replaced_object_that_the_deletion_does_not_find_is_not_forgotten() {
    let scene = replacing("DeleteFirst").start().await;
    scene.reconcile([observe(&[old()]), call(STATE), call(LEDGER)]).await;
    let not_found = call("delete disk-1").returns(json!(["disk-1"]));
    let report = scene.reconcile([observe(&[old()]), observe_by_tag(&[old()]), not_found]).await;
    assert_eq!((report.metric.as_str(), report.events()), ("Replacing", vec![]));
    // Nothing is created in its place while a lagging read does not show it.
    assert_eq!(scene.reconcile([observe_by_tag(&[])]).await.metric, "Updating");
    let report = scene.reconcile([observe_by_tag(&[old()]), call("delete disk-1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
}

#[tokio::test(start_paused = true)]
async fn replacement_keeps_a_protected_object() {
    let disk =
        disk().launched().edited().ledger(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}));
    let disk = disk.lifecycle("replace", json!("DeleteFirst")).lifecycle("protect", json!(true));
    let scene = Scene::of(disk).await;
    let report = scene.reconcile([observe_by_tag(&[old()]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "DeletionProtected"));
}

#[tokio::test(start_paused = true)]
async fn reverted_replacement_keeps_both_objects_while_they_are_protected() {
    let disk =
        disk().launched().edited().ledger(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}));
    let disk = disk.lifecycle("replace", json!("CreateFirst")).lifecycle("protect", json!(true));
    let scene = Scene::of(disk.spec("image", json!({"value": "a"}))).await;
    let both = observe_by_tag(&[old(), new()]);
    let report = scene.reconcile([both, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "ImmutableField"));
    assert!(report.message().contains("spec.lifecycle.protect is true"), "{}", report.message());
}

/// The list of the references of the namespace.
pub(super) fn dependents(requests: &[Value]) -> Call {
    call("GET dependencyrequests").returns(json!({"metadata": {}, "items": requests}))
}

/// The list of the ConfigExports of the namespace.
pub(super) fn exports(exports: &[Value]) -> Call {
    call("GET configexports").returns(json!({"metadata": {}, "items": exports}))
}

/// The request of a Mount that refers to the Disk, with this response of the hub.
fn mount_with(answer: &str) -> Value {
    let owner = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Mount", "name": "m", "uid": "m-1", "controller": true});
    json!({
        "metadata": {"name": "mount.testing.m", "ownerReferences": [owner]},
        "spec": {"krakenResourceDependencies": [{"kind": "disk", "name": "a", "type": "any"}]},
        "status": {"dependentValues": {"fromKrakenResources": {"disk": {"a": {"": answer}}}}},
    })
}

/// The Mount, which is in place with this id.
fn mount_in_place_with(id: &str) -> Call {
    let references = serde_json::from_value(json!({"disk": {"a": {"": id}}})).unwrap();
    let in_place = json!({"generation": 1, "references": references_digest("m-1", &references)});
    let meta = json!({"name": "m", "uid": "m-1", "finalizers": [FINALIZER]});
    call("GET mounts/m").returns(json!({"metadata": meta, "status": {"inPlace": in_place}}))
}

/// Both objects of a replacement, of which the new one is in place.
pub(super) fn both() -> Call {
    call("observe disk-1,disk-2").returns(json!([old(), new()]))
}

/// A replacement of which the new object is published and in place, before its dependents were looked at.
async fn published() -> Scene {
    let scene = replacing("CreateFirst").start().await;
    scene.reconcile([observe(&[old()]), call(STATE), call(LEDGER)]).await;
    let created = call("create epoch 2").returns(json!([new()]));
    scene.reconcile([observe(&[old()]), observe_by_tag(&[old()]), created, call(EVENT)]).await;
    scene
}

#[tokio::test(start_paused = true)]
async fn replaced_object_is_kept_until_its_dependents_are_in_place_with_the_new_one() {
    let scene = published().await;
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    let report =
        scene.reconcile([seen, call(STATE), dependents(&[mount_with("disk-1")]), exports(&[])]).await;
    assert_eq!((report.metric.as_str(), report.events()), ("Replacing", vec![]));
    tokio::time::advance(Duration::from_secs(20)).await;
    let waiting = [
        both(),
        dependents(&[mount_with("disk-2")]),
        mount_in_place_with("disk-1"),
        exports(&[]),
        call(STATUS),
    ];
    let report = scene.reconcile(waiting).await;
    assert_eq!(report.condition("Ready"), ("False", "Replacing"));
    assert!(
        report.message().contains("waiting until Mount m is in place with disk-2"),
        "{}",
        report.message()
    );
    tokio::time::advance(Duration::from_secs(2)).await;
    let moved = [both(), dependents(&[mount_with("disk-2")]), mount_in_place_with("disk-2"), exports(&[])];
    let report = scene.reconcile(moved.into_iter().chain([call("delete disk-1"), call(EVENT)])).await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
    // Once it is handed over, the dependents are not looked at again.
    scene.reconcile([both(), call("delete disk-1")]).await;
}

#[tokio::test(start_paused = true)]
async fn replaced_object_is_kept_while_a_target_of_an_export_has_its_values() {
    let scene = published().await;
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    let exported = |id: &str| {
        let values = serde_json::from_value(json!({"disk": {"a": {"": id}}})).unwrap();
        let ready = json!([{"type": "Ready", "status": "True", "reason": "Exported", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let entry = json!({"key": "id", "valueFrom": {"ref": "Disk/a"}});
        exports(&[json!({
            "metadata": {"name": "app", "uid": "e-1", "generation": 1},
            "spec": {"configType": "ConfigMap", "configMetadata": {"name": "app"}, "entries": [entry]},
            "status": {"conditions": ready, "observedGeneration": 1, "target": "ConfigMap/app",
                "sources": config_export::sources("e-1", &values)},
        })])
    };
    scene.reconcile([seen, call(STATE), dependents(&[]), exported("disk-1")]).await;
    tokio::time::advance(Duration::from_secs(20)).await;
    let report = scene.reconcile([both(), dependents(&[]), exported("disk-1"), call(STATUS)]).await;
    assert!(
        report.message().contains("waiting until ConfigExport app is in place with disk-2"),
        "{}",
        report.message()
    );
    tokio::time::advance(Duration::from_secs(2)).await;
    let moved = [both(), dependents(&[]), exported("disk-2"), call("delete disk-1"), call(EVENT)];
    assert_eq!(scene.reconcile(moved).await.events(), [("Normal", "Replaced")]);
}

#[tokio::test(start_paused = true)]
async fn dependent_that_does_not_move_delays_a_replacement_for_a_limited_time() {
    let scene = published().await;
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    scene.reconcile([seen, call(STATE), dependents(&[mount_with("disk-1")]), exports(&[])]).await;
    tokio::time::advance(Duration::from_mins(10)).await;
    let over = [
        both(),
        dependents(&[mount_with("disk-1")]),
        exports(&[]),
        call(EVENT),
        call("delete disk-1"),
        call(EVENT),
    ];
    let report = scene.reconcile(over.into_iter().chain([call(STATUS)])).await;
    assert!(
        report.events[0].2.contains("Mount m is not in place with the new objects after 600s"),
        "{:?}",
        report.events
    );
}

#[tokio::test(start_paused = true)]
async fn replaced_object_is_kept_while_its_successor_cannot_be_published() {
    let scene = published().await;
    let seen = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    let report = scene.reconcile([seen, call(STATE).rejected(500), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "KubernetesError"));
}

/// A replacement whose new object is to get what the old one still has, with this lifecycle.
async fn handing_over(protect: bool) -> Scene {
    let ledger = json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]});
    let disk = disk().launched().edited().ledger(&ledger).spec("image", json!({"value": "b"}));
    let disk = disk.lifecycle("replace", json!("CreateFirst")).lifecycle("protect", json!(protect));
    let disk = disk.spec("peer", json!({"value": "i-1"}));
    Setup { hands_over: true, ..Setup::of(disk) }.start().await
}

#[tokio::test(start_paused = true)]
async fn what_exists_only_once_is_taken_from_the_replaced_object_before_the_new_one_gets_it() {
    let scene = handing_over(false).await;
    let taken = || call("hand over disk-1").returns(json!("detached disk-1 from i-1"));
    let report = scene.reconcile([observe_by_tag(&[old(), new()]), taken(), call(EVENT)]).await;
    assert_eq!((report.metric.as_str(), report.events()), ("Replacing", vec![("Normal", "Replaced")]));
    assert_eq!(report.events[0].2, "detached disk-1 from i-1");
    // Nothing is changed while the old one still has it; the event is published once.
    let both = || call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    assert_eq!(scene.reconcile([both(), taken()]).await.metric, "Replacing");
    let calls = [both(), call("hand over disk-1"), call("update peer i-1"), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.events(), [("Normal", "Updated")]);
}

#[tokio::test(start_paused = true)]
async fn protected_object_that_is_replaced_keeps_what_exists_only_once() {
    let scene = handing_over(true).await;
    scene.reconcile([observe_by_tag(&[old(), new()]), call("update peer i-1"), call(EVENT)]).await;
}
