//! Openings with backups in Velero's form: manifests are saved, objects are lost, and what is created again from the manifests has
//! another UID, and its status only if that is restored, too.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Opening, added, adoptable_spec, delete, edit, millis, seconds};
use crate::generate::names::EXPORTS;
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Action, Controller, Fault, ObjectName, Operation};

fn save(object: &ObjectName) -> Action {
    Operation::SaveManifests { object: object.clone() }.into()
}

fn lose(object: &ObjectName) -> Action {
    Operation::Vanish { object: object.clone() }.into()
}

fn restore(rng: &mut Random, object: &ObjectName) -> Action {
    let (finalizers, status) = (rng.chance(30), rng.chance(40));
    Operation::RestoreManifests { object: object.clone(), finalizers, status }.into()
}

/// A resource is lost, and restored or applied again. Perhaps it was edited since its backup, or its controller is down meanwhile.
pub(super) fn restored_resource(rng: &mut Random, users: &mut Users) -> Opening {
    let kind = rng.one(["VPC", "ElasticIP", "Volume", "EC2Instance"]);
    let mut spec = adoptable_spec(rng, kind);
    spec["lifecycle"] = json!({"replace": rng.one(["Never", "DeleteFirst", "CreateFirst"])});
    let (object, apply) = added(users, kind, "restored", &spec);
    let mut steps: Opening = vec![(millis(rng, 500), apply.clone()), (seconds(rng, 1, 60), save(&object))];
    if rng.chance(40) {
        steps.push((seconds(rng, 1, 20), later(rng, kind, &object)));
    }
    if rng.chance(40) {
        let down = Fault::Kill { controller: Controller::of(kind), down: seconds(rng, 1, 30) };
        steps.push((seconds(rng, 1, 30), down.into()));
    }
    steps.push((seconds(rng, 1, 30), lose(&object)));
    let again = if rng.chance(85) { restore(rng, &object) } else { apply };
    steps.push((seconds(rng, 1, 60), again));
    match rng.below(4) {
        0 => steps.push((seconds(rng, 1, 30), later(rng, kind, &object))),
        1 => steps.push((seconds(rng, 1, 30), delete(&object))),
        _ => {}
    }
    steps
}

/// An edit of a resource that changes or replaces its remote object.
fn later(rng: &mut Random, kind: &str, object: &ObjectName) -> Action {
    match (kind, rng.below(2)) {
        ("EC2Instance", 0) => edit(object, "/spec/imageID", json!({"value": "ami-0b301ce3ce3475b4f"})),
        ("Volume", 0) => edit(object, "/spec/availabilityZone", json!({"value": "us-east-1b"})),
        _ => edit(object, "/spec/tags/Team", json!("later")),
    }
}

/// A namespace is lost with all that is in it, and restored: Kraken's own objects too, without their owners.
pub(super) fn restored_namespace(rng: &mut Random, users: &mut Users) -> Opening {
    let name = users.stack.namespace.clone();
    let namespace = ObjectName::new("", "Namespace", &name);
    let mut steps: Opening = vec![(seconds(rng, 10, 60), save(&namespace))];
    if rng.chance(30) {
        let object = users.spoke_object(rng);
        steps.push((seconds(rng, 1, 20), edit(&object, "/spec/tags/Team", json!("later"))));
    }
    if rng.chance(40) {
        let controller = rng.one(Controller::OF_AWS);
        steps.push((millis(rng, 3000), Fault::Kill { controller, down: seconds(rng, 1, 40) }.into()));
    }
    steps.push((seconds(rng, 1, 30), lose(&namespace)));
    // The namespace is gone when its controller has looked at it.
    steps.push((seconds(rng, 20, 60), Operation::CreateNamespace { name }.into()));
    steps.push((millis(rng, 500), restore(rng, &namespace)));
    steps.push((seconds(rng, 5, 60), edit(&users.spoke_object(rng), "/spec/tags/Team", json!("restored"))));
    steps
}

/// An export, its target or both are lost and restored, and then its source changes.
pub(super) fn restored_export(rng: &mut Random, users: &mut Users) -> Opening {
    let namespace = users.stack.namespace.clone();
    let name = |kind: &str, name: &str| ObjectName::new(&namespace, kind, name);
    let kind = rng.one(["ConfigMap", "Secret"]);
    let keys = users.stack.sources.config_maps.entry("saved".to_owned()).or_default();
    keys.insert("k".to_owned(), "one".to_owned());
    let source = name("ConfigMap", "saved");
    let set = |value: &str| {
        let value = Some(value.to_owned());
        Action::from(Operation::SetData { object: source.clone(), key: "k".to_owned(), value })
    };
    let export: Value = json!({
        "apiVersion": EXPORTS, "kind": "ConfigExport",
        "metadata": {"name": "kept", "namespace": namespace},
        "spec": {
            "configType": kind, "configMetadata": {"name": "kept-values"},
            "whileWaiting": rng.one(["Delete", "Keep"]),
            "entries": [{"key": "k", "valueFrom": {"configMap": {"name": "saved", "key": "k"}}}],
        },
    });
    users.stack.objects.push(export.clone());
    let (export, apply) = (ObjectName::of(&export), Operation::Apply { object: export });
    let target = name(kind, "kept-values");
    let lost: &[&ObjectName] = match rng.below(4) {
        0 => &[&export],
        1 => &[&target],
        2 => &[&export, &target],
        _ => &[&target, &export],
    };
    let mut steps: Opening = vec![(millis(rng, 100), set("one")), (millis(rng, 100), apply.into())];
    let mut pause = seconds(rng, 5, 40);
    for object in lost {
        steps.push((pause, save(object)));
        pause = Duration::from_millis(1);
    }
    if rng.chance(30) {
        let down = Fault::Kill { controller: Controller::Hub, down: seconds(rng, 1, 20) };
        steps.push((seconds(rng, 1, 20), down.into()));
    }
    for object in lost {
        steps.push((millis(rng, 3000), lose(object)));
    }
    for object in lost {
        steps.push((millis(rng, 5000), restore(rng, object)));
    }
    steps.push((seconds(rng, 1, 20), set("two")));
    steps
}
