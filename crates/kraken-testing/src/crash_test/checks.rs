//! Invariants that must hold at every step with any faults.

use std::collections::BTreeMap;

use kraken_api::FINALIZER;
use kraken_simulator::Kind;
use kraken_simulator::hook::{Answer, Call};
use serde_json::Value;

use super::recorder::Recorder;
use super::scenarios::hub::canary;

pub(super) const UID: &str = "kraken-iac.eoinfennessy.com/uid";

/// The Secret with the hub's own key, in its namespace.
const DIGEST_KEY: &str = "secrets/kraken-hub-digest-key";

/// Calls that delete the first object in their parameters.
const DESTROYING: [&str; 3] = ["Delete", "Terminate", "Release"];

impl Recorder {
    /// Checked before a call that changes remote objects: its parameters contain no foreign object, and it deletes only
    /// owned objects.
    pub(super) fn check_named(&self, call: &Call) {
        let values = named(call);
        if let Some(decoy) = self.cloud.decoy_of(&values) {
            self.violated(format!("{} names {decoy}, which is not owned by Kraken", call.name));
        }
        let is_of_tags = call.name.ends_with("Tags");
        if is_of_tags || !DESTROYING.iter().any(|verb| call.name.starts_with(verb)) {
            return;
        }
        for object in self.kinds.iter().flat_map(|kind| self.cloud.objects(*kind)) {
            if values.contains(&object.id) && object.alive && !object.tags.contains_key(UID) {
                self.violated(format!("{} of {}, which is not owned by Kraken", call.name, object.id));
            }
        }
    }

    /// Checked before a call that changes the cluster: Secret values are only in Secrets, and only ConfigMaps and Secrets that are
    /// targets of exports are written.
    pub(super) fn check_body(&self, call: &Call) {
        let plural = call.name.split(' ').nth(1).unwrap_or_default();
        if plural != "secrets"
            && let Some((_, form)) = canary().find(&call.body)
        {
            self.violated(format!("a value of a Secret is in {} {}, {form}", call.name, call.object));
        }
        if plural == "secrets" || plural == "configmaps" {
            let made: Value = serde_json::from_slice(&call.body).unwrap_or_default();
            let name = made["metadata"]["name"].as_str().unwrap_or(&call.object);
            let target = format!("{plural}/{}", if call.object.is_empty() { name } else { &call.object });
            if !self.targets.contains(&target) && target != DIGEST_KEY {
                self.violated(format!("{} of {target}, which is a foreign object", call.name));
            }
        }
    }

    /// Checked after every change of remote objects.
    pub(super) fn check_counts(&self) {
        for kind in self.kinds {
            let (least, most) = self.bound_of(*kind);
            let mut live: BTreeMap<String, usize> = BTreeMap::new();
            for object in self.cloud.objects(*kind) {
                match object.tags.get(UID) {
                    Some(uid) => *live.entry(uid.clone()).or_default() += usize::from(object.alive),
                    None if object.tags.contains_key(super::cloud::ADOPTABLE) => {}
                    None => self.violated(format!("{} has no owner tag", object.id)),
                }
            }
            for (uid, live) in live {
                if live > most {
                    self.violated(format!("{live} live {kind:?}s of {uid}, expected at most {most}"));
                }
                if live < least {
                    self.violated(format!("only {live} live {kind:?}s of {uid}, expected at least {least}"));
                }
            }
        }
    }

    /// Checked after every write of an object: the finalizer must outlive its remote objects.
    pub(super) fn check_finalizer(&self, answer: &Answer) {
        let object: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let finalizers = object["metadata"]["finalizers"].as_array();
        let held = finalizers.is_some_and(|all| all.iter().any(|one| one == FINALIZER));
        if held || object["metadata"]["deletionTimestamp"].is_null() {
            return;
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        self.note(format!("the finalizer of {uid} was removed"));
        for (id, state) in self.kinds.iter().flat_map(|kind| self.left(*kind, uid)) {
            self.violated(format!("the finalizer of {uid} was removed while {id} is {state}"));
        }
    }

    /// The remaining objects of a kind of a resource, with their states. An instance that is shutting down still
    /// exists.
    fn left(&self, kind: Kind, uid: &str) -> Vec<(String, String)> {
        let is_its = |tags: &BTreeMap<String, String>| tags.get(UID).is_some_and(|of| of == uid);
        if kind == Kind::Instance {
            let all = self.cloud.simulator.instances().into_iter().map(|record| record.instance);
            let left = all.filter(|one| one.state != "terminated" && is_its(&one.tags));
            return left.map(|one| (one.id, one.state)).collect();
        }
        let left = self.cloud.objects(kind).into_iter().filter(|object| object.alive && is_its(&object.tags));
        left.map(|object| (object.id, "there".to_owned())).collect()
    }
}

/// The values of a call's parameters, including ids.
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
    use super::super::scenarios::hub::encoded_value;
    use super::super::{scenario::Bound, scenarios};
    use super::*;

    fn recorder_of(name: &str) -> Recorder {
        let scenario = scenarios().into_iter().find(|scenario| scenario.name == name).unwrap();
        Recorder::new(&scenario, None, Arc::new(ApiServer::of(std::path::Path::new("/nowhere")))).unwrap()
    }

    fn recorder() -> Recorder {
        recorder_of("create")
    }

    fn launch(recorder: &Recorder, tags: &[(&str, &str)]) -> String {
        recorder.cloud.simulator.launch_out_of_band("ami-12c6146b", "t2.nano", tags).unwrap()
    }

    fn violation(recorder: &Recorder) -> String {
        recorder.violations().concat()
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
    fn a_surplus_instance_is_detected() {
        let recorder = recorder();
        launch(&recorder, &[(UID, "u")]);
        launch(&recorder, &[(UID, "v")]);
        recorder.check_counts();
        assert_eq!(violation(&recorder), "");
        launch(&recorder, &[(UID, "u")]);
        recorder.check_counts();
        assert_eq!(violation(&recorder), "2 live Instances of u, expected at most 1");
    }

    #[test]
    fn a_missing_instance_and_one_without_an_owner_are_detected() {
        let recorder = recorder();
        recorder.bound(vec![Bound { kind: Kind::Instance, least: 1, most: 1 }]);
        let id = launch(&recorder, &[(UID, "u")]);
        recorder.cloud.simulator.terminate_out_of_band(&id).unwrap();
        launch(&recorder, &[]);
        recorder.check_counts();
        let seen = violation(&recorder);
        assert!(seen.contains("only 0 live Instances of u") && seen.contains("has no owner tag"), "{seen}");
    }

    #[test]
    fn a_second_vpc_is_detected() {
        let recorder = recorder_of("vpc-create");
        for number in ["1", "2"] {
            let block = [("CidrBlock", format!("10.{number}.0.0/16"))];
            let fields: Vec<(&str, &str)> = block.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let id = recorder.cloud.simulator.out_of_band("CreateVpc", &fields).unwrap().remove(0);
            recorder.cloud.simulator.tag_out_of_band(&id, UID, Some("u")).unwrap();
        }
        recorder.check_counts();
        assert_eq!(violation(&recorder), "2 live Vpcs of u, expected at most 1");
    }

    #[test]
    fn terminating_a_foreign_instance_is_detected() {
        let recorder = recorder();
        let (ours, other) = (launch(&recorder, &[(UID, "u")]), launch(&recorder, &[]));
        let call =
            |id: &str| call("TerminateInstances", "", format!("Action=TerminateInstances&InstanceId.1={id}"));
        recorder.check_named(&call(&ours));
        assert_eq!(violation(&recorder), "");
        recorder.check_named(&call(&other));
        assert_eq!(
            violation(&recorder),
            format!("TerminateInstances of {other}, which is not owned by Kraken")
        );
    }

    #[test]
    fn a_call_that_names_a_foreign_load_balancer_is_detected() {
        let recorder = recorder_of("balancing-edit");
        let theirs = recorder.cloud.simulator.objects(Kind::LoadBalancer).remove(0).id;
        let spelled = theirs.replace(':', "%3A").replace('/', "%2F");
        recorder.check_named(&call("ModifyLoadBalancerAttributes", "", format!("LoadBalancerArn={spelled}")));
        assert_eq!(
            violation(&recorder),
            format!("ModifyLoadBalancerAttributes names {theirs}, which is not owned by Kraken")
        );
        assert_eq!(recorder.cloud.changed_foreign_object(), None);
        recorder.cloud.simulator.tag_out_of_band(&theirs, "Team", Some("other")).unwrap();
        assert!(recorder.cloud.changed_foreign_object().unwrap().contains("has tags"));
    }

    #[test]
    fn an_early_finalizer_removal_is_detected() {
        let recorder = recorder();
        launch(&recorder, &[(UID, "u")]);
        let answer = |finalizers: &[&str]| {
            let metadata =
                serde_json::json!({"uid": "u", "deletionTimestamp": "now", "finalizers": finalizers});
            Answer { status: 200, body: serde_json::json!({ "metadata": metadata }).to_string().into() }
        };
        recorder.check_finalizer(&answer(&[FINALIZER]));
        assert_eq!(violation(&recorder), "");
        recorder.check_finalizer(&answer(&["example.com/finalizer"]));
        assert!(
            violation(&recorder).starts_with("the finalizer of u was removed while"),
            "{}",
            violation(&recorder)
        );
    }

    #[test]
    fn a_leaked_secret_value_and_a_write_to_a_foreign_object_are_detected() {
        let recorder = recorder_of("export-create");
        let value = encoded_value().to_owned();
        recorder.check_body(&call("PATCH secrets", "app", value.clone()));
        assert_eq!(violation(&recorder), "");
        recorder.check_body(&call("PATCH configexports/status", "e", value));
        recorder.check_body(&call("PATCH configmaps", "app", "{}".to_owned()));
        recorder.check_body(&call("POST secrets", "", r#"{"metadata": {"name": "db"}}"#.to_owned()));
        assert_eq!(
            recorder.violations(),
            [
                "a value of a Secret is in PATCH configexports/status e, in base64",
                "PATCH configmaps of configmaps/app, which is a foreign object",
                "POST secrets of secrets/db, which is a foreign object",
            ]
        );
    }
}
