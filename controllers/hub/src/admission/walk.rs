//! Finds the references of a spec of any kind, by the schema of its CRD, which also has the type of each field. Without a
//! schema, by their form only. Pure.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kraken_api::DependsOn;
use kraken_options::{Dependency, JsonType, Resolved, Resolver, ValueFrom, Values};
use serde_json::Value;

/// The maximum depth of a spec. Schemas are not deeper.
const MAX_DEPTH: usize = 32;
/// The maximum number of references in a spec.
const MAX_REFERENCES: usize = 1000;

/// A reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference {
    /// The path of its field in the spec, as in conditions: `tags["Team"]`, `securityGroupIDs.value[0]`.
    pub(crate) field: String,
    /// The dependency.
    pub(crate) dependency: Dependency,
    /// The type of the field.
    pub(crate) json_type: JsonType,
    /// Whether the field is set after the creation.
    pub(crate) follows: bool,
}

/// All references of a spec.
///
/// `follows`: the fields that are set after the creation.
pub(crate) fn references(
    spec: &Value,
    schema: Option<&JSONSchemaProps>,
    follows: &[String],
) -> Vec<Reference> {
    let mut found = Vec::new();
    walk(spec, schema, "", 0, &mut found);
    depends_on(spec, &mut found);
    found.truncate(MAX_REFERENCES);
    for reference in &mut found {
        let field = reference.field.split(['.', '[']).next().unwrap_or_default();
        reference.follows = follows.iter().any(|name| name == field);
    }
    found
}

fn walk(
    value: &Value,
    schema: Option<&JSONSchemaProps>,
    field: &str,
    depth: usize,
    found: &mut Vec<Reference>,
) {
    if depth > MAX_DEPTH || found.len() > MAX_REFERENCES {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(source) = fields.get("valueFrom") {
                take(field, source, schema, found);
                return;
            }
            if schema.is_none() && fields.len() == 1 && fields.contains_key("value") {
                // A literal: objects in it that look like references are not references.
                return;
            }
            let is_map = schema.is_some_and(|schema| schema.additional_properties.is_some());
            for (name, value) in fields {
                let Some(schema) = member(schema, name) else { continue };
                let is_literal = name == "value" && fields.len() == 1 && !value.is_array();
                let field = match name {
                    _ if is_literal => field.to_owned(),
                    _ if is_map => format!("{field}[{name:?}]"),
                    _ if field.is_empty() => name.clone(),
                    _ => format!("{field}.{name}"),
                };
                walk(value, schema, &field, depth + 1, found);
            }
        }
        Value::Array(items) => {
            let of_items = match schema.map(|schema| &schema.items) {
                None => None,
                Some(Some(JSONSchemaPropsOrArray::Schema(each))) => Some(&**each),
                // An untyped field: its members are not fields.
                Some(_) => return,
            };
            for (index, value) in items.iter().enumerate() {
                walk(value, of_items, &format!("{field}[{index}]"), depth + 1, found);
            }
        }
        _ => {}
    }
}

/// The schema of a field; `None` if there is no such field, `Some(None)` if there is no schema at all.
#[allow(clippy::option_option)] // the two differ, and `let else` takes off the outer one
fn member<'a>(schema: Option<&'a JSONSchemaProps>, name: &str) -> Option<Option<&'a JSONSchemaProps>> {
    let Some(schema) = schema else { return Some(None) };
    if let Some(property) = schema.properties.as_ref().and_then(|properties| properties.get(name)) {
        return Some(Some(property));
    }
    match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(each)) => Some(Some(&**each)),
        _ => None,
    }
}

fn take(field: &str, source: &Value, schema: Option<&JSONSchemaProps>, found: &mut Vec<Reference>) {
    // An invalid source is rejected by the schema.
    let Ok(source) = serde_json::from_value::<ValueFrom>(source.clone()) else { return };
    found.extend(of_source(field, &source, schema.map_or(JsonType::Any, wanted)));
}

/// The dependencies of one source, for a field of this type.
pub(crate) fn of_source(field: &str, source: &ValueFrom, json_type: JsonType) -> Vec<Reference> {
    let values = Values::default();
    let mut resolver = Resolver::new(&values);
    let _: Option<Resolved<Value>> = resolver.take_from(field, source);
    let json_type = match source {
        ValueFrom::TemplateString(_) => JsonType::Any,
        _ => json_type,
    };
    let dependencies = resolver.finish().dependencies;
    dependencies
        .iter()
        .map(|dependency| Reference { field: field.to_owned(), dependency, json_type, follows: false })
        .collect()
}

/// The type of an option's literal; any, if more than one is possible.
fn wanted(schema: &JSONSchemaProps) -> JsonType {
    let literal = schema.properties.as_ref().and_then(|properties| properties.get("value"));
    let Some(literal) = literal.filter(|literal| literal.x_kubernetes_int_or_string != Some(true)) else {
        return JsonType::Any;
    };
    let name = literal.type_.as_deref().unwrap_or_default();
    JsonType::ALL.into_iter().find(|json_type| json_type.name() == name).unwrap_or(JsonType::Any)
}

/// The entries of `lifecycle.dependsOn` are references too.
fn depends_on(spec: &Value, found: &mut Vec<Reference>) {
    let listed = spec.pointer("/lifecycle/dependsOn").and_then(Value::as_array);
    for (index, on) in listed.into_iter().flatten().enumerate() {
        let Ok(on) = serde_json::from_value::<DependsOn>(on.clone()) else { continue };
        found.push(Reference {
            field: format!("lifecycle.dependsOn[{index}]"),
            dependency: Dependency::Resource(on.reference()).normalised(),
            json_type: JsonType::String,
            follows: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> JSONSchemaProps {
        let option = |of: Value| json!({"type": "object", "properties": {"value": of, "valueFrom": {"type": "object"}}});
        let element = json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"valueFrom": {"type": "object"}}});
        serde_json::from_value(json!({"type": "object", "properties": {
            "count": option(json!({"type": "integer"})),
            "zones": option(json!({"type": "array", "items": element})),
            "tags": {"type": "object", "additionalProperties": element},
            "rules": {"type": "array", "items": {"type": "object", "properties": {"port": option(json!({"type": "integer"}))}}},
            "anything": option(json!({"x-kubernetes-preserve-unknown-fields": true})),
        }}))
        .unwrap()
    }

    fn found(spec: &Value, schema: Option<&JSONSchemaProps>) -> Vec<String> {
        let each = |reference: Reference| {
            format!("{}: {} ({})", reference.field, reference.dependency, reference.json_type)
        };
        references(spec, schema, &[]).into_iter().map(each).collect()
    }

    fn from(kind: &str) -> Value {
        json!({"valueFrom": {"krakenResource": {"kind": kind, "name": "a", "path": "x"}}})
    }

    #[test]
    fn references_are_found_by_the_options_in_the_schema_with_the_field_type() {
        let spec = json!({
            "count": from("VPC"),
            "zones": {"value": ["a", {"valueFrom": {"ref": "Subnet/b"}}]},
            "tags": {"Team": {"valueFrom": {"configMap": {"name": "c", "key": "k"}}}},
            "rules": [{"port": {"value": 1}}, {"port": {"valueFrom": {"templateString": "{{ .VPC.d.x }}{{ .Secret.e.k }}"}}}],
            "lifecycle": {"dependsOn": [{"kind": "NATGateway", "name": "n"}]},
        });
        let mut all = found(&spec, Some(&schema()));
        all.sort();
        assert_eq!(
            all,
            [
                "count: vpc a path x (integer)",
                "lifecycle.dependsOn[0]: the id of natgateway n (string)",
                "rules[1].port: Secret e key \"k\" (any)",
                "rules[1].port: vpc d path x (any)",
                "tags[\"Team\"]: ConfigMap c key \"k\" (any)",
                "zones.value[1]: the id of subnet b (any)",
            ]
        );
    }

    #[test]
    fn literal_that_looks_like_a_reference_is_ignored() {
        let spec = json!({"anything": {"value": {"inner": from("VPC")}}});
        assert_eq!(found(&spec, Some(&schema())), [] as [&str; 0]);
        assert_eq!(found(&spec, None), [] as [&str; 0]);
    }

    #[test]
    fn without_a_schema_references_are_found_by_their_form() {
        assert_eq!(found(&json!({"a": {"b": [from("VPC")]}}), None), ["a.b[0]: vpc a path x (any)"]);
    }

    #[test]
    fn malformed_specs_are_walked_without_error() {
        let mut deep = from("VPC");
        for _ in 0..200 {
            deep = json!({"a": deep});
        }
        assert_eq!(found(&deep, None), [] as [&str; 0]);
        for odd in [
            json!(null),
            json!([]),
            json!("x"),
            json!({"valueFrom": 3}),
            json!({"lifecycle": {"dependsOn": [3, {}]}}),
        ] {
            assert_eq!(found(&odd, Some(&schema())), [] as [&str; 0]);
        }
    }
}
