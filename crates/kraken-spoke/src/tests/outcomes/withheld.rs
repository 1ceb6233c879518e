//! Outcomes without an action: it is withheld for safety, forbidden, or waits for a person or for dependents.

use std::time::Duration;

use kraken_api::Location;
use kraken_runtime::queue::Requeue;
use serde_json::json;

use super::{RESYNC, assert_row, observe, row};
use crate::tests::{
    cloud::{Account, Forbidden},
    fixtures::{disk, remote},
    scene::{Scene, Setup},
    script::{EVENT, LEDGER, STATUS, call},
};

#[tokio::test(start_paused = true)]
async fn controller_in_another_location_changes_nothing() {
    let place = |account: &str| Location { account: account.to_owned(), region: "r".to_owned() };
    let disk = disk().launched().status("location", json!(place("1")));
    let scene = Setup { location: Some(place("2")), ..Setup::of(disk) }.start().await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("LocationMismatch", RESYNC, &[("Warning", "LocationMismatch")]));
    assert_withheld(&scene, "LocationMismatch");
}

#[track_caller]
fn assert_withheld(scene: &Scene, reason: &str) {
    let counted = format!("kraken_launches_withheld_total{{kind=\"Disk\",reason=\"{reason}\"}} 1");
    assert!(scene.metrics().contains(&counted), "{}", scene.metrics());
}

#[tokio::test(start_paused = true)]
async fn launch_beyond_what_the_spec_accounts_for_is_refused() {
    let disk = disk().launched().edited().spec("count", json!(2)).spec("max", json!(1));
    let scene = Scene::of(disk).await;
    let by_tag = call("observe disk-1,by tag").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([observe(&[remote("disk-1")]), by_tag, call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("LaunchRefused", Requeue::Backoff, &[("Warning", "LaunchRefused")]));
    assert_withheld(&scene, "LaunchRefused");
}

#[tokio::test(start_paused = true)]
async fn launch_limit_is_recorded_and_stops_the_resource() {
    let now = kraken_runtime::clock::now().to_string();
    let launches = json!({"launches": {"generation": 1, "at": [now]}});
    let disk = disk().launched().objects(&[]).ledger(&launches);
    let scene = Setup { launch_limit: 1, ..Setup::of(disk) }.start().await;
    let by_tag = || call("observe by tag").returns(json!([]));
    let report = scene.reconcile([by_tag(), call(LEDGER), call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("LaunchLimitReached", RESYNC, &[("Warning", "LaunchLimitReached")]));
    assert_eq!(report.ledger()["launches"]["stopped"], true);
    assert_withheld(&scene, "LaunchLimitReached");
}

#[tokio::test(start_paused = true)]
async fn recreation_is_held_when_many_objects_vanish_at_once() {
    let scene = Setup { vanished_share: 0, ..Setup::of(disk().launched()) }.start().await;
    let by_tag = call("observe disk-1,by tag").returns(json!([]));
    let report = scene.reconcile([observe(&[]), by_tag, call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("RecreationHeld", RESYNC, &[("Warning", "RecreationHeld")]));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
    assert_withheld(&scene, "RecreationHeld");
}

#[tokio::test(start_paused = true)]
async fn unusable_account_is_checked_again_after_a_while() {
    let scene =
        Setup { account: Some(Account::NotReady("no Secret".to_owned())), ..Setup::of(disk()) }.start().await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    let requeue = Requeue::After(Duration::from_secs(30));
    assert_row(&report, &row("AccountNotReady", requeue, &[("Warning", "AccountNotReady")]));
}

#[tokio::test(start_paused = true)]
async fn spec_that_the_account_forbids_is_stalled_until_an_edit() {
    let account = Some(Account::Forbids(Forbidden::because("at most 0")));
    let scene = Setup { account, ..Setup::of(disk()) }.start().await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    let events = [("Warning", "NotAllowedByAccount")];
    assert_row(&report, &row("NotAllowedByAccount", Requeue::Never, &events));
    assert_eq!(report.condition("Stalled"), ("True", "NotAllowedByAccount"));
}

#[tokio::test(start_paused = true)]
async fn paused_resource_waits_for_an_edit() {
    let scene = Scene::of(disk().lifecycle("paused", json!(true))).await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("Paused", Requeue::Never, &[("Normal", "Paused")]));
}

#[tokio::test(start_paused = true)]
async fn protected_resource_is_not_deleted() {
    let scene = Scene::of(disk().launched().deleted().lifecycle("protect", json!(true))).await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("DeletionProtected", Requeue::Never, &[("Warning", "DeletionProtected")]));
}

#[tokio::test(start_paused = true)]
async fn blocked_deletion_names_its_dependents() {
    let dependent = json!({
        "metadata": {"name": "subnet.testing.b", "ownerReferences": [
            {"apiVersion": "testing/v1", "kind": "Subnet", "name": "b", "uid": "s", "controller": true}]},
        "spec": {"krakenResourceDependencies": [{"kind": "disk", "name": "a", "type": "any"}]},
    });
    let list = json!({"metadata": {}, "items": [dependent]});
    let scene = Scene::of(disk().launched().deleted().status("conditions", json!([]))).await;
    let report =
        scene.reconcile([call("GET dependencyrequests").returns(list), call(STATUS), call(EVENT)]).await;
    assert_row(
        &report,
        &row("DeletionBlocked", Requeue::Soon(Duration::from_secs(2)), &[("Normal", "DeletionBlocked")]),
    );
    assert!(report.message().ends_with("Subnet b") || report.message().ends_with("subnet b"));
}
