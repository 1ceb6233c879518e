//! What the resolver looks for in a reference and in a secret value: names that are malformed, and texts to scrub.

use secrecy::SecretString;
use serde_json::Value;

use crate::dependency::Dependency;
use crate::names::{key_fault, kind_fault, name_fault};
use crate::option::{KeyRef, ResourceRef};
use crate::path::Path;
use crate::problem::ProblemKind;

/// What is wrong with the names of a reference: which one, of which kind the problem is, and the message.
pub(crate) fn faults(dependency: &Dependency) -> Vec<(&'static str, ProblemKind, String)> {
    let invalid = |name, fault: Option<String>| fault.map(|message| (name, ProblemKind::Invalid, message));
    match dependency {
        Dependency::ConfigMap(KeyRef { name, key }) | Dependency::Secret(KeyRef { name, key }) => {
            [invalid("name", name_fault(name)), invalid("key", key_fault(key))]
                .into_iter()
                .flatten()
                .collect()
        }
        Dependency::Resource(reference @ ResourceRef { kind, name, path }) => {
            let path = if reference.is_id() { None } else { Path::parse(path).err() };
            let path = path.map(|error| ("path", ProblemKind::Path, error.to_string()));
            [invalid("kind", kind_fault(kind)), invalid("name", name_fault(name)), path]
                .into_iter()
                .flatten()
                .collect()
        }
    }
}

/// Every text in a value, for a scrubber: the cloud may quote one element of a list.
pub(crate) fn strings_in(value: &Value, secrets: &mut Vec<SecretString>) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => secrets.push(text.as_str().into()),
            Value::Array(items) => left.extend(items),
            Value::Object(members) => left.extend(members.values()),
            Value::Number(number) => secrets.push(number.to_string().into()),
            Value::Null | Value::Bool(_) => {}
        }
    }
}
