//! A dry run that asks what exists in the cloud: what is said, and that nothing but reads is called.

use std::sync::Arc;

use kraken_api::{Location, PREVIEW_ANNOTATION};
use kraken_kind::FailureClass;
use kraken_runtime::webhook::{Operation, Subject, Validator as _};
use serde_json::{Value, json};

use super::{
    disk::GROUP,
    fixtures::{Disk, disk, from_config_map, remote, request, with},
    scene::{Scene, Setup},
    script::{Call, call, observe, observe_by_tag},
    secrecy::{read_secret, with_secret},
};
use crate::{admission::Admission, preview::Previews};

/// What a dry run says that applies `after` to the Disk of the scene, if exactly these calls are made.
async fn said(setup: Setup, after: Disk, calls: impl IntoIterator<Item = Call>) -> String {
    asked(setup, after.annotated(PREVIEW_ANNOTATION, "cloud"), true, calls).await
}

async fn asked(setup: Setup, after: Disk, dry_run: bool, calls: impl IntoIterator<Item = Call>) -> String {
    let before = setup.disk.clone();
    let scene: Scene = setup.start().await;
    let previews = Previews::default();
    let _added = previews.add(scene.context.clone());
    let admission = Admission::new(scene.context.kind.clone()).with_previews(previews);
    let subject = Subject {
        operation: Operation::Update,
        group: GROUP.to_owned(),
        kind: "Disk".to_owned(),
        plural: "disks".to_owned(),
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
        object: Arc::new(after.json()),
        before: Some(Arc::new(before.json())),
        dry_run,
    };
    let (result, _) = scene.during(calls, admission.review(subject)).await;
    assert!(result.problems.is_empty(), "{:?}", result.problems);
    result.warnings.join("\n")
}

/// What is said of an unedited Disk, of which these objects exist.
async fn of(disk: Disk, objects: &[Value]) -> String {
    said(Setup::of(disk.clone()), disk, [observe(objects)]).await
}

#[tokio::test(start_paused = true)]
async fn what_differs_in_the_cloud_is_said() {
    let launched = || disk().launched();
    assert_eq!(of(launched(), &[remote("disk-1")]).await, "");
    let drifted = [with(remote("disk-1"), "size", json!(7))];
    assert_eq!(of(launched(), &drifted).await, "corrects disk-1 in the cloud: size 7 -> 1");
    let manual = launched().lifecycle("approval", json!("Manual"));
    assert_eq!(
        of(manual, &drifted).await,
        "corrects disk-1 in the cloud after its plan is approved: size 7 -> 1"
    );
    let reported = launched().lifecycle("drift", json!("Report"));
    assert_eq!(
        of(reported, &drifted).await,
        "keeps what differs in disk-1, because lifecycle.drift is Report: size 7 -> 1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_object_is_said_to_be_created_again() {
    let launched = || disk().launched();
    let calls = [observe(&[]), observe_by_tag(&[])];
    let said = said(Setup::of(launched()), launched(), calls).await;
    assert!(
        said.starts_with("recreates ") && said.ends_with("because it is missing in the cloud: disk-1"),
        "{said}"
    );
}

/// One read by id may lack an object that exists.
#[tokio::test(start_paused = true)]
async fn an_object_that_a_search_finds_is_not_missing() {
    let calls = [observe(&[]), observe_by_tag(&[remote("disk-1")])];
    assert_eq!(said(Setup::of(disk().launched()), disk().launched(), calls).await, "");
}

#[tokio::test(start_paused = true)]
async fn an_edited_field_is_said_once() {
    let before = disk().launched();
    let after = before.clone().spec("size", json!({"value": 3})).edited();
    let objects = [with(remote("disk-1"), "size", json!(7))];
    let said = said(Setup::of(before), after, [observe(&objects)]).await;
    assert_eq!(said, "changes disk-1 in place: size 1 -> 3");
}

#[tokio::test(start_paused = true)]
async fn an_edit_also_corrects_reported_drift_of_other_fields() {
    let before = disk().launched().lifecycle("drift", json!("Report"));
    let after = before.clone().spec("note", json!({"value": "b"})).edited();
    let objects = [with(remote("disk-1"), "size", json!(7))];
    let said = said(Setup::of(before), after, [observe(&objects)]).await;
    assert!(said.contains("corrects disk-1 in the cloud: size 7 -> 1"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_called_unless_a_dry_run_asks() {
    let marked = disk().launched().annotated(PREVIEW_ANNOTATION, "cloud");
    for (after, dry_run) in [(marked, false), (disk().launched(), true)] {
        assert_eq!(asked(Setup::of(disk().launched()), after, dry_run, []).await, "");
    }
    // Nor if there is nothing to compare, or nothing would be done.
    let paused = disk().launched().lifecycle("paused", json!(true));
    for disk in [disk(), disk().launched().deleted(), paused] {
        assert_eq!(said(Setup::of(disk.clone()), disk, []).await, "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_said_and_does_not_reject() {
    let disk = disk().launched();
    let failed = call("observe disk-1").fails_with(FailureClass::Transient, "no route");
    let said = said(Setup::of(disk.clone()), disk, [failed]).await;
    assert!(said.starts_with("is not compared with the cloud: ") && said.contains("no route"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn an_adoption_says_what_it_changes() {
    let adopting = disk().lifecycle("adopt", json!({"id": "disk-9"}));
    let of = async |found: Value, others: Vec<Call>| {
        let calls = std::iter::once(call("find").returns(json!([found]))).chain(others);
        said(Setup::of(adopting.clone()), adopting.clone(), calls).await
    };
    assert_eq!(of(remote("disk-9"), vec![]).await, "adopts disk-9 without changes");
    let other = with(remote("disk-9"), "size", json!(5));
    assert_eq!(of(other, vec![]).await, "adopts disk-9: size 5 -> 1");
    let owner = call("GET disks/u-2").returns(json!({"metadata": {"name": "u-2", "uid": "u-2"}}));
    let refused = of(with(remote("disk-9"), "owner", json!("u-2")), vec![owner]).await;
    assert!(refused.starts_with("cannot adopt ") && refused.contains("is owned by Disk/ns/u-2"), "{refused}");
}

/// The values of references that are known are used, without a write; one that is not known yet leaves nothing to compare.
#[tokio::test(start_paused = true)]
async fn values_of_references_are_those_that_the_hub_answered() {
    let disk = || disk().launched().spec("size", from_config_map());
    let answered =
        json!({"observedGeneration": 1, "dependentValues": {"fromConfigMaps": {"sizes": {"small": "1"}}}});
    let known = Setup { requests: vec![request(&answered)], ..Setup::of(disk()) };
    let objects = [with(remote("disk-1"), "size", json!(7))];
    assert_eq!(said(known, disk(), [observe(&objects)]).await, "corrects disk-1 in the cloud: size 7 -> 1");
    assert_eq!(said(Setup::of(disk()), disk(), []).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_value_of_a_secret_is_not_said() {
    let setup = with_secret(disk().launched(), "peer");
    let after = setup.disk.clone();
    let objects = [with(remote("disk-1"), "peer", json!("other-secret"))];
    let said = said(setup, after, [read_secret(), observe(&objects)]).await;
    assert!(said.contains("peer *** -> ***"), "{said}");
    assert!(!said.contains("hunter2") && !said.contains("other-secret"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_read_in_another_account() {
    let there = json!({"account": "1", "region": "r"});
    let disk = || disk().launched().status("location", there.clone());
    let here = Some(Location { account: "2".into(), region: "r".into() });
    assert_eq!(said(Setup { location: here, ..Setup::of(disk()) }, disk(), []).await, "");
}
