//! A spec of each kind that the cloud would take.

use serde_json::{Map, Value, json};

use super::Builder;
use crate::generate::CANARY;

/// A public key for those that are brought along.
const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6hUuUfQ5t0m8xgxqkQm2Dq1r0oJ3nVx0mYcQdP0y3o ops@example.com";

type Spec = Map<String, Value>;

impl Builder<'_> {
    /// A valid spec without its lifecycle.
    pub(super) fn spec(&mut self, kind: &str, name: &'static str) -> Spec {
        let mut spec = match kind {
            "EC2Instance" => self.instance(),
            "VPC" => self.vpc(name),
            "Subnet" => self.subnet(name),
            "InternetGateway" => self.gateway(),
            "RouteTable" => self.route_table(),
            "SecurityGroup" => self.security_group(name),
            "ElasticIP" => self.address(),
            "NATGateway" => self.nat(),
            "KeyPair" => self.key_pair(name),
            "Volume" => self.volume(),
            "LoadBalancer" => self.load_balancer(name),
            "TargetGroup" => self.target_group(name),
            "Listener" => self.listener(),
            _ => self.rule(),
        };
        if self.rng.chance(60) {
            let tags = self.tags(name);
            spec.insert("tags".to_owned(), tags);
        }
        spec
    }

    fn option(&mut self, value: impl Into<Value>) -> Value {
        self.sources.option(self.rng, value.into(), false)
    }

    fn public(&mut self, value: impl Into<Value>) -> Value {
        self.sources.option(self.rng, value.into(), true)
    }

    fn tags(&mut self, name: &str) -> Value {
        let mut tags = Map::from_iter([("Name".to_owned(), json!(name))]);
        if self.rng.chance(50) {
            let team = if self.rng.chance(30) {
                self.sources.referenced(self.rng, &json!("shop"), true)
            } else {
                json!("web")
            };
            tags.insert("Team".to_owned(), team);
        }
        Value::Object(tags)
    }

    fn instance(&mut self) -> Spec {
        let count = self.rng.one([1, 1, 1, 2, 3]);
        let least = if self.rng.chance(70) { 1 } else { count };
        let mut spec = fields([
            ("imageID", self.option("ami-12c6146b")),
            ("instanceType", self.option("t3.micro")),
            ("minCount", self.public(least)),
            // A literal, so that it can be scaled.
            ("maxCount", if self.rng.chance(80) { json!({"value": count}) } else { self.public(count) }),
        ]);
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if self.names.contains_key("Subnet") && self.rng.chance(70) {
            set("subnetID", self.needed("Subnet"));
        }
        if self.names.contains_key("SecurityGroup") && self.rng.chance(40) {
            let group = self.needed("SecurityGroup");
            set("securityGroupIDs", json!({"value": [group]}));
        }
        if self.names.contains_key("KeyPair") && self.rng.chance(50) {
            set("keyName", self.needed("KeyPair"));
        }
        if self.rng.chance(25) {
            let text = json!(format!("#!/bin/sh\necho {CANARY}-boot\n"));
            let data =
                if self.sources.secret { self.secret(&text) } else { json!({"value": "#!/bin/sh\ntrue\n"}) };
            set("userData", data);
        }
        if self.rng.chance(15) {
            set("monitoring", self.option(true));
        }
        if self.rng.chance(10) {
            set("rootVolume", json!({"value": {"sizeGiB": 20}}));
        }
        spec
    }

    /// A free text, which the cloud returns: from a Secret with a marker, if the stack has Secrets.
    fn text(&mut self, text: &str) -> Value {
        if !self.sources.secret || self.rng.chance(60) {
            return self.option(text);
        }
        let key = format!("text{}", self.objects.len());
        let keys = self.sources.secrets.entry("creds".to_owned()).or_default();
        keys.insert(key.clone(), format!("{text}-{CANARY}"));
        json!({"valueFrom": {"secret": {"name": "creds", "key": key}}})
    }

    /// An option from a Secret.
    fn secret(&mut self, value: &Value) -> Value {
        let keys = self.sources.secrets.entry("creds".to_owned()).or_default();
        keys.insert("script".to_owned(), value.as_str().unwrap_or_default().to_owned());
        json!({"valueFrom": {"secret": {"name": "creds", "key": "script"}}})
    }

    fn vpc(&mut self, name: &str) -> Spec {
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

    fn subnet(&mut self, name: &'static str) -> Spec {
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

    fn gateway(&mut self) -> Spec {
        fields([("vpcID", self.needed("VPC"))])
    }

    fn route_table(&mut self) -> Spec {
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

    fn security_group(&mut self, name: &str) -> Spec {
        let mut spec = fields([("vpcID", self.needed("VPC"))]);
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if self.rng.chance(50) {
            set("groupName", self.public(format!("group-{name}")));
        }
        if self.rng.chance(50) {
            set("description", self.text("The web servers"));
        }
        if self.rng.chance(70) {
            let mut rules = vec![json!({
                "protocol": {"value": "tcp"},
                "fromPort": self.option(443),
                "cidrBlocks": {"value": ["0.0.0.0/0"]},
            })];
            if self.rng.chance(40) {
                rules.push(json!({"protocol": {"value": -1}, "securityGroupIDs": {"value": ["self"]}}));
            }
            set("ingress", json!(rules));
        }
        if self.rng.chance(20) {
            set("egress", json!([]));
        }
        spec
    }

    fn address(&mut self) -> Spec {
        let mut spec = Spec::new();
        if self.names.contains_key("EC2Instance") && self.rng.chance(50) {
            let instance = self.needed("EC2Instance");
            spec.insert("instanceID".to_owned(), instance);
        }
        spec
    }

    fn nat(&mut self) -> Spec {
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

    fn key_pair(&mut self, name: &str) -> Spec {
        let mut spec = if self.rng.chance(50) {
            fields([("publicKey", self.option(PUBLIC_KEY))])
        } else {
            fields([("generate", json!({"secretName": format!("key-{name}")}))])
        };
        if self.rng.chance(40) {
            let key = self.public(format!("ops-{name}"));
            spec.insert("keyName".to_owned(), key);
        }
        spec
    }

    fn volume(&mut self) -> Spec {
        let size = self.rng.one([8, 20, 100]);
        let mut spec =
            fields([("availabilityZone", self.option("us-east-1a")), ("sizeGiB", self.option(size))]);
        if self.rng.chance(40) {
            spec.insert("type".to_owned(), json!({"value": "gp3"}));
        }
        if self.names.contains_key("EC2Instance") && self.rng.chance(50) {
            let instance = self.needed("EC2Instance");
            spec.insert("instanceID".to_owned(), instance);
            spec.insert("device".to_owned(), json!({"value": "/dev/sdf"}));
        }
        spec
    }

    /// Two subnets of one VPC in two zones.
    fn two_subnets(&mut self) -> (&'static str, Value) {
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
        let name = *super::NAMES.get(existing)?;
        self.names.entry("Subnet").or_default().push(name);
        let spec = self.subnet_in(name, vpc, zone);
        self.objects.push(json!({
            "apiVersion": crate::generate::AWS, "kind": "Subnet",
            "metadata": {"name": name, "namespace": crate::generate::NAMESPACE},
            "spec": spec,
        }));
        Some(name)
    }

    fn load_balancer(&mut self, name: &str) -> Spec {
        let (_, subnets) = self.two_subnets();
        let mut spec = fields([("subnetIDs", subnets), ("scheme", json!({"value": "internal"}))]);
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if self.rng.chance(30) {
            set("name", self.public(format!("lb-{name}")));
        }
        if self.rng.chance(20) {
            set("idleTimeoutSeconds", self.option(30));
        }
        if self.rng.chance(25) {
            let protected = self.rng.chance(60);
            set("deletionProtection", json!({ "value": protected }));
        }
        spec
    }

    fn target_group(&mut self, name: &str) -> Spec {
        let mut spec = fields([
            ("protocol", json!({"value": "HTTP"})),
            ("port", self.option(8080)),
            ("vpcID", self.needed("VPC")),
        ]);
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if self.rng.chance(30) {
            set("name", self.public(format!("tg-{name}")));
        }
        if self.names.contains_key("EC2Instance") && self.rng.chance(60) {
            let instance = self.needed("EC2Instance");
            set("targets", json!({"value": [instance]}));
        }
        if self.rng.chance(30) {
            set("healthCheck", json!({"path": self.text("/healthz"), "intervalSeconds": {"value": 30}}));
        }
        spec
    }

    fn action(&mut self) -> Value {
        if self.rng.chance(60) {
            return json!({"forward": {"targetGroupARN": self.needed("TargetGroup")}});
        }
        json!({"fixedResponse": {"statusCode": {"value": 200}, "messageBody": self.text("pong")}})
    }

    fn listener(&mut self) -> Spec {
        let balancer = self.needed("LoadBalancer");
        let port = 80 + self.names.get("Listener").map_or(0, Vec::len);
        fields([
            ("loadBalancerARN", balancer),
            ("protocol", json!({"value": "HTTP"})),
            ("port", self.option(port)),
            ("defaultAction", self.action()),
        ])
    }

    fn rule(&mut self) -> Spec {
        let priority = 10 + self.names.get("ListenerRule").map_or(0, Vec::len);
        fields([
            ("listenerARN", self.needed("Listener")),
            ("priority", self.option(priority)),
            ("conditions", json!({"pathPatterns": {"value": ["/api/*"]}})),
            ("action", self.action()),
        ])
    }
}

fn fields<const N: usize>(all: [(&str, Value); N]) -> Spec {
    all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Which of the names it is.
fn number(name: &str) -> usize {
    super::NAMES.iter().position(|one| *one == name).unwrap_or(0)
}
