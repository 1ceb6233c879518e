//! Openings with replacements of objects that others use.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Opening, added, adoptable_spec, delete, edit, millis, seconds};
use crate::generate::names::EXPORTS;
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Action, Controller, Fault, ObjectName, Operation};

const IMAGES: [&str; 3] = ["ami-0b301ce3ce3475b4f", "ami-03cf127a", "ami-12c6146b"];

/// An instance that an address refers to is replaced, often once more before the first replacement is complete. Perhaps the
/// address does not follow, its controller is down, or it is deleted meanwhile. Perhaps its id is exported, and the hub is down, or
/// the export is edited and cannot be exported.
pub(super) fn used_instance(rng: &mut Random, users: &mut Users) -> Opening {
    let mut spec = adoptable_spec(rng, "EC2Instance");
    spec["maxCount"] = json!({"value": rng.one([1, 1, 2])});
    spec["lifecycle"] =
        json!({"replace": rng.one(["CreateFirst", "CreateFirst", "CreateFirst", "DeleteFirst"])});
    let (instance, apply) = added(users, "EC2Instance", "served", &spec);
    let refers: Value = json!({"instanceID": {"valueFrom": {"ref": "EC2Instance/served"}}});
    let (address, follow) = added(users, "ElasticIP", "serving", &refers);
    let mut steps: Opening = vec![(millis(rng, 500), apply), (millis(rng, 500), follow)];
    let is_exported = rng.chance(40);
    if is_exported {
        let export = json!({
            "apiVersion": EXPORTS, "kind": "ConfigExport",
            "metadata": {"name": "served-id", "namespace": users.stack.namespace},
            "spec": {
                "configType": "ConfigMap", "configMetadata": {"name": "served-id"},
                "entries": [{"key": "id", "valueFrom": {"ref": "EC2Instance/served"}}],
            },
        });
        users.stack.objects.push(export.clone());
        steps.push((millis(rng, 500), Operation::Apply { object: export }.into()));
    }
    let image = |id: &str| edit(&instance, "/spec/imageID", json!({"value": id}));
    if rng.chance(30) {
        let hindrance: Action = match rng.below(3) {
            0 => edit(&address, "/spec/lifecycle/paused", json!(true)),
            1 => Fault::Kill { controller: Controller::Vpc, down: seconds(rng, 1, 30) }.into(),
            _ => delete(&address),
        };
        steps.push((seconds(rng, 10, 40), hindrance));
    }
    if is_exported && rng.chance(30) {
        let (path, value) = match rng.below(3) {
            0 => ("/spec/configMetadata/name", json!("settings")), // perhaps a ConfigMap of somebody else
            1 => ("/spec/entries", json!([{"key": "id", "valueFrom": {"ref": "VPC/absent"}}])),
            _ => ("/spec/entries", json!([{"key": "id", "valueFrom": {"templateString": "{{ .VPC.a"}}])),
        };
        let export =
            ObjectName { kind: "ConfigExport".to_owned(), name: "served-id".to_owned(), ..instance.clone() };
        steps.push((seconds(rng, 10, 30), edit(&export, path, value)));
    }
    let mut pause = seconds(rng, 1, 40);
    for id in IMAGES.into_iter().take(rng.one([1, 2, 2, 3])) {
        steps.push((pause, image(id)));
        if is_exported && rng.chance(30) {
            let down = seconds(rng, 1, 60);
            steps.push((millis(rng, 3000), Fault::Kill { controller: Controller::Hub, down }.into()));
        }
        pause = if rng.chance(50) { millis(rng, 3000) } else { seconds(rng, 1, 20) };
    }
    if rng.chance(30) {
        let down = rng.time(Duration::from_millis(1), Duration::from_secs(5));
        steps.push((millis(rng, 5000), Fault::Kill { controller: Controller::Ec2Instance, down }.into()));
    }
    steps
}
