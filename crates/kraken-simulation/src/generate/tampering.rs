//! Operations on what belongs to the controllers: finalizers, records, internal objects and targets of exports.

use serde_json::{Value, json};

use super::stack::id_path;
use super::users::{Users, propagation};
use crate::random::Random;
use crate::schedule::{Lost, ObjectName, Operation};

impl Users {
    /// An object of any of the kinds, those that the suite writes for itself included.
    fn any_name(&self, rng: &mut Random) -> ObjectName {
        let object = self.spoke_object(rng);
        let lower = object.kind.to_lowercase();
        match rng.below(4) {
            0 => ObjectName::new(
                &object.namespace,
                "DependencyRequest",
                &format!("{lower}.aws.{}", object.name),
            ),
            1 => ObjectName::new(
                &object.namespace,
                "StateDeclaration",
                &format!("{lower}.aws.{}", object.name),
            ),
            _ => object,
        }
    }

    pub(super) fn strip(&self, rng: &mut Random) -> Operation {
        let lost = rng.one([
            Lost::Finalizers,
            Lost::Finalizers,
            Lost::OwnerReferences,
            Lost::Annotations,
            Lost::Labels,
        ]);
        Operation::Strip { object: self.any_name(rng), lost }
    }

    /// Edits or deletes Kraken's internal objects, or an export's target.
    pub(super) fn internal(&self, rng: &mut Random) -> Operation {
        let object = self.spoke_object(rng);
        let lower = object.kind.to_lowercase();
        let of =
            |kind: &str| ObjectName::new(&object.namespace, kind, &format!("{lower}.aws.{}", object.name));
        let set = |object: ObjectName, path: &str, value: Option<Value>| Operation::Edit {
            object,
            path: path.to_owned(),
            value,
        };
        let (data, id) = forged_state(&object.kind);
        match rng.below(10) {
            0 => Operation::Delete { object: of("DependencyRequest"), propagation: propagation(rng) },
            1 => Operation::Delete { object: of("StateDeclaration"), propagation: propagation(rng) },
            2 => set(of("DependencyRequest"), "/spec/krakenResourceDependencies", None),
            3 => set(
                of("DependencyRequest"),
                "/spec/configMapDependencies",
                Some(json!([{"name": "settings", "key": "k1"}])),
            ),
            4 => set(of("StateDeclaration"), "/spec/data", Some(data)),
            5 => set(of("StateDeclaration"), "/spec/id", Some(id)),
            6 => set(of("StateDeclaration"), "/metadata/annotations", None),
            // Which the API server rejects: its spoke would not find it any more.
            7 => set(
                of("DependencyRequest"),
                "/spec/spoke",
                rng.one([None, Some("kraken-other")]).map(Value::from),
            ),
            8 => Operation::Own {
                object: ObjectName::new(&self.stack.namespace, "ConfigMap", rng.one(["settings", "extra"])),
                owner: ObjectName::new(&self.stack.namespace, "ConfigExport", "export-0"),
            },
            _ => {
                let kind = rng.one(["ConfigMap", "Secret"]);
                let target = ObjectName::new(&self.stack.namespace, kind, "exported-0");
                Operation::SetData { object: target, key: "e0".to_owned(), value: Some("edited".to_owned()) }
            }
        }
    }
}

/// The id of an object that does not exist, as the provider writes those of a kind.
pub(crate) fn missing_id(kind: &str) -> &'static str {
    match kind {
        "EC2Instance" => "i-0123456789abcdef0",
        "Subnet" => "subnet-0123456789abcdef0",
        "InternetGateway" => "igw-0123456789abcdef0",
        "RouteTable" => "rtb-0123456789abcdef0",
        "SecurityGroup" => "sg-0123456789abcdef0",
        "ElasticIP" => "eipalloc-0123456789abcdef0",
        "NATGateway" => "nat-0123456789abcdef0",
        "Volume" => "vol-0123456789abcdef0",
        _ => "vpc-0123456789abcdef0",
    }
}

/// Content of the state of a kind that no controller published: a value at the path of the main id, and a main id.
pub(crate) fn forged_state(kind: &str) -> (Value, Value) {
    let id = json!("vpc-0forged");
    let path = id_path(kind).unwrap_or("id");
    let data = path.rsplit('.').fold(id.clone(), |inner, member| {
        if member.parse::<usize>().is_ok() { json!([inner]) } else { json!({ member: inner }) }
    });
    (data, id)
}

/// A write to the status by a client, of what controllers write and do not act on: admission reserves the status for them, and only a
/// cluster administrator can do more.
pub(super) fn forge(rng: &mut Random, object: ObjectName) -> Operation {
    let status = match rng.below(3) {
        0 => json!({"inPlace": null}),
        1 => json!({"adopted": [missing_id(&object.kind)]}),
        _ => json!({"observedGeneration": 9, "conditions": []}),
    };
    Operation::ForgeStatus { object, status }
}
