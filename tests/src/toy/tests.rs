//! The webhook of a kind through the real router: the kind's own rules, before anything is stored.

use std::sync::Arc;

use http::Request;
use http_body_util::BodyExt;
use kraken_kind::runtime::webhook::{Hook, Mounts, router};
use kraken_spoke::admission::Admission;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Gadget, GadgetKind};

async fn review(operation: &str, spec: &Value) -> Value {
    let hook = Hook::of_kind::<Gadget>();
    let mounts = Mounts::default();
    mounts.mount(&hook, Admission::new(Arc::new(GadgetKind::default())));
    let gadget = json!({
        "apiVersion": "testing.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Gadget",
        "metadata": {"name": "a", "namespace": "ns"}, "spec": spec,
    });
    let (object, old) = if operation == "DELETE" { (Value::Null, gadget) } else { (gadget, Value::Null) };
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": operation, "name": "a", "namespace": "ns", "object": object, "oldObject": old,
            "kind": {"group": "testing.kraken-iac.eoinfennessy.com", "version": "v1alpha1", "kind": "Gadget"},
        },
    });
    let request = Request::post(hook.path()).body(review.to_string()).unwrap();
    let answer =
        router(mounts).oneshot(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice::<Value>(&answer).unwrap()["response"].clone()
}

async fn accepts(operation: &str, spec: Value) {
    let answer = review(operation, &spec).await;
    assert_eq!(answer["allowed"], true, "{spec}: {answer}");
}

async fn rejects(operation: &str, spec: Value, with: &[&str]) {
    let answer = review(operation, &spec).await;
    assert_eq!(answer["allowed"], false, "{spec}");
    let message = answer["status"]["message"].as_str().unwrap();
    for with in with {
        assert!(message.contains(with), "{with}: {message}");
    }
    assert_eq!(answer["status"]["details"]["causes"].as_array().unwrap().len(), with.len(), "{message}");
}

fn from(source: Value) -> Value {
    json!({"valueFrom": source})
}

#[tokio::test]
async fn a_spec_that_its_controller_would_apply_is_accepted() {
    accepts("CREATE", json!({"size": {"value": 3}})).await;
    // A missing dependency may be created; the result of a template is not known before.
    accepts("CREATE", json!({"size": from(json!({"configMap": {"name": "a", "key": "b"}}))})).await;
    let template = from(json!({"templateString": "{{ .VPC.a.x }}"}));
    accepts(
        "UPDATE",
        json!({"size": {"value": 3}, "colour": template, "lifecycle": {"ignoreChanges": ["colour"]}}),
    )
    .await;
}

#[tokio::test]
async fn every_problem_is_named_with_its_field() {
    let path = from(json!({"krakenResource": {"kind": "vpc", "name": "a", "path": "x[0"}}));
    let template = from(json!({"templateString": "{{ .ConfigMap.a }}"}));
    rejects(
        "CREATE",
        json!({"size": {"value": 101}, "colour": path, "password": template, "lifecycle": {"ignoreChanges": ["colur"]}}),
        &["spec.size: 101 is not from 1 to 100", "spec.colour.", "spec.password.", "spec.lifecycle.ignoreChanges[0]"],
    )
    .await;
    rejects("UPDATE", json!({"size": {"value": "three"}}), &["spec.size.value: invalid type"]).await;
    rejects("CREATE", json!({"size": from(json!({"ref": "vpc"}))}), &["spec.size.valueFrom.ref"]).await;
}

#[tokio::test]
async fn only_a_protected_object_is_kept_from_deletion_even_with_an_invalid_spec() {
    accepts("DELETE", json!({"size": {"value": 101}})).await;
    accepts("DELETE", json!({"size": 7})).await;
    rejects(
        "DELETE",
        json!({"size": {"value": 101}, "lifecycle": {"protect": true}}),
        &["spec.lifecycle.protect"],
    )
    .await;
}
