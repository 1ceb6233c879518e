//! What the unit tests of every kind need.

use std::collections::BTreeMap;

use kraken_spoke::{
    Difference, Remedy, Resolver,
    options::{SecretData, Values},
};
use serde_json::Value;

/// Values in which the Secret `s` holds `hunter2` as `k`, and nothing else is known.
pub(crate) fn values() -> Values {
    let data = SecretData { version: "1".into(), keys: [("k".to_owned(), "hunter2".into())].into() };
    Values { secrets: [("s".to_owned(), data)].into(), ..Values::default() }
}

/// A spec with some fields replaced, or taken out by null.
pub(crate) fn with(mut spec: Value, changes: &Value) -> Value {
    for (field, value) in changes.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(spec.as_object_mut().unwrap().remove(field)),
            value => spec[field] = value.clone(),
        }
    }
    spec
}

/// What is desired, or everything that is wrong.
pub(crate) fn resolve<D>(desired: impl FnOnce(&mut Resolver<'_>) -> Option<D>) -> Result<D, Vec<String>> {
    let values = values();
    let mut resolver = Resolver::new(&values);
    let desired = desired(&mut resolver);
    let problems: Vec<String> = resolver.finish().problems.iter().map(ToString::to_string).collect();
    assert_eq!(desired.is_none(), !problems.is_empty(), "{problems:?}");
    desired.ok_or(problems)
}

/// Checks that each problem starts as wanted, and that there are no more.
pub(crate) fn assert_starts(found: &[String], wanted: &[&str]) {
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(wanted), "{found}");
    }
}

/// Differences as `path: have -> want`, with `!` behind those that are fixed.
pub(crate) fn told<C>(differences: &[Difference<C>]) -> Vec<String> {
    let one = |Difference { field, remedy }: &Difference<C>| {
        let fixed = if matches!(remedy, Remedy::Immutable(_)) { "!" } else { "" };
        format!("{}: {} -> {}{fixed}", field.path, field.have, field.want)
    };
    differences.iter().map(one).collect()
}

/// Checks that a CRD describes every field with an example or a default, and that its spec round-trips.
pub(crate) fn assert_described(crd: &impl serde::Serialize, at_least: usize) {
    let crd = serde_json::to_value(crd).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut found = BTreeMap::new();
    properties("spec", spec, &mut found);
    assert!(found.len() >= at_least, "{}", found.len());
    for (path, property) in found {
        let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        assert!(text.contains("Example: `") || text.contains("Default: "), "{path}: {text}");
        assert!(property["type"].is_string(), "{path} has no type");
    }
}

/// Every property of a schema and of what is nested in it, by path; not the inside of an option.
fn properties(path: &str, schema: &Value, found: &mut BTreeMap<String, Value>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !["value", "valueFrom", "lifecycle"].contains(&name.as_str()) {
            let path = format!("{path}.{name}");
            found.insert(path.clone(), property.clone());
            properties(&path, property, found);
        }
    }
}
