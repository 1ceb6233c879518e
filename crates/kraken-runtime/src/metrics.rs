//! The metrics of a controller, for Prometheus.
//!
//! Every label comes from a bounded set (kinds, outcomes, operations, a limited number of namespaces): never a name or an error's
//! text.

use std::{fmt, sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        gauge::Gauge,
        histogram::Histogram,
        info::Info,
    },
    registry::Registry,
};

use crate::{
    resources::Resources,
    version::{COMMIT, VERSION},
};

pub use crate::resources::Tally;

/// The media type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The retry class of a call that may succeed when it is repeated; that of all failures of a controller without others.
pub const TRANSIENT: &str = "transient";

/// Upper bounds in seconds: from a reconcile without changes (milliseconds) to the slowest cloud calls.
const SECONDS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// The metrics of one process. Cloning it gives another handle of the same metrics.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    reconciles: Family<Outcome, Counter>,
    reconcile_seconds: Family<Kind, Histogram, Buckets>,
    reconcile_errors: Family<Class, Counter>,
    reconcile_panics: Family<Kind, Counter>,
    queue_depth: Family<Lane, Gauge>,
    cloud_calls: Family<Call, Counter>,
    cloud_call_seconds: Family<Operation, Histogram, Buckets>,
    requests: Family<Request, Counter>,
    orphans: Family<Kind, Gauge>,
    launches_withheld: Family<Withheld, Counter>,
    watch_errors: Family<Kind, Counter>,
    connections_closed: Family<Port, Counter>,
    leader: Family<Lease, Gauge>,
    resources: Resources,
}

/// Creates a histogram with these buckets for each new label set.
#[derive(Clone, Copy, Debug)]
struct Buckets;

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Port {
    port: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Class {
    kind: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lane {
    kind: &'static str,
    lane: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lease {
    lease: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    operation: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Withheld {
    kind: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    verb: &'static str,
    resource: String,
    code: &'static str,
}

impl Metrics {
    /// Metrics at zero, labelled with the binary's name and version.
    pub fn new(name: &'static str) -> Self {
        let mut inner = Inner {
            registry: Registry::with_prefix("kraken"),
            reconciles: Family::default(),
            reconcile_seconds: Family::new_with_constructor(Buckets),
            reconcile_errors: Family::default(),
            reconcile_panics: Family::default(),
            queue_depth: Family::default(),
            cloud_calls: Family::default(),
            cloud_call_seconds: Family::new_with_constructor(Buckets),
            requests: Family::default(),
            orphans: Family::default(),
            launches_withheld: Family::default(),
            watch_errors: Family::default(),
            connections_closed: Family::default(),
            leader: Family::default(),
            resources: Resources::default(),
        };
        inner.register(name);
        Self { inner: Arc::new(inner) }
    }

    /// A reconcile ended with this outcome after this time.
    pub fn reconciled(&self, kind: &'static str, outcome: &'static str, duration: Duration) {
        self.inner.reconciles.get_or_create(&Outcome { kind, outcome }).inc();
        self.inner.reconcile_seconds.get_or_create(&Kind { kind }).observe(duration.as_secs_f64());
    }

    /// A reconcile failed; `class` is its retry class.
    pub fn reconcile_failed(&self, kind: &'static str, class: &'static str) {
        self.inner.reconcile_errors.get_or_create(&Class { kind, class }).inc();
    }

    /// A reconcile panicked and was caught.
    pub fn reconcile_panicked(&self, kind: &'static str) {
        self.inner.reconcile_panics.get_or_create(&Kind { kind }).inc();
    }

    /// The number of keys that wait in this lane.
    pub fn queue_depth(&self, kind: &'static str, lane: &'static str, depth: usize) {
        self.inner
            .queue_depth
            .get_or_create(&Lane { kind, lane })
            .set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// A call to the cloud got a response or timed out after this time.
    pub fn cloud_call(&self, operation: &'static str, result: &'static str, duration: Duration) {
        self.inner.cloud_calls.get_or_create(&Call { operation, result }).inc();
        self.inner.cloud_call_seconds.get_or_create(&Operation { operation }).observe(duration.as_secs_f64());
    }

    /// The number of deleted resources with remaining remote objects, according to the last sweep.
    pub fn orphans(&self, kind: &'static str, number: usize) {
        self.inner.orphans.get_or_create(&Kind { kind }).set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// A launch was withheld for safety; `reason` is the reason of the condition.
    pub fn launch_withheld(&self, kind: &'static str, reason: &'static str) {
        self.inner.launches_withheld.get_or_create(&Withheld { kind, reason }).inc();
    }

    /// A watch failed and is restarted.
    pub fn watch_failed(&self, kind: &'static str) {
        self.inner.watch_errors.get_or_create(&Kind { kind }).inc();
    }

    /// A connection to this port was closed, because all places were taken and it was the slowest.
    pub fn connection_closed(&self, port: &'static str) {
        self.inner.connections_closed.get_or_create(&Port { port }).inc();
    }

    /// `count` adds the resources of this kind when metrics are scraped.
    pub fn count_resources(&self, kind: &'static str, count: impl Fn(&mut Tally) + Send + Sync + 'static) {
        self.inner.resources.watch(kind, count);
    }

    /// The resources of this kind are not counted any more: its controller has ended.
    pub fn forget_resources(&self, kind: &'static str) {
        self.inner.resources.forget(kind);
    }

    /// At most this many namespaces have a label of their own; 0 for no label.
    pub fn limit_namespaces(&self, max: usize) {
        self.inner.resources.limit_namespaces(max);
    }

    /// Whether this process holds this lease, which has the name of its controller.
    pub fn leading(&self, lease: &'static str, leads: bool) {
        self.inner.leader.get_or_create(&Lease { lease }).set(i64::from(leads));
    }

    /// A request to the API server ended; `resource` is its plural name and subresource.
    pub(crate) fn requested(&self, verb: &'static str, resource: String, code: &'static str) {
        self.inner.requests.get_or_create(&Request { verb, resource, code }).inc();
    }

    /// All metrics in the OpenMetrics text format; see [`CONTENT_TYPE`].
    pub fn encode(&self) -> String {
        let mut out = String::new();
        // Writing to a String does not fail, and a partial response is better than none.
        if text::encode(&mut out, &self.inner.registry).is_err() {
            tracing::warn!("failed to encode the metrics");
        }
        out
    }
}

impl Inner {
    fn register(&mut self, name: &'static str) {
        let r = &mut self.registry;
        // The encoder appends _total to counters and _info to the build.
        r.register("reconciles", "Reconciles by outcome", self.reconciles.clone());
        r.register("reconcile_seconds", "Duration of reconciles", self.reconcile_seconds.clone());
        r.register("reconcile_errors", "Failed reconciles by retry class", self.reconcile_errors.clone());
        r.register("reconcile_panics", "Reconciles that panicked", self.reconcile_panics.clone());
        r.register("queue_depth", "Keys waiting", self.queue_depth.clone());
        r.register("cloud_calls", "Calls to the cloud by result", self.cloud_calls.clone());
        r.register("cloud_call_seconds", "Duration of calls to the cloud", self.cloud_call_seconds.clone());
        r.register(
            "kubernetes_requests",
            "Requests to the API server by status class",
            self.requests.clone(),
        );
        r.register("orphans", "Deleted owners with remaining remote objects", self.orphans.clone());
        r.register(
            "launches_withheld",
            "Launches that were withheld for safety, by the reason of the condition",
            self.launches_withheld.clone(),
        );
        r.register("watch_errors", "Failures of watches", self.watch_errors.clone());
        r.register(
            "connections_closed",
            "Connections that were closed because all places of the port were taken",
            self.connections_closed.clone(),
        );
        r.register("leader", "1 while this process holds the lease", self.leader.clone());
        r.register_collector(Box::new(self.resources.clone()));
        let build = Info::new([("name", name), ("version", VERSION), ("commit", COMMIT.unwrap_or_default())]);
        r.register("build", "The running build", build);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_encoded_under_their_documented_names() {
        let metrics = Metrics::new("kraken-test");
        metrics.reconciled("EC2Instance", "Ready", Duration::from_millis(20));
        metrics.reconcile_failed("EC2Instance", TRANSIENT);
        metrics.reconcile_panicked("EC2Instance");
        metrics.queue_depth("EC2Instance", "edit", 3);
        metrics.cloud_call("DescribeInstances", "ok", Duration::from_secs(1));
        metrics.orphans("EC2Instance", 2);
        metrics.launch_withheld("EC2Instance", "LaunchRefused");
        metrics.watch_failed("ConfigMap");
        metrics.connection_closed("webhooks");
        metrics.leading("kraken-test", true);
        metrics.requested("get", "leases".to_owned(), "2xx");
        let text = metrics.encode();
        for line in [
            r#"kraken_reconciles_total{kind="EC2Instance",outcome="Ready"} 1"#,
            r#"kraken_reconcile_seconds_count{kind="EC2Instance"} 1"#,
            r#"kraken_reconcile_seconds_bucket{le="0.025",kind="EC2Instance"} 1"#,
            r#"kraken_reconcile_errors_total{kind="EC2Instance",class="transient"} 1"#,
            r#"kraken_reconcile_panics_total{kind="EC2Instance"} 1"#,
            r#"kraken_queue_depth{kind="EC2Instance",lane="edit"} 3"#,
            r#"kraken_cloud_calls_total{operation="DescribeInstances",result="ok"} 1"#,
            r#"kraken_cloud_call_seconds_sum{operation="DescribeInstances"} 1.0"#,
            r#"kraken_kubernetes_requests_total{verb="get",resource="leases",code="2xx"} 1"#,
            r#"kraken_orphans{kind="EC2Instance"} 2"#,
            r#"kraken_launches_withheld_total{kind="EC2Instance",reason="LaunchRefused"} 1"#,
            r#"kraken_watch_errors_total{kind="ConfigMap"} 1"#,
            r#"kraken_connections_closed_total{port="webhooks"} 1"#,
            r#"kraken_leader{lease="kraken-test"} 1"#,
            r#"kraken_build_info{name="kraken-test""#,
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l.starts_with(line)), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn clones_count_together() {
        let metrics = Metrics::new("kraken-test");
        metrics.clone().watch_failed("Secret");
        metrics.watch_failed("Secret");
        assert!(metrics.encode().contains(r#"kraken_watch_errors_total{kind="Secret"} 2"#));
    }
}
