use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::Value;
use tower::service_fn;

use super::*;

/// The requests that an API server received.
type Seen = Arc<Mutex<Vec<(Method, Value)>>>;

/// An API server that records its requests, and responds with this code.
fn events(code: u16) -> (Events, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let server = service_fn(move |request: Request<Body>| {
        let log = log.clone();
        async move {
            let method = request.method().clone();
            let body = request.into_body().collect_bytes().await.unwrap();
            let sent: Value = serde_json::from_slice(&body).unwrap();
            log.lock().push((method, sent.clone()));
            let answer = if code == 200 {
                json!({"metadata": {"name": "e"}, "eventTime": null})
            } else {
                json!({"kind": "Status", "status": "Failure", "code": code, "message": "no",
                        "reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating"}]}})
            };
            let answer = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
            Ok::<_, std::io::Error>(answer.unwrap())
        }
    });
    (Events::new(Client::new(server, "default"), "kraken-test", "pod-0"), seen)
}

fn object(name: &str) -> ObjectReference {
    ObjectReference { name: Some(name.to_owned()), ..ObjectReference::default() }
}

async fn publish(events: &Events, note: &str) {
    events.publish(&object("a"), EventType::Normal, "Created", "Create", note).await;
}

#[test]
fn a_long_note_is_truncated_at_a_character_boundary() {
    assert_eq!(bounded("short"), "short");
    let cut = bounded(&"é".repeat(600));
    assert!(cut.len() <= NOTE_MAX && cut.ends_with("é..."), "{}", cut.len());
}

#[tokio::test(start_paused = true)]
async fn events_are_aggregated_only_with_the_same_note() {
    let (events, seen) = events(200);
    publish(&events, "created i-1").await;
    publish(&events, "created i-2").await;
    publish(&events, "created i-1").await;
    publish(&events, "created i-1").await;
    let sent = seen.lock().clone();
    let methods: Vec<_> = sent.iter().map(|(method, _)| method.clone()).collect();
    assert_eq!(methods, [Method::POST, Method::POST, Method::PATCH, Method::PATCH]);
    assert_eq!((&sent[0].1["note"], &sent[1].1["note"]), (&json!("created i-1"), &json!("created i-2")));
    assert_ne!(sent[0].1["metadata"]["name"], sent[1].1["metadata"]["name"]);
    assert_eq!((&sent[2].1["series"]["count"], &sent[3].1["series"]["count"]), (&json!(2), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn an_equal_event_much_later_is_new_and_old_ones_are_dropped() {
    let (events, seen) = events(200);
    publish(&events, "created i-1").await;
    tokio::time::advance(SERIES).await;
    publish(&events, "created i-1").await;
    publish(&events, "created i-2").await;
    assert!(seen.lock().iter().all(|(method, _)| *method == Method::POST));
    tokio::time::advance(SERIES).await;
    publish(&events, "created i-3").await;
    assert_eq!(events.recent.lock().written.len(), 1);
}

#[tokio::test]
async fn the_name_of_an_event_is_within_the_limit_for_every_object() {
    let (events, seen) = events(200);
    for _ in 0..2 {
        events.publish(&object(&"a".repeat(253)), EventType::Warning, "R", "A", "n").await;
    }
    let name = seen.lock()[0].1["metadata"]["name"].as_str().unwrap().to_owned();
    assert!(name.len() <= 253, "{}", name.len());
    assert_eq!(seen.lock()[0].1["type"], "Warning");
}

#[tokio::test]
async fn an_event_in_a_terminating_namespace_is_not_a_failure() {
    let (events, seen) = events(403);
    publish(&events, "deleted i-1").await;
    assert_eq!(seen.lock().len(), 1);
}

#[tokio::test]
async fn a_failed_event_does_not_fail_the_caller() {
    let server = service_fn(|_: Request<Body>| async {
        Err::<Response<Body>, _>(std::io::Error::other("connection refused"))
    });
    let events = Events::new(Client::new(server, "default"), "kraken-test", "pod-0");
    publish(&events, "made it").await;
}
