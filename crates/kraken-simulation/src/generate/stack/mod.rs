//! A stack: a few kinds, and all that they need, with references between them.

mod account;
mod specs;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::mix::Policies;
use super::names::{AWS, EXPORTS, NAMESPACE};
use super::source::{CANARY, Sources, main_id};
use crate::random::Random;
use crate::schedule::ObjectName;

/// The most objects of a stack, but for what those in it need.
const MOST: usize = 15;
/// What objects of a kind are called.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The kinds of the spokes, each with its key and field in the state that is the main id, and how often a stack begins with it.
pub(crate) const KINDS: [(&str, &str, usize); 14] = [
    ("EC2Instance", "instances.0.InstanceId", 10),
    ("VPC", "vpc.VpcId", 5),
    ("Subnet", "subnet.SubnetId", 4),
    ("InternetGateway", "internetGateway.InternetGatewayId", 3),
    ("RouteTable", "routeTable.RouteTableId", 4),
    ("SecurityGroup", "securityGroup.GroupId", 5),
    ("ElasticIP", "elasticIP.AllocationId", 4),
    ("NATGateway", "natGateway.NatGatewayId", 3),
    ("KeyPair", "keyPair.KeyName", 3),
    ("Volume", "volume.VolumeId", 4),
    ("LoadBalancer", "loadBalancer.LoadBalancerArn", 3),
    ("TargetGroup", "targetGroup.TargetGroupArn", 3),
    ("Listener", "listener.ListenerArn", 3),
    ("ListenerRule", "rule.RuleArn", 2),
];

/// The desired stack of a seed.
#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) namespace: String,
    /// The manifests of the stack, in a possible order of creation.
    pub(crate) objects: Vec<Value>,
    pub(crate) sources: Sources,
}

impl Stack {
    pub(crate) fn of(rng: &mut Random, policies: Policies) -> Self {
        let sources = Sources::new(rng);
        let mut builder = Builder {
            rng,
            sources,
            policies,
            objects: Vec::new(),
            names: BTreeMap::new(),
            subnets: 0,
            zones: BTreeMap::new(),
        };
        let weights = KINDS.map(|(kind, _, weight)| (kind, weight));
        for _ in 0..builder.rng.one([1, 1, 2, 2, 3, 4]) {
            let Some(kind) = builder.rng.weighted(&weights) else { continue };
            for _ in 0..builder.rng.one([1, 1, 2, 3]) {
                builder.build(kind);
            }
        }
        for number in 0..builder.rng.one([0, 0, 0, 1, 1, 2]) {
            builder.export(number);
        }
        if policies.account {
            builder.account();
        }
        Self { namespace: NAMESPACE.to_owned(), objects: builder.objects, sources: builder.sources }
    }

    /// Every object that a step can be about.
    pub(crate) fn names(&self) -> Vec<ObjectName> {
        self.objects.iter().map(ObjectName::of).collect()
    }
}

/// The field of a kind's state that is its main id.
pub(crate) fn id_path(kind: &str) -> Option<&'static str> {
    KINDS.iter().find(|(name, _, _)| *name == kind).map(|(_, path, _)| *path)
}

struct Builder<'a> {
    rng: &'a mut Random,
    sources: Sources,
    policies: Policies,
    objects: Vec<Value>,
    names: BTreeMap<&'static str, Vec<&'static str>>,
    /// How many subnets there are, for their blocks.
    subnets: usize,
    /// The VPC and zone of each subnet, by its name.
    zones: BTreeMap<&'static str, (&'static str, &'static str)>,
}

impl Builder<'_> {
    /// An object of a kind; one more, unless there are enough.
    fn build(&mut self, kind: &'static str) -> &'static str {
        let existing = self.names.get(kind).map_or(0, Vec::len);
        if existing >= NAMES.len() || (existing > 0 && self.objects.len() >= MOST) {
            return self.any(kind).unwrap_or(NAMES[0]);
        }
        let name = NAMES[existing];
        self.names.entry(kind).or_default().push(name);
        let mut spec = self.spec(kind, name);
        if let Some(lifecycle) = self.lifecycle(kind) {
            spec.insert("lifecycle".to_owned(), lifecycle);
        }
        self.objects.push(json!({
            "apiVersion": AWS, "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
        }));
        name
    }

    /// One that is there, if there is one.
    fn any(&mut self, kind: &str) -> Option<&'static str> {
        let names = self.names.get(kind)?;
        self.rng.pick(names).copied()
    }

    /// One that is there, or a new one; now and then a new one anyway.
    fn need(&mut self, kind: &'static str) -> &'static str {
        match self.any(kind) {
            Some(name) if !self.rng.chance(15) => name,
            _ => self.build(kind),
        }
    }

    /// A reference to the main id of a dependency.
    fn needed(&mut self, kind: &'static str) -> Value {
        let name = self.need(kind);
        self.id(kind, name)
    }

    /// A reference to a main id; now and then by way of an export.
    fn id(&mut self, kind: &'static str, name: &'static str) -> Value {
        if self.rng.chance(3) {
            return self.by_export(kind, name);
        }
        main_id(self.rng, kind, name, id_path(kind))
    }

    /// A reference to a key of a ConfigMap into which a main id is exported.
    fn by_export(&mut self, kind: &'static str, name: &'static str) -> Value {
        let target = format!("{}-{name}-id", kind.to_lowercase());
        let exists = self.objects.iter().any(|object| object["metadata"]["name"] == *target);
        if !exists {
            let entry = main_id(self.rng, kind, name, id_path(kind));
            self.objects.push(json!({
                "apiVersion": EXPORTS, "kind": "ConfigExport",
                "metadata": {"name": target, "namespace": NAMESPACE},
                "spec": {
                    "configType": "ConfigMap",
                    "configMetadata": {"name": target},
                    "whileWaiting": self.rng.one(["Delete", "Keep"]),
                    "entries": [{"key": "id", "valueFrom": entry["valueFrom"]}],
                },
            }));
        }
        json!({"valueFrom": {"configMap": {"name": target, "key": "id"}}})
    }

    /// An export of some values of the stack.
    fn export(&mut self, number: usize) {
        let secret = self.rng.chance(40);
        let mut entries = Vec::new();
        for index in 0..self.rng.between(1, 3) {
            let from = self.exported(secret);
            entries.push(json!({"key": format!("e{index}"), "valueFrom": from}));
        }
        let name = format!("export-{number}");
        self.objects.push(json!({
            "apiVersion": EXPORTS, "kind": "ConfigExport",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "configType": if secret { "Secret" } else { "ConfigMap" },
                "configMetadata": {"name": format!("exported-{number}")},
                "whileWaiting": self.rng.one(["Delete", "Keep"]),
                "entries": entries,
            },
        }));
    }

    /// A source of an export's entry.
    fn exported(&mut self, secret: bool) -> Value {
        let kinds: Vec<&'static str> = self.names.keys().copied().collect();
        let kind = self.rng.pick(&kinds).copied();
        let resource = kind.and_then(|kind| Some((kind, self.any(kind)?)));
        match (self.rng.below(5), resource) {
            (0, _) => {
                let keys = self.sources.config_maps.entry("settings".to_owned()).or_default();
                keys.insert("port".to_owned(), "8080".to_owned());
                json!({"configMap": {"name": "settings", "key": "port"}})
            }
            (1, _) if secret => {
                let keys = self.sources.secrets.entry("creds".to_owned()).or_default();
                keys.insert("password".to_owned(), format!("{CANARY}-password"));
                json!({"secret": {"name": "creds", "key": "password"}})
            }
            (2, Some((kind, name))) => {
                json!({"templateString": format!("id={{{{ .{kind}.{name} }}}}")})
            }
            (_, Some((kind, name))) => main_id(self.rng, kind, name, id_path(kind))["valueFrom"].clone(),
            _ => {
                let facts = self.sources.facts.entry("facts".to_owned()).or_default();
                facts.insert("zone".to_owned(), json!("us-east-1a"));
                json!({"ref": "static/facts/zone"})
            }
        }
    }

    /// The policies of one object; `None` for all defaults.
    fn lifecycle(&mut self, kind: &str) -> Option<Value> {
        let Policies {
            report,
            ignore,
            retain,
            protect,
            replace,
            disrupt,
            manual,
            paused,
            share,
            interval,
            depends,
            account: _,
        } = self.policies;
        let mut lifecycle = Map::new();
        let mut set = |key: &str, value: Value| lifecycle.insert(key.to_owned(), value);
        let rng = &mut *self.rng;
        if report && rng.chance(40) {
            set("drift", json!("Report"));
        }
        if ignore && rng.chance(40) {
            set("ignoreChanges", json!(["tags.Team"]));
        }
        if retain && rng.chance(40) {
            set("deletion", json!(rng.one(["Retain", "Delete"])));
        }
        if protect && rng.chance(30) {
            set("protect", json!(true));
        }
        if replace && rng.chance(60) {
            set("replace", json!(rng.one(["DeleteFirst", "CreateFirst"])));
        }
        if disrupt && kind == "EC2Instance" && rng.chance(60) {
            set("disruption", json!("Allow"));
        }
        if manual && rng.chance(40) {
            set("approval", json!("Manual"));
        }
        if paused && rng.chance(30) {
            set("paused", json!(true));
        }
        if share && rng.chance(40) {
            set("share", json!({"include": [id_path(kind).unwrap_or("id")]}));
        }
        if interval && rng.chance(50) {
            set("resyncInterval", json!(rng.one(["10s", "45s", "5m", "0"])));
        }
        if depends && rng.chance(30) {
            let others: Vec<(&str, &str)> = self
                .objects
                .iter()
                .filter(|object| object["apiVersion"] == AWS)
                .filter_map(|object| Some((object["kind"].as_str()?, object["metadata"]["name"].as_str()?)))
                .collect();
            if let Some((kind, name)) = rng.pick(&others) {
                set("dependsOn", json!([{"kind": kind, "name": name}]));
            }
        }
        (!lifecycle.is_empty()).then_some(Value::Object(lifecycle))
    }
}
