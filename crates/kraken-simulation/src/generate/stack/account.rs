//! An Account: the credentials, the region and the rules of the resources that use it.
//!
//! An access key that ends with the number of an account belongs to it, and any other to the account of the controller.

use serde_json::{Value, json};

use super::Builder;
use crate::generate::CANARY;
use crate::generate::names::{AWS, NAMESPACE};

/// The Secret with the access key.
const SECRET: &str = "aws";
/// Another region than that of the controllers.
const REGION: &str = "eu-west-1";
/// Another account than that of the controllers.
const OTHER: &str = "222222222222";
/// A role of a third account.
const ROLE: &str = "arn:aws:iam::333333333333:role/kraken";

impl Builder<'_> {
    /// Adds an Account that some of the resources name, or that all use because of its name.
    pub(super) fn account(&mut self) {
        let name = self.rng.one(["shop", "shop", "default"]);
        let mut spec = json!({});
        if self.rng.chance(30) {
            spec["allowedAccountIDs"] = json!(["123456789012"]);
        }
        if self.rng.chance(20) {
            spec["defaultTags"] = json!({"Team": "account"});
        }
        if self.rng.chance(40) {
            spec["credentials"] = credentials();
            let owner = if self.rng.chance(40) { format!("-{OTHER}") } else { String::new() };
            let keys = self.sources.secrets.entry(SECRET.to_owned()).or_default();
            keys.insert("accessKeyID".to_owned(), format!("AKIA{CANARY}{owner}"));
            keys.insert("secretAccessKey".to_owned(), format!("{CANARY}-secret"));
        }
        if self.rng.chance(20) {
            spec["assumeRoleARN"] = json!(ROLE);
        }
        let region = self.rng.one([None, None, Some("us-east-1"), Some(REGION), Some(REGION)]);
        if let Some(region) = region {
            spec["region"] = json!(region);
        }
        // A stack of which half is in another region is of little use.
        let share = if region == Some(REGION) { 90 } else { 60 };
        for object in self.objects.iter_mut().filter(|object| object["apiVersion"] == AWS) {
            if self.rng.chance(share) {
                object["spec"]["account"] = json!({"name": name});
            }
            let is_used = name == "default" || object["spec"]["account"].is_object();
            if let Some(region) = region.filter(|_| is_used) {
                move_zones(object, region);
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

/// Replaces the zones of the controllers' region by those of another one.
fn move_zones(value: &mut Value, region: &str) {
    match value {
        Value::String(text) => {
            if let Some(zone) = text.strip_prefix("us-east-1").filter(|zone| zone.len() == 1) {
                *text = format!("{region}{zone}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_zones(item, region)),
        Value::Object(fields) => fields.values_mut().for_each(|field| move_zones(field, region)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_move_with_their_resource() {
        let mut spec = json!({"availabilityZone": {"value": "us-east-1b"}, "tags": {"Name": "us-east-1"}});
        move_zones(&mut spec, REGION);
        assert_eq!(spec, json!({"availabilityZone": {"value": "eu-west-1b"}, "tags": {"Name": "us-east-1"}}));
    }
}
