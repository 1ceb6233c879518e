//! The routes: the files of the page, JSON for it, and the stream of changes. Every request passes [`guard`] first.

use std::{convert::Infallible, sync::Arc};

use anyhow::Result;
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Request, State},
    middleware::{self, Next},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
    routing::{get, post},
};
use futures::{Stream, stream};
use http::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use k8s_openapi::api::core::v1::Event as KubernetesEvent;
use kraken_api::OWNER_KIND_LABEL;
use kube::{Api, api::ListParams};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    bundle::ASSETS,
    detail, exports, guard,
    live::{Sent, Snapshot, key},
    map,
};
use crate::{
    commands::{approve, deps::View, drift, plan, status},
    failure::explain,
    graph::Node,
};

/// The longest body of a request, in bytes.
const MAX_BODY: usize = 64 * 1024;
/// The events of one resource.
const MAX_EVENTS: usize = 50;

type App = State<Arc<Shared>>;
type Parts = Path<(String, String, String, String)>;

/// An answer that is no success.
enum Failed {
    /// The resource does not exist.
    NotFound,
    /// The body is not the expected JSON.
    Body(serde_json::Error),
    /// The API server did not do it, or the plan is another one by now.
    Conflict(String),
    Other(anyhow::Error),
}

/// A resource in the body of a request.
#[derive(Deserialize)]
struct Named {
    namespace: String,
    group: String,
    kind: String,
    name: String,
}

#[derive(Deserialize)]
struct Approval {
    #[serde(flatten)]
    named: Named,
    /// The hash of the plan that the person saw.
    hash: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Preview {
    #[serde(flatten)]
    named: Named,
    /// Also the deletion of everything that uses it.
    #[serde(default)]
    with_dependents: bool,
}

/// The whole server.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for (path, content_type, content) in ASSETS {
        let file = move || async move { ([(CONTENT_TYPE, content_type)], content) };
        router = router.route(path, get(file));
    }
    router
        .route("/api/live", get(live))
        .route("/api/session", get(session))
        .route("/api/status", get(all))
        .route("/api/drift", get(drifts))
        .route("/api/plans", get(plans))
        .route("/api/exports", get(exported))
        .route("/api/map/{namespace}", get(map_of))
        .route("/api/object/{namespace}/{group}/{kind}/{name}", get(object))
        .route("/api/events/{namespace}/{group}/{kind}/{name}", get(events))
        .route("/api/deps/{namespace}/{group}/{kind}/{name}", get(dependencies))
        .route("/api/dependents/{namespace}/{group}/{kind}/{name}", get(dependents))
        .route("/api/approve", post(approved))
        .route("/api/preview-deletion", post(previewed))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(shared.clone(), guarded))
        .with_state(shared)
}

/// Rejects what the guard rejects, and protects every answer.
async fn guarded(State(app): App, request: Request, next: Next) -> Response {
    let checked = app.guard.check(request.method(), request.uri(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refused) => {
            let (code, why) = refused.answer();
            (code, body(&json!({"error": why}))).into_response()
        }
    };
    guard::protect(response.headers_mut());
    response
}

fn body(value: &Value) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, json)], value.to_string()).into_response()
}

impl Shared {
    fn now(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }
}

fn node(Path((namespace, group, kind, name)): Parts) -> Node {
    Node { namespace, group, kind, name }
}

/// What does not change while the page is open.
async fn session(State(app): App) -> Response {
    let Shared { cluster, guard, .. } = &*app;
    body(&json!({
        "server": cluster.server, "namespace": cluster.scope, "canWrite": guard.can_write, "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// Everything, then each change. A page that reads slowly gets fewer and larger changes.
async fn live(State(app): App) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes =
        stream::unfold((app.snapshots.clone(), Sent::default()), |(mut snapshots, mut sent)| async move {
            loop {
                let now = snapshots.borrow_and_update().clone();
                if let Some(update) = sent.update(&now) {
                    return Some((Ok(Event::default().data(update.to_string())), (snapshots, sent)));
                }
                // The watches have ended.
                snapshots.changed().await.ok()?;
            }
        });
    Sse::new(changes).keep_alive(KeepAlive::default())
}

async fn all(State(app): App) -> Response {
    let now = app.now();
    body(&status::json(&now.graph, &now.nodes()))
}

async fn drifts(State(app): App) -> Response {
    let now = app.now();
    let drifted: Vec<_> = now.graph.resources().filter(|one| !one.status.drift.is_empty()).collect();
    body(&drift::json(&drifted))
}

async fn plans(State(app): App) -> Response {
    body(&approve::json(&app.now().graph))
}

async fn exported(State(app): App) -> Response {
    body(&exports::exports(&app.now().graph))
}

async fn object(State(app): App, parts: Parts) -> Result<Response, Failed> {
    let detail = detail::detail(&app.now(), &node(parts));
    Ok(body(&detail.ok_or(Failed::NotFound)?))
}

async fn dependencies(State(app): App, parts: Parts) -> Response {
    body(&View { graph: &app.now().graph, is_reverse: false }.json(&node(parts)))
}

async fn dependents(State(app): App, parts: Parts) -> Response {
    body(&View { graph: &app.now().graph, is_reverse: true }.json(&node(parts)))
}

/// The events of a resource, the newest first. They are not watched: those of a whole namespace can be many.
async fn events(State(app): App, parts: Parts) -> Result<Response, Failed> {
    let node = node(parts);
    let api: Api<KubernetesEvent> = Api::namespaced(app.cluster.client.clone(), &node.namespace);
    let selector = format!("involvedObject.kind={},involvedObject.name={}", node.kind, node.name);
    let listed = api.list(&ListParams::default().fields(&selector)).await;
    let doing = format!("list events in namespace {}", node.namespace);
    let listed = listed.map_err(|error| Failed::Other(explain(error, &doing, &app.cluster.server)))?;
    let mut found: Vec<_> = listed
        .items
        .into_iter()
        .map(|event| {
            let series = event.series.as_ref();
            let last = series
                .and_then(|series| series.last_observed_time.clone())
                .or_else(|| event.event_time.clone());
            let last = last.map(|time| time.0).or_else(|| event.last_timestamp.as_ref().map(|time| time.0));
            let count = series.and_then(|series| series.count).or(event.count).unwrap_or(1);
            (
                last,
                json!({"type": event.type_, "reason": event.reason, "message": event.message, "count": count,
            "last": last.map(|time| time.to_string())}),
            )
        })
        .collect();
    found.sort_by(|(one, _), (other, _)| other.cmp(one));
    Ok(body(&found.into_iter().take(MAX_EVENTS).map(|(_, event)| event).collect()))
}

/// The map of a namespace. The published states say what a spec leaves to the provider, such as a zone.
async fn map_of(State(app): App, Path(namespace): Path<String>) -> Response {
    let cluster = &app.cluster;
    let mut states = vec![];
    if let Some(kind) = cluster.kinds.named("StateDeclaration") {
        let kinds = ["Subnet", "VPC", "Listener", "ListenerRule"].iter().filter_map(|kind| {
            let kind = &cluster.kinds.named(kind)?.resource;
            Some(kraken_api::names::owner_kind(&kind.kind, &kind.group))
        });
        let labels = format!("{OWNER_KIND_LABEL} in ({})", kinds.collect::<Vec<_>>().join(","));
        let listed = cluster.api(kind, Some(&namespace)).list(&ListParams::default().labels(&labels)).await;
        // Without them the map only has fewer labels.
        states = listed.map(|list| list.items).unwrap_or_default();
    }
    let now = app.now();
    body(&map::map(&now.graph, &namespace, &map::states(&now.graph, &states)))
}

/// Approves the plan that the person saw.
async fn approved(State(app): App, sent: Bytes) -> Result<Response, Failed> {
    let Approval { named, hash } = serde_json::from_slice(&sent).map_err(Failed::Body)?;
    let node = named.existing(&app.now())?;
    match approve::approve(&app.cluster, &node, &hash).await.map_err(Failed::Other)? {
        None => Ok(body(&json!({"approved": key(&node)}))),
        Some(why) => Err(Failed::Conflict(why)),
    }
}

/// What a deletion would do, by dry runs, which need the rights of the deletion.
async fn previewed(State(app): App, sent: Bytes) -> Result<Response, Failed> {
    let Preview { named, with_dependents } = serde_json::from_slice(&sent).map_err(Failed::Body)?;
    let now = app.now();
    let node = named.existing(&now)?;
    let mut nodes = vec![node.clone()];
    if with_dependents {
        let users = now.graph.reached(&node, true).into_iter().filter(|user| now.graph.get(user).is_some());
        nodes.extend(users.filter(|user| *user != node));
    }
    plan::deletion(&app.cluster, &now.graph, &nodes).await.map(|plan| body(&plan)).map_err(Failed::Other)
}

impl Named {
    fn existing(self, now: &Snapshot) -> Result<Node, Failed> {
        let Self { namespace, group, kind, name } = self;
        let node = Node { namespace, group, kind, name };
        // Only resources of Kraken: never another object of the cluster.
        now.graph.get(&node).map(|_| node.clone()).ok_or(Failed::NotFound)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let (code, why) = match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "the resource does not exist any more".to_owned()),
            Self::Body(error) => (StatusCode::BAD_REQUEST, format!("the request is invalid: {error}")),
            Self::Conflict(why) => (StatusCode::CONFLICT, why),
            Self::Other(error) => (StatusCode::BAD_GATEWAY, format!("{error:#}")),
        };
        (code, body(&json!({"error": why}))).into_response()
    }
}
