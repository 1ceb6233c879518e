//! The steps, in their order: which calls each of them makes, and which it does not make.

use std::time::Duration;

use kraken_api::FINALIZER;
use kraken_runtime::queue::{Lane, Requeue};
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    disk::Account,
    scene::{Scene, Setup, disk, from_config_map, remote, request, with},
    script::{Call, call},
};
use crate::FailureClass;

const STATUS: &str = "PATCH disks/a/status";
const STATE: &str = "PATCH statedeclarations/disk.testing.a";
const REQUEST: &str = "PATCH dependencyrequests/disk.testing.a";
const EVENT: &str = "POST events";
const INTENT: &str = "PATCH disks/a";

fn observe(objects: &[Value]) -> Call {
    call("observe disk-1").returns(json!(objects))
}

fn observe_by_tag(objects: &[Value]) -> Call {
    call("observe disk-1,by tag").returns(json!(objects))
}

// 1. restore

#[tokio::test(start_paused = true)]
async fn restore_writes_a_removed_finalizer_before_anything_else() {
    let scene = Scene::of(disk().launched().without_finalizer()).await;
    let object = observe(&[remote("disk-1")]);
    let report = scene.reconcile([call(INTENT), call(EVENT), object, call(STATE), call(STATUS)]).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(report.events(), [("Warning", "RecordRestored")]);
}

#[tokio::test(start_paused = true)]
async fn restore_includes_a_paused_resource() {
    let disk = disk().launched().without_finalizer().lifecycle("paused", json!(true));
    let object = observe(&[remote("disk-1")]);
    let calls = [call(INTENT), call(EVENT), object, call(STATUS), call(EVENT)];
    let report = Scene::of(disk).await.reconcile(calls).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(report.condition("Ready"), ("False", "Paused"));
}

#[tokio::test(start_paused = true)]
async fn restore_that_is_rejected_ends_the_reconcile() {
    let scene = Scene::of(disk().launched().without_finalizer()).await;
    let report = scene.reconcile([call(INTENT).rejected(500), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "KubernetesError"));
}

// 2. connect

#[tokio::test(start_paused = true)]
async fn connect_leaves_a_paused_resource_paused() {
    let disk = disk().lifecycle("paused", json!(true));
    let scene =
        Setup { account: Some(Account::NotReady("no Secret".to_owned())), ..Setup::of(disk) }.start().await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Paused"));
}

#[tokio::test(start_paused = true)]
async fn connect_is_not_needed_to_delete_a_resource_without_remote_objects() {
    let disk = disk().deleted();
    let scene =
        Setup { account: Some(Account::NotReady("no Secret".to_owned())), ..Setup::of(disk) }.start().await;
    let report = scene.reconcile([call("GET dependencyrequests/disk.testing.a")]).await;
    assert_eq!(report.metric, "Removed");
}

// 3. remove: see `deletion`.

// 4. skip

#[tokio::test(start_paused = true)]
async fn skip_makes_no_call_for_a_paused_resource_at_rest() {
    let scene = Scene::of(disk().lifecycle("paused", json!(true))).await;
    scene.reconcile([call(STATUS), call(EVENT)]).await;
    let report = scene.reconcile([]).await;
    assert_eq!(report.requeue, Requeue::Never);
}

/// A Disk with a password from a Secret, and the hub's response.
fn with_password() -> Setup {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "password"}}});
    let versions = json!({"fromSecrets": {"s": {"password": {"uid": "s-1", "resourceVersion": "3"}}}});
    let mut request = request(&json!({"observedGeneration": 1, "dependentValues": versions}));
    request["spec"] = json!({"secretDependencies": [{"name": "s", "key": "password"}]});
    let disk = disk().launched().spec("password", secret);
    Setup { requests: vec![request], ..Setup::of(disk) }
}

fn read_secret() -> Call {
    call("GET secrets/s").returns(json!({
        "metadata": {"name": "s", "namespace": "ns", "uid": "s-1", "resourceVersion": "3"},
        "data": {"password": "aHVudGVyMg=="},
    }))
}

#[tokio::test(start_paused = true)]
async fn skip_reads_no_secret_in_a_resync_that_finds_nothing_changed() {
    let scene = with_password().start().await;
    let object = || observe(&[remote("disk-1")]);
    scene.reconcile([read_secret(), object(), call(STATE), call(STATUS)]).await;
    advance(Duration::from_mins(5)).await;
    let report = scene.reconcile_in(Lane::Resync, [object()]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    // An edit, or a requested reconcile, is reconciled in full.
    scene.reconcile_in(Lane::Edit, [read_secret(), object()]).await;
}

#[tokio::test(start_paused = true)]
async fn skip_ends_when_the_remote_object_has_changed() {
    let scene = with_password().start().await;
    scene.reconcile([read_secret(), observe(&[remote("disk-1")]), call(STATE), call(STATUS)]).await;
    advance(Duration::from_mins(5)).await;
    let drifted = || observe(&[with(remote("disk-1"), "size", json!(5))]);
    let calls = [drifted(), read_secret(), drifted(), call(STATE), call("update size 1"), call(EVENT)];
    let report = scene.reconcile_in(Lane::Resync, calls.into_iter().chain([call(STATUS)])).await;
    assert_eq!(report.condition("Ready"), ("False", "Updating"));
}

// 5. gather

#[tokio::test(start_paused = true)]
async fn gather_requests_the_references_and_reports_nothing_within_the_grace_period() {
    let scene = Scene::of(disk().spec("size", from_config_map())).await;
    let report = scene.reconcile([call(REQUEST)]).await;
    let spec = &report.body(REQUEST)["spec"];
    assert_eq!(spec["configMapDependencies"], json!([{"name": "sizes", "key": "small"}]));
    assert_eq!(report.condition("Ready"), ("", ""));
}

#[tokio::test(start_paused = true)]
async fn gather_creates_the_own_secret_of_a_resource_before_it_requests_it() {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "password"}}});
    let disk = disk().spec("generate", json!(true)).spec("password", secret);
    let report = Scene::of(disk.clone()).await.reconcile([call("POST secrets"), call(REQUEST)]).await;
    assert_eq!(report.body("POST secrets")["metadata"]["ownerReferences"][0]["uid"], "u-1");
    let exists = call("POST secrets").rejected(409);
    let read = call("GET secrets/s").returns(json!({"metadata": {"name": "s"}}));
    Scene::of(disk).await.reconcile([exists, read, call(REQUEST)]).await;
}

#[tokio::test(start_paused = true)]
async fn gather_waits_for_a_response_to_the_current_generation() {
    let requests = vec![request(&json!({"observedGeneration": 0}))];
    let disk = disk().ready().spec("size", from_config_map());
    let scene = Setup { requests, ..Setup::of(disk) }.start().await;
    let report = scene.reconcile([call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "WaitingForHub"));
}

#[tokio::test(start_paused = true)]
async fn gather_passes_the_values_of_the_response_on() {
    let values = json!({"fromConfigMaps": {"sizes": {"small": "7"}}});
    let requests = vec![request(&json!({"observedGeneration": 1, "dependentValues": values}))];
    let scene = Setup { requests, ..Setup::of(disk().spec("size", from_config_map())) }.start().await;
    let created = call("create epoch 1").returns(json!([with(remote("disk-1"), "size", json!(7))]));
    scene.reconcile([call(INTENT), created, call(EVENT)]).await;
    let object = observe(&[with(remote("disk-1"), "size", json!(7))]);
    let report = scene.reconcile([object, call(STATE), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.condition("DependenciesResolved"), ("True", "Resolved"));
}

#[tokio::test(start_paused = true)]
async fn gather_deletes_the_request_of_a_resource_without_references() {
    let scene = Setup { requests: vec![request(&Value::Null)], ..Setup::of(disk().launched()) }.start().await;
    let report = scene
        .reconcile([
            call("PATCH dependencyrequests/disk.testing.a"),
            call("DELETE dependencyrequests/disk.testing.a"),
            observe(&[remote("disk-1")]),
            call(STATE),
            call(STATUS),
        ])
        .await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn gather_drops_the_request_of_an_earlier_resource_of_the_name() {
    let mut stale = request(&Value::Null);
    stale["metadata"]["ownerReferences"][0]["uid"] = json!("u-0");
    let disk = disk().spec("size", from_config_map());
    let scene = Setup { requests: vec![stale], ..Setup::of(disk) }.start().await;
    let drop = call("DELETE dependencyrequests/disk.testing.a");
    scene.reconcile([call("PATCH dependencyrequests/disk.testing.a"), drop]).await;
}

#[tokio::test(start_paused = true)]
async fn gather_reports_an_invalid_field_without_waiting_for_the_hub() {
    let disk = disk().spec("size", from_config_map()).lifecycle("ignoreChanges", json!(["nothing"]));
    let report = Scene::of(disk).await.reconcile([call(REQUEST), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "InvalidSpec"));
    assert!(report.message().contains("ignoreChanges"), "{}", report.message());
}

#[tokio::test(start_paused = true)]
async fn gather_waits_for_the_deletion_in_a_terminating_namespace() {
    let scene = Scene::of(disk().ready().spec("size", from_config_map())).await;
    let rejected = call(REQUEST).rejected_in_terminating_namespace();
    let report = scene.reconcile([rejected, call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("False", "Deleting"));
    assert!(report.message().contains("the namespace is being deleted"), "{}", report.message());
}

// 6. resolve

#[tokio::test(start_paused = true)]
async fn resolve_reports_all_problems_together_and_makes_no_cloud_call() {
    let disk = disk().spec("size", json!({"value": 0})).lifecycle("ignoreChanges", json!(["x"]));
    let report = Scene::of(disk).await.reconcile([call(STATUS), call(EVENT)]).await;
    let message = report.message();
    assert!(message.contains("must be at least 1") && message.contains("ignoreChanges[0]"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn secret_value_is_absent_from_status_and_events() {
    let scene = with_password().start().await;
    let quoting = call("observe disk-1").fails_with(FailureClass::Terminal, "hunter2 is invalid");
    let report = scene.reconcile([read_secret(), quoting, call(STATUS), call(EVENT)]).await;
    assert!(report.message().contains("*** is invalid"), "{}", report.message());
    for name in [EVENT, STATUS] {
        assert!(!report.body(name).to_string().contains("hunter2"), "{}", report.body(name));
    }
}

// 7. observe

#[tokio::test(start_paused = true)]
async fn observe_makes_no_call_for_a_new_resource() {
    let scene = Scene::of(disk()).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(INTENT), created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn observe_searches_by_tag_before_a_recorded_object_counts_as_missing() {
    let scene = Scene::of(disk().launched()).await;
    let found = observe_by_tag(&[remote("disk-1")]);
    let report = scene.reconcile([observe(&[]), found, call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn observe_restores_the_record_of_an_object_that_is_known_only_by_its_tags() {
    let restored = disk().without_finalizer().creation("2020-01-01T00:00:00Z");
    let scene = Scene::of(restored).await;
    let found = call("observe by tag").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([found, call(INTENT), call(EVENT)]).await;
    assert_eq!((report.intent()["epoch"].clone(), report.requeue), (json!(2), at_once()));
    assert_eq!(report.events(), [("Warning", "RecordRestored")]);
}

fn at_once() -> Requeue {
    Requeue::Soon(Duration::from_millis(100))
}

#[tokio::test(start_paused = true)]
async fn observe_restores_removed_owner_tags() {
    let scene = Scene::of(disk().launched()).await;
    let bare = with(remote("disk-1"), "tagged", json!(false));
    let report = scene
        .reconcile([observe(std::slice::from_ref(&bare)), call("reclaim disk-1"), call(EVENT), call(STATUS)])
        .await;
    assert_eq!(report.events(), [("Normal", "DriftReverted")]);
    // Tags may become visible with a delay.
    let report = scene.reconcile([observe(&[bare])]).await;
    assert_eq!(report.requeue, Requeue::Soon(Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn observe_only_reports_removed_owner_tags_if_the_lifecycle_says_so() {
    let scene = Scene::of(disk().launched().lifecycle("drift", json!("Report"))).await;
    let bare = with(remote("disk-1"), "tagged", json!(false));
    let report = scene.reconcile([observe(&[bare]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Drifted"), ("True", "Drifted"));
}

#[tokio::test(start_paused = true)]
async fn observe_waits_for_a_created_object_to_become_visible() {
    let window = Duration::from_secs(90);
    let scene = Setup { visibility_window: window, ..Setup::of(disk()) }.start().await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([call(INTENT), created, call(EVENT)]).await;
    let report = scene.reconcile([observe(&[]), observe_by_tag(&[])]).await;
    assert_eq!((report.metric.as_str(), report.requeue), ("Creating", Requeue::Soon(Duration::from_secs(1))));
}

// 8. decide

#[tokio::test(start_paused = true)]
async fn decide_confirms_a_lost_object_before_it_is_recreated() {
    let scene = Scene::of(disk().launched()).await;
    let lost = || [observe(&[]), observe_by_tag(&[])];
    let report = scene.reconcile(lost().into_iter().chain([call(STATUS)])).await;
    assert_eq!(report.condition("Ready"), ("False", "Updating"));
    assert_eq!(report.disk["status"]["externalIds"], json!(["disk-1"]));
    advance(Duration::from_secs(10)).await;
    // The next observation searches from the start.
    let created = call("create epoch 2").returns(json!([remote("disk-2")]));
    let report =
        scene.reconcile([observe_by_tag(&[]), call(INTENT), created, call(EVENT), call(STATUS)]).await;
    assert_eq!(report.events(), [("Normal", "DriftReverted")]);
    assert_eq!(report.intent()["epoch"], 2);
}

// 9. adopt

fn adopting() -> Setup {
    Setup::of(disk().lifecycle("adopt", json!({"id": "disk-9"})))
}

#[tokio::test(start_paused = true)]
async fn adopt_records_its_intent_before_it_claims_the_object() {
    let scene = adopting().start().await;
    let found = call("find").returns(json!([with(remote("disk-9"), "epoch", json!(null))]));
    let report = scene.reconcile([found, call(INTENT), call("claim disk-9"), call(EVENT)]).await;
    assert_eq!(report.intent()["adopted"], json!(["disk-9"]));
    assert_eq!((report.events(), report.requeue), (vec![("Normal", "Adopted")], at_once()));
}

#[tokio::test(start_paused = true)]
async fn adopt_refuses_an_object_of_another_resource() {
    let scene = adopting().start().await;
    let found = call("find").returns(json!([with(remote("disk-9"), "owner", json!("u-2"))]));
    let report = scene.reconcile([found, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AdoptionRefused"));
    assert!(report.message().contains("is owned by Disk/ns/u-2"), "{}", report.message());
}

#[tokio::test(start_paused = true)]
async fn adopt_awaits_approval_if_the_object_would_have_to_change() {
    let scene = adopting().start().await;
    let found = call("find").returns(json!([with(remote("disk-9"), "size", json!(5))]));
    let report = scene.reconcile([found, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "AwaitingApproval"));
    assert_eq!(report.disk["status"]["plan"]["action"], "Adopt");
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
async fn create_records_its_intent_before_the_call() {
    let scene = Scene::of(disk()).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([call(INTENT), created, call(EVENT)]).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(report.intent()["epoch"], 1);
    assert_eq!(report.body(INTENT)["metadata"]["resourceVersion"], "10");
    assert_eq!(report.events(), [("Normal", "Created")]);
}

#[tokio::test(start_paused = true)]
async fn create_is_not_called_if_the_intent_is_not_stored() {
    let scene = Scene::of(disk()).await;
    let report = scene.reconcile([call(INTENT).rejected(409)]).await;
    assert_eq!(report.requeue, at_once());
}

#[tokio::test(start_paused = true)]
async fn create_without_a_response_is_repeated_with_the_same_epoch() {
    let scene = Scene::of(disk()).await;
    scene.reconcile([call(INTENT), call("create epoch 1").fails(FailureClass::Transient)]).await;
    let none = call("observe by tag").returns(json!([]));
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([none, created, call(EVENT)]).await;
}

#[tokio::test(start_paused = true)]
async fn create_retries_after_throttling() {
    let scene = Scene::of(disk()).await;
    let report = scene.reconcile([call(INTENT), call("create epoch 1").fails(FailureClass::Throttled)]).await;
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
        scene.reconcile([observe(&one), observe_by_tag(&one), call(INTENT), created, call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "Scaled")]);
    assert_eq!(report.intent()["asks"], 1);
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

/// A Disk whose image was edited, and which is replaced in this way.
fn replacing(how: &str) -> Setup {
    let disk = disk().launched().edited().spec("image", json!({"value": "b"}));
    Setup::of(disk.lifecycle("replace", json!(how)))
}

fn old() -> Value {
    with(remote("disk-1"), "image", json!("a"))
}

fn new() -> Value {
    with(with(remote("disk-2"), "image", json!("b")), "epoch", json!(2))
}

#[tokio::test(start_paused = true)]
async fn replacement_deletes_first_if_the_lifecycle_says_so() {
    let scene = replacing("DeleteFirst").start().await;
    let report = scene.reconcile([observe(&[old()]), call(STATE), call(INTENT)]).await;
    assert_eq!((report.intent()["replacedBefore"].clone(), report.metric.as_str()), (json!(2), "Replacing"));
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
    scene.reconcile([observe(&[old()]), call(STATE), call(INTENT)]).await;
    let created = call("create epoch 2").returns(json!([new()]));
    scene.reconcile([observe(&[old()]), observe_by_tag(&[old()]), created, call(EVENT)]).await;
    let both = call("observe disk-1,disk-2,by tag").returns(json!([old(), new()]));
    let report = scene.reconcile([both, call(STATE), call("delete disk-1"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "Replaced")]);
}

#[tokio::test(start_paused = true)]
async fn replacement_keeps_a_protected_object() {
    let disk =
        disk().launched().edited().intent(&json!({"epoch": 2, "replacedBefore": 2, "outgoing": ["disk-1"]}));
    let disk = disk.lifecycle("replace", json!("DeleteFirst")).lifecycle("protect", json!(true));
    let scene = Scene::of(disk).await;
    let report =
        scene.reconcile([observe(&[old()]), observe_by_tag(&[old()]), call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "DeletionProtected"));
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

// report

#[tokio::test(start_paused = true)]
async fn report_that_meets_a_conflict_is_repeated_at_once() {
    let scene = Scene::of(disk().launched()).await;
    let conflict = call(STATUS).rejected(409);
    let report = scene.reconcile([observe(&[remote("disk-1")]), call(STATE), conflict]).await;
    assert_eq!(report.requeue, at_once());
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
