//! Metrics of resources by readiness and reason: counted from the controllers' stores when metrics are scraped, so that
//! reconciles have no overhead.

use std::{collections::BTreeMap, fmt, sync::Arc};

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

/// The resources of one kind, by their conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// By status and reason of the condition `Ready`.
    ready: BTreeMap<(&'static str, &'static str), u64>,
    /// The number of resources with drift that is not reverted.
    drifted: u64,
    /// The longest time in seconds that a current resource has been unready.
    longest_unready: f64,
}

impl Tally {
    /// Counts one resource by its conditions.
    pub fn add(&mut self, conditions: &[Condition]) {
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
}

impl Resources {
    /// `count` adds the resources of this kind when metrics are scraped.
    pub(crate) fn watch(&self, kind: &'static str, count: impl Fn(&mut Tally) + Send + Sync + 'static) {
        self.kinds.write().insert(kind, Box::new(count));
    }

    fn tallies(&self) -> Vec<(&'static str, Tally)> {
        let tally = |(kind, count): (&&'static str, &Count)| {
            let mut tally = Tally::default();
            count(&mut tally);
            (*kind, tally)
        };
        self.kinds.read().iter().map(tally).collect()
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
    ready: &'static str,
    reason: &'static str,
}

#[derive(Debug, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
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
        for (kind, tally) in &tallies {
            for ((ready, reason), number) in &tally.ready {
                let labels = Ready { kind, ready, reason };
                ConstGauge::new(*number).encode(family.encode_family(&labels)?)?;
            }
        }
        let mut family = encoder.encode_descriptor(
            "resources_drifted",
            "Resources with drift that is not reverted (lifecycle.drift: Report)",
            None,
            MetricType::Gauge,
        )?;
        for (kind, tally) in &tallies {
            ConstGauge::new(tally.drifted).encode(family.encode_family(&Kind { kind })?)?;
        }
        let mut family = encoder.encode_descriptor(
            "longest_unready_seconds",
            "The longest time that a current resource has been unready; 0 if all are ready",
            None,
            MetricType::Gauge,
        )?;
        for (kind, tally) in &tallies {
            ConstGauge::new(tally.longest_unready).encode(family.encode_family(&Kind { kind })?)?;
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
        let store = Arc::new(RwLock::new(vec![conditions(State::True, "Available", Timestamp::now())]));
        let read = store.clone();
        metrics.count_resources("VPC", move |tally| {
            for conditions in read.read().iter() {
                tally.add(conditions);
            }
        });
        let line = r#"kraken_resources{kind="VPC",ready="True",reason="Available"} 1"#;
        assert!(metrics.encode().contains(line), "{}", metrics.encode());

        let hour_ago = Timestamp::now() - SignedDuration::from_hours(1);
        let mut drifted = conditions(State::False, "CloudRefused", hour_ago);
        conditions::set(&mut drifted, DRIFTED, State::True, "Drifted", "", None, hour_ago);
        store.write().extend([drifted, vec![], conditions(State::True, "Available", hour_ago)]);
        let text = metrics.encode();
        for line in [
            r#"kraken_resources{kind="VPC",ready="True",reason="Available"} 2"#,
            r#"kraken_resources{kind="VPC",ready="False",reason="CloudRefused"} 1"#,
            r#"kraken_resources{kind="VPC",ready="Unknown",reason="Pending"} 1"#,
            r#"kraken_resources_drifted{kind="VPC"} 1"#,
            r#"kraken_longest_unready_seconds{kind="VPC"} 3600"#,
        ] {
            assert!(text.lines().any(|l| l.starts_with(line)), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn unknown_reasons_share_one_label() {
        let mut tally = Tally::default();
        tally.add(&conditions(State::False, "SomethingForged", Timestamp::now()));
        assert_eq!(tally.ready, BTreeMap::from([(("False", OTHER), 1)]));
    }
}
