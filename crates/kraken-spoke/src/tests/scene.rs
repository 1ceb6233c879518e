//! The fixture: one Disk, the API server and the cloud of one test.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use kraken_api::{
    DependencyRequest, FINALIZER, INTENT_ANNOTATION, Location, OWNER_KIND_LABEL, REFERENCES_FINALIZER,
    StateDeclaration,
};
use kraken_runtime::{
    Manager, RunArgs,
    metrics::Metrics,
    queue::{Lane, Queue, Requeue},
    watch::{KubeClient, ObjectKey, Watches},
    work::{self, Slot},
};
use kube::runtime::watcher;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    disk::{Account, Cloud, Disks, GROUP},
    script::{Call, Script},
    server::{self, Stored},
};
use crate::{
    context::{Context, Shared},
    controller::isolate::guarded,
    dynamic::{DynExternal, DynKind},
    model::{breaker::Breaker, fields::Fields},
    shared::{
        batch::Batchers,
        blockers::References,
        claims::Claims,
        connections::{Connections, Link},
        hub::Hub,
        hub_lease::HubLease,
        memories::Memories,
        published::Published,
        secrets::Secrets,
        unselected::Unselected,
        vanished::Vanished,
    },
};

/// A Disk `a` in the namespace `ns`, as the API server stores it.
#[derive(Clone, Debug)]
pub(super) struct Disk(Value);

/// A Disk that was just created: it has no status, and no remote objects can exist.
pub(super) fn disk() -> Disk {
    Disk(json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "Disk",
        "metadata": {
            "name": "a", "namespace": "ns", "uid": "u-1", "resourceVersion": "10", "generation": 1,
            "creationTimestamp": "2100-01-01T00:00:00Z",
        },
        "spec": {"size": {"value": 1}, "lifecycle": {}},
    }))
}

impl Disk {
    pub(super) fn spec(mut self, field: &str, value: Value) -> Self {
        self.0["spec"][field] = value;
        self
    }

    pub(super) fn lifecycle(mut self, option: &str, value: Value) -> Self {
        self.0["spec"]["lifecycle"][option] = value;
        self
    }

    pub(super) fn annotated(mut self, name: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][name] = json!(value);
        self
    }

    pub(super) fn status(mut self, field: &str, value: Value) -> Self {
        self.0["status"][field] = value;
        self
    }

    /// With a status that reports the last generation as ready.
    pub(super) fn ready(self) -> Self {
        let ready = json!({"type": "Ready", "status": "True", "reason": "Available", "message": "in place: disk-1",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        self.status("conditions", json!([ready])).status("observedGeneration", json!(1))
    }

    /// With the remote object `disk-1`, which its first launch created and which was in place.
    pub(super) fn launched(self) -> Self {
        let in_place = json!({"generation": 1, "spec": "digest", "inputs": ""});
        self.ready()
            .status("externalIds", json!(["disk-1"]))
            .status("epoch", json!(1))
            .status("inPlace", in_place)
            .intent(&json!({}))
            .creation("2020-01-01T00:00:00Z")
    }

    /// With the finalizer and the intent of the first launch, changed by these members.
    pub(super) fn intent(mut self, members: &Value) -> Self {
        let mut intent = json!({"epoch": 1, "at": "2026-01-01T00:00:00Z", "hash": "digest"});
        json_patch::merge(&mut intent, members);
        self.0["metadata"]["finalizers"] = json!([FINALIZER]);
        self.annotated(INTENT_ANNOTATION, &intent.to_string())
    }

    /// With an edit of the spec since it was in place.
    pub(super) fn edited(mut self) -> Self {
        self.0["metadata"]["generation"] = json!(2);
        self
    }

    /// With a request to delete it.
    pub(super) fn deleted(mut self) -> Self {
        self.0["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
        self
    }

    /// Created at this time.
    pub(super) fn creation(mut self, time: &str) -> Self {
        self.0["metadata"]["creationTimestamp"] = json!(time);
        self
    }

    /// The stored object.
    pub(super) fn json(self) -> Value {
        self.0
    }

    /// Without the finalizer, which another client removed.
    pub(super) fn without_finalizer(mut self) -> Self {
        self.0["metadata"].as_object_mut().unwrap().remove("finalizers");
        self
    }
}

/// A remote object of the first launch that is in place.
pub(super) fn remote(id: &str) -> Value {
    json!({"id": id, "state": "available", "size": 1, "epoch": 1})
}

/// The same with one other field.
pub(super) fn with(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

/// The DependencyRequest of a Disk with a reference to ConfigMap `sizes`, with this status.
pub(super) fn request(status: &Value) -> Value {
    json!({
        "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1",
        "kind": "DependencyRequest",
        "metadata": {
            "name": "disk.testing.a", "namespace": "ns", "uid": "r-1", "resourceVersion": "5", "generation": 1,
            "labels": {OWNER_KIND_LABEL: "disk.testing"},
            "finalizers": [REFERENCES_FINALIZER],
            "ownerReferences": [{"apiVersion": format!("{GROUP}/v1"), "kind": "Disk", "name": "a", "uid": "u-1",
                "controller": true}],
        },
        "spec": {"configMapDependencies": [{"name": "sizes", "key": "small"}]},
        "status": status,
    })
}

/// An option that refers to ConfigMap `sizes`.
pub(super) fn from_config_map() -> Value {
    json!({"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}})
}

/// The settings of a scene.
pub(super) struct Setup {
    pub disk: Disk,
    pub requests: Vec<Value>,
    pub location: Option<Location>,
    /// The account; the kind has accounts only then.
    pub account: Option<Account>,
    pub has_tags: bool,
    pub visibility_window: Duration,
    pub launch_limit: usize,
    /// In percent of the resources of the kind.
    pub vanished_share: usize,
}

impl Setup {
    pub(super) fn of(disk: Disk) -> Self {
        Self {
            disk,
            requests: vec![],
            location: None,
            account: None,
            has_tags: true,
            visibility_window: Duration::ZERO,
            launch_limit: 10,
            vanished_share: 100,
        }
    }

    /// Starts the controller: its stores are filled by watches.
    pub(super) async fn start(self) -> Scene {
        let (script, stored) = (Script::default(), Stored::new(self.disk.0.clone()));
        let client = server::client(&script, &stored);
        let manager = Manager::detached("kraken-test", client, run_args(), "cluster".to_owned());
        let lists = server::lists(vec![("disks", vec![self.disk.0]), ("dependencyrequests", self.requests)]);
        let watches = Watches { client: KubeClient(lists), ..manager.watches() };
        let kind: Arc<dyn DynKind> = Arc::new(Disks::new(self.has_tags, self.account.is_some()));
        let decode = {
            let kind = kind.clone();
            move |object: &_| kind.decode(object)
        };
        let (all, resource) = (watcher::Config::default(), kind.info().resource.clone());
        let shared = Shared {
            fields: Fields::of(kind.info()),
            objects: watches.decoded("Disk", &resource, |_| {}, decode),
            requests: watches.objects::<DependencyRequest>("DependencyRequest", &all, |_| {}),
            states: watches.metadata::<StateDeclaration>("StateDeclaration", &all, |_| {}),
            kind,
            connections: Connections::default(),
            queue: Queue::new(4),
            unselected: Unselected::default(),
            hub: Arc::new(Hub::default()),
            hub_lease: HubLease::default(),
            published: Published::default(),
            undecodable: Arc::default(),
            references: References::default(),
            secrets: Secrets::default(),
            memories: Memories::default(),
            digest_key: 7,
            claims: Claims::default(),
            visibility_window: self.visibility_window,
            deep_interval: Duration::from_hours(1),
            began: OnceLock::from(kraken_runtime::clock::now()),
            breaker: Breaker { limit: self.launch_limit, window: Duration::from_mins(10) },
            manager: manager.clone(),
        };
        let cloud = Cloud { script: script.clone(), location: self.location, account: self.account };
        let external: Arc<dyn DynExternal> = Arc::new(cloud);
        let vanished = Arc::new(Vanished::new(self.vanished_share, 1));
        let link = Link { batchers: Batchers::start(&external), external, vanished };
        manager.health.ready().await;
        Scene { context: Arc::new(Context::of(shared, link)), script, stored }
    }
}

fn run_args() -> RunArgs {
    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: RunArgs,
    }
    let flags = ["kraken-test", "--resync-interval", "5m"];
    <Cli as clap::Parser>::parse_from(flags).args
}

/// A controller of Disks, with one Disk.
pub(super) struct Scene {
    pub context: Arc<Context>,
    script: Script,
    stored: Stored,
}

/// What a user sees of one reconcile.
#[derive(Debug)]
pub(super) struct Report {
    /// When the next reconcile is due.
    pub requeue: Requeue,
    /// The label of the metric `kraken_reconciles_total`.
    pub metric: String,
    /// The published events: type, reason and note.
    pub events: Vec<(String, String, String)>,
    /// The stored Disk.
    pub disk: Value,
    calls: Vec<(String, Value)>,
}

impl Scene {
    /// The scene of a Disk with the default settings.
    pub(super) async fn of(disk: Disk) -> Self {
        Setup::of(disk).start().await
    }

    /// One reconcile in the edit lane, in which exactly these calls are made.
    pub(super) async fn reconcile(&self, expected: impl IntoIterator<Item = Call>) -> Report {
        self.reconcile_in(Lane::Edit, expected).await
    }

    /// One reconcile in this lane.
    pub(super) async fn reconcile_in(&self, lane: Lane, expected: impl IntoIterator<Item = Call>) -> Report {
        let metrics = &self.context.manager.metrics;
        let before = reconciles(metrics);
        self.script.begin(expected);
        let slot = slot(lane).await;
        let requeue = guarded(self.context.clone(), "Disk", ObjectKey::new("ns", "a"), slot).await;
        let calls = self.script.end();
        let after = reconciles(metrics);
        let counted = |label: &&String| after.get(*label) != before.get(*label);
        let metric = after.keys().find(counted).cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let event =
            |(_, body): &(String, Value)| (text(&body["type"]), text(&body["reason"]), text(&body["note"]));
        let events = calls.iter().filter(|(name, _)| name == "POST events").map(event).collect();
        Report { requeue, metric, events, disk: self.stored.disk(), calls }
    }

    /// Reports the Disk as one that does not decode, as its watch does.
    pub(super) fn undecodable(&self, error: &str) {
        self.context.undecodable.lock().insert(ObjectKey::new("ns", "a"), error.to_owned());
    }

    /// The metrics in the text format.
    pub(super) fn metrics(&self) -> String {
        self.context.manager.metrics.encode()
    }
}

impl Report {
    /// Status and reason of a condition; empty if the Disk does not have it.
    pub(super) fn condition(&self, kind: &str) -> (&str, &str) {
        let conditions = self.disk["status"]["conditions"].as_array().into_iter().flatten();
        let found = conditions.into_iter().find(|condition| condition["type"] == kind);
        let text = |field| found.and_then(|condition| condition[field].as_str()).unwrap_or_default();
        (text("status"), text("reason"))
    }

    /// The message of the Ready condition.
    pub(super) fn message(&self) -> String {
        let conditions = self.disk["status"]["conditions"].as_array().into_iter().flatten();
        let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready");
        ready.and_then(|ready| ready["message"].as_str()).unwrap_or_default().to_owned()
    }

    /// The intent that is stored on the Disk.
    pub(super) fn intent(&self) -> Value {
        let text = self.disk["metadata"]["annotations"][INTENT_ANNOTATION].as_str();
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// The body of a call.
    pub(super) fn body(&self, name: &str) -> &Value {
        self.calls.iter().find(|(made, _)| made == name).map_or(&Value::Null, |(_, body)| body)
    }

    /// Type and reason of each event.
    pub(super) fn events(&self) -> Vec<(&str, &str)> {
        self.events.iter().map(|(type_, reason, _)| (type_.as_str(), reason.as_str())).collect()
    }
}

/// The count of reconciles by outcome.
fn reconciles(metrics: &Metrics) -> BTreeMap<String, String> {
    let text = metrics.encode();
    let lines = text.lines().filter_map(|line| line.strip_prefix("kraken_reconciles_total{"));
    let parts = lines.filter_map(|line| {
        let (_, rest) = line.split_once("outcome=\"")?;
        let (outcome, count) = rest.split_once("\"} ")?;
        Some((outcome.to_owned(), count.to_owned()))
    });
    parts.collect()
}

/// A place in a lane, which only a work queue hands out.
async fn slot(lane: Lane) -> Slot {
    let queue = Queue::new(1);
    queue.add(0_u8, lane);
    let (sender, mut slots) = tokio::sync::mpsc::channel(1);
    let hand_over = move |_: u8, slot| {
        let sender = sender.clone();
        async move {
            let _ = sender.send(slot).await;
            Requeue::Never
        }
    };
    let stop = CancellationToken::new();
    let _stopped = stop.clone().drop_guard();
    kraken_runtime::task::spawn(work::run(queue, 1, "Disk", Metrics::new("test"), stop, hand_over));
    slots.recv().await.unwrap()
}
