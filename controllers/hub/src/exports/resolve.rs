//! Step 1: the spec and the values -> what the target has to hold, or why it cannot. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use kraken_runtime::hash::HashMap;

use kraken_api::{ConfigExportSpec, ConfigType};
use kraken_options::{
    Dependencies, Opt, Problem, ProblemKind, Resolution, Resolved, Resolver, Scrubber, Text, ValueFrom,
    Values, summary,
};

use crate::{
    exports::labels,
    index::{Class, Named},
    names::{bounded, is_object_name},
};

/// The most that a ConfigMap or a Secret holds, in bytes of its values.
const MAX_CONTENT: usize = 1024 * 1024;

/// What the target has to hold. `Debug` shows no value that came from a Secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Content(pub BTreeMap<String, Resolved<Text>>);

/// What comes of a spec and the values that are known.
#[derive(Debug)]
pub enum Plan {
    /// Every entry has a value.
    Ready(Content),
    /// An entry has no value yet; the text names all.
    Waiting(String),
    /// The spec needs an edit; the text names each field.
    Invalid(String),
}

/// A plan and what makes text about it safe to show.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Removes the values of Secrets from text of others.
    pub scrubber: Scrubber,
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The object that a spec names.
pub fn target(namespace: &str, spec: &ConfigExportSpec) -> Named {
    Named::new(class(spec.config_type), namespace, &spec.config_metadata.name)
}

/// The class of a target.
pub fn class(config_type: ConfigType) -> Class {
    match config_type {
        ConfigType::ConfigMap => Class::ConfigMap,
        ConfigType::Secret => Class::Secret,
    }
}

/// What the entries refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct References {
    /// All of it.
    pub dependencies: Dependencies,
    /// Which entries refer to a Secret.
    pub secret_entries: BTreeSet<usize>,
}

/// Finds what the entries refer to, each parsed once.
pub fn references(spec: &ConfigExportSpec) -> References {
    let mut found = References::default();
    for (index, entry) in spec.entries.iter().enumerate() {
        let Opt::ValueFrom(source) = &entry.value else { continue };
        let values = Values::default();
        let mut resolver = Resolver::new(&values);
        // What it finds is not of interest here, only what it depends on.
        let _: Option<Resolved<Text>> = taken(&mut resolver, index, source);
        let Dependencies { config_maps, secrets, resources } = resolver.finish().dependencies;
        if !secrets.is_empty() {
            found.secret_entries.insert(index);
        }
        let dependencies = &mut found.dependencies;
        dependencies.config_maps.extend(config_maps);
        dependencies.secrets.extend(secrets);
        // All of type text: no two differ.
        dependencies.resources.extend(resources);
    }
    found
}

/// The value of an entry, as text whatever it looks like: "3.10" is not the number 3.1.
fn taken(resolver: &mut Resolver<'_>, index: usize, source: &ValueFrom) -> Option<Resolved<Text>> {
    #[cfg(test)]
    tests::PARSED.with(|parsed| parsed.set(parsed.get() + 1));
    resolver.take_from::<Text>(&format!("entries[{index}]"), source)
}

/// Makes a plan. Everything that is wrong is found at once. `secret_entries`: those that refer to a Secret.
pub fn plan(
    namespace: &str,
    spec: &ConfigExportSpec,
    secret_entries: &BTreeSet<usize>,
    values: &Values,
) -> Planned {
    let mut resolver = Resolver::new(values);
    check(&mut resolver, namespace, spec, secret_entries);
    let content = take(&mut resolver, spec);
    let Resolution { problems, secrets, .. } = resolver.finish();
    let scrubber = Scrubber::new(&secrets);
    let plan = if problems.iter().any(|problem| problem.kind != ProblemKind::Missing) {
        Plan::Invalid(summary(&problems))
    } else {
        match content {
            Some(content) if problems.is_empty() => sized(content, spec.config_type),
            _ => Plan::Waiting(summary(&problems)),
        }
    };
    Planned { plan, scrubber }
}

/// What is wrong whatever value the references have. `secret_entries`: those that refer to a Secret.
pub fn certain(namespace: &str, spec: &ConfigExportSpec, secret_entries: &BTreeSet<usize>) -> Vec<Problem> {
    let values = Values::default();
    let mut resolver = Resolver::new(&values);
    check(&mut resolver, namespace, spec, secret_entries);
    let _ = take(&mut resolver, spec);
    let mut problems = resolver.finish().problems;
    problems.retain(|problem| problem.kind != ProblemKind::Missing);
    problems
}

/// What a schema cannot say.
fn check(
    resolver: &mut Resolver<'_>,
    namespace: &str,
    spec: &ConfigExportSpec,
    secret_entries: &BTreeSet<usize>,
) {
    let metadata = &spec.config_metadata;
    if let Some(other) = metadata.namespace.as_deref().filter(|other| *other != namespace) {
        let message = format!(
            "is {}, and only the ConfigExport's own namespace, {namespace}, can be written to",
            bounded(other, 63)
        );
        resolver.problem("configMetadata.namespace", message);
    }
    if !is_object_name(&metadata.name) {
        resolver.problem(
            "configMetadata.name",
            "is not a name of an object (lower case letters, digits, \"-\" and \".\")",
        );
    }
    for (field, message) in labels::problems(metadata) {
        resolver.problem(&field, message);
    }
    let mut first: HashMap<&str, usize> = HashMap::default();
    for (index, entry) in spec.entries.iter().enumerate() {
        let field = format!("entries[{index}].key");
        if entry.key == "." || entry.key.starts_with("..") {
            resolver.problem(&field, "must not be \".\" or begin with \"..\"");
        }
        if let Some(earlier) = first.get(entry.key.as_str()) {
            resolver.problem(
                &field,
                format!("\"{}\" is the key of entries[{earlier}] too", bounded(&entry.key, 64)),
            );
        } else {
            first.insert(&entry.key, index);
        }
        // By the reference alone: whether the Secret exists does not matter.
        if spec.config_type == ConfigType::ConfigMap && secret_entries.contains(&index) {
            resolver.problem(
                &format!("entries[{index}].valueFrom"),
                "comes from a Secret, which a ConfigMap must not show: set configType: Secret",
            );
        }
    }
}

fn take(resolver: &mut Resolver<'_>, spec: &ConfigExportSpec) -> Option<Content> {
    let mut content = Some(BTreeMap::new());
    for (index, entry) in spec.entries.iter().enumerate() {
        let value = match &entry.value {
            Opt::Value(value) => Some(Resolved::Public(Text(text(value)))),
            Opt::ValueFrom(source) => taken(resolver, index, source),
        };
        // Every entry is looked at, so that all problems are found.
        content = content.zip(value).map(|(mut content, value)| {
            content.insert(entry.key.clone(), value);
            content
        });
    }
    content.map(Content)
}

/// A string as it is, anything else as compact JSON.
fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn sized(content: Content, config_type: ConfigType) -> Plan {
    let size: usize = content.0.values().map(|value| value.expose().0.len()).sum();
    if size > MAX_CONTENT {
        return Plan::Invalid(format!(
            "spec.entries: the values are together {size} bytes, and a {config_type:?} holds at most {MAX_CONTENT}"
        ));
    }
    Plan::Ready(content)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use kraken_options::{SecretData, SecretString};
    use serde_json::{Value, json};

    use super::*;

    thread_local! {
        /// How many references were parsed.
        pub(crate) static PARSED: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn dependencies(spec: &ConfigExportSpec) -> Dependencies {
        references(spec).dependencies
    }

    fn planned(namespace: &str, spec: &ConfigExportSpec, values: &Values) -> Planned {
        plan(namespace, spec, &references(spec).secret_entries, values)
    }

    pub(crate) fn spec(config_type: &str, entries: Value) -> ConfigExportSpec {
        let mut spec = json!({"configType": config_type, "configMetadata": {"name": "app"}});
        spec["entries"] = entries;
        serde_json::from_value(spec).unwrap()
    }

    fn from_map(key: &str) -> Value {
        json!({"key": key, "valueFrom": {"configMap": {"name": "sizes", "key": key}}})
    }

    fn from_secret(key: &str) -> Value {
        json!({"key": key, "valueFrom": {"secret": {"name": "db", "key": "password"}}})
    }

    fn values() -> Values {
        let mut values = Values::default();
        let sizes =
            [("small", "3.10"), ("large", " x\n")].map(|(key, text)| (key.to_owned(), text.to_owned()));
        values.config_maps.insert("sizes".into(), sizes.into());
        let keys = [("password".to_owned(), SecretString::from("hunter22"))].into();
        values.secrets.insert("db".into(), SecretData { version: "u/7".into(), keys });
        let paths = [("x".to_owned(), json!({"a": [1, "b"]})), ("n".to_owned(), json!(3))].into();
        values.resources.insert("thing".into(), [("a".to_owned(), paths)].into());
        values
    }

    fn ready(spec: &ConfigExportSpec) -> BTreeMap<String, String> {
        match planned("ns", spec, &values()).plan {
            Plan::Ready(content) => {
                content.0.into_iter().map(|(key, value)| (key, value.expose().0.clone())).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn is_invalid(spec: &ConfigExportSpec, because: &str) {
        match planned("ns", spec, &values()).plan {
            Plan::Invalid(why) => assert!(why.contains(because), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_is_written_as_it_is_and_anything_else_as_compact_json() {
        let content = ready(&spec(
            "ConfigMap",
            json!([
                from_map("small"), from_map("large"),
                {"key": "object", "valueFrom": {"krakenResource": {"kind": "Thing", "name": "a", "path": "x"}}},
                {"key": "number", "valueFrom": {"krakenResource": {"kind": "Thing", "name": "a", "path": "n"}}},
                {"key": "text", "value": "a b"}, {"key": "list", "value": [1, "x"]}, {"key": "bool", "value": true},
                {"key": "url", "valueFrom": {"templateString": "http://{{ .ConfigMap.sizes.small }}/{{ .Thing.a.n }}"}},
            ]),
        ));
        let expected = [
            ("small", "3.10"),
            ("large", " x\n"),
            ("object", r#"{"a":[1,"b"]}"#),
            ("number", "3"),
            ("text", "a b"),
            ("list", r#"[1,"x"]"#),
            ("bool", "true"),
            ("url", "http://3.10/3"),
        ];
        assert_eq!(content, expected.map(|(key, text)| (key.to_owned(), text.to_owned())).into());
    }

    #[test]
    fn one_missing_value_keeps_everything_waiting_and_all_are_named() {
        let spec = spec("ConfigMap", json!([from_map("small"), from_map("tiny"), from_map("huge")]));
        match planned("ns", &spec, &values()).plan {
            Plan::Waiting(why) => {
                assert!(
                    why.contains("spec.entries[1]")
                        && why.contains("tiny")
                        && why.contains("spec.entries[2]"),
                    "{why}"
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn another_namespace_is_refused() {
        let mut other = spec("ConfigMap", json!([from_map("small")]));
        other.config_metadata.namespace = Some("kube-system".into());
        is_invalid(&other, "spec.configMetadata.namespace: is kube-system");
        other.config_metadata.namespace = Some("ns".into());
        assert_eq!(ready(&other).len(), 1);
    }

    #[test]
    fn a_target_that_would_leave_its_place_in_a_path_is_refused() {
        let mut other = spec("ConfigMap", json!([from_map("small")]));
        other.config_metadata.name = "../secrets/db".into();
        is_invalid(&other, "spec.configMetadata.name");
    }

    #[test]
    fn a_key_twice_is_refused_with_both_places() {
        let twice = json!([from_map("small"), from_map("large"), from_map("small")]);
        is_invalid(&spec("ConfigMap", twice), "spec.entries[2].key: \"small\" is the key of entries[0] too");
        is_invalid(&spec("ConfigMap", json!([{"key": "..a", "value": "x"}])), "spec.entries[0].key");
    }

    #[test]
    fn a_value_of_a_secret_needs_a_secret_even_before_it_exists() {
        let advice = "spec.entries[0].valueFrom: comes from a Secret, which a ConfigMap must not show: set configType: Secret";
        is_invalid(&spec("ConfigMap", json!([from_secret("a")])), advice);
        let template =
            json!([{"key": "url", "valueFrom": {"templateString": "x{{ .Secret.gone.password }}"}}]);
        is_invalid(&spec("ConfigMap", template), advice);
        assert_eq!(ready(&spec("Secret", json!([from_secret("a")])))["a"], "hunter22");
    }

    #[test]
    fn what_came_from_a_secret_is_shown_nowhere() {
        let planned = planned("ns", &spec("Secret", json!([from_secret("a")])), &values());
        assert!(!format!("{planned:?}").contains("hunter22"));
        assert_eq!(planned.scrubber.scrub("refused: hunter22"), "refused: ***");
    }

    #[test]
    fn malformed_references_need_an_edit_and_do_not_wait() {
        let path = json!([{"key": "a", "valueFrom": {"krakenResource": {"kind": "Thing", "name": "a", "path": "x["}}}, from_map("tiny")]);
        is_invalid(&spec("ConfigMap", path), "entries[0]");
        is_invalid(
            &spec("ConfigMap", json!([{"key": "a", "valueFrom": {"templateString": "{{ .x"}}])),
            "entries[0]",
        );
    }

    #[test]
    fn more_than_an_object_holds_is_refused() {
        let half = "x".repeat(MAX_CONTENT / 2 + 1);
        let entries = json!([{"key": "a", "value": half}, {"key": "b", "value": half}]);
        is_invalid(&spec("ConfigMap", entries), "a ConfigMap holds at most 1048576");
    }

    #[test]
    fn every_reference_is_a_dependency() {
        let entries = json!([from_map("a"), from_secret("b"), {"key": "c", "valueFrom": {"templateString": "{{ .Thing.a.n }}"}}]);
        assert_eq!(dependencies(&spec("Secret", entries)).iter().count(), 3);
    }
}
