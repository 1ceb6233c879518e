//! What must hold at every step, whatever fails.

use std::collections::BTreeMap;

use kraken_spoke::api::FINALIZER;
use serde_json::Value;

use super::trial::Trial;
use crate::kube_proxy::{Answer, Call};

pub(super) const UID: &str = "kraken-iac.eoinfennessy.com/uid";

impl Trial {
    /// Checked before a termination: everything it names is an instance of a resource of this run.
    pub(super) fn check_termination(&self, call: &Call) {
        let instances = self.cloud.instances();
        for id in named(call) {
            let found = instances.iter().find(|instance| instance.id == id);
            if !found.is_some_and(|instance| instance.tags.contains_key(UID)) {
                self.violated(format!("terminates {id}, which is not ours"));
            }
        }
    }

    /// Checked whenever the cloud changed.
    pub(super) fn check_counts(&self) {
        let instances = self.cloud.instances();
        let (floor, ceiling) = self.bounds();
        let mut live: BTreeMap<&str, usize> = BTreeMap::new();
        for instance in &instances {
            match instance.tags.get(UID) {
                Some(uid) => *live.entry(uid).or_default() += usize::from(instance.is_alive()),
                None => self.violated(format!("{} has no owner's tag", instance.id)),
            }
        }
        for (uid, live) in live {
            if live > ceiling {
                self.violated(format!("{live} live instances of {uid}, where {ceiling} are wanted"));
            }
            if live < floor {
                self.violated(format!("only {live} live instances of {uid}, of which {floor} had to stay"));
            }
        }
    }

    /// Checked whenever an EC2Instance was written: the finalizer must outlive the instances.
    pub(super) fn check_finalizer(&self, answer: &Answer) {
        let object: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let finalizers = object["metadata"]["finalizers"].as_array();
        let held = finalizers.is_some_and(|all| all.iter().any(|one| one == FINALIZER));
        if held || object["metadata"]["deletionTimestamp"].is_null() {
            return;
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        self.note(format!("the finalizer of {uid} is off"));
        for instance in self.cloud.instances() {
            if instance.state != "terminated" && instance.tags.get(UID).is_some_and(|of| of == uid) {
                self.violated(format!(
                    "the finalizer of {uid} went while {} is {}",
                    instance.id, instance.state
                ));
            }
        }
    }
}

/// The instances that a call names.
pub(super) fn named(call: &Call) -> Vec<String> {
    let form = String::from_utf8_lossy(&call.body);
    let fields = form.split('&').filter_map(|field| field.split_once('='));
    let ids = fields.filter(|(key, _)| key.starts_with("InstanceId") || key.starts_with("ResourceId."));
    ids.map(|(_, id)| id.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::cloud::Cloud;
    use super::*;

    fn trial() -> Trial {
        let trial = Trial::new(Cloud::start(Duration::ZERO, None).unwrap(), None);
        trial.bound(0, 1);
        trial
    }

    fn launch(trial: &Trial, tags: &[(&str, &str)]) -> String {
        trial.cloud.simulator.launch_outside("ami-12c6146b", "t2.nano", tags).unwrap()
    }

    fn violation(trial: &Trial) -> String {
        trial.violations().concat()
    }

    #[test]
    fn one_instance_more_than_wanted_is_seen() {
        let trial = trial();
        launch(&trial, &[(UID, "u")]);
        launch(&trial, &[(UID, "v")]);
        trial.check_counts();
        assert_eq!(violation(&trial), "");
        launch(&trial, &[(UID, "u")]);
        trial.check_counts();
        assert_eq!(violation(&trial), "2 live instances of u, where 1 are wanted");
    }

    #[test]
    fn one_instance_less_than_must_stay_and_one_without_an_owner_are_seen() {
        let trial = trial();
        trial.bound(1, 1);
        let id = launch(&trial, &[(UID, "u")]);
        trial.cloud.simulator.terminate_outside(&id).unwrap();
        launch(&trial, &[]);
        trial.check_counts();
        let seen = violation(&trial);
        assert!(seen.contains("only 0 live instances of u") && seen.contains("has no owner's tag"), "{seen}");
    }

    #[test]
    fn terminating_what_is_not_ours_is_seen() {
        let trial = trial();
        let (ours, other) = (launch(&trial, &[(UID, "u")]), launch(&trial, &[]));
        let call = |id: &str| Call {
            number: 1,
            name: "TerminateInstances".to_owned(),
            writes: true,
            watches: false,
            namespace: String::new(),
            object: String::new(),
            body: format!("Action=TerminateInstances&InstanceId.1={id}").into(),
        };
        trial.check_termination(&call(&ours));
        assert_eq!(violation(&trial), "");
        trial.check_termination(&call(&other));
        assert_eq!(violation(&trial), format!("terminates {other}, which is not ours"));
    }

    #[test]
    fn a_finalizer_that_goes_before_its_instance_is_seen() {
        let trial = trial();
        launch(&trial, &[(UID, "u")]);
        let answer = |finalizers: &[&str]| {
            let metadata =
                serde_json::json!({"uid": "u", "deletionTimestamp": "now", "finalizers": finalizers});
            Answer { status: 200, body: serde_json::json!({ "metadata": metadata }).to_string().into() }
        };
        trial.check_finalizer(&answer(&[FINALIZER]));
        assert_eq!(violation(&trial), "");
        trial.check_finalizer(&answer(&["somebody.else/finalizer"]));
        assert!(violation(&trial).starts_with("the finalizer of u went while"), "{}", violation(&trial));
    }
}
