//! Openings with an export: its source cannot be read or its target cannot be written for some time, or it loses an entry.

use std::time::Duration;

use serde_json::json;

use super::{Opening, added, edit, millis, seconds};
use crate::generate::names::EXPORTS;
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Action, CallMatch, Controller, Fault, Lost, ObjectName, Operation, Propagation, Side};

/// A ConfigMap is exported and used by a VPC, and changes: while the hub cannot read it, while the target of the export is
/// immutable or is held by another controller, or while a workload cannot be restarted.
pub(super) fn source_and_target(rng: &mut Random, users: &mut Users) -> Opening {
    let namespace = users.stack.namespace.clone();
    let name = |kind: &str, name: &str| ObjectName::new(&namespace, kind, name);
    let (source, target) = (name("ConfigMap", "source"), name("ConfigMap", "target"));
    let keys = users.stack.sources.config_maps.entry("source".to_owned()).or_default();
    keys.insert("k".to_owned(), "one".to_owned());
    let set = |value: &str| {
        let value = Some(value.to_owned());
        Action::from(Operation::SetData { object: source.clone(), key: "k".to_owned(), value })
    };
    let from = json!({"configMap": {"name": "source", "key": "k"}});
    let mut spec = json!({
        "configType": "ConfigMap", "configMetadata": {"name": "target"},
        "whileWaiting": rng.one(["Delete", "Keep"]),
        "entries": [{"key": "k", "valueFrom": from}],
    });
    let case = rng.below(4);
    if case == 3 {
        spec["restart"] = json!([{"kind": "Deployment", "name": "web"}]);
    }
    let export = json!({
        "apiVersion": EXPORTS, "kind": "ConfigExport",
        "metadata": {"name": "target-of-source", "namespace": namespace},
        "spec": spec,
    });
    users.stack.objects.push(export.clone());
    let reader = json!({"cidrBlock": {"value": "10.51.0.0/16"}, "tags": {"Team": {"valueFrom": from}}});
    let (_, reader) = added(users, "VPC", "reader", &reader);
    let mut steps: Opening = vec![
        (millis(rng, 100), set("one")),
        (millis(rng, 100), Operation::Apply { object: export }.into()),
        (millis(rng, 100), reader),
    ];
    let settled = seconds(rng, 5, 40);
    let refuse = |action: &str, times: u32| {
        let call = CallMatch { side: Side::Kube, action: action.to_owned(), nth: 1 };
        Action::from(Fault::Refuse { controller: Controller::Hub, call, status: 500, times })
    };
    match case {
        0 => {
            steps.push((settled, refuse("GET configmaps", rng.one([1, 2, 5]))));
            steps.push((millis(rng, 100), set("two")));
        }
        1 => {
            steps.push((settled, edit(&target, "/immutable", json!(true))));
            steps.push((millis(rng, 3000), set("two")));
        }
        2 => {
            let held = edit(&target, "/metadata/finalizers", json!(["example.com/hold"]));
            let gone = Operation::Delete { object: target.clone(), propagation: Propagation::Background };
            steps.push((settled, held));
            steps.push((millis(rng, 3000), gone.into()));
            steps.push((millis(rng, 3000), set("two")));
            let free = Operation::Strip { object: target, lost: Lost::Finalizers };
            steps.push((seconds(rng, 1, 40), free.into()));
        }
        _ => {
            steps.push((settled, refuse("PATCH deployments", rng.one([1, 2, 5]))));
            steps.push((millis(rng, 100), set("two")));
        }
    }
    // The seed continues when the hub has noticed.
    steps.push((Duration::from_millis(300), set("three")));
    steps
}

/// An entry is removed from an export, whose other entries keep their values.
pub(super) fn removed_entry(rng: &mut Random, users: &mut Users) -> Opening {
    let namespace = users.stack.namespace.clone();
    let source = ObjectName::new(&namespace, "ConfigMap", "entries");
    let keys = users.stack.sources.config_maps.entry("entries".to_owned()).or_default();
    keys.insert("k".to_owned(), "one".to_owned());
    let entry = |key: &str| json!({"key": key, "valueFrom": {"configMap": {"name": "entries", "key": "k"}}});
    let config_type = rng.one(["ConfigMap", "ConfigMap", "Secret"]);
    let export = |entries: serde_json::Value| {
        json!({
            "apiVersion": EXPORTS, "kind": "ConfigExport",
            "metadata": {"name": "fewer", "namespace": namespace},
            "spec": {
                "configType": config_type, "configMetadata": {"name": "fewer-values"}, "entries": entries,
            },
        })
    };
    let (before, after) = (export(json!([entry("a"), entry("b")])), export(json!([entry("a")])));
    // A later step that applies it again does not add the entry again.
    users.stack.objects.push(after.clone());
    let set = Operation::SetData { object: source, key: "k".to_owned(), value: Some("one".to_owned()) };
    vec![
        (millis(rng, 100), set.into()),
        (millis(rng, 100), Operation::Apply { object: before }.into()),
        (seconds(rng, 5, 40), Operation::Apply { object: after }.into()),
    ]
}
