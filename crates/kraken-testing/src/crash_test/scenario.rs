//! A scenario of the crash test: what is applied, what is broken before, and what may exist.

use std::collections::BTreeSet;
use std::time::Duration;

use kraken_simulator::Kind;
use serde_json::Value;

use super::cloud::LAG;
use super::desired::Desired;
use super::kinds::text;

/// The programs that can be killed.
pub(super) const HUB: &str = "kraken-hub";
pub(super) const INSTANCES: &str = "kraken-aws-ec2-instance";
pub(super) const NETWORK: &str = "kraken-aws-vpc";
pub(super) const BALANCING: &str = "kraken-aws-elb";

/// One step.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Applies this, and deletes previously applied objects that are not part of it.
    Apply(Desired),
    /// Waits until the last desired state is reached, and no more writes occur.
    Settle,
    /// Waits until this call was made, or the fault occurred before.
    Await(&'static str),
}

/// An out-of-band change in the cloud before faults are armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutOfBand {
    Nothing,
    /// Adoptable objects are created.
    Adoptable,
    /// The instances are stopped.
    Stop,
}

/// A stress test without an injection point.
#[derive(Debug, Clone)]
pub(super) enum Stress {
    /// This number of resources at once, with a cloud that throttles.
    Throttle(usize),
    /// The control plane is killed when the launch is requested.
    Outage,
}

/// The minimum and maximum number of live objects of a kind with one UID.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) kind: Kind,
    pub(super) least: usize,
    pub(super) most: usize,
}

/// A scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// The program that is killed.
    pub(super) program: &'static str,
    /// Whether a hub without faults is started.
    pub(super) references: bool,
    /// The initial state, reached without faults.
    pub(super) first: Option<Desired>,
    pub(super) out_of_band: OutOfBand,
    /// The steps while faults are armed.
    pub(super) steps: Vec<Step>,
    /// The bounds of kinds of which several objects per UID may exist, or one must.
    pub(super) bounds: Vec<Bound>,
    /// A stress test, without faults and without concurrent runs.
    pub(super) stress: Option<Stress>,
    /// The delay until Describe calls return a change.
    pub(super) lag: Duration,
    /// The maximum number of instances per launch.
    pub(super) per_launch: Option<usize>,
}

impl Scenario {
    pub(super) fn new(name: &'static str, program: &'static str, steps: Vec<Step>) -> Self {
        Self {
            name,
            program,
            references: false,
            first: None,
            out_of_band: OutOfBand::Nothing,
            steps,
            bounds: vec![],
            stress: None,
            lag: LAG,
            per_launch: None,
        }
    }

    pub(super) fn after(mut self, first: Desired) -> Self {
        self.first = Some(first);
        self
    }

    pub(super) fn referring(mut self) -> Self {
        self.references = true;
        self
    }

    pub(super) fn bound(mut self, kind: Kind, least: usize, most: usize) -> Self {
        self.bounds.push(Bound { kind, least, most });
        self
    }

    /// The targets that its exports may write: `secrets/app`.
    pub(super) fn targets(&self) -> BTreeSet<String> {
        let applied = self.steps.iter().filter_map(|step| match step {
            Step::Apply(desired) => Some(desired),
            _ => None,
        });
        let objects = self.first.iter().chain(applied).flat_map(|desired| &desired.manifests);
        let exports = objects.filter(|object| object["kind"] == "ConfigExport").map(|object| &object["spec"]);
        let target = |spec: &Value| {
            format!("{}s/{}", text(&spec["configType"]).to_lowercase(), text(&spec["configMetadata"]["name"]))
        };
        exports.map(target).collect()
    }

    /// The kinds of remote objects of its controller.
    pub(super) fn kinds(&self) -> &'static [Kind] {
        match self.program {
            INSTANCES => &[Kind::Instance],
            NETWORK => &[Kind::Vpc],
            BALANCING => &[Kind::LoadBalancer, Kind::TargetGroup, Kind::Listener, Kind::ListenerRule],
            _ => &[],
        }
    }
}

/// Applies it, and waits until it is settled.
pub(super) fn apply(desired: Desired) -> Vec<Step> {
    vec![Step::Apply(desired), Step::Settle]
}
