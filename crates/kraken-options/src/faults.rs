//! Checks of the resolver: malformed names in a reference, and the texts of a secret value to scrub.

use secrecy::SecretString;
use serde_json::Value;

use crate::dependency::Dependency;
use crate::names::{key_fault, kind_fault, name_fault, namespace_fault};
use crate::option::{KeyRef, ResourceRef};
use crate::path::Path;
use crate::problem::ProblemKind;

/// The message for a ConfigMap or Secret of another namespace, in a template.
const OTHER_NAMESPACE: &str =
    "has a namespace, and only resources of other namespaces can be referenced, no ConfigMaps and Secrets";

/// The error in the names of a reference: the field, the kind of the problem, and the message.
pub(crate) fn faults(dependency: &Dependency) -> Vec<(&'static str, ProblemKind, String)> {
    let invalid = |name, fault: Option<String>| fault.map(|message| (name, ProblemKind::Invalid, message));
    match dependency {
        Dependency::ConfigMap(KeyRef { name, key }) | Dependency::Secret(KeyRef { name, key }) => {
            let name = if name.contains(':') { Some(OTHER_NAMESPACE.to_owned()) } else { name_fault(name) };
            [invalid("name", name), invalid("key", key_fault(key))].into_iter().flatten().collect()
        }
        Dependency::Resource(reference @ ResourceRef { kind, name, namespace, path }) => {
            let path = if reference.is_id() { None } else { Path::parse(path).err() };
            let path = path.map(|error| ("path", ProblemKind::Path, error.to_string()));
            let namespace = invalid("namespace", namespace.as_deref().and_then(namespace_fault));
            [invalid("kind", kind_fault(kind)), invalid("name", name_fault(name)), namespace, path]
                .into_iter()
                .flatten()
                .collect()
        }
    }
}

/// All texts in a value, for a scrubber: the provider may quote one element of a list.
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
