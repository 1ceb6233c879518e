//! Generation of operations.

use std::time::Duration;

use serde_json::{Value, json};

use super::CANARY;
use super::edits;
use super::mix::Class;
use super::stack::{Stack, id_path, name_of};
use crate::random::Random;
use crate::schedule::{Controller, Lost, ObjectName, Operation, Propagation, Remote, Tamper};

/// The users of one seed, with their manifests.
#[derive(Debug)]
pub(crate) struct People {
    pub(crate) stack: Stack,
    /// The remote objects that were created out of band, with their kinds.
    remotes: Vec<(String, String)>,
    backed_up: bool,
}

impl People {
    pub(crate) fn of(stack: Stack) -> Self {
        Self { stack, remotes: Vec::new(), backed_up: false }
    }

    /// The manifests in the order in which they are applied first.
    pub(crate) fn first(&mut self, rng: &mut Random) -> Vec<Value> {
        let mut all = self.stack.sources.manifests(&self.stack.namespace);
        all.extend(self.stack.objects.iter().cloned());
        match rng.below(3) {
            0 => {}
            1 => all.reverse(),
            _ => {
                for index in (1..all.len()).rev() {
                    all.swap(index, rng.below(index + 1));
                }
            }
        }
        // Sometimes one is initially omitted.
        if rng.chance(20) {
            let forgotten = rng.below(all.len());
            all.remove(forgotten);
        }
        all
    }

    /// An operation of the class; `None` if it is a class of faults.
    pub(crate) fn operation(&mut self, rng: &mut Random, class: Class) -> Option<Operation> {
        let object = self.object(rng);
        let spoke_object = self.spoke_object(rng);
        let kind = object.kind.clone();
        let operation = match class {
            Class::Apply => Operation::Apply { object: self.manifest(rng, true) },
            Class::Replace => Operation::Replace { object: self.manifest(rng, false) },
            Class::Recreate => Operation::Recreate { object: self.manifest(rng, false) },
            Class::Edit => edit(object, edits::sensible(rng, &kind)),
            Class::EditSchema => edit(object, edits::by_schema(rng, &kind)),
            Class::EditInvalid => edit(object, edits::invalid(rng, &kind)),
            Class::Policy => {
                let change = edits::policy(rng, &spoke_object.kind);
                edit(spoke_object, Some(change))
            }
            Class::Data => self.data(rng),
            Class::Scale => self.scale(rng),
            Class::Delete => Operation::Delete { object, propagation: propagation(rng) },
            Class::DeleteNamespace if rng.chance(50) => {
                Operation::DeleteNamespace { name: self.stack.namespace.clone() }
            }
            Class::DeleteNamespace => Operation::CreateNamespace { name: self.stack.namespace.clone() },
            Class::Adopt => {
                let remote = self.remote(rng, Some(&spoke_object.kind));
                Operation::Adopt { object: spoke_object, remote, by_id: rng.chance(50) }
            }
            Class::Approve => {
                let object = if rng.chance(80) { self.planned(rng) } else { None };
                Operation::Approve { object: object.unwrap_or(spoke_object), stale: rng.chance(25) }
            }
            Class::ForgeStatus if rng.chance(15) => {
                Operation::ForgePlan { object: self.planned(rng).unwrap_or(spoke_object) }
            }
            Class::Annotate => Operation::Annotate {
                object: spoke_object,
                annotation: rng.one(["reconcile-requested-at", "creation-confirmed-at"]).to_owned(),
            },
            Class::Strip => self.strip(rng),
            Class::ForgeStatus => forge(rng, spoke_object),
            Class::Internal => self.internal(rng),
            Class::CreateRemote => self.create_remote(rng),
            Class::DeleteRemote => {
                Operation::TamperRemote { remote: self.remote(rng, None), tamper: Tamper::Delete }
            }
            Class::TagRemote => {
                let tamper = match rng.below(5) {
                    0 | 1 => Tamper::StripOwnerTags,
                    2 => Tamper::OwnerTagsOf(spoke_object),
                    3 => Tamper::Tag { key: "Team".to_owned(), value: Some("elsewhere".to_owned()) },
                    _ => Tamper::Tag { key: rng.one(["Name", "Team"]).to_owned(), value: None },
                };
                Operation::TamperRemote { remote: self.remote(rng, None), tamper }
            }
            Class::ChangeRemote => {
                let tamper = Tamper::Change { number: rng.below(60) };
                Operation::TamperRemote { remote: self.remote(rng, None), tamper }
            }
            Class::Restart => {
                let controller = rng.one([Controller::Ec2Instance, Controller::Vpc, Controller::Elb]);
                // Back to where it belongs as often as elsewhere.
                let region = rng.one([Some("eu-west-1"), Some("us-east-1"), None]);
                let account = rng.one([Some("222222222222"), Some("123456789012"), None]);
                let text = |text: Option<&str>| text.map(ToOwned::to_owned);
                Operation::Restart { controller, region: text(region), account: text(account) }
            }
            Class::Expire => Operation::ExpireCredentials {
                lasts: rng.time(Duration::from_millis(500), Duration::from_mins(1)),
            },
            Class::Backup if !self.backed_up || rng.chance(30) => {
                self.backed_up = true;
                Operation::Backup
            }
            Class::Backup => Operation::Restore,
            _ => return None,
        };
        Some(operation)
    }

    /// Some object of the stack.
    fn object(&self, rng: &mut Random) -> ObjectName {
        let names = self.stack.names();
        rng.pick(&names).cloned().unwrap_or_else(|| ObjectName::new(&self.stack.namespace, "VPC", "a"))
    }

    /// Some object of a spoke.
    pub(crate) fn spoke_object(&self, rng: &mut Random) -> ObjectName {
        let names: Vec<ObjectName> =
            self.stack.names().into_iter().filter(|name| id_path(&name.kind).is_some()).collect();
        rng.pick(&names).cloned().unwrap_or_else(|| ObjectName::new(&self.stack.namespace, "VPC", "a"))
    }

    /// Some object whose manifest requires approvals, if there is one.
    fn planned(&self, rng: &mut Random) -> Option<ObjectName> {
        let is_manual = |object: &&Value| object["spec"]["lifecycle"]["approval"] == "Manual";
        let names: Vec<ObjectName> = self.stack.objects.iter().filter(is_manual).map(name_of).collect();
        rng.pick(&names).cloned()
    }

    /// Some remote object; of this kind if there is one.
    pub(crate) fn remote(&self, rng: &mut Random, kind: Option<&str>) -> Remote {
        let named: Vec<&(String, String)> =
            self.remotes.iter().filter(|(_, of)| kind.is_none_or(|kind| kind == of)).collect();
        if let Some((name, _)) = rng.pick(&named).copied()
            && rng.chance(if kind.is_some() { 75 } else { 20 })
        {
            return Remote::Named(name.clone());
        }
        let mut object = self.spoke_object(rng);
        for _ in 0..5 {
            if kind.is_none_or(|kind| kind == object.kind) {
                break;
            }
            object = self.spoke_object(rng);
        }
        let number = rng.one([0, 0, 0, 1]);
        Remote::Of(object, number)
    }

    /// A manifest, with an optional edit or two.
    fn manifest(&mut self, rng: &mut Random, edited: bool) -> Value {
        let index = rng.below(self.stack.objects.len());
        let Some(object) = self.stack.objects.get_mut(index) else { return Value::Null };
        let kind = name_of(object).kind;
        for _ in 0..if edited { rng.one([0, 0, 1, 1, 2]) } else { 0 } {
            let change = if rng.chance(25) && kind != "ConfigExport" && kind != "Account" {
                Some(edits::policy(rng, &kind))
            } else {
                edits::sensible(rng, &kind)
            };
            if let Some((path, value)) = change {
                crate::apply::set(object, &path, value);
            }
        }
        object.clone()
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

    fn scale(&mut self, rng: &mut Random) -> Operation {
        let instances: Vec<ObjectName> =
            self.stack.names().into_iter().filter(|name| name.kind == "EC2Instance").collect();
        match rng.pick(&instances) {
            Some(object) => Operation::Scale { object: object.clone(), replicas: rng.one([0, 1, 2, 3, 4]) },
            None => edit(self.object(rng), Some(edits::policy(rng, "VPC"))),
        }
    }

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

    fn strip(&self, rng: &mut Random) -> Operation {
        let lost = rng.one([
            Lost::Finalizers,
            Lost::Finalizers,
            Lost::OwnerReferences,
            Lost::Intent,
            Lost::Intent,
            Lost::Annotations,
            Lost::Labels,
            Lost::Status,
        ]);
        Operation::Strip { object: self.any_name(rng), lost }
    }

    /// Edits or deletes Kraken's internal objects, or an export's target.
    fn internal(&self, rng: &mut Random) -> Operation {
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
        match rng.below(9) {
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
            7 => Operation::Own {
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

    fn create_remote(&mut self, rng: &mut Random) -> Operation {
        let kind = self.spoke_object(rng).kind;
        let tags_of = rng.chance(25).then(|| self.spoke_object(rng));
        let name = self.remote_name(&kind);
        Operation::CreateRemote { kind, name, tags_of }
    }

    /// A name for a remote object that is created out of band.
    pub(crate) fn remote_name(&mut self, kind: &str) -> String {
        let name = format!("outside-{}", self.remotes.len());
        self.remotes.push((name.clone(), kind.to_owned()));
        name
    }
}

fn edit(object: ObjectName, change: Option<edits::Edit>) -> Operation {
    let (path, value) = change.unwrap_or_else(|| ("/metadata/labels/touched".to_owned(), Some(json!("yes"))));
    Operation::Edit { object, path, value }
}

fn propagation(rng: &mut Random) -> Propagation {
    rng.one([
        Propagation::Background,
        Propagation::Background,
        Propagation::Background,
        Propagation::Foreground,
        Propagation::Orphan,
    ])
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

fn forge(rng: &mut Random, object: ObjectName) -> Operation {
    let status = match rng.below(7) {
        0 => json!({"externalIds": []}),
        1 => json!({"externalIds": [missing_id(&object.kind)]}),
        2 => json!({"inPlace": null}),
        3 => json!({"adopted": [missing_id(&object.kind)]}),
        4 => json!({"observedGeneration": 9, "conditions": []}),
        5 => json!({"replacedBefore": 5}),
        _ => json!({"epoch": 7}),
    };
    Operation::ForgeStatus { object, status }
}
