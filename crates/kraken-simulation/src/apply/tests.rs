//! Tests of operations on the in-memory API server and cloud, without controllers.

use std::sync::Arc;
use std::time::Duration;

use kraken_simulator::{Simulator, SimulatorOptions};
use serde_json::{Value, json};

use super::*;
use crate::schedule::{Lost, Propagation, Remote};

struct Site {
    api: ApiServer,
    cloud: Arc<Simulator>,
}

impl Installation for Site {
    fn api(&self) -> &ApiServer {
        &self.api
    }

    fn cloud(&self, _: Controller) -> Option<Arc<Simulator>> {
        Some(Arc::clone(&self.cloud))
    }

    fn cloud_at(&self, _: &str, _: &str) -> Option<Arc<Simulator>> {
        Some(Arc::clone(&self.cloud))
    }

    fn clouds(&self) -> Vec<Arc<Simulator>> {
        vec![Arc::clone(&self.cloud)]
    }

    fn restart(&self, _: Controller, _: Option<&str>, _: Option<&str>) {}
}

fn site() -> Site {
    let kinds = crate::apiserver::Kinds::new(crate::kinds::definitions()).unwrap();
    let site = Site {
        api: ApiServer::new(kinds, 1, kraken_runtime::clock::now),
        cloud: Arc::new(Simulator::in_process(SimulatorOptions::default())),
    };
    let (made, _) =
        done(&site, &mut Memory::default(), Operation::CreateNamespace { name: "prod".to_owned() });
    assert_eq!(made, None);
    site
}

fn done(site: &Site, memory: &mut Memory, operation_: Operation) -> (Option<String>, Option<Value>) {
    let said = operation(site, memory, &operation_);
    (said, Kube::new(&site.api).get(&vpc()))
}

fn vpc() -> ObjectName {
    "prod/VPC/a".parse().unwrap()
}

fn manifest() -> Value {
    json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC",
        "metadata": {"name": "a", "namespace": "prod"},
        "spec": {"cidrBlock": {"value": "10.0.0.0/16"}},
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn an_object_is_applied_edited_stripped_replaced_and_deleted() {
    runtime().block_on(async {
        let (site, mut memory) = (site(), Memory::default());
        let mut act = |operation| done(&site, &mut memory, operation);
        assert_eq!(act(Operation::Apply { object: manifest() }).0, None);
        let edit = |value| Operation::Edit { object: vpc(), path: "/spec/cidrBlock".to_owned(), value };
        let from = json!({"valueFrom": {"ref": "VPC/b"}});
        let (said, object) = act(edit(Some(from.clone())));
        assert_eq!((said, &object.unwrap()["spec"]["cidrBlock"]), (None, &from));
        let (said, _) = act(edit(Some(json!({"value": 7}))));
        assert!(said.as_deref().is_some_and(|said| said.starts_with("422")), "{said:?}");
        let finalizers = json!(["example.com/x"]);
        let edit = Operation::Edit {
            object: vpc(),
            path: "/metadata/finalizers".to_owned(),
            value: Some(finalizers),
        };
        assert_eq!(act(edit).0, None);
        let forge = Operation::ForgeStatus { object: vpc(), status: json!({"externalIds": ["vpc-1"]}) };
        let (said, object) = act(forge);
        assert_eq!((said, &object.unwrap()["status"]["externalIds"]), (None, &json!(["vpc-1"])));
        let strip = |lost| Operation::Strip { object: vpc(), lost };
        let (said, object) = act(strip(Lost::FirstId));
        assert_eq!((said, &object.unwrap()["status"]["externalIds"]), (None, &json!([])));
        assert_eq!(act(strip(Lost::FirstId)).0.as_deref(), Some("it has no ids"));
        let (said, object) = act(strip(Lost::Status));
        // What the schema has as a default is put in its place.
        assert_eq!((said, object.unwrap()["status"].get("externalIds")), (None, None));
        let (said, object) = act(strip(Lost::Finalizers));
        assert_eq!((said, object.unwrap()["metadata"].get("finalizers")), (None, None));
        assert_eq!(act(Operation::Replace { object: manifest() }).0, None);
        let delete = Operation::Delete { object: vpc(), propagation: Propagation::Background };
        assert_eq!(act(delete.clone()), (None, None));
        assert!(act(delete).0.is_some());
    });
}

#[test]
fn data_is_set_and_removed_by_key() {
    runtime().block_on(async {
        let (site, mut memory) = (site(), Memory::default());
        for kind in ["ConfigMap", "Secret"] {
            let object = ObjectName::new("prod", kind, "settings");
            let mut set = |key: &str, value: Option<&str>| {
                let (object, value) = (object.clone(), value.map(ToOwned::to_owned));
                operation(&site, &mut memory, &Operation::SetData { object, key: key.to_owned(), value })
            };
            assert_eq!((set("a", Some("1")), set("b", Some("2")), set("a", None)), (None, None, None));
            let live = Kube::new(&site.api).get(&object).unwrap();
            let keys: Vec<&String> = live["data"].as_object().unwrap().keys().collect();
            assert_eq!(keys, ["b"], "{live}");
        }
    });
}

#[test]
fn a_recreated_object_has_a_new_uid() {
    runtime().block_on(async {
        let (site, mut memory) = (site(), Memory::default());
        done(&site, &mut memory, Operation::Apply { object: manifest() });
        let uid = |object: Option<Value>| object.map(|object| object["metadata"]["uid"].clone());
        let before = uid(Kube::new(&site.api).get(&vpc()));
        assert_eq!(operation(&site, &mut memory, &Operation::Recreate { object: manifest() }), None);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let after = uid(Kube::new(&site.api).get(&vpc()));
        assert!(after.is_some() && after != before);
    });
}

#[test]
fn every_kind_of_remote_object_is_created_and_changed() {
    runtime().block_on(async {
        let (site, mut memory) = (site(), Memory::default());
        let kinds = [
            "VPC",
            "Subnet",
            "InternetGateway",
            "RouteTable",
            "SecurityGroup",
            "ElasticIP",
            "NATGateway",
            "KeyPair",
            "Volume",
            "EC2Instance",
            "TargetGroup",
        ];
        for kind in kinds {
            let name = format!("by-hand-{kind}");
            let create = Operation::CreateRemote { kind: kind.to_owned(), name: name.clone(), tags_of: None };
            let said = operation(&site, &mut memory, &create);
            // Of those whose VPC has another block, the second attempt is the one that is taken.
            assert_eq!(said, None, "{kind}");
            let tag = Tamper::Tag { key: "Team".to_owned(), value: Some("x".to_owned()) };
            let tamper = |tamper| Operation::TamperRemote { remote: Remote::Named(name.clone()), tamper };
            assert_eq!(operation(&site, &mut memory, &tamper(tag)), None, "{kind}");
            let changes: Vec<Option<String>> = (0..4)
                .map(|number| operation(&site, &mut memory, &tamper(Tamper::Change { number })))
                .collect();
            // These lose what they have none of.
            let is_bare =
                ["InternetGateway", "Volume", "RouteTable", "ElasticIP", "NATGateway"].contains(&kind);
            assert!(is_bare || changes.contains(&None), "{kind} {changes:?}");
        }
    });
}

#[test]
fn a_backup_restores_deleted_objects() {
    runtime().block_on(async {
        let (site, mut memory) = (site(), Memory::default());
        let mut act = |operation| done(&site, &mut memory, operation);
        assert!(act(Operation::Restore).0.is_some());
        act(Operation::Apply { object: manifest() });
        act(Operation::Backup);
        let (_, gone) = act(Operation::Delete { object: vpc(), propagation: Propagation::Background });
        assert_eq!(gone, None);
        let (said, back) = act(Operation::Restore);
        assert!(said.is_none() && back.is_some());
    });
}

#[test]
fn a_status_is_restored_unless_somebody_wrote_meanwhile() {
    runtime().block_on(async {
        for is_written in [false, true] {
            let (site, mut memory) = (site(), Memory::default());
            let mut act = |operation| done(&site, &mut memory, operation);
            act(Operation::Apply { object: manifest() });
            act(Operation::ForgeStatus { object: vpc(), status: json!({"externalIds": ["vpc-1"]}) });
            act(Operation::SaveManifests { object: vpc() });
            act(Operation::Vanish { object: vpc() });
            act(Operation::RestoreManifests { object: vpc(), finalizers: true, status: true });
            tokio::task::yield_now().await;
            let edit = json!({"externalIds": ["vpc-2"]});
            if is_written {
                act(Operation::ForgeStatus { object: vpc(), status: edit });
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            let ids = Kube::new(&site.api).get(&vpc()).unwrap()["status"]["externalIds"].clone();
            assert_eq!(ids, if is_written { json!(["vpc-2"]) } else { json!(["vpc-1"]) });
        }
    });
}

#[test]
fn what_vanished_is_restored_from_its_manifests_without_what_the_server_knows() {
    runtime().block_on(async {
        let (site, mut memory) = (site(), Memory::default());
        let mut act = |operation| done(&site, &mut memory, operation);
        let restore = |finalizers| Operation::RestoreManifests { object: vpc(), finalizers, status: false };
        assert_eq!(act(restore(true)).0.as_deref(), Some("nothing was saved"));
        let mut object = manifest();
        object["metadata"]["finalizers"] = json!(["example.com/x"]);
        object["metadata"]["annotations"] = json!({"example.com/note": "kept"});
        act(Operation::Apply { object });
        let status = json!({"externalIds": ["vpc-1"]});
        let (_, before) = act(Operation::ForgeStatus { object: vpc(), status });
        assert_eq!(act(Operation::SaveManifests { object: vpc() }).0, None);
        for finalizers in [true, false] {
            assert_eq!(act(Operation::Vanish { object: vpc() }), (None, None));
            let (said, after) = act(restore(finalizers));
            let (before, after) = (before.as_ref().unwrap(), after.unwrap());
            assert_eq!((said, &after["spec"]), (None, &before["spec"]));
            assert_eq!(after["metadata"]["annotations"], before["metadata"]["annotations"]);
            assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
            assert_eq!(after["metadata"].get("finalizers").is_some(), finalizers);
            assert!(after["status"].get("externalIds").is_none());
        }
    });
}
