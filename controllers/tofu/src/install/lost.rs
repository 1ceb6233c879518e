//! The fields that a CRD has and its successor has not, and the resources that use them. Pure.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value as Json;

/// A step from a value to values inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    /// Every element of a list or a map.
    Each,
}

/// The path of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath(Vec<Step>);

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("spec")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Each => f.write_str("[]"),
        })
    }
}

impl FieldPath {
    /// Whether an object has a value in this field.
    pub(crate) fn is_in(&self, object: &Json) -> bool {
        is_in(&self.0, &object["spec"])
    }
}

fn is_in(steps: &[Step], value: &Json) -> bool {
    let Some((first, rest)) = steps.split_first() else { return !value.is_null() };
    match (first, value) {
        (Step::Field(name), value) => is_in(rest, &value[name.as_str()]),
        (Step::Each, Json::Array(all)) => all.iter().any(|one| is_in(rest, one)),
        (Step::Each, Json::Object(all)) => all.values().any(|one| is_in(rest, one)),
        (Step::Each, _) => false,
    }
}

/// The fields of the spec that only the CRD before has, or that have another type there.
pub(crate) fn lost(before: &CustomResourceDefinition, after: &CustomResourceDefinition) -> Vec<FieldPath> {
    let mut found = vec![];
    if let (Some(before), Some(after)) = (spec(before), spec(after)) {
        compare(before, after, &mut vec![], &mut found);
    }
    found
}

fn spec(crd: &CustomResourceDefinition) -> Option<&JSONSchemaProps> {
    let schema = crd.spec.versions.first()?.schema.as_ref()?.open_api_v3_schema.as_ref()?;
    schema.properties.as_ref()?.get("spec")
}

fn compare(
    before: &JSONSchemaProps,
    after: &JSONSchemaProps,
    path: &mut Vec<Step>,
    found: &mut Vec<FieldPath>,
) {
    if before.type_ != after.type_ && after.type_.is_some() {
        return found.push(FieldPath(path.clone()));
    }
    let none = BTreeMap::default();
    let fields = after.properties.as_ref().unwrap_or(&none);
    for (name, field) in before.properties.iter().flatten() {
        path.push(Step::Field(name.clone()));
        match fields.get(name) {
            Some(now) => compare(field, now, path, found),
            None => found.push(FieldPath(path.clone())),
        }
        path.pop();
    }
    if let (Some(one), Some(now)) = (element(before), element(after)) {
        path.push(Step::Each);
        compare(one, now, path, found);
        path.pop();
    }
}

/// The schema of the elements of a list or a map.
fn element(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match (&schema.items, &schema.additional_properties) {
        (Some(JSONSchemaPropsOrArray::Schema(one)), _) | (_, Some(JSONSchemaPropsOrBool::Schema(one))) => {
            Some(one)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(spec: &Json) -> CustomResourceDefinition {
        serde_json::from_value(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {},
            "spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"}, "versions": [
                {"name": "v1", "served": true, "storage": true,
                 "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}},
            ]},
        }))
        .unwrap()
    }

    #[test]
    fn fields_that_are_gone_or_changed_are_found_also_in_lists() {
        let text = json!({"type": "string"});
        let rule = |fields: Json| json!({"type": "array", "items": {"type": "object", "properties": fields}});
        let before = crd(&json!({"type": "object", "properties": {
            "name": text, "size": text, "rule": rule(json!({"port": text, "protocol": text})),
        }}));
        let after = crd(&json!({"type": "object", "properties": {
            "name": text, "size": {"type": "integer"}, "rule": rule(json!({"port": text})), "new": text,
        }}));
        let lost = lost(&before, &after);
        let texts: Vec<String> = lost.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["spec.rule[].protocol", "spec.size"]);
        let uses = json!({"spec": {"rule": [{"port": "1"}, {"protocol": "udp"}]}});
        assert_eq!(lost.iter().map(|field| field.is_in(&uses)).collect::<Vec<_>>(), [true, false]);
        assert!(!lost[0].is_in(&json!({"spec": {"rule": [{"port": "1"}]}})));
        assert!(super::lost(&after, &after).is_empty());
    }
}
