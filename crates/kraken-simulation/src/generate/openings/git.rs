//! Openings with commits to a repository from which a tool applies everything, and prunes what is not in it any more: first what is
//! new, then what is gone.

use serde_json::{Value, json};

use super::{Opening, added, adoptable_spec, delete, edit, millis, seconds};
use crate::generate::names::EXPORTS;
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Action, ObjectName, Operation};

/// An export is renamed: the one with the new name is applied first, with the same target or another one, and the old one is deleted
/// later. Perhaps a value is missing, or changes, meanwhile.
pub(super) fn renamed_export(rng: &mut Random, users: &mut Users) -> Opening {
    let namespace = users.stack.namespace.clone();
    let source = ObjectName::new(&namespace, "ConfigMap", "renaming");
    let keys = users.stack.sources.config_maps.entry("renaming".to_owned()).or_default();
    keys.insert("k".to_owned(), "one".to_owned());
    let set = |value: Option<&str>| {
        let value = value.map(ToOwned::to_owned);
        Action::from(Operation::SetData { object: source.clone(), key: "k".to_owned(), value })
    };
    let kind = rng.one(["ConfigMap", "Secret"]);
    let waiting = rng.one(["Delete", "Keep"]);
    let export = |name: &str, target: &str| -> Value {
        json!({
            "apiVersion": EXPORTS, "kind": "ConfigExport",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "configType": kind, "configMetadata": {"name": target}, "whileWaiting": waiting,
                "entries": [{"key": "k", "valueFrom": {"configMap": {"name": "renaming", "key": "k"}}}],
            },
        })
    };
    // Or the target of the same export is renamed, perhaps to an object of a user.
    let (new, target) = rng.one([
        ("new-name", "values"),
        ("new-name", "values"),
        ("new-name", "other"),
        ("old-name", "other"),
        ("old-name", "taken"),
    ]);
    let taken = ObjectName::new(&namespace, kind, "taken");
    let (before, after) = (export("old-name", "values"), export(new, target));
    let old = ObjectName::of(&before);
    users.stack.objects.push(after.clone());
    let mut steps: Opening = vec![
        (millis(rng, 100), set(Some("one"))),
        (millis(rng, 100), Operation::Apply { object: before }.into()),
    ];
    let is_missing = rng.chance(40);
    if is_missing {
        steps.push((seconds(rng, 5, 30), set(None)));
    }
    steps.push((seconds(rng, 5, 30), Operation::Apply { object: after }.into()));
    if rng.chance(30) {
        steps.push((millis(rng, 5000), set(Some("two"))));
    }
    if new != old.name {
        steps.push((seconds(rng, 1, 30), delete(&old)));
    }
    if target == taken.name {
        let object = taken.clone();
        let create = Operation::SetData { object, key: "k".to_owned(), value: Some("mine".to_owned()) };
        steps.insert(0, (millis(rng, 100), create.into()));
        steps.push((seconds(rng, 20, 40), delete(&taken)));
    }
    if is_missing || rng.chance(50) {
        steps.push((seconds(rng, 1, 30), set(Some("three"))));
    }
    steps
}

/// A resource with a value that must be unique is renamed: the one with the new name is applied first, and the former one is deleted later, or
/// is still being created. Perhaps the value changes meanwhile.
pub(super) fn renamed_resource(rng: &mut Random, users: &mut Users) -> Opening {
    let (_, apply_vpc) = added(users, "VPC", "shared", &adoptable_spec(rng, "VPC"));
    let vpc = json!({"valueFrom": {"ref": "VPC/shared"}});
    let (kind, path, values) = rng.one([
        ("SecurityGroup", "groupName", ["web", "api"]),
        ("Subnet", "cidrBlock", ["10.50.1.0/24", "10.50.2.0/24"]),
    ]);
    let mut spec = json!({"vpcID": vpc});
    spec[path] = json!({"value": values[0]});
    let (former, apply) = added(users, kind, "former", &spec);
    users.stack.objects.pop();
    let mut steps: Opening = vec![(millis(rng, 500), apply_vpc), (millis(rng, 500), apply)];
    let (renamed, apply) = added(users, kind, "renamed", &spec);
    let pause = if rng.chance(30) { millis(rng, 2000) } else { seconds(rng, 5, 30) };
    steps.push((pause, apply));
    if rng.chance(30) {
        steps.push((seconds(rng, 1, 20), edit(&renamed, &format!("/spec/{path}/value"), values[1].into())));
    }
    let later = if rng.chance(30) { millis(rng, 2000) } else { seconds(rng, 5, 90) };
    steps.push((later, delete(&former)));
    steps
}

/// One resource refers to another, and one commit turns that round; both are applied at once, in either order. Perhaps the former
/// referrer is deleted afterwards.
pub(super) fn turned_reference(rng: &mut Random, users: &mut Users) -> Opening {
    let kinds = [rng.one(["VPC", "Volume", "ElasticIP"]), rng.one(["VPC", "Volume", "ElasticIP"])];
    let names = ["here", "there"];
    let mut steps: Opening = vec![];
    let mut objects = vec![];
    for (kind, name) in kinds.into_iter().zip(names) {
        let (object, apply) = added(users, kind, name, &adoptable_spec(rng, kind));
        steps.push((millis(rng, 500), apply));
        objects.push(object);
    }
    let refers = |from: usize, to: usize| {
        let reference = json!({"valueFrom": {"ref": format!("{}/{}", kinds[to], names[to])}});
        edit(&objects[from], "/spec/tags/Peer", reference)
    };
    let ends = |from: usize| Operation::Edit {
        object: objects[from].clone(),
        path: "/spec/tags/Peer".to_owned(),
        value: None,
    };
    steps.push((millis(rng, 500), refers(0, 1)));
    let mut turn = [refers(1, 0), ends(0).into()];
    if rng.chance(50) {
        turn.reverse();
    }
    let mut pause = seconds(rng, 5, 40);
    for change in turn {
        steps.push((pause, change));
        pause = millis(rng, 1000);
    }
    if rng.chance(60) {
        steps.push((seconds(rng, 1, 30), delete(&objects[rng.below(2)])));
    }
    steps
}

/// Two security groups that refer to each other in their rules are applied at once. Then they are deleted in either order, or
/// their rules are removed.
pub(super) fn peers(rng: &mut Random, users: &mut Users) -> Opening {
    let (_, apply_vpc) = added(users, "VPC", "shared", &adoptable_spec(rng, "VPC"));
    let mut steps: Opening = vec![(millis(rng, 500), apply_vpc)];
    let names = ["front", "back"];
    let mut groups = vec![];
    for (number, name) in names.into_iter().enumerate() {
        let peer = json!({"valueFrom": {"ref": format!("SecurityGroup/{}", names[1 - number])}});
        let rule = json!({
            "protocol": {"value": "tcp"}, "fromPort": {"value": 8080}, "securityGroupIDs": {"value": [peer]},
        });
        let spec = json!({
            "vpcID": {"valueFrom": {"ref": "VPC/shared"}}, "groupName": {"value": name}, "ingress": [rule],
        });
        let (group, apply) = added(users, "SecurityGroup", name, &spec);
        steps.push((millis(rng, 200), apply));
        groups.push(group);
    }
    let (one, other) = if rng.chance(50) { (0, 1) } else { (1, 0) };
    let pause = if rng.chance(30) { millis(rng, 3000) } else { seconds(rng, 10, 40) };
    match rng.below(4) {
        0 => {
            steps.push((pause, edit(&groups[one], "/spec/ingress", json!([]))));
            steps.push((millis(rng, 5000), delete(&groups[other])));
        }
        1 => steps.push((pause, delete(&groups[one]))),
        _ => {
            steps.push((pause, delete(&groups[one])));
            let later = if rng.chance(50) { millis(rng, 500) } else { seconds(rng, 1, 30) };
            steps.push((later, delete(&groups[other])));
        }
    }
    steps
}
