use std::convert::Infallible;

use axum::body::Body;
use axum::http::Request;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use kraken_options::ProblemKind;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::Hook;

/// Rejects the fields in `spec.bad`, and warns with the object's name.
struct Strict;

impl Validator for Strict {
    fn review(&self, subject: Subject) -> BoxFuture<'_, ReviewResult> {
        assert_ne!(subject.name, "panics");
        let bad = subject.object["spec"]["bad"].as_array().cloned().unwrap_or_default();
        let problem = |field: &Value| Problem {
            field: field.as_str().unwrap_or_default().to_owned(),
            kind: ProblemKind::Invalid,
            message: "is bad".to_owned(),
        };
        let problems = bad.iter().map(problem).collect();
        Box::pin(async move { ReviewResult { problems, warnings: vec![format!("name\n{}", subject.name)] } })
    }
}

fn hook() -> Hook {
    Hook {
        name: "widgets.example.com".into(),
        groups: vec!["example.com".into()],
        version: "v1".into(),
        resources: vec!["widgets".into()],
        operations: vec![Operation::Create],
    }
}

fn review(operation: &str, name: &str, object: Value, old: Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "operation": operation, "name": name, "namespace": "ns",
            "kind": {"group": "example.com", "version": "v1", "kind": "Widget"},
            "resource": {"group": "example.com", "version": "v1", "resource": "widgets"},
            "userInfo": {"username": "jane"}, "object": object, "oldObject": old, "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    })
}

async fn send(mounts: Mounts, path: &str, body: impl Into<Body>) -> (StatusCode, Value) {
    let request = Request::post(path).body(body.into()).unwrap();
    let response = router(mounts).oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn review_of(review: Value) -> (StatusCode, Value) {
    let mounts = Mounts::default();
    mounts.mount(&hook(), Strict);
    send(mounts, &hook().path(), review.to_string()).await
}

#[tokio::test]
async fn valid_object_is_allowed_with_warnings() {
    let (status, answer) = review_of(review("CREATE", "a", json!({"spec": {}}), Value::Null)).await;
    assert_eq!(status, 200);
    assert_eq!((&answer["kind"], &answer["response"]["uid"]), (&json!("AdmissionReview"), &json!("u-1")));
    assert_eq!(answer["response"]["allowed"], true);
    assert_eq!(answer["response"]["warnings"], json!(["Widget/a: name a"]));
}

#[tokio::test]
async fn all_problems_are_reported_at_once_with_their_fields() {
    let (_, answer) =
        review_of(review("CREATE", "a", json!({"spec": {"bad": ["x", "y.z"]}}), Value::Null)).await;
    let response = &answer["response"];
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["message"], "Widget/a: spec.x: is bad; spec.y.z: is bad");
    // kubectl prints these instead of the message if the request has one object.
    let details = &response["status"]["details"];
    assert_eq!((&details["kind"], &details["name"]), (&json!("Widget"), &json!("a")));
    assert_eq!(response["status"]["code"], 422);
    assert_eq!(response["status"]["details"]["causes"][1]["field"], "spec.y.z");
}

#[tokio::test]
async fn update_is_rejected_only_for_a_new_problem() {
    let (old, both) = (json!({"spec": {"bad": ["x"]}}), json!({"spec": {"bad": ["x", "y"]}}));
    let (_, answer) = review_of(review("UPDATE", "a", old.clone(), old.clone())).await;
    assert_eq!(answer["response"]["allowed"], true);
    assert_eq!(answer["response"]["warnings"][1], "Widget/a: spec.x: is bad");
    let (_, answer) = review_of(review("UPDATE", "a", both, old)).await;
    assert_eq!(answer["response"]["status"]["message"], "Widget/a: spec.y: is bad");
}

#[tokio::test]
async fn deletion_is_reviewed_with_the_current_object() {
    let (_, answer) = review_of(review("DELETE", "a", Value::Null, json!({"spec": {"bad": ["x"]}}))).await;
    assert_eq!(answer["response"]["allowed"], false);
}

#[tokio::test]
async fn invalid_review_is_an_error_and_not_a_rejection() {
    let (status, _) = review_of(review("CREATE", "panics", json!({"spec": {}}), Value::Null)).await;
    assert_eq!(status, 500);
    for body in [
        "",
        "{",
        "{}",
        "[]",
        "\u{0}",
        r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"a","operation":"CREATE"}}"#,
    ] {
        let mounts = Mounts::default();
        mounts.mount(&hook(), Strict);
        assert_eq!(send(mounts, &hook().path(), body.to_owned()).await.0, 400, "{body}");
    }
    assert_eq!(send(Mounts::default(), &hook().path(), "{}").await.0, 503, "nothing is mounted yet");
    assert_eq!(send(Mounts::default(), "/other", "{}").await.0, 404);
    let mounts = Mounts::default();
    mounts.mount(&hook(), Strict);
    assert_eq!(send(mounts, &hook().path(), vec![b' '; MAX_BODY + 1]).await.0, 413);
}

#[tokio::test(start_paused = true)]
async fn large_reviews_share_a_budget_and_small_ones_need_none() {
    let mounts = Mounts::default();
    mounts.mount(&hook(), Strict);
    let router = router(mounts);
    // A body without a length that never arrives.
    let slow = || {
        let body = Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>());
        router.clone().oneshot(Request::post(hook().path()).body(body).unwrap())
    };
    let large = json!({"spec": {"text": "x".repeat(5 * 1024 * 1024)}});
    let send = |object: Value| {
        let body = review("CREATE", "a", object, Value::Null).to_string();
        router.clone().oneshot(Request::post(hook().path()).body(Body::from(body)).unwrap())
    };
    let (first, (second, small)) = futures::join!(slow(), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        futures::join!(send(large.clone()), send(json!({"spec": {}})))
    });
    assert_eq!(small.unwrap().status(), 200);
    assert_eq!(first.unwrap().status(), 408);
    assert_eq!(second.unwrap().status(), 200, "when the first one has timed out");
    assert_eq!(send(large).await.unwrap().status(), 200);
}
