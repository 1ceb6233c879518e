//! The choices of a CRD: objects of which exactly one field must be set, as CEL rules whose messages say what to write.
//!
//! The types describe a choice as `oneOf`, for which the API server's message is the text of a schema: "must validate one and
//! only one schema (oneOf). Found 2 valid alternatives". CEL has no access to what has no type, and to a list or a map of it: an
//! option that is such a list has a number of fields ("must have at most 1 item"), and any other choice stays a `oneOf`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ValidationRule,
};

/// A literal beside a reference is the usual result of a patch and a later `kubectl apply`, which only merges.
const BOTH: &str = "set either value or valueFrom, not both; kubectl apply keeps the field that a patch added: set it to null";
const NEITHER: &str = "set value, such as `{value: x}`, or valueFrom";

/// Replaces every `oneOf` that CEL can express.
pub(crate) fn explain(schema: &mut JSONSchemaProps) {
    if schema.type_.is_none() {
        return;
    }
    match choice(schema) {
        Some(names) if names.iter().all(|name| is_visible_field(schema, name)) => {
            schema.one_of = None;
            schema.x_kubernetes_validations.get_or_insert_default().extend(rules(&names));
        }
        // Unknown fields are pruned before.
        Some(names) if schema.properties.as_ref().is_some_and(|known| known.len() == names.len()) => {
            schema.one_of = None;
            (schema.min_properties, schema.max_properties) = (Some(1), Some(1));
        }
        _ => {}
    }
    schema.properties.iter_mut().flat_map(|properties| properties.values_mut()).for_each(explain);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        explain(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(each)) = &mut schema.additional_properties {
        explain(each);
    }
}

/// Whether CEL has access to values of this schema.
fn is_visible(schema: &JSONSchemaProps) -> bool {
    let items = match &schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => is_visible(items),
        _ => true,
    };
    let each = match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(each)) => is_visible(each),
        _ => true,
    };
    (schema.type_.is_some() || schema.x_kubernetes_int_or_string == Some(true)) && items && each
}

fn is_visible_field(schema: &JSONSchemaProps, name: &str) -> bool {
    schema.properties.as_ref().and_then(|properties| properties.get(name)).is_some_and(is_visible)
}

/// The fields of which exactly one must be set, if that is all that `oneOf` says.
fn choice(schema: &JSONSchemaProps) -> Option<Vec<String>> {
    let field = |branch: &JSONSchemaProps| match branch.required.as_deref() {
        Some([name]) => {
            let alone = JSONSchemaProps { required: branch.required.clone(), ..JSONSchemaProps::default() };
            (*branch == alone).then(|| name.clone())
        }
        _ => None,
    };
    schema.one_of.as_ref()?.iter().map(field).collect()
}

fn rules(names: &[String]) -> Vec<ValidationRule> {
    let rule = |rule: String, message: String| ValidationRule {
        rule,
        message: Some(message),
        ..ValidationRule::default()
    };
    let has: Vec<_> = names.iter().map(|name| format!("has(self.{name})")).collect();
    if names == ["value", "valueFrom"] {
        return vec![
            rule(format!("!{}", has.join(" || !")), BOTH.to_owned()),
            rule(has.join(" || "), NEITHER.to_owned()),
        ];
    }
    vec![rule(
        format!("[{}].exists_one(is_set, is_set)", has.join(", ")),
        format!("set exactly one of {}; a field that kubectl apply keeps is set to null", names.join(", ")),
    )]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn explained(schema: Value) -> Value {
        let mut schema: JSONSchemaProps = serde_json::from_value(schema).unwrap();
        explain(&mut schema);
        serde_json::to_value(schema).unwrap()
    }

    fn option(value: Value) -> Value {
        json!({
            "type": "object",
            "properties": {"value": value, "valueFrom": {"type": "object"}},
            "oneOf": [{"required": ["value"]}, {"required": ["valueFrom"]}],
        })
    }

    #[test]
    fn a_choice_of_typed_fields_is_a_rule_that_says_what_to_write() {
        let schema = explained(json!({"type": "array", "items": option(json!({"type": "string"}))}));
        assert!(schema["items"].get("oneOf").is_none());
        assert_eq!(
            schema["items"]["x-kubernetes-validations"],
            json!([
                {"rule": "!has(self.value) || !has(self.valueFrom)", "message": BOTH},
                {"rule": "has(self.value) || has(self.valueFrom)", "message": NEITHER},
            ])
        );
        let int_or_string = explained(option(json!({"x-kubernetes-int-or-string": true})));
        assert!(int_or_string.get("oneOf").is_none());
    }

    #[test]
    fn a_choice_beside_other_rules_is_added_to_them() {
        let schema = explained(json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "x-kubernetes-validations": [{"rule": "true"}],
        }));
        let rules = schema["x-kubernetes-validations"].as_array().unwrap();
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[1]["rule"], "[has(self.a), has(self.b)].exists_one(is_set, is_set)");
    }

    #[test]
    fn a_choice_with_a_list_of_anything_has_a_number_of_fields() {
        let untyped = json!({"x-kubernetes-preserve-unknown-fields": true});
        let schema = explained(option(json!({"type": "array", "items": untyped})));
        assert_eq!((&schema["minProperties"], &schema["maxProperties"]), (&json!(1), &json!(1)));
        assert!(schema.get("oneOf").is_none() && schema.get("x-kubernetes-validations").is_none());
    }

    #[test]
    fn what_cel_cannot_see_stays_as_it_is() {
        let untyped = json!({"x-kubernetes-preserve-unknown-fields": true});
        let mut any = option(untyped.clone());
        any["properties"]["key"] = json!({"type": "string"});
        let mut inner = untyped;
        inner["properties"] = json!({"valueFrom": option(json!({"type": "string"}))});
        let mut bounded = option(json!({"type": "string"}));
        bounded["oneOf"][1]["maxProperties"] = json!(1);
        for schema in [any, inner, bounded] {
            assert_eq!(explained(schema.clone()), schema);
        }
    }
}
