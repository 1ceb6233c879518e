//! A valid spec of each kind.

mod balancing;
mod compute;
mod network;

use serde_json::{Map, Value, json};

use super::Builder;
use crate::generate::CANARY;

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
}

fn fields<const N: usize>(all: [(&str, Value); N]) -> Spec {
    all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
