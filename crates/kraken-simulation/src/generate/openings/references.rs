//! Openings with references: the hub answers late, a request is deleted before its owner, or the provider rejects a value.

use serde_json::json;

use super::{Opening, added, adoptable_spec, delete, edit, millis, seconds};
use crate::generate::CANARY;
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Action, Controller, Fault, ObjectName, Operation, Remote, Tamper};

/// A reference is added to a resource while the hub is down: its last answer is one to other references.
pub(super) fn late_answer(rng: &mut Random, users: &mut Users) -> Opening {
    let source = ObjectName::new(&users.stack.namespace, "ConfigMap", "answers");
    let values = ["first", "second"];
    let keys = users.stack.sources.config_maps.entry("answers".to_owned()).or_default();
    keys.extend(values.map(|key| (key.to_owned(), "web".to_owned())));
    let from = |key: &str| json!({"valueFrom": {"configMap": {"name": "answers", "key": key}}});
    let kind = rng.one(["VPC", "ElasticIP", "Volume"]);
    let mut spec = adoptable_spec(rng, kind);
    spec["tags"] = json!({"Team": from("first")});
    let (object, apply) = added(users, kind, "referring", &spec);
    let mut steps: Opening = vec![];
    for key in values {
        let (object, value) = (source.clone(), Some("web".to_owned()));
        let set = Operation::SetData { object, key: key.to_owned(), value };
        steps.push((millis(rng, 100), set.into()));
    }
    let down = Fault::Kill { controller: Controller::Hub, down: seconds(rng, 3, 20) };
    steps.push((millis(rng, 100), apply));
    steps.push((seconds(rng, 10, 40), down.into()));
    steps.push((millis(rng, 500), edit(&object, "/spec/tags/Cost", from("second"))));
    steps
}

/// A protected resource that depends on another one is being deleted, and its DependencyRequest is deleted too. Then the other
/// resource is deleted, which the provider would accept.
pub(super) fn deleted_request(rng: &mut Random, users: &mut Users) -> Opening {
    let (dependency, apply_dependency) = added(users, "VPC", "lower", &adoptable_spec(rng, "VPC"));
    let kind = rng.one(["Volume", "ElasticIP"]);
    let mut spec = adoptable_spec(rng, kind);
    spec["lifecycle"] = json!({"protect": true, "dependsOn": [{"kind": "VPC", "name": "lower"}]});
    let (dependent, apply_dependent) = added(users, kind, "upper", &spec);
    let request = format!("{}.aws.upper", kind.to_lowercase());
    let request = ObjectName::new(&dependent.namespace, "DependencyRequest", &request);
    vec![
        (millis(rng, 500), apply_dependency),
        (millis(rng, 500), apply_dependent),
        (seconds(rng, 20, 60), delete(&dependent)),
        (seconds(rng, 1, 10), delete(&request)),
        (seconds(rng, 12, 30), delete(&dependency)),
    ]
}

/// A reference is edited, and the edit cannot be made or waits for an approval. Then the former dependency is deleted, which the
/// remote object still uses.
pub(super) fn unfinished_edit(rng: &mut Random, users: &mut Users) -> Opening {
    let (former, apply_former) = added(users, "VPC", "former", &adoptable_spec(rng, "VPC"));
    let (_, apply_next) = added(users, "VPC", "next", &json!({"cidrBlock": {"value": "10.51.0.0/16"}}));
    let reference = |name: &str| json!({"valueFrom": {"ref": format!("VPC/{name}")}});
    let spec = json!({"vpcID": reference("former"), "cidrBlock": {"value": "10.50.1.0/24"}});
    let (subnet, apply) = added(users, "Subnet", "between", &spec);
    let mut steps =
        vec![(millis(rng, 500), apply_former), (millis(rng, 500), apply_next), (millis(rng, 500), apply)];
    steps.push((seconds(rng, 20, 40), edit(&subnet, "/spec/lifecycle/approval", json!("Manual"))));
    steps.push((millis(rng, 500), edit(&subnet, "/spec/vpcID", reference("next"))));
    steps.push((seconds(rng, 12, 30), delete(&former)));
    if rng.chance(50) {
        steps.push((seconds(rng, 12, 30), edit(&subnet, "/spec/vpcID", reference("former"))));
    }
    steps
}

/// The provider rejects a value from a Secret, and quotes it.
pub(super) fn refused_secret(rng: &mut Random, users: &mut Users) -> Opening {
    let (kind, field, begin) = rng.one([
        ("EC2Instance", "imageID", "ami"),
        ("EC2Instance", "subnetID", "subnet"),
        ("Volume", "availabilityZone", "zone"),
    ]);
    let value = format!("{begin}-{CANARY}");
    let keys = users.stack.sources.secrets.entry("refused".to_owned()).or_default();
    keys.insert("value".to_owned(), value.clone());
    let secret = ObjectName::new(&users.stack.namespace, "Secret", "refused");
    let set = Operation::SetData { object: secret, key: "value".to_owned(), value: Some(value) };
    let mut spec = adoptable_spec(rng, kind);
    spec[field] = json!({"valueFrom": {"secret": {"name": "refused", "key": "value"}}});
    let (_, apply) = added(users, kind, "refused", &spec);
    vec![(millis(rng, 100), Action::from(set)), (millis(rng, 500), apply)]
}

/// A property of a resource that refers to a Secret drifts, and then only the version of the Secret changes: it gets a label, or is
/// created again with the same data. After that, the hub is restarted, and sometimes the spoke too.
pub(super) fn relabeled_secret(rng: &mut Random, users: &mut Users) -> Opening {
    let namespace = users.stack.namespace.clone();
    let value = "us-east-1a".to_owned();
    let keys = users.stack.sources.secrets.entry("place".to_owned()).or_default();
    keys.insert("zone".to_owned(), value.clone());
    let secret = ObjectName::new(&namespace, "Secret", "place");
    let set =
        Operation::SetData { object: secret.clone(), key: "zone".to_owned(), value: Some(value.clone()) };
    let mut spec = adoptable_spec(rng, "Volume");
    spec["availabilityZone"] = json!({"valueFrom": {"secret": {"name": "place", "key": "zone"}}});
    spec["tags"] = json!({"Team": "web"});
    let drift = rng.one(["Report", "Report", "Revert"]);
    spec["lifecycle"] = json!({"drift": drift, "replace": rng.one(["Never", "DeleteFirst", "CreateFirst"])});
    let (object, apply) = added(users, "Volume", "placed", &spec);
    // The first change of a volume makes it larger, which cannot be reverted.
    let tamper = match rng.below(3) {
        0 => Tamper::Change { number: 0 },
        _ => Tamper::Tag { key: "Team".to_owned(), value: Some("elsewhere".to_owned()) },
    };
    let tampered = Operation::TamperRemote { remote: Remote::Of(object, 0), tamper };
    let touched = if rng.chance(60) {
        edit(&secret, "/metadata/labels/touched", json!("yes"))
    } else {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": "place", "namespace": namespace}, "stringData": {"zone": value},
        });
        Operation::Recreate { object }.into()
    };
    let restarted = |controller, down| Action::from(Fault::Kill { controller, down });
    let mut steps: Opening = vec![
        (millis(rng, 100), set.into()),
        (millis(rng, 500), apply),
        (seconds(rng, 20, 60), tampered.into()),
        (seconds(rng, 5, 40), touched),
        (seconds(rng, 1, 40), restarted(Controller::Hub, seconds(rng, 1, 10))),
    ];
    if rng.chance(30) {
        steps.push((millis(rng, 3000), restarted(Controller::Vpc, seconds(rng, 1, 10))));
    }
    steps
}
