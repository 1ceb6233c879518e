//! Generation of operations.

use std::time::Duration;

use serde_json::{Value, json};

use super::CANARY;
use super::edits;
use super::mix::StepClass;
use super::tampering::forge;
use super::users::{Users, propagation};
use crate::random::Random;
use crate::schedule::{Controller, ObjectName, Operation, Propagation, Tamper};

impl Users {
    /// An operation of the class; `None` if it is a class of faults.
    pub(crate) fn operation(&mut self, rng: &mut Random, class: StepClass) -> Option<Operation> {
        let object = self.object(rng);
        let spoke_object = self.spoke_object(rng);
        let kind = object.kind.clone();
        let operation = match class {
            StepClass::Apply => Operation::Apply { object: self.manifest(rng, true) },
            StepClass::Replace => Operation::Replace { object: self.manifest(rng, false) },
            StepClass::Recreate => Operation::Recreate { object: self.manifest(rng, false) },
            StepClass::Edit => edit(object, edits::plausible_edit(rng, &kind)),
            StepClass::EditSchema => edit(object, edits::by_schema(rng, &kind)),
            StepClass::EditInvalid => edit(object, edits::invalid(rng, &kind)),
            StepClass::Policy => {
                let change = edits::policy(rng, &spoke_object.kind);
                edit(spoke_object, Some(change))
            }
            StepClass::Data => self.data(rng),
            StepClass::Scale => self.scale(rng),
            StepClass::Delete => Operation::Delete { object, propagation: propagation(rng) },
            StepClass::DeleteNamespace if rng.chance(50) => {
                Operation::DeleteNamespace { name: self.stack.namespace.clone() }
            }
            StepClass::DeleteNamespace => Operation::CreateNamespace { name: self.stack.namespace.clone() },
            StepClass::Adopt => {
                let remote = self.remote(rng, Some(&spoke_object.kind));
                Operation::Adopt { object: spoke_object, remote, by_id: rng.chance(50) }
            }
            StepClass::Approve => {
                let object = if rng.chance(80) { self.planned(rng) } else { None };
                Operation::Approve { object: object.unwrap_or(spoke_object), stale: rng.chance(25) }
            }
            StepClass::ForgeStatus if rng.chance(15) => {
                Operation::ForgePlan { object: self.planned(rng).unwrap_or(spoke_object) }
            }
            StepClass::Annotate => Operation::Annotate {
                object: spoke_object,
                annotation: rng.one(["reconcile-requested-at", "creation-confirmed-at"]).to_owned(),
            },
            StepClass::Strip => self.strip(rng),
            StepClass::ForgeStatus => forge(rng, spoke_object),
            StepClass::Internal => self.internal(rng),
            StepClass::CreateRemote => self.create_remote(rng),
            StepClass::DeleteRemote => {
                Operation::TamperRemote { remote: self.remote(rng, None), tamper: Tamper::Delete }
            }
            StepClass::TagRemote => {
                let tamper = match rng.below(5) {
                    0 | 1 => Tamper::StripOwnerTags,
                    2 => Tamper::OwnerTagsOf(spoke_object),
                    3 => Tamper::Tag { key: "Team".to_owned(), value: Some("elsewhere".to_owned()) },
                    _ => Tamper::Tag { key: rng.one(["Name", "Team"]).to_owned(), value: None },
                };
                Operation::TamperRemote { remote: self.remote(rng, None), tamper }
            }
            StepClass::ChangeRemote => {
                let tamper = Tamper::Change { number: rng.below(60) };
                Operation::TamperRemote { remote: self.remote(rng, None), tamper }
            }
            StepClass::Restart => {
                let controller = rng.one([Controller::Ec2Instance, Controller::Vpc, Controller::Elb]);
                // Back to where it belongs as often as elsewhere.
                let region = rng.one([Some("eu-west-1"), Some("us-east-1"), None]);
                let account = rng.one([Some("222222222222"), Some("123456789012"), None]);
                let text = |text: Option<&str>| text.map(ToOwned::to_owned);
                Operation::Restart { controller, region: text(region), account: text(account) }
            }
            StepClass::Expire => Operation::ExpireCredentials {
                lasts: rng.time(Duration::from_millis(500), Duration::from_mins(1)),
            },
            StepClass::Backup if !self.backed_up || rng.chance(30) => {
                self.backed_up = true;
                Operation::Backup
            }
            StepClass::Backup => Operation::Restore,
            StepClass::Manifests => self.manifests(rng),
            _ => return None,
        };
        Some(operation)
    }

    fn data(&mut self, rng: &mut Random) -> Operation {
        let keys = self.stack.sources.keys();
        let namespace = self.stack.namespace.clone();
        let Some((kind, name, key, text)) = rng.pick(&keys).cloned() else {
            return Operation::Apply { object: self.manifest(rng, true) };
        };
        let object = ObjectName::new(&namespace, kind, &name);
        if rng.chance(15) {
            return Operation::Delete { object, propagation: Propagation::Background };
        }
        // Only its version changes.
        if rng.chance(10) {
            let touched = json!(format!("at-{}", rng.below(1000)));
            return edit(object, Some(("/metadata/labels/touched".to_owned(), Some(touched))));
        }
        if rng.chance(5) {
            let manifests = self.stack.sources.manifests(&namespace);
            let is_it =
                |manifest: &Value| manifest["kind"] == kind && manifest["metadata"]["name"] == name.as_str();
            if let Some(object) = manifests.into_iter().find(is_it) {
                return Operation::Recreate { object };
            }
        }
        let value = match rng.below(6) {
            0 => None,
            // Not valid anywhere, so that an error may quote it.
            1 if kind == "Secret" => Some(format!("{CANARY}-banana")),
            1 => Some("banana".to_owned()),
            2 if text.parse::<i64>().is_ok() => Some(rng.one(["0", "1", "2", "443"]).to_owned()),
            3 if kind == "Secret" => Some(format!("{text}2")),
            _ => Some(text),
        };
        Operation::SetData { object, key, value }
    }

    /// Saves the manifest of an object, which may be lost and restored later.
    fn manifests(&mut self, rng: &mut Random) -> Operation {
        let saved = self.saved.clone();
        let Some(object) = saved.filter(|_| rng.chance(75)) else {
            let object = self.object(rng);
            self.saved = Some(object.clone());
            return Operation::SaveManifests { object };
        };
        if rng.chance(50) {
            Operation::Vanish { object }
        } else {
            Operation::RestoreManifests { object, finalizers: rng.chance(30), status: rng.chance(30) }
        }
    }

    fn scale(&mut self, rng: &mut Random) -> Operation {
        let instances: Vec<ObjectName> =
            self.stack.names().into_iter().filter(|name| name.kind == "EC2Instance").collect();
        match rng.pick(&instances) {
            Some(object) => Operation::Scale { object: object.clone(), replicas: rng.one([0, 1, 2, 3, 4]) },
            None => edit(self.object(rng), Some(edits::policy(rng, "VPC"))),
        }
    }

    fn create_remote(&mut self, rng: &mut Random) -> Operation {
        let kind = self.spoke_object(rng).kind;
        let tags_of = rng.chance(25).then(|| self.spoke_object(rng));
        let name = self.remote_name(&kind);
        Operation::CreateRemote { kind, name, tags_of }
    }
}

fn edit(object: ObjectName, change: Option<edits::Edit>) -> Operation {
    let (path, value) = change.unwrap_or_else(|| ("/metadata/labels/touched".to_owned(), Some(json!("yes"))));
    Operation::Edit { object, path, value }
}
