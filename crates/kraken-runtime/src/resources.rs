//! Metrics of resources by namespace, readiness and reason: counted from the controllers' stores when metrics are scraped, so that
//! reconciles have no overhead.
//!
//! The label `namespace` lets alerts reach the team that owns the resource. It is bounded (`--metrics-namespaces`): the resources of
//! further namespaces are counted together.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{
    conditions::{self, DRIFTED, READY, State},
    reasons::{ExportReason, Reason},
};
use parking_lot::RwLock;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};

use crate::clock;

/// The label of a reason that is not Kraken's: others may have permission to write a status.
const OTHER: &str = "Other";

/// The label of the namespaces beyond the maximum; it is no name of a namespace.
const FURTHER: &str = "(others)";

/// The resources of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    namespaces: BTreeMap<String, InNamespace>,
}

/// The resources of one kind in one namespace, by their conditions.
#[derive(Clone, Debug, Default, PartialEq)]
struct InNamespace {
    /// By status and reason of the condition `Ready`.
    ready: BTreeMap<(&'static str, &'static str), u64>,
    /// The number of resources with drift that is not reverted.
    drifted: u64,
    /// The longest time in seconds that a current resource has been unready.
    longest_unready: f64,
}

impl Tally {
    /// Counts one resource of this namespace by its conditions.
    pub fn add(&mut self, namespace: Option<&str>, conditions: &[Condition]) {
        let namespace = namespace.unwrap_or_default();
        if !self.namespaces.contains_key(namespace) {
            self.namespaces.insert(namespace.to_owned(), InNamespace::default());
        }
        if let Some(counted) = self.namespaces.get_mut(namespace) {
            counted.add(conditions);
        }
    }

    /// With at most this many namespaces of their own, in alphabetical order, and the others together; 0 for none. An empty label is none for Prometheus.
    fn bounded(self, max: usize) -> BTreeMap<String, InNamespace> {
        let mut bounded = BTreeMap::<String, InNamespace>::new();
        for (number, (namespace, counted)) in self.namespaces.into_iter().enumerate() {
            let label = match max {
                0 => String::new(),
                _ if number < max => namespace,
                _ => FURTHER.to_owned(),
            };
            bounded.entry(label).or_default().merge(counted);
        }
        // A kind without resources is reported with zeros.
        if bounded.is_empty() {
            bounded.insert(String::new(), InNamespace::default());
        }
        bounded
    }
}

impl InNamespace {
    fn merge(&mut self, other: Self) {
        for (key, number) in other.ready {
            *self.ready.entry(key).or_default() += number;
        }
        self.drifted += other.drifted;
        self.longest_unready = self.longest_unready.max(other.longest_unready);
    }

    fn add(&mut self, conditions: &[Condition]) {
        let ready = conditions::get(conditions, READY);
        let status = ready.map_or(State::Unknown.as_str(), |condition| match condition.status.as_str() {
            "True" => State::True.as_str(),
            "False" => State::False.as_str(),
            _ => State::Unknown.as_str(),
        });
        let reason = ready.map_or(Reason::Pending.as_str(), |condition| reason(&condition.reason));
        *self.ready.entry((status, reason)).or_default() += 1;
        self.drifted +=
            u64::from(conditions::get(conditions, DRIFTED).is_some_and(|drifted| drifted.status == "True"));
        if let Some(ready) = ready.filter(|_| status != State::True.as_str()) {
            let unready = clock::now().duration_since(ready.last_transition_time.0).as_secs_f64();
            self.longest_unready = self.longest_unready.max(unready);
        }
    }
}

fn reason(name: &str) -> &'static str {
    let of_export = || ExportReason::of(name).map(ExportReason::as_str);
    Reason::of(name).map(Reason::as_str).or_else(of_export).unwrap_or(OTHER)
}

type Count = Box<dyn Fn(&mut Tally) + Send + Sync>;

/// Counts the resources of every kind of this process.
#[derive(Clone, Default)]
pub(crate) struct Resources {
    kinds: Arc<RwLock<BTreeMap<&'static str, Count>>>,
    /// How many namespaces have a label of their own.
    max_namespaces: Arc<AtomicUsize>,
}

impl Resources {
    /// `count` adds the resources of this kind when metrics are scraped.
    pub(crate) fn watch(&self, kind: &'static str, count: impl Fn(&mut Tally) + Send + Sync + 'static) {
        self.kinds.write().insert(kind, Box::new(count));
    }

    pub(crate) fn forget(&self, kind: &'static str) {
        self.kinds.write().remove(kind);
    }

    pub(crate) fn limit_namespaces(&self, max: usize) {
        self.max_namespaces.store(max, Ordering::Relaxed);
    }

    /// By kind and label of the namespace.
    fn tallies(&self) -> Vec<(&'static str, String, InNamespace)> {
        let max = self.max_namespaces.load(Ordering::Relaxed);
        let tally = |(kind, count): (&&'static str, &Count)| {
            let (kind, mut tally) = (*kind, Tally::default());
            count(&mut tally);
            tally.bounded(max).into_iter().map(move |(namespace, counted)| (kind, namespace, counted))
        };
        self.kinds.read().iter().flat_map(tally).collect()
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources").finish_non_exhaustive()
    }
}

#[derive(Debug, EncodeLabelSet)]
#[allow(clippy::struct_field_names)] // the labels of the metric
struct Ready {
    kind: &'static str,
    namespace: String,
    ready: &'static str,
    reason: &'static str,
}

#[derive(Debug, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
    namespace: String,
}

impl Collector for Resources {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let tallies = self.tallies();
        let mut family = encoder.encode_descriptor(
            "resources",
            "Resources by status and reason of their condition Ready",
            None,
            MetricType::Gauge,
        )?;
        for (kind, namespace, counted) in &tallies {
            for ((ready, reason), number) in &counted.ready {
                let labels = Ready { kind, namespace: namespace.clone(), ready, reason };
                ConstGauge::new(*number).encode(family.encode_family(&labels)?)?;
            }
        }
        let mut family = encoder.encode_descriptor(
            "resources_drifted",
            "Resources with drift that is not reverted (lifecycle.drift: Report)",
            None,
            MetricType::Gauge,
        )?;
        for (kind, namespace, counted) in &tallies {
            let labels = Kind { kind, namespace: namespace.clone() };
            ConstGauge::new(counted.drifted).encode(family.encode_family(&labels)?)?;
        }
        let mut family = encoder.encode_descriptor(
            "longest_unready_seconds",
            "The longest time that a current resource has been unready; 0 if all are ready",
            None,
            MetricType::Gauge,
        )?;
        for (kind, namespace, counted) in &tallies {
            let labels = Kind { kind, namespace: namespace.clone() };
            ConstGauge::new(counted.longest_unready).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::Metrics;

    fn conditions(state: State, reason: &str, since: Timestamp) -> Vec<Condition> {
        let mut conditions = vec![];
        conditions::set(&mut conditions, READY, state, reason, "", None, since);
        conditions
    }

    #[test]
    fn resources_are_counted_by_reason_when_metrics_are_scraped() {
        let metrics = Metrics::new("kraken-test");
        metrics.limit_namespaces(1);
        let store = Arc::new(RwLock::new(vec![conditions(State::True, "Available", Timestamp::now())]));
        let read = store.clone();
        metrics.count_resources("VPC", move |tally| {
            for conditions in read.read().iter() {
                tally.add(Some("shop"), conditions);
            }
        });
        let line = r#"kraken_resources{kind="VPC",namespace="shop",ready="True",reason="Available"} 1"#;
        assert!(metrics.encode().contains(line), "{}", metrics.encode());

        let hour_ago = Timestamp::now() - SignedDuration::from_hours(1);
        let mut drifted = conditions(State::False, "CloudRefused", hour_ago);
        conditions::set(&mut drifted, DRIFTED, State::True, "Drifted", "", None, hour_ago);
        store.write().extend([drifted, vec![], conditions(State::True, "Available", hour_ago)]);
        let text = metrics.encode();
        for line in [
            r#"kraken_resources{kind="VPC",namespace="shop",ready="True",reason="Available"} 2"#,
            r#"kraken_resources{kind="VPC",namespace="shop",ready="False",reason="CloudRefused"} 1"#,
            r#"kraken_resources{kind="VPC",namespace="shop",ready="Unknown",reason="Pending"} 1"#,
            r#"kraken_resources_drifted{kind="VPC",namespace="shop"} 1"#,
            r#"kraken_longest_unready_seconds{kind="VPC",namespace="shop"} 3600"#,
        ] {
            assert!(text.lines().any(|l| l.starts_with(line)), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn unknown_reasons_share_one_label() {
        let mut tally = Tally::default();
        tally.add(Some("a"), &conditions(State::False, "SomethingForged", Timestamp::now()));
        assert_eq!(tally.namespaces["a"].ready, BTreeMap::from([(("False", OTHER), 1)]));
    }

    #[test]
    fn the_label_of_the_namespace_is_bounded_and_can_be_turned_off() {
        let mut tally = Tally::default();
        for namespace in ["c", "a", "b", "c"] {
            tally.add(Some(namespace), &conditions(State::True, "Available", Timestamp::now()));
        }
        let numbers = |max| -> Vec<(String, u64)> {
            let bounded = tally.clone().bounded(max).into_iter();
            bounded.map(|(namespace, counted)| (namespace, counted.ready.values().sum())).collect()
        };
        let of = |expected: &[(&str, u64)]| -> Vec<(String, u64)> {
            expected.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
        };
        assert_eq!(numbers(3), of(&[("a", 1), ("b", 1), ("c", 2)]));
        assert_eq!(numbers(1), of(&[("(others)", 3), ("a", 1)]));
        assert_eq!(numbers(0), of(&[("", 4)]));
        assert_eq!(Tally::default().bounded(5), BTreeMap::from([(String::new(), InNamespace::default())]));
    }
}
