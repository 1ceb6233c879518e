//! What happens in one simulation: a seed, the settings of the controllers and the cloud, and a list of steps.
//!
//! Every step can be removed without invalidating the others, which shrinking requires: an operation names its object
//! by namespace, kind and name, and has no effect if the object does not exist.

mod fault;
mod names;
mod operation;
mod settings;
mod words;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use fault::{CallMatch, Fault, Moment, Side};
pub use names::{Controller, ObjectName, Remote, Suite};
pub use operation::{Lost, Operation, Propagation, Tamper};
pub use settings::Settings;

/// The whole input of one simulation. The same schedule gives the same trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Determines everything else: latencies, UIDs, hash orders.
    pub seed: u64,
    /// How the controllers and the cloud are set up.
    #[serde(default)]
    pub settings: Settings,
    /// The opening that it was generated with, for the coverage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<String>,
    /// The operations and faults, by time.
    pub steps: Vec<Step>,
}

/// One action and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The virtual time since the start.
    #[serde(rename = "atMillis", with = "millis")]
    pub at: Duration,
    /// What.
    pub action: Action,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// An operation, whose effect persists.
    Operation(Operation),
    /// What fails: its effect ends when faults end.
    Fault(Fault),
}

impl Schedule {
    /// When the last step is.
    pub fn end(&self) -> Duration {
        self.steps.iter().map(|step| step.at).max().unwrap_or_default()
    }

    /// The number of operations; the other steps are faults.
    pub fn operations(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.action, Action::Operation(_))).count()
    }

    /// This schedule with other steps.
    #[must_use]
    pub fn with(&self, steps: Vec<Step>) -> Self {
        Self { steps, ..self.clone() }
    }
}

impl From<Operation> for Action {
    fn from(operation: Operation) -> Self {
        Self::Operation(operation)
    }
}

impl From<Fault> for Action {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Durations as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schedule_survives_json() {
        let vpc: ObjectName = "prod/VPC/main".parse().unwrap();
        let schedule = Schedule {
            seed: 7,
            settings: Settings::default(),
            opening: None,
            steps: vec![
                Step {
                    at: Duration::from_millis(1500),
                    action: Operation::Edit {
                        object: vpc.clone(),
                        path: "/spec/cidrBlock".to_owned(),
                        value: Some(json!({"value": "10.0.0.0/16"})),
                    }
                    .into(),
                },
                Step {
                    at: Duration::from_secs(2),
                    action: Fault::Crash {
                        controller: Controller::Vpc,
                        call: CallMatch { side: Side::Cloud, action: "CreateVpc".to_owned(), nth: 1 },
                        moment: Moment::After,
                        down: Duration::from_secs(3),
                    }
                    .into(),
                },
                Step {
                    at: Duration::from_secs(3),
                    action: Operation::Delete { object: vpc, propagation: Propagation::Background }.into(),
                },
            ],
        };
        let text = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
        assert!(text.contains(r#""object":"prod/VPC/main""#), "{text}");
        assert_eq!((schedule.end(), schedule.operations()), (Duration::from_secs(3), 2));
    }
}
