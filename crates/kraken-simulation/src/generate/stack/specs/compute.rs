//! Specs of instances, volumes and key pairs.

use serde_json::{Value, json};

use super::{Builder, Spec, fields};
use crate::generate::CANARY;

/// The public key of key pairs that have one in their spec.
const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6hUuUfQ5t0m8xgxqkQm2Dq1r0oJ3nVx0mYcQdP0y3o ops@example.com";

impl Builder<'_> {
    pub(super) fn instance(&mut self) -> Spec {
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
            if self.rng.chance(50) {
                set("userDataChange", json!({"value": "Stop"}));
            }
        }
        if self.rng.chance(15) {
            set("monitoring", self.option(true));
        }
        if self.rng.chance(10) {
            set("rootVolume", json!({"value": {"sizeGiB": 20}}));
        }
        spec
    }

    pub(super) fn volume(&mut self) -> Spec {
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

    pub(super) fn key_pair(&mut self, name: &str) -> Spec {
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

    /// An option from a Secret.
    fn secret(&mut self, value: &Value) -> Value {
        let keys = self.sources.secrets.entry("creds".to_owned()).or_default();
        keys.insert("script".to_owned(), value.as_str().unwrap_or_default().to_owned());
        json!({"valueFrom": {"secret": {"name": "creds", "key": "script"}}})
    }
}
