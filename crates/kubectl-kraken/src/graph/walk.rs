//! Finds the references in a spec by their form: schemas of CRDs require rights that a viewer of a namespace lacks. What a source is
//! is decided by the types of `kraken-options`, which the controllers use too. Pure.

use kraken_options::{Dependency, Resolved, Resolver, ValueFrom, Values};
use serde_json::Value;

/// The maximum depth of a spec. Schemas are not deeper.
const MAX_DEPTH: usize = 32;

/// A reference of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The path of its field, as conditions have it: `tags["Team"]`, `securityGroupIDs.value[0]`.
    pub(crate) field: String,
    pub(crate) dependency: Dependency,
}

/// All references of a spec, in its order.
pub(crate) fn references(spec: &Value) -> Vec<Reference> {
    sources(spec).into_iter().flat_map(|(field, source)| of_source(&field, source)).collect()
}

/// The fields of a spec with a source, and the content of their `valueFrom`, which may be invalid.
pub(crate) fn sources(spec: &Value) -> Vec<(String, &Value)> {
    let mut found = vec![];
    walk(spec, "", 0, &mut found);
    found
}

fn walk<'a>(value: &'a Value, field: &str, depth: usize, found: &mut Vec<(String, &'a Value)>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(source) = fields.get("valueFrom").filter(|source| !source.is_null()) {
                found.push((field.to_owned(), source));
                return;
            }
            let is_option =
                fields.len() == 1 && fields.contains_key("value") || fields.contains_key("valueFrom");
            let is_export_entry = fields.contains_key("key") && fields.contains_key("value");
            if is_option || is_export_entry {
                // A literal. Of a list, each element may be a reference; objects in other literals only look like one.
                let elements = fields.get("value").filter(|_| !is_export_entry).and_then(Value::as_array);
                for (index, element) in elements.into_iter().flatten().enumerate() {
                    if let Some(source) = only_source(element) {
                        found.push((format!("{field}.value[{index}]"), source));
                    }
                }
                return;
            }
            for (name, inner) in fields {
                walk(inner, &joined(field, name), depth + 1, found);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                walk(inner, &format!("{field}[{index}]"), depth + 1, found);
            }
        }
        _ => {}
    }
}

/// An element of a list is a reference if `valueFrom` is its only field.
fn only_source(element: &Value) -> Option<&Value> {
    element.as_object().filter(|fields| fields.len() == 1)?.get("valueFrom")
}

/// Keys of maps that users name are in brackets, as in conditions. Only `tags` and keys that are no field names are known by their form.
fn joined(field: &str, name: &str) -> String {
    let is_field =
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(|c| c.is_ascii_alphanumeric());
    let is_in_map = field.rsplit('.').next() == Some("tags");
    match field {
        "" => name.to_owned(),
        _ if is_in_map || !is_field => format!("{field}[{name:?}]"),
        _ => format!("{field}.{name}"),
    }
}

/// The dependencies of one source; none if it is invalid, which the Ready condition says.
fn of_source(field: &str, source: &Value) -> Vec<Reference> {
    let Ok(source) = serde_json::from_value::<ValueFrom>(source.clone()) else { return vec![] };
    let values = Values::default();
    let mut resolver = Resolver::new(&values);
    let _: Option<Resolved<Value>> = resolver.take_from(field, &source);
    let dependencies = resolver.finish().dependencies;
    dependencies.iter().map(|dependency| Reference { field: field.to_owned(), dependency }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(spec: &Value) -> Vec<String> {
        let each = |reference: Reference| format!("{}: {}", reference.field, reference.dependency);
        let mut found: Vec<_> = references(spec).into_iter().map(each).collect();
        found.sort();
        found
    }

    #[test]
    fn references_are_found_in_options_lists_maps_and_templates() {
        let spec = json!({
            "vpcID": {"valueFrom": {"ref": "VPC/main"}},
            "count": {"value": null, "valueFrom": {"configMap": {"name": "c", "key": "n"}}},
            "securityGroupIDs": {"value": ["sg-1", {"valueFrom": {"krakenResource": {"kind": "Security-Group", "name": "b"}}}]},
            "tags": {"Team": {"valueFrom": {"configMap": {"name": "c", "key": "team"}}}, "vpc": {"valueFrom": {"ref": "VPC/main"}}},
            "ingress": [{"port": {"value": 1}}, {"port": {"valueFrom": {"templateString": "{{ .VPC.d.x }}{{ .Secret.e.k }}"}}}],
        });
        assert_eq!(
            found(&spec),
            [
                "count: ConfigMap c key \"n\"",
                "ingress[1].port: Secret e key \"k\"",
                "ingress[1].port: vpc d path x",
                "securityGroupIDs.value[1]: the id of securitygroup b",
                "tags[\"Team\"]: ConfigMap c key \"team\"",
                "tags[\"vpc\"]: the id of vpc main",
                "vpcID: the id of vpc main",
            ]
        );
    }

    #[test]
    fn a_literal_that_looks_like_a_reference_is_none() {
        let reference = json!({"valueFrom": {"ref": "VPC/main"}});
        for spec in [
            json!({"anything": {"value": {"inner": reference}}}),
            json!({"entries": [{"key": "a", "value": [reference]}]}),
            json!({"valueFrom": 3}),
            json!([]),
            json!(null),
        ] {
            assert_eq!(found(&spec), [""; 0], "{spec}");
        }
        let entry = json!({"entries": [{"key": "a", "valueFrom": {"ref": "VPC/main/CidrBlock"}}]});
        assert_eq!(found(&entry), ["entries[0]: vpc main path CidrBlock"]);
    }
}
