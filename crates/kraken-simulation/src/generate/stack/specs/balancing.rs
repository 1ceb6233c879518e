//! Specs of load balancers, target groups, listeners and their rules.

use serde_json::{Value, json};

use super::{Builder, Spec, fields};

impl Builder<'_> {
    pub(super) fn load_balancer(&mut self, name: &str) -> Spec {
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

    pub(super) fn target_group(&mut self, name: &str) -> Spec {
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

    pub(super) fn listener(&mut self) -> Spec {
        let balancer = self.needed("LoadBalancer");
        let port = 80 + self.names.get("Listener").map_or(0, Vec::len);
        fields([
            ("loadBalancerARN", balancer),
            ("protocol", json!({"value": "HTTP"})),
            ("port", self.option(port)),
            ("defaultAction", self.action()),
        ])
    }

    pub(super) fn rule(&mut self) -> Spec {
        let priority = 10 + self.names.get("ListenerRule").map_or(0, Vec::len);
        fields([
            ("listenerARN", self.needed("Listener")),
            ("priority", self.option(priority)),
            ("conditions", json!({"pathPatterns": {"value": ["/api/*"]}})),
            ("action", self.action()),
        ])
    }
}
