//! Steps 1 to 5: everything before the remote objects are observed.

use std::time::Duration;

use kraken_api::{FINALIZER, LEDGER_ANNOTATION, Location};
use kraken_kind::FailureClass;
use kraken_model::{
    in_place,
    ledger::Ledger,
    memory::{LastLaunch, Memory},
};
use kraken_runtime::{
    queue::{Lane, Requeue},
    watch::ObjectKey,
};
use serde_json::{Value, json};
use tokio::time::advance;

use super::{
    cloud::Account,
    fixtures::{Disk, disk, from_config_map, remote, request, stored, with},
    scene::{Scene, Setup},
    script::{Call, EVENT, HOLD, LEDGER, REQUEST, STATE, STATUS, call},
    secrecy::{read_secret, with_secret},
};

fn observe(objects: &[Value]) -> Call {
    call("observe disk-1").returns(json!(objects))
}

// 1. restore

#[tokio::test(start_paused = true)]
async fn restore_writes_a_removed_finalizer_before_anything_else() {
    let scene = Scene::of(disk().launched().without_finalizer()).await;
    let object = observe(&[remote("disk-1")]);
    let report =
        scene.reconcile([call(HOLD), call(LEDGER), call(EVENT), object, call(STATE), call(STATUS)]).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(report.events(), [("Warning", "RecordRestored")]);
}

#[tokio::test(start_paused = true)]
async fn restore_includes_a_paused_resource() {
    let disk = disk().launched().without_finalizer().lifecycle("paused", json!(true));
    let object = observe(&[remote("disk-1")]);
    let calls = [call(HOLD), call(LEDGER), call(EVENT), object, call(STATUS), call(EVENT)];
    let report = Scene::of(disk).await.reconcile(calls).await;
    assert_eq!(report.disk["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(report.condition("Ready"), ("False", "Paused"));
}

#[tokio::test(start_paused = true)]
async fn restore_assumes_no_launch_if_there_is_a_finalizer_and_no_ledger() {
    let unrecorded = disk().finalizer_only().creation("2020-01-01T00:00:00Z");
    let by_tag = || call("observe by tag").returns(json!([]));
    let scene = Scene::of(unrecorded.clone()).await;
    let created = call("create epoch 1").returns(json!([remote("disk-1")]));
    scene.reconcile([by_tag(), call(LEDGER), created, call(EVENT)]).await;
    let scene = Scene::of(unrecorded.lifecycle("adopt", json!({"id": "disk-9"}))).await;
    let found = call("find").returns(json!([with(remote("disk-9"), "epoch", json!(null))]));
    let report = scene.reconcile([by_tag(), found, call(LEDGER), call("claim disk-9"), call(EVENT)]).await;
    assert_eq!(report.events(), [("Normal", "Adopted")]);
}

/// The scene of a Disk whose process wrote the ledger of this launch.
async fn launched_by_this_process(disk: Disk, epoch: i64) -> Scene {
    let scene = Scene::of(disk).await;
    let objects = vec!["disk-1".to_owned()];
    let ledger =
        Some(Ledger { epoch, confirmed: epoch, objects, hash: "digest".to_owned(), ..Ledger::default() });
    let memory = Memory { launch: LastLaunch { ledger, ..LastLaunch::default() }, ..Memory::default() };
    scene.context.memories.put(ObjectKey::new("ns", "a"), "u-1".to_owned(), memory);
    scene
}

#[tokio::test(start_paused = true)]
async fn restore_writes_a_lost_ledger_again() {
    let lost = || disk().launched().status("ledger", Value::Null);
    let scene = launched_by_this_process(lost(), 1).await;
    let observed = observe(&[remote("disk-1")]);
    let report = scene.reconcile([call(LEDGER), call(EVENT), observed, call(STATE), call(STATUS)]).await;
    assert_eq!(report.ledger()["epoch"], 1);
    assert_eq!(report.events(), [("Warning", "RecordRestored")]);
    // A process that does not know the last ledger rebuilds it.
    let searched = call("observe disk-1,by tag").returns(json!([remote("disk-1")]));
    let calls = [call(LEDGER), call(EVENT), searched, call(STATE), call(STATUS)];
    assert_eq!(Scene::of(lost()).await.reconcile(calls).await.ledger()["hash"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn restore_moves_the_ledger_of_an_earlier_version_to_the_status() {
    let members = r#""epoch":1,"at":"2026-01-01T00:00:00Z","hash":"digest","adopted":["disk-1"]}"#;
    let text = format!("{{\"digest\":\"{}\",{members}", in_place::digest("u-1", members, 8));
    let earlier = disk().launched().status("ledger", Value::Null).annotated(LEDGER_ANNOTATION, &text);
    let scene = Scene::of(earlier).await;
    let observed = call("observe disk-1,by tag").returns(json!([remote("disk-1")]));
    let removal = call("PATCH disks/a");
    let report = scene.reconcile([call(LEDGER), removal, observed, call(STATE), call(STATUS)]).await;
    assert_eq!((&report.ledger()["epoch"], &report.ledger()["adopted"]), (&json!(1), &json!(["disk-1"])));
    assert_eq!(report.disk["metadata"]["annotations"], json!({}));
    assert!(report.events().is_empty(), "{:?}", report.events());
}

#[tokio::test(start_paused = true)]
async fn restore_undoes_the_return_of_a_former_ledger() {
    let former = disk().launched().ledger(&json!({"confirmed": 2}));
    let scene = launched_by_this_process(former, 2).await;
    let observed = observe(&[with(remote("disk-1"), "epoch", json!(2))]);
    let report = scene.reconcile([call(LEDGER), call(EVENT), observed, call(STATE), call(STATUS)]).await;
    assert_eq!(report.ledger()["epoch"], 2);
}

#[tokio::test(start_paused = true)]
async fn launch_under_a_restored_ledger_is_not_made_again_in_another_location() {
    let place = |account: &str| Some(Location { account: account.to_owned(), region: "r".to_owned() });
    // A rebuilt one names no location.
    let rebuilt = disk().ledger(&json!({"epoch": 2, "hash": ""})).creation("2020-01-01T00:00:00Z");
    let scene = Setup { location: place("1"), ..Setup::of(rebuilt) }.start().await;
    let by_tag = || call("observe by tag").returns(json!([]));
    scene.reconcile([by_tag()]).await;
    advance(Duration::from_secs(10)).await;
    let created = call("create epoch 3").returns(json!([remote("disk-1")]));
    let report = scene.reconcile([by_tag(), call(LEDGER), created, call(EVENT), call(STATUS)]).await;
    assert_eq!(report.ledger()["location"], json!(place("1")));
    // The controller is restarted elsewhere before the status names the object.
    let scene = Setup { location: place("2"), ..Setup::of(stored(report.disk)) }.start().await;
    let report = scene.reconcile([call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "LocationMismatch"));
}

#[tokio::test(start_paused = true)]
async fn restore_that_is_rejected_ends_the_reconcile() {
    let scene = Scene::of(disk().launched().without_finalizer()).await;
    let report = scene.reconcile([call(HOLD).rejected(500), call(STATUS), call(EVENT)]).await;
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

/// A launched Disk with a password from a Secret.
fn with_password() -> Setup {
    with_secret(disk().launched(), "password")
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
    scene.reconcile([call(HOLD), call(LEDGER), created, call(EVENT)]).await;
    let object = observe(&[with(remote("disk-1"), "size", json!(7))]);
    let report = scene.reconcile([object, call(STATE), call(STATUS)]).await;
    assert_eq!(report.condition("Ready"), ("True", "Available"));
    assert_eq!(report.condition("DependenciesResolved"), ("True", "Resolved"));
}

#[tokio::test(start_paused = true)]
async fn gather_keeps_the_former_references_on_record_until_the_spec_is_in_place() {
    let former = json!({"kind": "vpc.aws", "name": "former", "type": "any"});
    let with_spec = |status: Value, spec: Value| {
        let mut request = request(&status);
        request["spec"] = spec;
        vec![request]
    };
    let edited = || disk().launched().edited().spec("size", from_config_map());
    let requests = with_spec(Value::Null, json!({"krakenResourceDependencies": [former]}));
    let scene = Setup { requests, ..Setup::of(edited()) }.start().await;
    let report = scene.reconcile([call(REQUEST)]).await;
    let in_place = json!([{"kind": "vpc.aws", "name": "former"}]);
    assert_eq!(report.body(REQUEST)["spec"]["inPlaceDependencies"], in_place);

    let values = json!({"fromConfigMaps": {"sizes": {"small": "1"}}});
    let answered = json!({"observedGeneration": 1, "dependentValues": values});
    let config_map = json!([{"name": "sizes", "key": "small"}]);
    let spec =
        json!({"spoke": "kraken-test", "configMapDependencies": config_map, "inPlaceDependencies": in_place});
    let scene = Setup { requests: with_spec(answered, spec), ..Setup::of(edited()) }.start().await;
    let report =
        scene.reconcile([observe(&[remote("disk-1")]), call(STATE), call(REQUEST), call(STATUS)]).await;
    assert_eq!(report.body(REQUEST)["spec"]["inPlaceDependencies"], json!([]));
    assert_eq!(report.condition("Ready"), ("True", "Available"));
}

#[tokio::test(start_paused = true)]
async fn gather_keeps_a_former_reference_to_another_namespace_only_if_it_was_permitted() {
    for (values, is_kept) in
        [(json!({"vpc.aws": {"platform:former": {"": "vpc-1"}}}), true), (json!({}), false)]
    {
        let former = json!({"kind": "vpc.aws", "name": "former", "namespace": "platform", "type": "any"});
        let mut request = request(&json!({"dependentValues": {"fromKrakenResources": values}}));
        request["spec"] = json!({"krakenResourceDependencies": [former]});
        let edited = disk().launched().edited().spec("size", from_config_map());
        let scene = Setup { requests: vec![request], ..Setup::of(edited) }.start().await;
        let report = scene.reconcile([call(REQUEST)]).await;
        let kept = json!([{"kind": "vpc.aws", "name": "former", "namespace": "platform"}]);
        let (expected, label) = if is_kept { (kept, json!("")) } else { (json!([]), Value::Null) };
        assert_eq!(report.body(REQUEST)["spec"]["inPlaceDependencies"], expected);
        let labels = &report.body(REQUEST)["metadata"]["labels"];
        assert_eq!(labels["references.kraken-iac.eoinfennessy.com/platform"], label);
    }
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

/// What a read of the Disk can return, and whether that is this Disk and not being deleted.
fn read_disks(current: &Disk) -> [(Value, bool); 3] {
    let mut other = current.clone().json();
    other["metadata"]["uid"] = json!("u-2");
    [(current.clone().json(), true), (current.clone().deleted().json(), false), (other, false)]
}

/// The request of a former Disk of the name.
fn earlier(mut request: Value) -> Value {
    request["metadata"]["ownerReferences"][0]["uid"] = json!("u-0");
    request
}

/// The same request without an owner, as after `kubectl delete --cascade=orphan` of its Disk.
fn orphaned(mut request: Value) -> Value {
    request["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    request
}

fn dropped() -> [Call; 2] {
    [call(REQUEST), call("DELETE dependencyrequests/disk.testing.a")]
}

#[tokio::test(start_paused = true)]
async fn gather_drops_the_request_of_an_earlier_resource_of_the_name_unless_its_own_is_being_deleted() {
    // The watch does not show yet that the Disk is being deleted.
    let disk = disk().ready().spec("size", from_config_map());
    for (read, is_dropped) in read_disks(&disk) {
        let requests = vec![earlier(request(&Value::Null))];
        let scene = Setup { requests, ..Setup::of(disk.clone()) }.start().await;
        let calls = [call("GET disks/a").returns(read)].into_iter();
        let calls = calls.chain(is_dropped.then(dropped).into_iter().flatten());
        scene.reconcile(calls.chain([call(STATUS)])).await;
    }
}

#[tokio::test(start_paused = true)]
async fn gather_applies_a_request_again_that_lost_its_owner() {
    let disk = disk().ready().spec("size", from_config_map());
    let setup = || Setup::of(disk.clone());
    let scene = Setup { requests: vec![orphaned(request(&Value::Null))], ..setup() }.start().await;
    let report = scene.reconcile([call(REQUEST), call(STATUS)]).await;
    assert_eq!(report.body(REQUEST)["metadata"]["ownerReferences"][0]["uid"], "u-1");
}

#[tokio::test(start_paused = true)]
async fn gather_keeps_former_references_of_a_request_that_its_watch_does_not_return() {
    // A version without the field that the watch selects by wrote it.
    let former = json!([{"kind": "vpc.aws", "name": "former"}]);
    let mut earlier = request(&Value::Null);
    earlier["spec"] = json!({"inPlaceDependencies": former});
    let disk = disk().launched().edited().spec("size", from_config_map());
    let scene = Scene::of(disk).await;
    let found = call("GET dependencyrequests/disk.testing.a").returns(earlier);
    let report = scene.reconcile([found, call(REQUEST)]).await;
    let spec = &report.body(REQUEST)["spec"];
    assert_eq!((&spec["inPlaceDependencies"], &spec["spoke"]), (&former, &json!("kraken-test")));
}

#[tokio::test(start_paused = true)]
async fn gather_replaces_a_request_that_a_client_deleted_unless_its_resource_is_being_deleted() {
    // The watch does not show yet that the Disk is being deleted.
    let current = disk().launched().edited().spec("size", from_config_map());
    let mut deleted = request(&Value::Null);
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    // The remote object still uses what a former spec named, and only the request says so.
    let former = json!([{"kind": "vpc.aws", "name": "former"}]);
    deleted["spec"] = json!({"inPlaceDependencies": former});
    for (read, is_replaced) in read_disks(&current) {
        let scene = Setup { requests: vec![deleted.clone()], ..Setup::of(current.clone()) }.start().await;
        let calls = [call("POST dependencyrequests"), call("GET disks/a").returns(read)];
        let replaced = is_replaced.then(|| [call(REQUEST), call(REQUEST)]).into_iter().flatten();
        let report = scene.reconcile(calls.into_iter().chain(replaced)).await;
        if is_replaced {
            let applied = report.bodies(REQUEST).nth(1).expect("a second patch");
            assert_eq!(applied["spec"]["inPlaceDependencies"], former);
        }
    }
    // A finalizer of somebody else: it is written again when that one is gone.
    deleted["metadata"]["finalizers"].as_array_mut().expect("a list").push(json!("example.com/backup"));
    let scene = Setup { requests: vec![deleted], ..Setup::of(current.clone()) }.start().await;
    let read = call("GET disks/a").returns(current.json());
    scene.reconcile([call("POST dependencyrequests"), read, call(REQUEST)]).await;
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
    let disk = || disk().ready().spec("size", from_config_map());
    // A protected resource waits for a person, and so do others of its kind: Kubernetes stops at it.
    let protected = disk().lifecycle("protect", json!(true));
    for (disk, reason, help, events) in [
        (disk(), "Deleting", "kubectl get namespace -o yaml", vec![]),
        (protected, "DeletionProtected", "set it to false", vec![call(EVENT)]),
    ] {
        let rejected = call(REQUEST).rejected_in_terminating_namespace();
        let calls = [rejected, call(STATUS)].into_iter().chain(events);
        let report = Scene::of(disk).await.reconcile(calls).await;
        assert_eq!(report.condition("Ready"), ("False", reason));
        let message = report.message();
        assert!(message.contains("the namespace is being deleted") && message.contains(help), "{message}");
    }
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
