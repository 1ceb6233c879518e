//! Specs of VPCs, and of what is in them.

use serde_json::{Value, json};

use super::{Builder, Spec, fields};
use crate::generate::names::{AWS, NAMESPACE};
use crate::generate::stack::NAMES;

impl Builder<'_> {
    pub(super) fn vpc(&mut self, name: &str) -> Spec {
        let mut spec = fields([("cidrBlock", self.option(format!("10.{}.0.0/16", number(name))))]);
        if self.rng.chance(20) {
            let block = format!("10.{}.0.0/16", 100 + number(name));
            spec.insert("secondaryCIDRBlocks".to_owned(), json!({"value": [block]}));
        }
        if self.rng.chance(30) {
            let value = self.option(true);
            spec.insert("enableDNSHostnames".to_owned(), value);
        }
        spec
    }

    pub(super) fn subnet(&mut self, name: &'static str) -> Spec {
        let vpc = self.need("VPC");
        let zone = self.rng.one(["us-east-1a", "us-east-1b"]);
        self.subnet_in(name, vpc, zone)
    }

    fn subnet_in(&mut self, name: &'static str, vpc: &'static str, zone: &'static str) -> Spec {
        self.subnets += 1;
        self.zones.insert(name, (vpc, zone));
        let block = format!("10.{}.{}.0/24", number(vpc), self.subnets);
        let mut spec = fields([
            ("vpcID", self.id("VPC", vpc)),
            ("cidrBlock", self.option(block)),
            ("availabilityZone", json!({"value": zone})),
        ]);
        if self.rng.chance(20) {
            let value = self.option(true);
            spec.insert("mapPublicIPOnLaunch".to_owned(), value);
        }
        spec
    }

    /// Two subnets of one VPC in two zones.
    pub(super) fn two_subnets(&mut self) -> (&'static str, Value) {
        let vpc = self.need("VPC");
        let mut ids = Vec::new();
        for zone in ["us-east-1a", "us-east-1b"] {
            let known = self.zones.iter().find(|(_, place)| **place == (vpc, zone)).map(|(name, _)| *name);
            let name = known.or_else(|| self.subnet_of(vpc, zone));
            ids.extend(name.map(|name| self.id("Subnet", name)));
        }
        (vpc, json!({ "value": ids }))
    }

    /// A new subnet in that place, if there may be one more.
    fn subnet_of(&mut self, vpc: &'static str, zone: &'static str) -> Option<&'static str> {
        let existing = self.names.get("Subnet").map_or(0, Vec::len);
        let name = *NAMES.get(existing)?;
        self.names.entry("Subnet").or_default().push(name);
        let spec = self.subnet_in(name, vpc, zone);
        self.objects.push(json!({
            "apiVersion": AWS, "kind": "Subnet",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
        }));
        Some(name)
    }

    pub(super) fn gateway(&mut self) -> Spec {
        fields([("vpcID", self.needed("VPC"))])
    }

    pub(super) fn route_table(&mut self) -> Spec {
        let vpc = self.need("VPC");
        let mut spec = fields([("vpcID", self.id("VPC", vpc))]);
        if self.rng.chance(60) {
            let (field, to) = if self.names.contains_key("NATGateway") {
                ("natGatewayID", self.needed("NATGateway"))
            } else {
                ("gatewayID", self.needed("InternetGateway"))
            };
            let destination = self.option("0.0.0.0/0");
            spec.insert("routes".to_owned(), json!([{"destinationCIDRBlock": destination, field: to}]));
        }
        let subnet = self.zones.iter().find(|(_, (of, _))| *of == vpc).map(|(name, _)| *name);
        if let Some(subnet) = subnet.filter(|_| self.rng.chance(60)) {
            let subnet = self.id("Subnet", subnet);
            spec.insert("subnetIDs".to_owned(), json!({"value": [subnet]}));
        }
        spec
    }

    pub(super) fn security_group(&mut self, name: &str) -> Spec {
        let mut spec = fields([("vpcID", self.needed("VPC"))]);
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if self.rng.chance(50) {
            set("groupName", self.public(format!("group-{name}")));
        }
        if self.rng.chance(50) {
            set("description", self.text("The web servers"));
        }
        if self.rng.chance(70) {
            // Two references, or a reference and a literal, may lead to one block.
            let mut blocks = vec![json!("0.0.0.0/0")];
            if self.rng.chance(20) {
                let block = self.option("0.0.0.0/0");
                blocks.push(block.get("value").cloned().unwrap_or(block));
            }
            let mut rules = vec![json!({
                "protocol": {"value": "tcp"},
                "fromPort": self.option(443),
                "cidrBlocks": {"value": blocks},
            })];
            if self.rng.chance(40) {
                rules.push(json!({"protocol": {"value": -1}, "securityGroupIDs": {"value": ["self"]}}));
            }
            set("ingress", json!(rules));
        }
        if self.rng.chance(20) {
            set("egress", json!([]));
        }
        if self.rng.chance(25) {
            let other = self.need("SecurityGroup");
            let peer = self.id("SecurityGroup", other);
            spec.insert("egress".to_owned(), json!([to_peer(&peer)]));
            if self.rng.chance(60) {
                self.let_in(other, name);
            }
        }
        spec
    }

    /// Adds a rule with a peer to a group that exists already: two groups that name each other.
    fn let_in(&mut self, group: &str, peer: &str) {
        let reference = json!({"valueFrom": {"ref": format!("SecurityGroup/{peer}")}});
        let is_it =
            |object: &&mut Value| object["kind"] == "SecurityGroup" && object["metadata"]["name"] == *group;
        let Some(object) = self.objects.iter_mut().find(is_it) else { return };
        match object["spec"]["ingress"].as_array_mut() {
            Some(rules) => rules.push(to_peer(&reference)),
            None => object["spec"]["ingress"] = json!([to_peer(&reference)]),
        }
    }

    pub(super) fn address(&mut self) -> Spec {
        let mut spec = Spec::new();
        if self.names.contains_key("EC2Instance") && self.rng.chance(50) {
            let instance = self.needed("EC2Instance");
            spec.insert("instanceID".to_owned(), instance);
        }
        spec
    }

    pub(super) fn nat(&mut self) -> Spec {
        let mut spec = fields([("subnetID", self.needed("Subnet"))]);
        if self.rng.chance(70) {
            let address = self.needed("ElasticIP");
            spec.insert("allocationID".to_owned(), address);
            if !self.names.contains_key("InternetGateway") {
                self.build("InternetGateway");
            }
        } else {
            spec.insert("connectivityType".to_owned(), json!({"value": "private"}));
        }
        spec
    }
}

/// A rule with a security group as its peer.
fn to_peer(peer: &Value) -> Value {
    json!({"protocol": {"value": "tcp"}, "fromPort": {"value": 8080}, "securityGroupIDs": {"value": [peer]}})
}

/// Which of the names it is.
fn number(name: &str) -> usize {
    NAMES.iter().position(|one| *one == name).unwrap_or(0)
}
