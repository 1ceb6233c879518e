//! What must hold at every step, whatever fails.

use std::collections::BTreeMap;

use kraken_spoke::api::FINALIZER;
use serde_json::Value;

use super::scenarios::hub::canaries;
use super::trial::Trial;
use crate::kube_proxy::{Answer, Call};
use crate::simulator::Kind;

pub(super) const UID: &str = "kraken-iac.eoinfennessy.com/uid";

/// Calls that destroy the first thing they name.
const DESTROYING: [&str; 3] = ["Delete", "Terminate", "Release"];

impl Trial {
    /// Checked before a call that changes the cloud: it names nothing of somebody else, and destroys only what has an owner here.
    pub(super) fn check_named(&self, call: &Call) {
        let values = named(call);
        if let Some(decoy) = self.cloud.decoy_of(&values) {
            self.violated(format!("{} names {decoy}, which is not ours", call.name));
        }
        let is_of_tags = call.name.ends_with("Tags");
        if is_of_tags || !DESTROYING.iter().any(|verb| call.name.starts_with(verb)) {
            return;
        }
        for thing in self.kinds.iter().flat_map(|kind| self.cloud.things(*kind)) {
            if values.contains(&thing.id) && thing.alive && !thing.tags.contains_key(UID) {
                self.violated(format!("{} of {}, which is not ours", call.name, thing.id));
            }
        }
    }

    /// Checked before a call that changes the cluster: no value of a Secret goes anywhere but into a Secret, and of ConfigMaps and
    /// Secrets only targets of exports are written.
    pub(super) fn check_body(&self, call: &Call) {
        let plural = call.name.split(' ').nth(1).unwrap_or_default();
        let body = String::from_utf8_lossy(&call.body);
        if plural != "secrets" && canaries().iter().any(|canary| body.contains(canary)) {
            self.violated(format!("a value of a Secret is in {} {}", call.name, call.object));
        }
        if plural == "secrets" || plural == "configmaps" {
            let made: Value = serde_json::from_slice(&call.body).unwrap_or_default();
            let name = made["metadata"]["name"].as_str().unwrap_or(&call.object);
            let target = format!("{plural}/{}", if call.object.is_empty() { name } else { &call.object });
            if !self.targets.contains(&target) {
                self.violated(format!("{} of {target}, which is somebody else's", call.name));
            }
        }
    }

    /// Checked whenever the cloud changed.
    pub(super) fn check_counts(&self) {
        for kind in self.kinds {
            let (least, most) = self.bound_of(*kind);
            let mut live: BTreeMap<String, usize> = BTreeMap::new();
            for thing in self.cloud.things(*kind) {
                match thing.tags.get(UID) {
                    Some(uid) => *live.entry(uid.clone()).or_default() += usize::from(thing.alive),
                    None if thing.tags.contains_key(super::cloud::ADOPTABLE) => {}
                    None => self.violated(format!("{} has no owner's tag", thing.id)),
                }
            }
            for (uid, live) in live {
                if live > most {
                    self.violated(format!("{live} live {kind:?}s of {uid}, where {most} are wanted"));
                }
                if live < least {
                    self.violated(format!(
                        "only {live} live {kind:?}s of {uid}, of which {least} had to stay"
                    ));
                }
            }
        }
    }

    /// Checked whenever an object was written: the finalizer must outlive what it has in the cloud.
    pub(super) fn check_finalizer(&self, answer: &Answer) {
        let object: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let finalizers = object["metadata"]["finalizers"].as_array();
        let held = finalizers.is_some_and(|all| all.iter().any(|one| one == FINALIZER));
        if held || object["metadata"]["deletionTimestamp"].is_null() {
            return;
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        self.note(format!("the finalizer of {uid} is off"));
        for (id, state) in self.kinds.iter().flat_map(|kind| self.left(*kind, uid)) {
            self.violated(format!("the finalizer of {uid} went while {id} is {state}"));
        }
    }

    /// What a resource still has of a kind, and in which state. An instance that shuts down is still there.
    fn left(&self, kind: Kind, uid: &str) -> Vec<(String, String)> {
        let is_its = |tags: &BTreeMap<String, String>| tags.get(UID).is_some_and(|of| of == uid);
        if kind == Kind::Instance {
            let all = self.cloud.simulator.instances().into_iter().map(|record| record.instance);
            let left = all.filter(|one| one.state != "terminated" && is_its(&one.tags));
            return left.map(|one| (one.id, one.state)).collect();
        }
        let left = self.cloud.things(kind).into_iter().filter(|thing| thing.alive && is_its(&thing.tags));
        left.map(|thing| (thing.id, "there".to_owned())).collect()
    }
}

/// The values of a call's parameters: ids among them.
pub(super) fn named(call: &Call) -> Vec<String> {
    let form = String::from_utf8_lossy(&call.body);
    let fields = form.split('&').filter_map(|field| field.split_once('='));
    let ids = fields.filter(|(key, _)| key.contains("Id") || key.contains("Arn") || key.contains("Subnets"));
    ids.map(|(_, id)| id.replace("%3A", ":").replace("%2F", "/")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::outage::ApiServer;
    use super::super::scenario::{Bound, scenarios};
    use super::*;

    fn trial_of(name: &str) -> Trial {
        let scenario = scenarios().into_iter().find(|scenario| scenario.name == name).unwrap();
        Trial::new(&scenario, None, Arc::new(ApiServer::of(std::path::Path::new("/nowhere")))).unwrap()
    }

    fn trial() -> Trial {
        trial_of("create")
    }

    fn launch(trial: &Trial, tags: &[(&str, &str)]) -> String {
        trial.cloud.simulator.launch_outside("ami-12c6146b", "t2.nano", tags).unwrap()
    }

    fn violation(trial: &Trial) -> String {
        trial.violations().concat()
    }

    fn call(name: &str, object: &str, body: String) -> Call {
        Call {
            number: 1,
            name: name.to_owned(),
            writes: true,
            watches: false,
            namespace: String::new(),
            object: object.to_owned(),
            body: body.into(),
        }
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
        assert_eq!(violation(&trial), "2 live Instances of u, where 1 are wanted");
    }

    #[test]
    fn one_instance_less_than_must_stay_and_one_without_an_owner_are_seen() {
        let trial = trial();
        trial.bound(vec![Bound { kind: Kind::Instance, least: 1, most: 1 }]);
        let id = launch(&trial, &[(UID, "u")]);
        trial.cloud.simulator.terminate_outside(&id).unwrap();
        launch(&trial, &[]);
        trial.check_counts();
        let seen = violation(&trial);
        assert!(seen.contains("only 0 live Instances of u") && seen.contains("has no owner's tag"), "{seen}");
    }

    #[test]
    fn a_second_vpc_is_seen() {
        let trial = trial_of("vpc-create");
        for number in ["1", "2"] {
            let block = [("CidrBlock", format!("10.{number}.0.0/16"))];
            let fields: Vec<(&str, &str)> = block.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let id = trial.cloud.simulator.outside("CreateVpc", &fields).unwrap().remove(0);
            trial.cloud.simulator.tag_outside(&id, UID, Some("u")).unwrap();
        }
        trial.check_counts();
        assert_eq!(violation(&trial), "2 live Vpcs of u, where 1 are wanted");
    }

    #[test]
    fn terminating_what_is_not_ours_is_seen() {
        let trial = trial();
        let (ours, other) = (launch(&trial, &[(UID, "u")]), launch(&trial, &[]));
        let call =
            |id: &str| call("TerminateInstances", "", format!("Action=TerminateInstances&InstanceId.1={id}"));
        trial.check_named(&call(&ours));
        assert_eq!(violation(&trial), "");
        trial.check_named(&call(&other));
        assert_eq!(violation(&trial), format!("TerminateInstances of {other}, which is not ours"));
    }

    #[test]
    fn a_call_that_names_a_load_balancer_of_somebody_is_seen() {
        let trial = trial_of("balancing-edit");
        let theirs = trial.cloud.simulator.things(Kind::LoadBalancer).remove(0).id;
        let spelled = theirs.replace(':', "%3A").replace('/', "%2F");
        trial.check_named(&call("ModifyLoadBalancerAttributes", "", format!("LoadBalancerArn={spelled}")));
        assert_eq!(
            violation(&trial),
            format!("ModifyLoadBalancerAttributes names {theirs}, which is not ours")
        );
        assert_eq!(trial.cloud.harmed(), None);
        trial.cloud.simulator.tag_outside(&theirs, "Team", Some("other")).unwrap();
        assert!(trial.cloud.harmed().unwrap().contains("has tags"));
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

    #[test]
    fn a_value_of_a_secret_outside_of_one_and_a_write_to_somebodys_object_are_seen() {
        let trial = trial_of("export-create");
        let canary = canaries()[2].to_owned();
        trial.check_body(&call("PATCH secrets", "app", canary.clone()));
        assert_eq!(violation(&trial), "");
        trial.check_body(&call("PATCH configexports/status", "e", canary));
        trial.check_body(&call("PATCH configmaps", "app", "{}".to_owned()));
        trial.check_body(&call("POST secrets", "", r#"{"metadata": {"name": "db"}}"#.to_owned()));
        assert_eq!(
            trial.violations(),
            [
                "a value of a Secret is in PATCH configexports/status e",
                "PATCH configmaps of configmaps/app, which is somebody else's",
                "POST secrets of secrets/db, which is somebody else's",
            ]
        );
    }
}
