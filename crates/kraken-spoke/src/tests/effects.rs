//! The warnings at admission: what an edit or a deletion will do.

use std::sync::Arc;

use kraken_kind::dynamic::{Kind as _, SharedKind};
use kraken_model::effects::OfEdit;
use kraken_runtime::{
    Manager, RunArgs,
    webhook::{Operation, Subject, Validator as _},
};
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{
    disk::{Disks, GROUP},
    fixtures::{Disk, disk},
};
use crate::{admission::Admission, shared::blockers::References};

/// A manager in a cluster in which `mount b` and `mount c` refer to `disk a`.
fn manager() -> Manager {
    let request = |name: &str| {
        json!({
            "metadata": {"name": format!("mount.testing.{name}"), "namespace": "ns", "ownerReferences": [
                {"apiVersion": "testing/v1", "kind": "Mount", "name": name, "uid": name, "controller": true}]},
            "spec": {"krakenResourceDependencies": [{"kind": "disk", "name": "a", "type": "any"}]},
        })
    };
    let list = json!({"metadata": {}, "items": [request("b"), request("c")]}).to_string();
    let client = Client::new(
        tower::service_fn(move |_: http::Request<Body>| {
            let response = http::Response::new(Body::from(list.clone().into_bytes()));
            async move { Ok::<_, std::io::Error>(response) }
        }),
        "ns",
    );
    Manager::detached("kraken-test", client, RunArgs::default(), "cluster".to_owned())
}

async fn warnings(operation: Operation, object: Disk, before: Option<Disk>) -> Vec<String> {
    let kind: SharedKind = Arc::new(Disks::new(false));
    let admission = Admission::new(kind).with_references(manager(), References::default());
    let subject = Subject {
        operation,
        group: GROUP.to_owned(),
        kind: "Disk".to_owned(),
        plural: "disks".to_owned(),
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
        object: Arc::new(object.json()),
        before: before.map(|before| Arc::new(before.json())),
        dry_run: false,
    };
    let result = admission.review(subject).await;
    assert!(result.problems.is_empty(), "{:?}", result.problems);
    result.warnings
}

/// The effects of an edit of one field, with these lifecycle options.
async fn of_edit(field: &str, after: Value, lifecycle: &[(&str, Value)]) -> String {
    let before = || lifecycle.iter().fold(disk().launched(), |disk, (n, v)| disk.lifecycle(n, v.clone()));
    let after = before().spec(field, json!({"value": after}));
    warnings(Operation::Update, after, Some(before().spec(field, json!({"value": 2})))).await.join("\n")
}

#[tokio::test]
async fn an_edit_says_whether_it_changes_stops_or_replaces_what_exists() {
    let cases = [
        ("size", "changes disk-1 in place: size 2 -> 3"),
        ("peer", "waits for lifecycle.disruption: Allow, because it stops disk-1: peer 2 -> 3"),
        ("note", "is applied when disk-1 is stopped for another reason: note 2 -> 3"),
        ("count", "creates 1 more: count 2 -> 3"),
        ("deep", ""),
        (
            "image",
            "cannot change disk-1 in place, and lifecycle.replace is Never, so that it stays as it is and Ready becomes False: image 2 -> 3",
        ),
    ];
    for (field, text) in cases {
        assert_eq!(of_edit(field, json!(3), &[]).await, text);
    }
    assert_eq!(
        of_edit("count", json!(0), &[]).await,
        "deletes 2 of 2 objects, the newest first: count 2 -> 0"
    );
}

#[tokio::test]
async fn the_lifecycle_decides_what_an_edit_does() {
    let replace = ("replace", json!("CreateFirst"));
    let cases = [
        (
            "image",
            vec![replace.clone()],
            "replaces disk-1 with all data (CreateFirst), and then changes mount b, mount c: image 2 -> 3",
        ),
        (
            "image",
            vec![replace.clone(), ("protect", json!(true))],
            "waits for lifecycle.protect: false, because it replaces disk-1 with all data: image 2 -> 3",
        ),
        (
            "image",
            vec![replace, ("approval", json!("Manual"))],
            "replaces disk-1 with all data (CreateFirst) after its plan is approved, and then changes mount b, mount c: image 2 -> 3",
        ),
        ("peer", vec![("disruption", json!("Allow"))], "stops and starts disk-1: peer 2 -> 3"),
        (
            "size",
            vec![("paused", json!(true))],
            "changes nothing while lifecycle.paused is true: size 2 -> 3",
        ),
    ];
    for (field, lifecycle, text) in cases {
        assert_eq!(of_edit(field, json!(3), &lifecycle).await, text);
    }
}

#[test]
fn an_ignored_field_has_no_effect() {
    let kind = Disks::new(false);
    let decoded = |disk: Disk| kind.decode(&serde_json::from_value(disk.json()).unwrap()).unwrap();
    let (before, after) = (disk().launched(), disk().launched().spec("size", json!({"value": 5})));
    let ignored = after.clone().lifecycle("ignoreChanges", json!(["size"]));
    let before = decoded(before);
    assert_eq!(OfEdit::new(&kind, &before, &decoded(after)).said(&[]).len(), 1);
    assert!(OfEdit::new(&kind, &before, &decoded(ignored)).said(&[]).is_empty());
}

#[tokio::test]
async fn an_edit_of_the_lifecycle_says_what_it_lets_go() {
    let blocked = || {
        let ready = json!({"type": "Ready", "status": "False", "reason": "ImmutableField", "message": "spec.image: fixed",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        disk().launched().status("conditions", json!([ready]))
    };
    let cases = [
        (
            "replace",
            json!("Never"),
            json!("DeleteFirst"),
            "replaces disk-1 with all data (DeleteFirst), and then changes mount b, mount c, which was held back: spec.image: fixed",
        ),
        (
            "disruption",
            json!("Forbid"),
            json!("Allow"),
            "stops and starts disk-1, which was held back: spec.image: fixed",
        ),
        (
            "paused",
            json!(true),
            json!(false),
            "changes in disk-1 whatever differs from the spec, which was held back",
        ),
        ("deletion", json!("Retain"), json!("Delete"), ""),
    ];
    for (option, old, new, text) in cases {
        let (old, new) = (blocked().lifecycle(option, old), blocked().lifecycle(option, new));
        assert_eq!(warnings(Operation::Update, new, Some(old)).await.join(""), text, "{option}");
    }
    // Nothing is held back.
    let replace = disk().launched().lifecycle("replace", json!("DeleteFirst"));
    assert!(warnings(Operation::Update, replace, Some(disk().launched())).await.is_empty());
}

#[tokio::test]
async fn nothing_is_said_where_nothing_happens() {
    let launched = || disk().launched();
    assert!(warnings(Operation::Update, launched(), Some(launched())).await.is_empty());
    let labelled = launched().annotated("a", "b");
    assert!(warnings(Operation::Update, labelled, Some(launched())).await.is_empty());
    let removed =
        warnings(Operation::Update, launched(), Some(launched().spec("image", json!({"value": "a"})))).await;
    assert!(removed.is_empty(), "{removed:?}");
    // Nothing exists yet.
    let edited = disk().spec("size", json!({"value": 5}));
    assert!(warnings(Operation::Update, edited, Some(disk())).await.is_empty());
    assert!(warnings(Operation::Create, disk(), None).await.is_empty());
    assert!(warnings(Operation::Delete, disk(), None).await.is_empty());
}

#[tokio::test]
async fn a_deletion_says_what_is_deleted_after_whom_and_what_is_kept() {
    let deleted = warnings(Operation::Delete, disk().launched(), None).await;
    assert_eq!(deleted, ["deletes disk-1 with all data in the cloud, after 2 dependents: mount b, mount c"]);
    let kept = warnings(Operation::Delete, disk().launched().spec("keptDays", json!(7)), None).await;
    let with = "deletes disk-1 with all data, which can be restored for 7 days, in the cloud";
    assert!(kept[0].starts_with(with), "{kept:?}");
    let retained = disk().launched().lifecycle("deletion", json!("Retain"));
    assert_eq!(
        warnings(Operation::Delete, retained, None).await,
        ["keeps disk-1 in the cloud: lifecycle.deletion is Retain"]
    );
    let adopted =
        warnings(Operation::Delete, disk().launched().status("adopted", json!(["disk-1"])), None).await;
    assert!(adopted[0].starts_with("keeps disk-1 in the cloud, because it was adopted"), "{adopted:?}");
}
