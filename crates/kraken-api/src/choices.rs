//! The choices of a CRD: objects of which exactly one field must be set, as CEL rules whose messages say what to write.
//!
//! The types describe a choice as `oneOf`, for which the API server's message is the text of a schema: "must validate one and
//! only one schema (oneOf). Found 2 valid alternatives". CEL has no access to what has no type, so a choice in there stays a
//! `oneOf`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ValidationRule,
};

/// A literal beside a reference is the usual result of a patch and a later `kubectl apply`, which only merges.
const BOTH: &str = "set either value or valueFrom, not both; kubectl apply keeps the field that a patch added: set it to null";
const NEITHER: &str = "set value, such as `{value: x}`, or valueFrom";

/// Replaces every `oneOf` that CEL can express.
pub(crate) fn explain(schema: &mut JSONSchemaProps) {
    if !is_visible(schema) {
        return;
    }
    if let Some(names) = choice(schema) {
        schema.one_of = None;
        schema.x_kubernetes_validations.get_or_insert_default().extend(rules(&names));
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
    schema.type_.is_some() || schema.x_kubernetes_int_or_string == Some(true)
}

/// The fields of which exactly one must be set, if that is all that `oneOf` says.
fn choice(schema: &JSONSchemaProps) -> Option<Vec<String>> {
    let properties = schema.properties.as_ref()?;
    let field = |branch: &JSONSchemaProps| match branch.required.as_deref() {
        Some([name]) if properties.get(name).is_some_and(is_visible) => {
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
    fn what_cel_cannot_see_stays_as_it_is() {
        let untyped = json!({"x-kubernetes-preserve-unknown-fields": true});
        let any = option(untyped.clone());
        let mut inner = untyped;
        inner["properties"] = json!({"valueFrom": option(json!({"type": "string"}))});
        let mut bounded = option(json!({"type": "string"}));
        bounded["oneOf"][1]["maxProperties"] = json!(1);
        for schema in [any, inner, bounded] {
            assert_eq!(explained(schema.clone()), schema);
        }
    }
}
