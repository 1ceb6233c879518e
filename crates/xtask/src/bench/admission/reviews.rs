//! The reviews: EC2Instances with several references, half of them created and half of them updated, and one in twenty with
//! mistakes.

use serde_json::{Value, json};

use super::super::NAMESPACE;

const GROUP: &str = "aws.kraken-iac.eoinfennessy.com";
const VERSION: &str = "v1alpha1";
/// One in so many is invalid.
const INVALID: u32 = 20;

/// A review with the expected answer.
pub(super) struct Review {
    pub(super) body: Value,
    pub(super) is_valid: bool,
}

/// The review of this number.
pub(super) fn number(number: u32) -> Review {
    // Not at every twentieth only, so that creations and updates both have mistakes.
    let is_valid = number % INVALID != (number / INVALID) % INVALID;
    let spec = if is_valid { valid(number) } else { with_mistakes(number) };
    let object = object(number, spec);
    let old = if number.is_multiple_of(2) { Value::Null } else { self::object(number, valid(number + 1)) };
    Review { body: review(number, object, old), is_valid }
}

/// A creation that both webhooks reject.
pub(super) fn invalid() -> Value {
    review(0, object(0, with_mistakes(0)), Value::Null)
}

fn object(number: u32, spec: Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "EC2Instance",
        "metadata": {"name": format!("bench-{number:05}"), "namespace": NAMESPACE, "labels": {"team": "shop"}},
        "spec": spec,
    })
}

fn valid(number: u32) -> Value {
    let from = |source: Value| json!({"valueFrom": source});
    json!({
        "imageID": from(json!({"configMap": {"name": "sizes", "key": "image"}})),
        "instanceType": from(json!({"configMap": {"name": "sizes", "key": "type"}})),
        "minCount": {"value": 1},
        "maxCount": {"value": 1},
        "subnetID": from(json!({"krakenResource": {"kind": "static", "name": "network", "path": "subnet"}})),
        "securityGroupIDs": {"value": [
            "sg-0123abcd",
            from(json!({"krakenResource": {"kind": "static", "name": "network", "path": "$.groups[0]"}})),
        ]},
        "userData": from(json!({"templateString": "#!/bin/sh\nPASSWORD='{{ .Secret.db.password }}' start {{ .ConfigMap.sizes.type }}\n"})),
        "tags": {
            "Name": format!("bench-{number:05}"),
            "Owner": from(json!({"krakenResource": {"kind": "static", "name": "network", "path": "owner"}})),
        },
    })
}

/// A reference to a value of the wrong type, which the hub rejects, and a malformed template, which the spoke rejects.
fn with_mistakes(number: u32) -> Value {
    let mut spec = valid(number);
    spec["subnetID"] =
        json!({"valueFrom": {"krakenResource": {"kind": "static", "name": "network", "path": "count"}}});
    spec["userData"] = json!({"valueFrom": {"templateString": "{{ .ConfigMap.sizes"}});
    spec
}

/// With `old`, the review of an update; without, of a creation.
fn review(number: u32, object: Value, old: Value) -> Value {
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": format!("00000000-0000-4000-8000-{number:012}"),
            "kind": {"group": GROUP, "version": VERSION, "kind": "EC2Instance"},
            "resource": {"group": GROUP, "version": VERSION, "resource": "ec2instances"},
            "name": object["metadata"]["name"],
            "namespace": NAMESPACE,
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": object,
            "oldObject": old,
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_twenty_is_invalid_and_half_are_updates() {
        let reviews: Vec<_> = (0..4000).map(number).collect();
        let invalid: Vec<_> = reviews.iter().filter(|review| !review.is_valid).collect();
        assert_eq!(invalid.len(), 200);
        let updates = |review: &&Review| review.body["request"]["operation"] == "UPDATE";
        assert_eq!(reviews.iter().filter(updates).count(), 2000);
        assert_eq!(invalid.iter().filter(|review| updates(review)).count(), 100);
    }
}
