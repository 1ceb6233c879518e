use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::*;

fn config_map(name: &str, version: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            namespace: Some("ns".into()),
            name: Some(name.into()),
            resource_version: Some(version.into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn followed(events: Vec<watcher::Event<ConfigMap>>) -> (Vec<String>, Store<ConfigMap>) {
    let store = Store::default();
    let mut follower = Follower::of(&store);
    let log = Mutex::new(vec![]);
    for event in events {
        follower.follow(
            event,
            |object: ConfigMap| {
                if let Some("bad") = object.metadata.resource_version.as_deref() {
                    Err((Box::new(object.metadata), "bad".to_owned()))
                } else {
                    let object = Arc::new(object);
                    Ok((object.clone(), Stored::Whole(object)))
                }
            },
            &|change: Change<ConfigMap>| {
                let what = match &change {
                    Change::Applied(..) => "applied",
                    Change::Listed(_) => "listed",
                    Change::Deleted(_) => "deleted",
                    Change::Invalid(..) => "invalid",
                };
                log.lock().push(format!("{what} {}", change.meta().name.clone().unwrap_or_default()));
            },
        );
    }
    (log.into_inner(), store)
}

#[test]
fn the_annotation_of_kubectl_apply_is_not_stored() {
    let words = |words: &[(&str, &str)]| {
        Some(words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    };
    let meta = essential(ObjectMeta {
        annotations: words(&[
            ("kubectl.kubernetes.io/last-applied-configuration", "{\"data\": \"c2VjcmV0\"}"),
            ("kraken-iac.eoinfennessy.com/content-hash", "h"),
        ]),
        labels: words(&[("app", "web"), ("core.kraken-iac.eoinfennessy.com/x", "y")]),
        owner_references: Some(vec![]),
        ..config_map("a", "1").metadata
    });
    assert!(!format!("{meta:?}").contains("c2VjcmV0"));
    assert_eq!(meta.annotations.unwrap().into_values().collect::<Vec<_>>(), ["h"]);
    assert_eq!(meta.labels.unwrap().into_values().collect::<Vec<_>>(), ["y"]);
    assert_eq!((meta.name.as_deref(), meta.resource_version.as_deref()), (Some("a"), Some("1")));
    assert_eq!(meta.owner_references, None);
}

/// The responses of an API server to the requests of one watch.
async fn watched(
    answer: impl Fn(usize, &str) -> (u16, serde_json::Value) + Send + Sync + 'static,
    time: Duration,
) -> (usize, Health) {
    let start = |watches: &Watches| {
        let _store = watches.objects::<ConfigMap>("ConfigMap", &watcher::Config::default(), drop);
    };
    watched_by(start, answer, time).await
}

/// The same with another watch.
async fn watched_by(
    start: impl FnOnce(&Watches),
    answer: impl Fn(usize, &str) -> (u16, serde_json::Value) + Send + Sync + 'static,
    time: Duration,
) -> (usize, Health) {
    let requests = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (counted, answer) = (requests.clone(), Arc::new(answer));
    let server = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let number = counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let (code, body) = answer(number, request.uri().query().unwrap_or_default());
        let body = kube::client::Body::from(body.to_string().into_bytes());
        std::future::ready(http::Response::builder().status(code).body(body))
    });
    let health = Health::default();
    let watches = Watches {
        client: KubeClient(Client::new(server, "default")),
        namespaces: vec![],
        shutdown: CancellationToken::new(),
        health: health.clone(),
        metrics: Metrics::new("test"),
    };
    start(&watches);
    tokio::time::sleep(time).await;
    watches.shutdown.cancel();
    (requests.load(std::sync::atomic::Ordering::SeqCst), health)
}

fn refusal(code: u16) -> (u16, serde_json::Value) {
    let status = serde_json::json!({"kind": "Status", "status": "Failure", "code": code, "message": "no such page",
            "reason": "NotFound"});
    (code, status)
}

#[tokio::test(start_paused = true)]
async fn a_missing_crd_is_retried_with_backoff_and_reported_by_readiness() {
    let (requests, health) = watched(|_, _| refusal(404), Duration::from_mins(10)).await;
    // 0.8, 1.6, 3.2, then each 5 s.
    assert!((115..=125).contains(&requests), "{requests}");
    let missing = health.not_ready(Instant::now());
    assert!(missing[0].starts_with("ConfigMap has not synced: "), "{missing:?}");
    assert!(missing[0].contains("is its CRD installed?"), "{missing:?}");
}

/// The watch of a kind that is not served at first, whether it is then, and when the requests were made.
#[derive(Clone)]
struct OptionalKind {
    is_served: Arc<std::sync::atomic::AtomicBool>,
    health: Health,
    served: Served,
    store: Store<ConfigMap>,
    requests: Arc<Mutex<Vec<Instant>>>,
}

impl OptionalKind {
    fn watched(needed: bool) -> Self {
        let (is_served, requests) =
            (Arc::<std::sync::atomic::AtomicBool>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (answers, counted) = (is_served.clone(), requests.clone());
        let server = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            counted.lock().push(Instant::now());
            let item =
                serde_json::json!({"metadata": {"namespace": "ns", "name": "a", "resourceVersion": "1"}});
            let (code, body) = if answers.load(std::sync::atomic::Ordering::SeqCst) {
                (200, serde_json::json!({"metadata": {"resourceVersion": "1"}, "items": [item]}))
            } else {
                refusal(404)
            };
            let body = kube::client::Body::from(body.to_string().into_bytes());
            std::future::ready(http::Response::builder().status(code).body(body))
        });
        let health = Health::default();
        let watches = Watches {
            client: KubeClient(Client::new(server, "default")),
            namespaces: vec![],
            shutdown: CancellationToken::new(),
            health: health.clone(),
            metrics: Metrics::new("test"),
        };
        let (store, served) = watches.optional_objects::<ConfigMap>("ConfigMap", needed, drop);
        Self { is_served, health, served, store, requests }
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_is_ready_without_an_optional_kind_unless_it_is_needed() {
    for needed in [false, true] {
        let kind = OptionalKind::watched(needed);
        kind.health.ready().await;
        assert_eq!(kind.served.presence().await, Presence::NotServed);
        let complaints = kind.health.not_ready(Instant::now());
        assert_eq!(complaints.len(), usize::from(needed), "{complaints:?}");
        assert!(
            complaints.iter().all(|complaint| complaint.contains("is its CRD installed?")),
            "{complaints:?}"
        );
        tokio::time::sleep(Duration::from_mins(30)).await;
        assert!(kind.health.faults(Instant::now()).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_is_listed_before_it_is_called_absent() {
    let kind = OptionalKind::watched(false);
    tokio::time::sleep(Duration::from_mins(10)).await;
    // In the middle of a pause: what was created before the question is not missed.
    kind.is_served.store(true, std::sync::atomic::Ordering::SeqCst);
    let asked = Instant::now();
    assert_eq!(kind.served.presence().await, Presence::Served);
    assert!(asked.elapsed() < Duration::from_millis(50), "{:?}", asked.elapsed());
    assert_eq!(kind.store.len(), 1);
    assert!(kind.health.not_ready(Instant::now()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn concurrent_readers_of_an_absent_kind_share_attempts() {
    let kind = OptionalKind::watched(false);
    tokio::time::sleep(Duration::from_mins(10)).await;
    let before = kind.requests.lock().len();
    let readers = futures::future::join_all((0..200).map(|_| kind.served.presence())).await;
    assert!(readers.iter().all(|presence| *presence == Presence::NotServed));
    assert!(kind.requests.lock().len() - before <= 2, "{}", kind.requests.lock().len() - before);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_initialized_is_listed_when_the_api_server_asks_for_it() {
    // 404 for a minute, then 429 with the seconds in its details.
    let answer = |number, _: &str| {
        let body = serde_json::json!({"kind": "Status", "status": "Failure", "code": 429, "reason": "TooManyRequests",
            "message": "storage is (re)initializing", "details": {"retryAfterSeconds": 1}});
        if number < 15 { refusal(404) } else { (429, body) }
    };
    let (requests, _) = watched(answer, Duration::from_mins(2)).await;
    // 15 in the first minute, then one per second.
    assert!((65..=80).contains(&requests), "{requests}");
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_watch_with_an_allowed_list_is_retried_with_backoff() {
    let answer = |_, query: &str| {
        if query.contains("watch=true") {
            return refusal(403);
        }
        (200, serde_json::json!({"metadata": {"resourceVersion": "1"}, "items": []}))
    };
    let (requests, health) = watched(answer, Duration::from_mins(10)).await;
    assert!((20..=30).contains(&requests), "{requests}");
    assert!(health.missing().is_empty(), "it has synced");
    let complaints = health.not_ready(Instant::now());
    assert!(complaints[0].starts_with("the watch of ConfigMap has failed for "), "{complaints:?}");
}

#[tokio::test(start_paused = true)]
async fn one_watch_fills_the_stores_of_all_routes() {
    let mut routes = Routes::<ConfigMap>::by_label("app");
    let stores = ["b", "a", "c"].map(|value| routes.add(value, drop));
    let answer = |_, query: &str| {
        assert!(query.contains("labelSelector=app+in+%28a%2Cb%2Cc%29"), "{query}");
        if query.contains("watch=true") {
            return refusal(403);
        }
        let item = |name: &str, app: &str| {
            serde_json::json!({"metadata": {"namespace": "ns", "name": name, "resourceVersion": "1",
                "labels": {"app": app}}})
        };
        let items = [item("x", "a"), item("y", "b"), item("z", "b")];
        (200, serde_json::json!({"metadata": {"resourceVersion": "1"}, "items": items}))
    };
    let start = |watches: &Watches| watches.routed_objects("ConfigMap", &routes);
    let (requests, health) = watched_by(start, answer, Duration::from_millis(100)).await;
    assert_eq!(requests, 2, "a list and a watch");
    assert!(health.missing().is_empty());
    assert_eq!(stores.map(|store| store.len()), [2, 1, 0]);
}

#[test]
fn a_relist_reports_deletions_during_an_outage() {
    use watcher::Event::{Init, InitApply, InitDone};
    let (log, store) = followed(vec![
        Init,
        InitApply(config_map("a", "1")),
        InitApply(config_map("b", "2")),
        InitDone,
        Init,
        InitApply(config_map("b", "2")),
        InitDone,
    ]);
    assert_eq!(log, ["applied a", "applied b", "listed b", "deleted a"]);
    assert_eq!(store.len(), 1);
}

#[test]
fn an_undecodable_object_is_reported_and_does_not_block_others() {
    use watcher::Event::{Apply, Delete};
    let (log, store) = followed(vec![
        Apply(config_map("a", "1")),
        Apply(config_map("a", "bad")),
        Apply(config_map("b", "3")),
        Delete(config_map("a", "bad")),
    ]);
    assert_eq!(log, ["applied a", "invalid a", "applied b", "deleted a"]);
    assert!(store.get(&ObjectKey::new("ns", "b")).is_some());
}
