//! The source of the value of an option: a literal, a ConfigMap, a Secret, a static state, a template or another resource, in
//! every syntax.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::names::CORE;
use crate::random::Random;

/// The marker in every Secret value, which may only occur in Secrets and in the calls that need it.
pub const CANARY: &str = "canary";

/// The ConfigMaps, Secrets and facts that a stack's options refer to.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Text by key, by the name of the ConfigMap.
    pub(crate) config_maps: BTreeMap<String, BTreeMap<String, String>>,
    /// The same of Secrets.
    pub(crate) secrets: BTreeMap<String, BTreeMap<String, String>>,
    /// Values by key, by the name of the StateDeclaration without `static-`.
    pub(crate) facts: BTreeMap<String, BTreeMap<String, Value>>,
    /// How many of a hundred options are references.
    pub(crate) share: usize,
    /// Whether options that may come from a Secret do.
    pub(crate) secret: bool,
    count: usize,
}

impl Sources {
    pub(crate) fn new(rng: &mut Random) -> Self {
        Self { share: rng.one([0, 10, 30, 60]), secret: rng.chance(40), ..Self::default() }
    }

    /// An option with this value. `public` ones take no Secret.
    pub(crate) fn option(&mut self, rng: &mut Random, value: Value, public: bool) -> Value {
        if !rng.chance(self.share) {
            return json!({ "value": value });
        }
        self.referenced(rng, &value, public)
    }

    /// An option with this value, by reference.
    pub(crate) fn referenced(&mut self, rng: &mut Random, value: &Value, public: bool) -> Value {
        self.count += 1;
        let key = format!("k{}", self.count);
        let name = rng.one(["settings", "extra"]);
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let from = match rng.below(if public || !self.secret { 4 } else { 6 }) {
            0 => {
                self.config_maps.entry(name.to_owned()).or_default().insert(key.clone(), text);
                json!({"configMap": {"name": name, "key": key}})
            }
            1 => {
                self.facts.entry("facts".to_owned()).or_default().insert(key.clone(), value.clone());
                json!({"krakenResource": {"kind": "static", "name": "facts", "path": key}})
            }
            2 => {
                self.facts.entry("facts".to_owned()).or_default().insert(key.clone(), value.clone());
                json!({"ref": format!("static/facts/{key}")})
            }
            3 => {
                self.config_maps.entry(name.to_owned()).or_default().insert(key.clone(), text);
                json!({"templateString": format!("{{{{ .ConfigMap.{name}.{key} }}}}")})
            }
            4 => {
                self.secrets.entry("creds".to_owned()).or_default().insert(key.clone(), text);
                json!({"secret": {"name": "creds", "key": key}})
            }
            _ => {
                self.secrets.entry("creds".to_owned()).or_default().insert(key.clone(), text);
                json!({"templateString": format!("{{{{ .Secret.creds.{key} }}}}")})
            }
        };
        json!({ "valueFrom": from })
    }

    /// The keys that operations can edit: the kind, the object's name, the key, its text.
    pub(crate) fn keys(&self) -> Vec<(&'static str, String, String, String)> {
        let of = |kind: &'static str, all: &BTreeMap<String, BTreeMap<String, String>>| {
            let each = all.iter().flat_map(move |(name, keys)| {
                keys.iter().map(move |(key, text)| (kind, name.clone(), key.clone(), text.clone()))
            });
            each.collect::<Vec<_>>()
        };
        [of("ConfigMap", &self.config_maps), of("Secret", &self.secrets)].concat()
    }

    /// Their manifests.
    pub(crate) fn manifests(&self, namespace: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for (name, data) in &self.config_maps {
            all.push(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": namespace}, "data": data,
            }));
        }
        for (name, data) in &self.secrets {
            all.push(json!({
                "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": {"name": name, "namespace": namespace}, "stringData": data,
            }));
        }
        for (name, data) in &self.facts {
            all.push(json!({
                "apiVersion": CORE, "kind": "StateDeclaration",
                "metadata": {"name": format!("static-{name}"), "namespace": namespace},
                "spec": {"data": data},
            }));
        }
        all
    }
}

/// A reference to the main id of a resource, or to the path under which its state has that.
pub(crate) fn main_id(rng: &mut Random, kind: &str, name: &str, path: Option<&str>) -> Value {
    let spelled = match rng.below(4) {
        0 => kind.to_lowercase(),
        1 => format!("{kind}.aws"),
        _ => kind.to_owned(),
    };
    let from = match (rng.below(5), path) {
        (0, _) => json!({"krakenResource": {"kind": spelled, "name": name}}),
        (1, Some(path)) => json!({"krakenResource": {"kind": spelled, "name": name, "path": path}}),
        (2, Some(path)) => json!({"ref": format!("{spelled}/{name}/{path}")}),
        (3, _) => json!({"templateString": format!("{{{{ .{kind}.{name} }}}}")}),
        _ => json!({"ref": format!("{spelled}/{name}")}),
    };
    json!({ "valueFrom": from })
}
