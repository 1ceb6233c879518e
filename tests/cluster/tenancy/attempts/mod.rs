//! The attempts of a user of one namespace to read or write another.

mod exports;
mod grants;
mod internal;
mod references;
mod resources;

use serde_json::{Value, json};

use super::AWS;

/// A name, the applied object and the expected result.
pub(super) type Attempt = (&'static str, Value, Expected);

/// The expected result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Expected {
    /// The API server rejects it.
    Refused,
    /// It is rejected, or accepted and never becomes Ready.
    Stuck,
    /// It is accepted, and never becomes Ready, because the other namespace has no grant for it.
    Ungranted,
    /// It is accepted and takes effect in the attacker's own namespace.
    Harmless,
}

/// The other namespace, and its VPC.
struct Other {
    namespace: String,
    /// The id of the VPC.
    id: Value,
    /// A reference to the VPC as an owner.
    owner: Value,
}

fn object(api: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn with(mut object: Value, field: &str, value: &Value) -> Value {
    object["metadata"][field] = value.clone();
    object
}

fn vpc(name: &str, cidr: &Value, lifecycle: &Value) -> Value {
    object(AWS, "VPC", name, &json!({"cidrBlock": cidr, "lifecycle": lifecycle}))
}

fn literal() -> Value {
    json!({"value": "10.9.0.0/16"})
}

fn from(source: &Value) -> Value {
    json!({"valueFrom": source})
}

fn secret(name: &str) -> Value {
    json!({"secret": {"name": name, "key": "password"}})
}

fn template(text: &str) -> Value {
    json!({"templateString": text})
}

/// The attempts. `theirs` is the other namespace's VPC.
pub(super) fn attempts(other: &str, theirs: &Value) -> Vec<Attempt> {
    let other = Other {
        namespace: other.to_owned(),
        id: theirs["status"]["externalIds"][0].clone(),
        owner: json!([{
            "apiVersion": AWS, "kind": "VPC", "name": "main", "uid": theirs["metadata"]["uid"], "controller": true,
            "blockOwnerDeletion": true,
        }]),
    };
    [
        internal::attempts(&other),
        exports::attempts(&other),
        grants::attempts(&other),
        references::attempts(&other),
        resources::attempts(&other),
    ]
    .concat()
}

/// The number of attempts. Add one for each new way to refer to an object.
const ATTEMPTS: usize = 81;

#[test]
fn every_attempt_has_a_name_of_its_own() {
    let theirs = json!({"metadata": {"uid": "u"}, "status": {"externalIds": ["vpc-1"]}});
    let attempts = attempts("other", &theirs);
    let names: std::collections::BTreeSet<&str> = attempts.iter().map(|(name, _, _)| *name).collect();
    assert_eq!((attempts.len(), names.len()), (ATTEMPTS, ATTEMPTS));
    // No attempt replaces the object of another.
    let object = |attempt: &Value| {
        let metadata = &attempt["metadata"];
        format!("{} {} {}", attempt["kind"], metadata["namespace"], metadata["name"])
    };
    let objects: Vec<String> = attempts
        .iter()
        .filter(|(_, _, expected)| *expected != Expected::Refused)
        .map(|(_, attempt, _)| object(attempt))
        .collect();
    let distinct: std::collections::BTreeSet<&String> = objects.iter().collect();
    assert_eq!(distinct.len(), objects.len(), "{objects:?}");
}
