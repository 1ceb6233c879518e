//! Steps 7 and 8, and the report of the outcome.

use std::time::Duration;

use kraken_api::FINALIZER;
use kraken_kind::FailureClass;
use kraken_runtime::queue::Requeue;
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    fixtures::{disk, remote, stored, with},
    scene::{Scene, Setup},
    script::{AT_ONCE, Call, EVENT, HOLD, LEDGER, STATE, STATUS, call, observe, observe_by_tag},
};

// 9. adopt

fn adopting() -> Setup {
    Setup::of(disk().lifecycle("adopt", json!({"id": "disk-9"})))
}

#[tokio::test(start_paused = true)]
async fn adopt_records_its_ledger_before_it_claims_the_object() {
    let scene = adopting().start().await;
    let found = call("find").returns(json!([with(remote("disk-9"), "epoch", json!(null))]));
    let report = scene.reconcile([found, call(HOLD), call(LEDGER), call("claim disk-9"), call(EVENT)]).await;
    assert_eq!(report.ledger()["adopted"], json!(["disk-9"]));
    assert_eq!((report.events(), report.requeue), (vec![("Normal", "Adopted")], AT_ONCE));
}

#[tokio::test(start_paused = true)]
async fn adopt_refuses_an_object_of_another_resource() {
    let scene = adopting().start().await;
    let found = || call("find").returns(json!([with(remote("disk-9"), "owner", json!("u-2"))]));
    let owner = call("GET disks/u-2").returns(json!({"metadata": {"name": "u-2", "uid": "u-2"}}));
    let report = scene.reconcile([found(), owner, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AdoptionRefused"));
    assert!(report.message().contains("is owned by Disk/ns/u-2"), "{}", report.message());
    // Its owner does not exist any more.
    let scene = adopting().start().await;
    let calls = [found(), call("GET disks/u-2"), call(HOLD), call(LEDGER), call("claim disk-9"), call(EVENT)];
    assert_eq!(scene.reconcile(calls).await.events(), [("Normal", "Adopted")]);
}

#[tokio::test(start_paused = true)]
async fn adopt_takes_back_what_a_resource_of_this_cluster_created() {
    for (cluster, adopted, taken_back) in
        [("cluster", json!(null), json!(["disk-9"])), ("another", json!(["disk-9"]), json!(null))]
    {
        let scene = adopting().start().await;
        let found = call("find").returns(json!([with(remote("disk-9"), "createdBy", json!(cluster))]));
        let report =
            scene.reconcile([found, call(HOLD), call(LEDGER), call("claim disk-9"), call(EVENT)]).await;
        assert_eq!((&report.ledger()["adopted"], &report.ledger()["takenBack"]), (&adopted, &taken_back));
    }
}

#[tokio::test(start_paused = true)]
async fn adopt_awaits_approval_if_the_object_would_have_to_change() {
    let scene = adopting().start().await;
    let found = call("find").returns(json!([with(remote("disk-9"), "size", json!(5))]));
    let report = scene.reconcile([found, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AwaitingApproval"));
    assert_eq!(report.disk["status"]["plan"]["action"], "Adopt");
}

#[tokio::test(start_paused = true)]
async fn adopt_does_not_show_what_is_observed_where_it_may_be_secret() {
    let disk = disk().lifecycle("adopt", json!({"id": "disk-9"})).spec("peer", json!({"value": "mine"}));
    let found = call("find").returns(json!([with(remote("disk-9"), "peer", json!("of another resource"))]));
    let report = Scene::of(disk).await.reconcile([found, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AwaitingApproval"));
    let status = report.disk["status"].to_string();
    assert!(
        report.message().contains("spec.peer from *** to mine") && !status.contains("another"),
        "{status}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_edited_id_of_an_adoption_is_reported_with_what_to_do() {
    let adopted = || {
        let disk = disk().launched().status("adopted", json!(["disk-1"]));
        disk.lifecycle("adopt", json!({"id": "disk-2"}))
    };
    let report =
        Scene::of(adopted()).await.reconcile([observe(&[remote("disk-1")]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AdoptionRefused"));
    assert_eq!(report.condition("Stalled"), ("True", "AdoptionRefused"));
    assert!(report.message().contains("restore disk-1"), "{}", report.message());
    let same = adopted().lifecycle("adopt", json!({"id": "disk-1"}));
    Scene::of(same).await.reconcile([observe(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
}

// 10. declare

#[tokio::test(start_paused = true)]
async fn declare_publishes_the_state_once() {
    let scene = Scene::of(disk().launched()).await;
    let report = scene.reconcile([observe(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
    assert_eq!(report.body(STATE)["spec"]["data"], json!({"disk": {"size": 1}}));
    assert_eq!(report.disk["status"]["summary"]["size"], "1");
    let report = scene.reconcile([observe(&[remote("disk-1")])]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn declare_waits_until_the_object_is_ready() {
    let scene = Scene::of(disk().launched()).await;
    let pending = with(remote("disk-1"), "state", json!("pending"));
    scene.reconcile([observe(&[pending]), call(STATUS)]).await;
}

#[tokio::test(start_paused = true)]
async fn declare_publishes_without_an_id_what_is_needed_before_the_object_is_ready() {
    let scene = Scene::of(disk().launched()).await;
    let pending = || with(with(remote("disk-1"), "state", json!("pending")), "proof", json!("record"));
    let report = scene.reconcile([observe(&[pending()]), call(STATE), call(STATUS)]).await;
    let published = &report.body(STATE)["spec"];
    assert_eq!(published["data"], json!({"disk": {"proof": "record"}}));
    assert_eq!(published["id"], Value::Null);
    assert_eq!(report.condition("Ready"), ("False", "Creating"));
    assert_eq!(report.message(), "disk-1 is pending");
    assert_eq!(report.requeue, Requeue::After(Duration::from_secs(1)));
    let report = scene.reconcile([observe(&[pending()])]).await;
    assert_eq!(report.condition("Ready"), ("False", "Creating"));
    let calls = [observe(&[remote("disk-1")]), call(STATE), call(STATUS), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!(report.body(STATE)["spec"]["id"], "disk-1");
}

#[tokio::test(start_paused = true)]
async fn declare_keeps_the_id_of_a_replaced_object_while_the_new_one_is_pending() {
    let disk = disk().launched().ledger(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}));
    let scene = Scene::of(disk.lifecycle("replace", json!("CreateFirst"))).await;
    let new = with(with(remote("disk-2"), "state", json!("pending")), "proof", json!("record"));
    let new = with(new, "epoch", json!(2));
    let calls = [observe_by_tag(&[remote("disk-1"), new]), call(STATE), call(STATUS)];
    let report = scene.reconcile(calls).await;
    let published = &report.body(STATE)["spec"];
    assert_eq!(published["data"], json!({"disk": {"proof": "record", "size": 1}}));
    assert_eq!(published["id"], "disk-1");
}

#[tokio::test(start_paused = true)]
async fn declare_that_is_rejected_is_reported() {
    let scene = Scene::of(disk().launched()).await;
    let rejected = call(STATE).rejected(500);
    let report = scene.reconcile([observe(&[remote("disk-1")]), rejected, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "KubernetesError"));
}

#[tokio::test(start_paused = true)]
async fn declare_waits_for_the_deletion_in_a_terminating_namespace() {
    let scene = Scene::of(disk().launched()).await;
    let rejected = call(STATE).rejected_in_terminating_namespace();
    let report = scene.reconcile([observe(&[remote("disk-1")]), rejected, call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
}

// 11. act

#[tokio::test(start_paused = true)]
async fn create_records_its_ledger_before_the_call() {
    let scene = Scene::of(disk()).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([call(HOLD), call(LEDGER), created, call(EVENT)]).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(report.ledger()["epoch"], 1);
    let version = |name| report.body(name)[1].clone();
    let expected = |version| json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
    assert_eq!([version(HOLD), version(LEDGER)], [expected("10"), expected("11")]);
    assert_eq!(report.events(), [("Normal", "Created")]);
}

#[tokio::test(start_paused = true)]
async fn create_is_recorded_by_the_status_that_reports_it() {
    let waiting = json!({"type": "Ready", "status": "False", "reason": "DependenciesNotReady", "message": "before",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let disk = disk().status("conditions", json!([waiting])).status("observedGeneration", json!(1));
    let scene = Scene::of(disk).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([call(HOLD), call(LEDGER), created, call(EVENT), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Creating"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
}

#[tokio::test(start_paused = true)]
async fn create_is_not_called_if_the_ledger_is_not_stored() {
    let scene = Scene::of(disk()).await;
    let report = scene.reconcile([call(HOLD), call(LEDGER).rejected(409)]).await;
    assert_eq!(report.requeue, AT_ONCE);
}

#[tokio::test(start_paused = true)]
async fn create_is_not_called_if_the_crd_has_no_ledger() {
    let scene = Scene::of(disk()).await;
    let mut held = disk().finalizer_only().json();
    held["metadata"]["resourceVersion"] = json!("11");
    let calls = [call(HOLD), call(LEDGER).returns(held), call(STATUS), call(EVENT)];
    let report = scene.reconcile(calls).await;
    assert_eq!(report.condition("Ready"), ("False", "KubernetesError"));
    assert!(report.message().contains("apply the CRDs of this version"), "{}", report.message());
}

#[tokio::test(start_paused = true)]
async fn create_without_a_response_is_repeated_with_the_same_epoch() {
    let scene = Scene::of(disk()).await;
    scene.reconcile([call(HOLD), call(LEDGER), call("create epoch 1").fails(FailureClass::Transient)]).await;
    let none = call("observe by tag").returns(json!([]));
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([none, created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn create_retries_after_throttling() {
    let scene = Scene::of(disk()).await;
    let report = scene
        .reconcile([call(HOLD), call(LEDGER), call("create epoch 1").fails(FailureClass::Throttled)])
        .await;
    assert_eq!(report.requeue, Requeue::Backoff);
    let none = call("observe by tag").returns(json!([]));
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([none, created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn create_adds_only_the_missing_objects() {
    let scene = Scene::of(disk().launched().edited().spec("count", json!(2))).await;
    let one = [remote("disk-1")];
    let created = call("create epoch 2").returns(json!([remote("disk-2")]));
    let report =
        scene.reconcile([observe(&one), observe_by_tag(&one), call(LEDGER), created, call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "Scaled")]);
    assert_eq!(report.events[0].2, "created disk-2; missing before: 1 disk of 2");
    assert_eq!(report.ledger()["requested"], 1);
}

#[tokio::test(start_paused = true)]
async fn field_that_another_client_reverts_does_not_hold_up_the_others() {
    let edited = disk().launched().edited().spec("size", json!({"value": 2}));
    let scene = Scene::of(edited.spec("peer", json!({"value": "i-1"}))).await;
    let seen = || observe(&[remote("disk-1")]);
    // The provider accepts each change of the size, and no observation shows it.
    scene.reconcile([seen(), call("update size 2"), call(EVENT)]).await;
    for (seconds, reported) in [(1, None), (2, None), (4, None), (8, Some(call(STATUS)))] {
        advance(Duration::from_secs(seconds)).await;
        scene.reconcile([seen(), call("update size 2")].into_iter().chain(reported)).await;
    }
    let report = scene.reconcile([seen(), call("update peer i-1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "Updated")]);
    // What is left is reported, with what to do.
    let moved = || observe(&[with(remote("disk-1"), "peer", json!("i-1"))]);
    let report = scene.reconcile([moved(), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Updating"));
    let words = "changed spec.size from 1 to 2: the provider accepted the change 5 times or more";
    assert!(report.message().contains(words), "{}", report.message());
}

#[tokio::test(start_paused = true)]
async fn update_after_an_edit_is_not_reported_as_drift() {
    let scene = Scene::of(disk().launched().edited().spec("size", json!({"value": 2}))).await;
    let report = scene.reconcile([observe(&[remote("disk-1")]), call("update size 2"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "Updated")]);
}

#[tokio::test(start_paused = true)]
async fn rejected_update_is_reported_and_retried() {
    let scene = Scene::of(disk().launched().edited().spec("size", json!({"value": 2}))).await;
    let update = call("update size 2").fails(FailureClass::Terminal);
    let report = scene.reconcile([observe(&[remote("disk-1")]), update, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "CloudRefused"));
}

// 12. resume

fn stopped() -> Value {
    with(remote("disk-1"), "state", json!("stopped"))
}

#[tokio::test(start_paused = true)]
async fn resume_starts_an_object_whose_change_cannot_be_made_any_more() {
    let scene = Scene::of(disk().launched().edited().spec("size", json!({"value": 0}))).await;
    let report = scene
        .reconcile([observe(&[stopped()]), call("resume disk-1"), call(EVENT), call(STATUS), call(EVENT)])
        .await;
    assert_eq!(report.events(), [("Normal", "Updated"), ("Warning", "InvalidSpec")]);
}

#[tokio::test(start_paused = true)]
async fn resume_only_reports_a_stopped_object_of_a_paused_resource() {
    let scene = Scene::of(disk().launched().lifecycle("paused", json!(true))).await;
    let report = scene.reconcile([observe(&[stopped()]), call(STATUS), call(EVENT)]).await;
    assert!(report.message().contains("disk-1 was stopped for a change"), "{}", report.message());
}

#[tokio::test(start_paused = true)]
async fn object_that_was_deleted_while_its_spec_cannot_be_applied_is_named() {
    let scene = Scene::of(disk().launched().edited().spec("size", json!({"value": 0}))).await;
    let report = scene.reconcile([observe(&[]), call(STATUS), call(EVENT)]).await;
    assert!(!report.message().contains("does not exist"), "one response may lag: {}", report.message());
    assert_eq!(report.requeue, Requeue::Soon(Duration::from_secs(5)));
    advance(Duration::from_secs(5)).await;
    scene.reconcile([observe(&[])]).await;
    advance(Duration::from_secs(5)).await;
    let report = scene.reconcile([observe(&[]), call(STATUS), call(EVENT)]).await;
    assert!(report.message().ends_with("; disk-1 does not exist any more"), "{}", report.message());
    assert_eq!(report.condition("Ready"), ("False", "InvalidSpec"));
    assert_eq!(report.requeue, Requeue::Tick(Duration::from_mins(5)), "it is observed again at each resync");
}

// report

#[tokio::test(start_paused = true)]
async fn report_that_meets_a_conflict_is_repeated_at_once() {
    let scene = Scene::of(disk().launched()).await;
    let conflict = call(STATUS).rejected(409);
    let report = scene.reconcile([observe(&[remote("disk-1")]), call(STATE), conflict]).await;
    assert_eq!(report.requeue, AT_ONCE);
}

#[tokio::test(start_paused = true)]
async fn report_that_meets_conflicts_repeatedly_is_retried_with_backoff() {
    let scene = Scene::of(disk().launched()).await;
    let reconcile = async |calls: &[Call]| {
        let observed = observe(&[remote("disk-1")]);
        scene.reconcile([observed].into_iter().chain(calls.iter().cloned())).await.requeue
    };
    let conflict = call(STATUS).rejected(409);
    assert_eq!(reconcile(&[call(STATE), conflict.clone()]).await, AT_ONCE);
    assert_eq!(reconcile(std::slice::from_ref(&conflict)).await, AT_ONCE);
    assert_eq!(reconcile(std::slice::from_ref(&conflict)).await, Requeue::Backoff);
    reconcile(&[call(STATUS)]).await;
}

#[tokio::test(start_paused = true)]
async fn report_that_is_rejected_is_retried_with_backoff() {
    let scene = Scene::of(disk().launched()).await;
    let rejected = call(STATUS).rejected(500);
    let report = scene.reconcile([observe(&[remote("disk-1")]), call(STATE), rejected]).await;
    assert_eq!(report.requeue, Requeue::Backoff);
}

#[tokio::test(start_paused = true)]
async fn report_of_a_deleted_resource_is_not_written() {
    let scene = Scene::of(disk().launched()).await;
    let absent = call(STATUS).rejected(404);
    let report = scene.reconcile([observe(&[remote("disk-1")]), call(STATE), absent]).await;
    assert_eq!(report.events(), []);
}

#[tokio::test(start_paused = true)]
async fn status_is_written_again_after_a_write_without_a_response_that_may_have_taken_effect() {
    let scene = Scene::of(disk().launched()).await;
    let seen = || observe(&[remote("disk-1")]);
    let report = scene.reconcile([seen(), call(STATE), call(STATUS)]).await;
    let written = stored(report.disk);
    // The write of an error takes effect, and its response is lost. The next outcome is equal to the status before it.
    let scene = Scene::of(written).await;
    let lost = call(STATUS).rejected(500);
    scene.reconcile([seen(), call(STATE).rejected(500), lost]).await;
    let report = scene.reconcile([seen(), call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    scene.reconcile([seen()]).await;
}
