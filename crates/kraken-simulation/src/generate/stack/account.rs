//! An Account: the credentials and rules of the resources that use it.
//!
//! A process calls one simulated cloud, whatever its credentials and its region are. So every access key belongs to the account
//! of the controller, and Accounts have no region and no role.

use serde_json::{Value, json};

use super::Builder;
use crate::generate::{AWS, CANARY, NAMESPACE};

/// The Secret with the access key.
const SECRET: &str = "aws";

impl Builder<'_> {
    /// Adds an Account that some of the resources name, or that all use because of its name.
    pub(super) fn account(&mut self) {
        let name = self.rng.one(["shop", "shop", "default"]);
        let mut spec = json!({});
        if self.rng.chance(40) {
            spec["allowedAccountIDs"] = json!(["123456789012"]);
        }
        if self.rng.chance(20) {
            spec["defaultTags"] = json!({"Team": "account"});
        }
        if self.rng.chance(40) {
            spec["credentials"] = credentials();
            let keys = self.sources.secrets.entry(SECRET.to_owned()).or_default();
            keys.insert("accessKeyID".to_owned(), format!("AKIA{CANARY}"));
            keys.insert("secretAccessKey".to_owned(), format!("{CANARY}-secret"));
        }
        for object in self.objects.iter_mut().filter(|object| object["apiVersion"] == AWS) {
            if self.rng.chance(60) {
                object["spec"]["account"] = json!({"name": name});
            }
        }
        self.objects.push(json!({
            "apiVersion": AWS, "kind": "Account",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
        }));
    }
}

fn credentials() -> Value {
    let part = |key: &str| json!({"valueFrom": {"secret": {"name": SECRET, "key": key}}});
    json!({"accessKeyID": part("accessKeyID"), "secretAccessKey": part("secretAccessKey")})
}
