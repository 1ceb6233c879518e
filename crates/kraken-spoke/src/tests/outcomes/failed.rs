//! Outcomes of failed calls and of internal errors.

use std::time::Duration;

use kraken_kind::FailureClass;
use kraken_runtime::{
    queue::{Lane, Queue, Requeue},
    watch::ObjectKey,
};
use serde_json::json;
use tokio::time::advance;

use super::{Row, assert_row, row};
use crate::tests::{
    deletion::{READ_REQUEST, deleted, gone, no_dependents},
    fixtures::{disk, remote},
    scene::Scene,
    script::{AT_ONCE, EVENT, HOLD, LEDGER, STATUS, call, observe_by_tag},
};

#[tokio::test(start_paused = true)]
async fn rejected_call_has_the_reason_and_the_delay_of_its_class() {
    let credentials = Requeue::After(Duration::from_secs(30));
    let rows = [
        (FailureClass::Terminal, "CloudRefused", Requeue::Backoff, "terminal"),
        (FailureClass::InUse, "ValueInUse", Requeue::Backoff, "in_use"),
        (FailureClass::Credentials, "CredentialsMissing", credentials, "credentials"),
        (FailureClass::NotConfigured, "ControllerNotConfigured", credentials, "not_configured"),
        (FailureClass::Protected, "DeletionProtected", Requeue::Backoff, "protected"),
    ];
    for (class, reason, requeue, label) in rows {
        let scene = Scene::of(disk()).await;
        let create = call("create epoch 1").fails(class);
        let report = scene.reconcile([call(HOLD), call(LEDGER), create, call(STATUS), call(EVENT)]).await;
        assert_row(&report, &row(reason, requeue, &[("Warning", reason)]));
        let errors = format!("kraken_reconcile_errors_total{{kind=\"Disk\",class=\"{label}\"}} 1");
        assert!(scene.metrics().contains(&errors), "{class:?}");
    }
}

/// Takes the only key, which the watch added.
async fn empty(queue: &Queue<ObjectKey>) {
    let (key, _) = queue.next().await;
    queue.done(&key, Requeue::Never);
    assert_eq!(queue.depth(Lane::Edit), 0);
}

/// After a rename in Git, the new resource is applied before the former one is deleted.
#[tokio::test(start_paused = true)]
async fn a_value_in_use_is_tried_again_when_a_resource_of_the_kind_is_deleted() {
    let renamed = Scene::of(disk()).await;
    let create = call("create epoch 1").fails(FailureClass::InUse);
    let report = renamed.reconcile([call(HOLD), call(LEDGER), create, call(STATUS), call(EVENT)]).await;
    assert_eq!(report.condition("Ready"), ("False", "ValueInUse"));
    assert_eq!(report.condition("Stalled"), ("", ""), "nobody has to edit it");
    let context = &renamed.context;
    empty(&context.queue).await;
    context.in_use.release(&context.queue);
    assert_eq!(context.queue.depth(Lane::Edit), 1);

    let former = Scene::of(deleted()).await;
    let (context, waiting) = (&former.context, ObjectKey::new("ns", "renamed"));
    empty(&context.queue).await;
    context.in_use.wait(&waiting, context.in_use.released(), &context.queue);
    let object = observe_by_tag(&[remote("disk-1")]);
    former.reconcile([no_dependents(), object, call("delete disk-1"), call(EVENT), call(STATUS)]).await;
    assert_eq!(context.queue.depth(Lane::Edit), 0, "its object still exists");
    let by_id = call("observe disk-1").returns(json!([gone()]));
    let calls = [by_id, observe_by_tag(&[gone()]), call(HOLD), call(READ_REQUEST), call(EVENT)];
    assert_eq!(former.reconcile(calls).await.metric, "Removed");
    assert_eq!(context.queue.depth(Lane::Edit), 1);
}

#[tokio::test(start_paused = true)]
async fn rejected_observation_has_the_delay_of_its_class() {
    let rows = [
        (FailureClass::NotYet, "Creating", Requeue::After(Duration::from_secs(1))),
        (FailureClass::TokenUsed, "Creating", Requeue::After(Duration::from_secs(1))),
    ];
    for (class, reason, requeue) in rows {
        let scene = Scene::of(disk().launched()).await;
        let report = scene.reconcile([call("observe disk-1").fails(class), call(STATUS), call(EVENT)]).await;
        assert_row(&report, &row(reason, requeue, &[("Warning", reason)]));
    }
}

#[tokio::test(start_paused = true)]
async fn outage_is_reported_only_after_the_grace_period() {
    let rows = [(FailureClass::Throttled, "Throttled"), (FailureClass::Transient, "CloudUnavailable")];
    for (class, reason) in rows {
        let scene = Scene::of(disk().launched()).await;
        let report = scene.reconcile([call("observe disk-1").fails(class)]).await;
        let ready = ("True", "Available");
        assert_row(&report, &Row { ready, requeue: Requeue::Backoff, events: &[], metric: reason });
        advance(Duration::from_secs(10)).await;
        let report = scene.reconcile([call("observe disk-1").fails(class), call(STATUS)]).await;
        assert_row(&report, &row(reason, Requeue::Backoff, &[]));
    }
}

#[tokio::test(start_paused = true)]
async fn spent_token_is_replaced_at_once() {
    let scene = Scene::of(disk()).await;
    let spent = call("create epoch 1").fails(FailureClass::TokenSpent);
    let report = scene.reconcile([call(HOLD), call(LEDGER), spent]).await;
    assert_row(&report, &Row { ready: ("", ""), requeue: AT_ONCE, events: &[], metric: "Creating" });
    let report = scene
        .reconcile([
            call("observe by tag").returns(json!([])),
            call(LEDGER),
            call("create epoch 2").returns(json!([remote("disk-1")])),
            call(EVENT),
        ])
        .await;
    assert_eq!(report.ledger()["epoch"], 2);
}

#[tokio::test(start_paused = true)]
async fn rejected_write_is_retried_with_backoff_and_a_conflict_at_once() {
    let scene = Scene::of(disk()).await;
    let rejected = call(HOLD).rejected(500);
    let report = scene.reconcile([rejected, call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("KubernetesError", Requeue::Backoff, &[("Warning", "KubernetesError")]));

    let scene = Scene::of(disk()).await;
    let report = scene.reconcile([call(HOLD).rejected(409)]).await;
    assert_row(&report, &Row { ready: ("", ""), requeue: AT_ONCE, events: &[], metric: "KubernetesError" });
}

#[tokio::test(start_paused = true)]
async fn panic_becomes_a_condition_of_its_resource() {
    let scene = Scene::of(disk().lifecycle("adopt", json!({"id": "disk-9"}))).await;
    let report = scene.reconcile([call("find").panics(), call(STATUS), call(EVENT)]).await;
    assert_row(&report, &row("InternalError", Requeue::Backoff, &[("Warning", "InternalError")]));
    assert!(scene.metrics().contains("kraken_reconcile_panics_total{kind=\"Disk\"} 1"));
}
