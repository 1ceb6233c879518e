//! The fixture: one Disk, the API server and the cloud of one test.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kraken_api::Location;
use kraken_kind::dynamic::{Calls, Kind};
use kraken_runtime::{
    Manager, RunArgs,
    metrics::Metrics,
    queue::{Lane, Queue, Requeue},
    watch::ObjectKey,
    work::{self, Slot},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    cloud::{Account, Cloud},
    disk::Disks,
    fixtures::Disk,
    script::{Call, Script},
    server::{self, Stored},
};
use crate::{
    LoopArgs,
    context::Context,
    controller::{Common, Owned, isolate::guarded, watch},
    shared::{connections::Link, vanished::Vanished},
};

/// The settings of a scene.
#[expect(clippy::struct_excessive_bools, reason = "independent settings")]
pub(super) struct Setup {
    pub disk: Disk,
    pub requests: Vec<Value>,
    pub states: Vec<Value>,
    pub location: Option<Location>,
    /// The account; the kind has accounts only then.
    pub account: Option<Account>,
    /// Whether the create call accepts a token.
    pub has_tokens: bool,
    /// Whether the provider returns deleted objects as deleted for some time.
    pub shows_deleted: bool,
    /// Whether a replaced object may have what its successor needs and can exist only once.
    pub hands_over: bool,
    /// Whether the kind looks up disks.
    pub looks_up: bool,
    pub visibility_window: Duration,
    pub launch_limit: usize,
    /// In percent of the resources of the kind.
    pub vanished_share: usize,
    /// Whether the objects of the cluster were listed since the start of the process.
    pub is_listed: bool,
}

impl Setup {
    pub(super) fn of(disk: Disk) -> Self {
        Self {
            disk,
            requests: vec![],
            states: vec![],
            location: None,
            account: None,
            has_tokens: true,
            shows_deleted: false,
            hands_over: false,
            looks_up: false,
            visibility_window: Duration::ZERO,
            launch_limit: 10,
            vanished_share: 100,
            is_listed: true,
        }
    }

    /// Starts the controller: its stores are filled by watches.
    pub(super) async fn start(self) -> Scene {
        let lists = vec![
            ("disks", vec![self.disk.clone().json()]),
            ("dependencyrequests", self.requests),
            ("statedeclarations", self.states),
        ];
        let (script, stored) = (Script::default(), Stored::new(self.disk.json()));
        let client = server::client(&script, &stored, lists);
        let manager = Manager::detached("kraken-test", client, run_args(), "cluster".to_owned());
        let kind = Disks::new(self.account.is_some()).with_tokens(self.has_tokens);
        let kind: Arc<dyn Kind> = Arc::new(kind.with_deleted(self.shows_deleted).looking_up(self.looks_up));
        let args = LoopArgs {
            visibility_window: self.visibility_window,
            launch_limit: self.launch_limit,
            ..LoopArgs::default()
        };
        let mut owned = Owned::of(manager.name);
        let shared = watch(&manager, kind, &args, Common::default(), &mut owned);
        owned.watch(&manager.watches());
        let _ = shared.began.set(kraken_runtime::clock::now());
        if self.is_listed {
            for (namespace, name) in [("", ""), ("ns", "shop")] {
                shared.former.set_listed(ObjectKey::new(namespace, name), 0, []);
            }
        }
        let (location, account, hands_over) = (self.location, self.account, self.hands_over);
        let cloud = Cloud { location, account, hands_over, ..Cloud::of(script.clone()) };
        let external: Arc<dyn Calls> = Arc::new(cloud);
        let vanished = Arc::new(Vanished::new(self.vanished_share, 1));
        let link = Link::new(external, vanished);
        manager.health.ready().await;
        Scene { context: Arc::new(Context::new(shared, link)), script, stored }
    }
}

pub(super) fn run_args() -> RunArgs {
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

    /// The result of something else than a reconcile, in which exactly these calls are made.
    pub(super) async fn during<T>(
        &self,
        expected: impl IntoIterator<Item = Call>,
        doing: impl Future<Output = T>,
    ) -> (T, Vec<(String, Value)>) {
        self.script.begin(expected);
        let done = doing.await;
        (done, self.script.end())
    }

    /// Restores a backup of the API server with this Disk, whose watch then returns an older version.
    pub(super) fn restore(&self, disk: Disk) {
        self.stored.replace(disk.json());
        self.context.memories.restored(ObjectKey::new("ns", "a"));
    }

    /// Stores a version of the Disk that its watch has not returned yet.
    pub(super) fn store(&self, disk: Disk) {
        self.stored.replace(disk.json());
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

    /// The ledger that is stored on the Disk.
    pub(super) fn ledger(&self) -> Value {
        self.disk["status"]["ledger"].clone()
    }

    /// The body of a call.
    pub(super) fn body(&self, name: &str) -> &Value {
        self.bodies(name).next().unwrap_or(&Value::Null)
    }

    /// The body of each call of this name.
    pub(super) fn bodies(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.calls.iter().filter(move |(made, _)| made == name).map(|(_, body)| body)
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

/// A slot in a lane, which only a work queue creates.
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
