//! Openings with targets of exports that users make immutable, or whose type changes.

use serde_json::{Value, json};

use super::{Opening, edit, millis, seconds};
use crate::generate::names::EXPORTS;
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Action, ObjectName, Operation};

/// The export of one key of the ConfigMap `typed`, and the steps that apply both.
fn exported(rng: &mut Random, users: &mut Users, kind: &str, key: &str) -> (ObjectName, Opening) {
    let namespace = users.stack.namespace.clone();
    let keys = users.stack.sources.config_maps.entry("typed".to_owned()).or_default();
    keys.insert("k".to_owned(), "one".to_owned());
    let export = json!({
        "apiVersion": EXPORTS, "kind": "ConfigExport",
        "metadata": {"name": "typed", "namespace": namespace},
        "spec": {
            "configType": kind, "configMetadata": {"name": "typed-values"},
            "whileWaiting": rng.one(["Delete", "Keep"]), "entries": entries(&[key]),
        },
    });
    users.stack.objects.push(export.clone());
    let name = ObjectName::of(&export);
    let steps = vec![
        (millis(rng, 100), set(&namespace, "one")),
        (millis(rng, 100), Operation::Apply { object: export }.into()),
    ];
    (name, steps)
}

fn entries(keys: &[&str]) -> Value {
    let from = json!({"configMap": {"name": "typed", "key": "k"}});
    keys.iter().map(|key| json!({"key": key, "valueFrom": from})).collect()
}

/// Sets the value that is exported.
fn set(namespace: &str, value: &str) -> Action {
    let object = ObjectName::new(namespace, "ConfigMap", "typed");
    Operation::SetData { object, key: "k".to_owned(), value: Some(value.to_owned()) }.into()
}

/// A user makes the target of an export immutable. Then its metadata, its entries or its value change.
pub(super) fn immutable_target(rng: &mut Random, users: &mut Users) -> Opening {
    let kind = rng.one(["ConfigMap", "Secret"]);
    let (export, mut steps) = exported(rng, users, kind, "k");
    let target = ObjectName::new(&export.namespace, kind, "typed-values");
    steps.push((seconds(rng, 5, 40), edit(&target, "/immutable", json!(true))));
    let relabel = edit(&export, "/spec/configMetadata/labels", json!({"Team": "web"}));
    let changes =
        [relabel, set(&export.namespace, "two"), edit(&export, "/spec/entries", entries(&["k", "l"]))];
    for _ in 0..rng.between(1, 3) {
        steps.push((seconds(rng, 1, 20), changes[rng.below(changes.len())].clone()));
    }
    if rng.chance(30) {
        let other = if kind == "Secret" { "ConfigMap" } else { "Secret" };
        steps.push((seconds(rng, 1, 20), edit(&export, "/spec/configType", json!(other))));
    }
    steps
}

/// The type of an exported Secret is changed to one that requires other keys, which it gets later, in the same edit or never.
pub(super) fn other_type(rng: &mut Random, users: &mut Users) -> Opening {
    let (export, mut steps) = exported(rng, users, "Secret", "k");
    let (of, keys): (&str, &[&str]) = rng.one([
        ("kubernetes.io/tls", &["tls.crt", "tls.key"] as &[&str]),
        ("kubernetes.io/basic-auth", &["username", "password"]),
        ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
        ("example.com/custom", &["k"]),
    ]);
    let retype = edit(&export, "/spec/secretType", json!(of));
    let rekey = edit(&export, "/spec/entries", entries(keys));
    let order = match rng.below(4) {
        0 => vec![rekey, retype],
        1 => vec![retype],
        _ => vec![retype, rekey],
    };
    let mut pause = seconds(rng, 5, 40);
    for change in order {
        steps.push((pause, change));
        pause = if rng.chance(30) { millis(rng, 500) } else { seconds(rng, 1, 30) };
    }
    steps.push((seconds(rng, 1, 20), set(&export.namespace, "two")));
    if rng.chance(40) {
        let value = if rng.chance(50) { None } else { Some(json!("Opaque")) };
        let back = Operation::Edit { object: export, path: "/spec/secretType".to_owned(), value };
        steps.push((seconds(rng, 1, 30), back.into()));
    }
    steps
}
