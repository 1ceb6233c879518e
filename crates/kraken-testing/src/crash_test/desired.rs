//! The desired state at one moment: the manifests, and the expected result.

use std::collections::BTreeMap;

use kraken_simulator::Service;
use serde_json::{Map, Value, json};

use super::kinds::{api_version, text};

/// The desired state. Texts may contain placeholders: `${vpc}` of the cloud, `${uid:VPC/a}` and `${version:Secret/db}` of an
/// object that was applied before.
#[derive(Debug, Clone, Default)]
pub(super) struct Desired {
    /// Applied in this order. Previously applied objects that are not among them are deleted.
    pub(super) manifests: Vec<Value>,
    /// Objects that are not to be Ready, by `Kind/name`.
    pub(super) unready: Vec<&'static str>,
    /// The expected state of the cloud.
    pub(super) described: Vec<Query>,
    /// Other objects of the namespace.
    pub(super) objects: Vec<Expected>,
}

/// A call that describes a remote object, and the expected response.
#[derive(Debug, Clone)]
pub(super) struct Query {
    /// `VPC/a`.
    pub(super) of: &'static str,
    pub(super) service: Service,
    pub(super) action: &'static str,
    /// The parameter for the id.
    pub(super) id: &'static str,
    pub(super) more: &'static [(&'static str, &'static str)],
    /// The distinct texts of all elements with a name.
    pub(super) texts: Vec<(&'static str, Vec<&'static str>)>,
}

/// An object that must exist, or must not exist.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// `Secret/app`.
    pub(super) key: String,
    /// Values by JSON pointer; `None` if the object must not exist.
    pub(super) values: Option<Vec<(&'static str, Value)>>,
}

impl Desired {
    /// These objects, without further expectations.
    pub(super) fn of(manifests: impl IntoIterator<Item = Value>) -> Self {
        Self { manifests: manifests.into_iter().collect(), ..Self::default() }
    }

    /// No objects: all previously applied objects are deleted.
    pub(super) fn nothing() -> Self {
        Self::default()
    }

    pub(super) fn unready(mut self, key: &'static str) -> Self {
        self.unready.push(key);
        self
    }

    pub(super) fn described(mut self, query: Query) -> Self {
        self.described.push(query);
        self
    }

    pub(super) fn holding(mut self, key: &str, values: Vec<(&'static str, Value)>) -> Self {
        self.objects.push(Expected { key: key.to_owned(), values: Some(values) });
        self
    }

    pub(super) fn without(mut self, key: &str) -> Self {
        self.objects.push(Expected { key: key.to_owned(), values: None });
        self
    }
}

/// An object of the suite's kinds.
pub(super) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version(kind), "kind": kind, "metadata": {"name": name}, "spec": spec})
}

pub(super) fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

pub(super) fn secret(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})
}

/// Replaces placeholders with their values; a placeholder without a value is kept.
pub(super) fn resolve(value: &Value, known: &Known<'_>) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text, known)),
        Value::Array(items) => items.iter().map(|item| resolve(item, known)).collect(),
        Value::Object(fields) => {
            let resolved = fields.iter().map(|(name, value)| (filled(name, known), resolve(value, known)));
            Value::Object(resolved.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The values of placeholders.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) site: &'a BTreeMap<String, String>,
    pub(super) objects: &'a BTreeMap<String, Value>,
}

impl Known<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let of =
            |key: &str, field: &str| self.objects.get(key).map(|object| text(&object["metadata"][field]));
        match name.split_once(':') {
            Some(("uid", key)) => of(key, "uid"),
            Some(("version", key)) => of(key, "resourceVersion"),
            _ => self.site.get(name).map(String::as_str),
        }
    }
}

fn filled(text: &str, known: &Known<'_>) -> String {
    let mut parts = text.split("${");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let value = part.split_once('}').and_then(|(name, rest)| Some((known.get(name)?, rest)));
        match value {
            Some((value, rest)) => filled.extend([value, rest]),
            None => filled.extend(["${", part]),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_from_the_cloud_and_from_objects() {
        let site = BTreeMap::from([("vpc".to_owned(), "vpc-1".to_owned())]);
        let vpc = json!({"metadata": {"uid": "u", "resourceVersion": "7"}});
        let objects = BTreeMap::from([("VPC/a".to_owned(), vpc)]);
        let known = Known { site: &site, objects: &objects };
        let value = json!({"${uid:VPC/a}": ["in ${vpc}, ${version:VPC/a}", 3, "${uid:VPC/b} {{ .A }}"]});
        assert_eq!(resolve(&value, &known), json!({"u": ["in vpc-1, 7", 3, "${uid:VPC/b} {{ .A }}"]}));
    }
}
