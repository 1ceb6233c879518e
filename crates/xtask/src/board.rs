//! Watches resources, so that every change of a condition is observed, even if it is brief.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The last observed state of one resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct View {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Status of the Ready condition; empty while there is none.
    pub(crate) ready: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) external_ids: Vec<String>,
    /// Whether Ready is of the newest generation.
    current: bool,
}

impl View {
    /// Ready, and for the newest spec.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready == "True" && self.current
    }

    /// `EC2Instance/web`.
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    fn of(kind: &str, object: &DynamicObject) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |pointer: &str| {
            object.data.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let conditions = list("/status/conditions");
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        let field = |name: &str| text(ready.and_then(|condition| condition.get(name)));
        let observed =
            ready.and_then(|condition| condition.get("observedGeneration")).and_then(Value::as_i64);
        Self {
            kind: kind.to_owned(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            ready: field("status"),
            reason: field("reason"),
            message: field("message"),
            external_ids: list("/status/externalIds").iter().map(|id| text(Some(id))).collect(),
            current: observed.is_none_or(|observed| Some(observed) >= object.metadata.generation),
        }
    }
}

/// What changed.
pub(crate) enum Change<'view> {
    /// A resource is new, or its Ready condition or its ids changed.
    Now(&'view View),
    /// A resource was deleted.
    Gone(&'view View),
}

type Report = Box<dyn Fn(Change<'_>) + Send + Sync>;
/// By kind, namespace and name.
type Views = BTreeMap<(String, String, String), View>;

/// The resources of a namespace, or of all; the watches end on drop.
pub(crate) struct Board {
    shared: Arc<Shared>,
    changed: watch::Receiver<()>,
    _watches: JoinSet<()>,
}

struct Shared {
    views: Mutex<Views>,
    changes: watch::Sender<()>,
    report: Report,
}

impl Board {
    /// Follows these kinds, in all namespaces if none is named; `report` is called for every change.
    pub(crate) fn start(
        client: &Client,
        namespace: Option<&str>,
        kinds: &[GroupVersionKind],
        report: impl Fn(Change<'_>) + Send + Sync + 'static,
    ) -> Self {
        let (changes, receiver) = watch::channel(());
        let shared = Arc::new(Shared { views: Mutex::default(), changes, report: Box::new(report) });
        let mut watches = JoinSet::new();
        for gvk in kinds {
            let resource = ApiResource::from_gvk(gvk);
            let api = match namespace {
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                None => Api::all_with(client.clone(), &resource),
            };
            watches.spawn(follow(api, gvk.kind.clone(), Arc::clone(&shared)));
        }
        Self { shared, changed: receiver, _watches: watches }
    }

    /// All resources now.
    pub(crate) fn views(&self) -> Vec<View> {
        self.shared.lock().values().cloned().collect()
    }

    /// Waits until `holds`.
    pub(crate) async fn wait(
        &mut self,
        what: &str,
        deadline: Instant,
        holds: impl Fn(&[View]) -> bool,
    ) -> Result<()> {
        loop {
            let views = self.views();
            if holds(&views) {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            // Also checked periodically, because `holds` may depend on more than the views.
            let nap = left.min(Duration::from_millis(200));
            let _ = tokio::time::timeout(nap, self.changed.changed()).await;
            if left.is_zero() {
                bail!("{what} did not happen in time{}", unready(&views));
            }
        }
    }
}

fn unready(views: &[View]) -> String {
    let lines = views.iter().filter(|view| !view.is_ready()).take(10);
    let lines: Vec<String> = lines.map(|view| format!("\n  {}: {}", view.title(), why(view))).collect();
    if lines.is_empty() { String::new() } else { format!("; not Ready:{}", lines.concat()) }
}

fn why(view: &View) -> String {
    if view.ready.is_empty() {
        return "no Ready condition yet; does its controller run?".to_owned();
    }
    format!("{} {}", view.reason, view.message)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Views> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self, kind: &str, object: &DynamicObject) {
        let view = View::of(kind, object);
        let mut views = self.lock();
        let old = views.insert(key(kind, object), view.clone());
        if old.is_none_or(|old| old != view) {
            (self.report)(Change::Now(&view));
        }
    }

    fn gone(&self, key: &(String, String, String)) {
        if let Some(view) = self.lock().remove(key) {
            (self.report)(Change::Gone(&view));
        }
    }
}

fn key(kind: &str, object: &DynamicObject) -> (String, String, String) {
    (kind.to_owned(), object.namespace().unwrap_or_default(), object.name_any())
}

async fn follow(api: Api<DynamicObject>, kind: String, shared: Arc<Shared>) {
    let mut events = std::pin::pin!(watcher::watcher(api, watcher::Config::default()));
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object)) => shared.seen(&kind, &object),
            Ok(Event::Delete(object)) => shared.gone(&key(&kind, &object)),
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => {
                listed.push(key(&kind, &object));
                shared.seen(&kind, &object);
            }
            Ok(Event::InitDone) => {
                // A deletion during a broken watch is detected only by the missing object.
                let known: Vec<_> = shared.lock().keys().filter(|key| key.0 == kind).cloned().collect();
                for key in known.iter().filter(|key| !listed.contains(key)) {
                    shared.gone(key);
                }
            }
            Err(problem) => {
                eprintln!("watching {kind}: {problem}; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        shared.changes.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(value: serde_json::Value) -> View {
        View::of("EC2Instance", &serde_json::from_value(value).unwrap())
    }

    fn object(ready: &str, generation: i64, observed: i64) -> serde_json::Value {
        json!({
            "apiVersion": "x/v1", "kind": "EC2Instance", "metadata": {"name": "a", "generation": generation},
            "status": {"externalIds": ["i-1"], "conditions": [
                {"type": "Synced", "status": "True"},
                {"type": "Ready", "status": ready, "reason": "R", "message": "m", "observedGeneration": observed},
            ]},
        })
    }

    #[test]
    fn ready_counts_only_for_the_newest_spec() {
        assert!(view(object("True", 2, 2)).is_ready());
        assert!(!view(object("True", 3, 2)).is_ready());
        assert!(!view(object("Unknown", 2, 2)).is_ready());
    }

    #[test]
    fn a_resource_without_status_is_not_ready() {
        let view = view(json!({"metadata": {"name": "a"}}));
        assert!(!view.is_ready());
        assert_eq!(view.title(), "EC2Instance/a");
    }
}
