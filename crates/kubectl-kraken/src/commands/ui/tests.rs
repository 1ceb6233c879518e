//! The server as a browser sees it, with a scripted API server behind it.

use std::sync::Arc;

use axum::{Router, body::Body};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body as ClientBody};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tower::{ServiceExt as _, service_fn};

use super::{
    Shared,
    bundle::ASSETS,
    guard::guard,
    live::{Snapshot, snapshot},
    server::router,
};
use crate::{
    cluster::Cluster,
    graph::fixtures::{not_ready, object, stack},
};

const VPC: &str = "shop/aws.kraken-iac.eoinfennessy.com/VPC/shop";

/// The page, and the requests that the API server got.
struct Page {
    router: Router,
    asked: mpsc::UnboundedReceiver<String>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

/// A page whose API server answers every request with this object.
fn page(can_write: bool, answer: Value) -> Page {
    let (sender, asked) = mpsc::unbounded_channel();
    let service = service_fn(move |request: Request<ClientBody>| {
        let (sender, answer) = (sender.clone(), answer.to_string());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let _ = sender.send(format!("{} {} {}", parts.method, parts.uri, String::from_utf8_lossy(&body)));
            Ok::<_, std::convert::Infallible>(Response::new(ClientBody::from(answer.into_bytes())))
        }
    });
    let cluster = Cluster {
        client: Client::new(service, "shop"),
        server: "https://cluster.example".to_owned(),
        kinds: crate::discovery::tests::kinds(),
        namespace: "shop".to_owned(),
        scope: Some("shop".to_owned()),
        is_chosen: true,
    };
    let mut objects = stack();
    let mut waiting = not_ready("AwaitingApproval", "would create");
    waiting["plan"] =
        json!({"hash": "a14e9c64", "action": "Create", "target": "t", "what": "1 VPC", "changes": []});
    objects.push(object("VPC", "new", json!({}), waiting));
    let snapshots = watch::Sender::new(Arc::new(snapshot(objects)));
    let shared = Shared { cluster, guard: guard(can_write), snapshots: snapshots.subscribe() };
    Page { router: router(Arc::new(shared)), asked, snapshots }
}

impl Page {
    async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// As the page itself does.
    async fn get(&self, path: &str) -> (StatusCode, String) {
        let request =
            Request::get(path).header("host", "127.0.0.1:4000").header("x-kraken-token", "0123456789abcdef");
        read(self.send(request.body(Body::empty()).unwrap()).await).await
    }

    async fn post(&self, path: &str, body: Value) -> (StatusCode, String) {
        let request = Request::post(path)
            .header("host", "127.0.0.1:4000")
            .header("origin", "http://127.0.0.1:4000")
            .header("x-kraken-token", "0123456789abcdef");
        read(self.send(request.body(Body::from(body.to_string())).unwrap()).await).await
    }
}

async fn read(response: Response<Body>) -> (StatusCode, String) {
    let code = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8_lossy(&bytes).into_owned())
}

fn vpc(name: &str, more: Value) -> Value {
    let mut named =
        json!({"namespace": "shop", "group": "aws.kraken-iac.eoinfennessy.com", "kind": "VPC", "name": name});
    for (field, value) in more.as_object().unwrap() {
        named[field] = value.clone();
    }
    named
}

#[tokio::test]
async fn every_answer_forbids_frames_foreign_scripts_and_caches() {
    let page = page(false, json!({}));
    for (path, host) in [
        ("/", "127.0.0.1:4000"),
        ("/app.js", "127.0.0.1:4000"),
        ("/api/status", "127.0.0.1:4000"),
        ("/none", "evil.example"),
    ] {
        let response = page.send(Request::get(path).header("host", host).body(Body::empty()).unwrap()).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{path}");
    }
}

#[tokio::test]
async fn the_files_of_the_page_need_no_token_and_data_does() {
    let page = page(false, json!({}));
    for (path, content_type, content) in ASSETS {
        let response =
            page.send(Request::get(path).header("host", "127.0.0.1:4000").body(Body::empty()).unwrap()).await;
        assert_eq!(response.headers()["content-type"], content_type, "{path}");
        assert_eq!(read(response).await, (StatusCode::OK, content.to_owned()));
    }
    for path in [
        "live",
        "session",
        "status",
        "drift",
        "plans",
        "exports",
        "map/shop",
        "object/a/b/c/d",
        "events/a/b/c/d",
        "none",
    ] {
        let request = Request::get(format!("/api/{path}")).header("host", "127.0.0.1:4000");
        let (code, text) = read(page.send(request.body(Body::empty()).unwrap()).await).await;
        assert_eq!(code, StatusCode::UNAUTHORIZED, "{path}: {text}");
    }
}

#[tokio::test]
async fn the_answers_are_those_of_the_commands() {
    let page = page(false, json!({"items": []}));
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let status = json(&page.get("/api/status").await.1);
    assert_eq!(status["resources"].as_array().map(Vec::len), Some(8));
    assert_eq!(status["fixFirst"][0]["object"], "Secret/db");
    let plans = json(&page.get("/api/plans").await.1);
    assert_eq!(
        (plans[0]["name"].as_str(), plans[0]["plan"]["hash"].as_str()),
        (Some("new"), Some("a14e9c64"))
    );
    let deps = json(&page.get(&format!("/api/dependents/{VPC}")).await.1);
    assert_eq!(deps["root"], "VPC/shop");
    assert_eq!(json(&page.get(&format!("/api/object/{VPC}")).await.1)["resource"]["name"], "shop");
    let (code, text) = page.get("/api/object/shop/aws.kraken-iac.eoinfennessy.com/VPC/other").await;
    assert_eq!(
        (code, json(&text)["error"].as_str()),
        (StatusCode::NOT_FOUND, Some("the resource does not exist any more"))
    );
}

#[tokio::test]
async fn no_request_reads_a_secret_and_without_the_flag_none_writes() {
    let mut page = page(false, json!({"items": []}));
    for path in [
        "status",
        "drift",
        "plans",
        "exports",
        "session",
        "map/shop",
        &format!("object/{VPC}"),
        &format!("events/{VPC}"),
    ] {
        let (code, text) = page.get(&format!("/api/{path}")).await;
        assert_eq!(code, StatusCode::OK, "{path}: {text}");
    }
    for secret in ["object/shop//Secret/db", "object/shop/core/Secret/db"] {
        assert_ne!(page.get(&format!("/api/{secret}")).await.0, StatusCode::OK, "{secret}");
    }
    for (path, body) in [
        ("/api/approve", vpc("new", json!({"hash": "a14e9c64"}))),
        ("/api/preview-deletion", vpc("shop", json!({}))),
    ] {
        let (code, text) = page.post(path, body).await;
        assert!(code == StatusCode::FORBIDDEN && text.contains("--write"), "{path}: {code} {text}");
    }
    drop(page.router);
    while let Some(asked) = page.asked.recv().await {
        assert!(asked.starts_with("GET ") && !asked.contains("/secrets"), "{asked}");
    }
}

#[tokio::test]
async fn with_the_flag_a_plan_is_approved_by_its_hash_only() {
    let plan = json!({"hash": "b7", "action": "Create", "target": "t", "what": "1 VPC", "changes": []});
    let answer = json!({"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "spec": {}, "status": {"plan": plan},
        "metadata": {"name": "new", "namespace": "shop", "resourceVersion": "1"}});
    let mut page = page(true, answer);
    // The page shows a plan that is not the present one any more.
    let (code, text) = page.post("/api/approve", vpc("new", json!({"hash": "a14e9c64"}))).await;
    assert!(code == StatusCode::CONFLICT && text.contains("changed from a14e9c64 to b7"), "{code} {text}");
    assert!(page.asked.recv().await.unwrap().starts_with("GET "));
    assert!(page.asked.try_recv().is_err(), "nothing was written");
    let (code, text) = page.post("/api/approve", vpc("new", json!({"hash": "b7"}))).await;
    assert_eq!(code, StatusCode::OK, "{text}");
    assert!(page.asked.recv().await.unwrap().starts_with("GET "));
    assert!(page.asked.recv().await.unwrap().starts_with("PATCH "));
}

#[tokio::test]
async fn only_resources_of_kraken_are_written_to() {
    let mut page = page(true, json!({}));
    for (body, expected) in [
        (json!({"namespace": "shop", "group": "", "kind": "Secret", "name": "db"}), StatusCode::NOT_FOUND),
        (vpc("other", json!({})), StatusCode::NOT_FOUND),
        (json!({"namespace": "shop"}), StatusCode::BAD_REQUEST),
        (json!("a"), StatusCode::BAD_REQUEST),
        (json!("a".repeat(100_000)), StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        assert_eq!(page.post("/api/preview-deletion", body).await.0, expected);
    }
    assert!(page.asked.try_recv().is_err(), "the API server was not asked");
}

#[tokio::test]
async fn a_preview_of_a_deletion_is_a_dry_run() {
    let mut page = page(true, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}));
    let (code, text) = page.post("/api/preview-deletion", vpc("shop", json!({"withDependents": true}))).await;
    let plan: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, plan["counts"]["Delete"].as_u64()), (StatusCode::OK, Some(7)), "{text}");
    for _ in 0..7 {
        let asked = page.asked.recv().await.unwrap();
        assert!(asked.starts_with("DELETE ") && asked.contains(r#""dryRun":["All"]"#), "{asked}");
    }
}

#[tokio::test]
async fn changes_are_sent_as_they_happen() {
    let page = page(false, json!({}));
    let request = Request::get("/api/live")
        .header("host", "127.0.0.1:4000")
        .header("x-kraken-token", "0123456789abcdef");
    let response = page.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut stream = response.into_body();
    let mut next = async || {
        let frame = stream.frame().await.unwrap().unwrap().into_data().unwrap();
        let text = String::from_utf8(frame.to_vec()).unwrap();
        serde_json::from_str::<Value>(text.trim().strip_prefix("data: ").unwrap()).unwrap()
    };
    assert_eq!(next().await["rows"].as_array().map(Vec::len), Some(8));
    page.snapshots.send_replace(Arc::new(snapshot(stack())));
    let update = next().await;
    assert_eq!(update["removed"], json!(["shop/aws.kraken-iac.eoinfennessy.com/VPC/new"]));
}
