//! The schemas of option types, in the structural form that a CustomResourceDefinition needs.
//!
//! Implemented manually: a derived schema of an enum has its properties inside `oneOf`, which Kubernetes does not
//! allow.

mod patterns;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::json_type::JsonType;
use crate::option::{KeyRef, Opt, ResourceRef, ValueFrom};
use crate::types::Text;

use patterns::SHORT_REF;
pub use patterns::{KEY_PATTERN, KIND_PATTERN, NAME_PATTERN, NAMESPACE_PATTERN};

/// The schema of any JSON, for `#[schemars(schema_with = "kraken_options::any_json")]`.
///
/// The API server rejects a field without a type and prunes unknown fields; this schema prevents both.
pub fn any_json(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

/// The schema of any JSON object, for `#[schemars(schema_with = "kraken_options::any_object")]`.
pub fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

impl<T: JsonSchema> JsonSchema for Opt<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Option_{}", T::schema_name()).into()
    }

    // No description: in an optional field it would hide the description of that field.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut value = generator.subschema_for::<T>().to_value();
        preserve_any_json(&mut value, 0);
        let description = format!("The literal value. Example: `{}`", example(&value));
        describe(&mut value, &description);
        let mut value_from = generator.subschema_for::<ValueFrom>().to_value();
        describe(
            &mut value_from,
            "The source of the value: exactly one of these. Example: `{configMap: {name: sizes, key: small}}`",
        );
        json_schema!({
            "type": "object",
            "properties": {"value": value, "valueFrom": value_from},
            "oneOf": [{"required": ["value"]}, {"required": ["valueFrom"]}],
        })
    }
}

impl JsonSchema for ValueFrom {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ValueFrom".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut config_map = generator.subschema_for::<KeyRef>().to_value();
        redescribe(
            &mut config_map,
            "A key of a ConfigMap in the namespace of this resource. Its text is read as the type of the field: JSON for lists and \
             objects. Example: `{name: sizes, key: small}`",
        );
        let mut secret = generator.subschema_for::<KeyRef>().to_value();
        redescribe(
            &mut secret,
            "A key of a Secret in the namespace of this resource. Its text is read as the type of the field and is never shown. \
             Example: `{name: db, key: password}`",
        );
        let mut resource = generator.subschema_for::<ResourceRef>().to_value();
        redescribe(
            &mut resource,
            "A field of the state of another Kraken resource, or without `path` its main id. It must have the JSON type of the field. \
             Example: `{kind: subnet, name: a}`",
        );
        json_schema!({
            "type": "object",
            "properties": {
                "configMap": config_map,
                "secret": secret,
                "krakenResource": resource,
                "ref": {
                    "type": "string",
                    "minLength": 3,
                    "maxLength": 1_660,
                    "pattern": SHORT_REF,
                    "description": "The short form of `krakenResource`: `KIND/NAME` for the main id, `KIND/NAME/PATH` for a \
                        field of the state; `KIND.GROUP` where several providers have the kind; `NAMESPACE:NAME` in \
                        another namespace with a ReferenceGrant. Example: \
                        `VPC/main/vpc.CidrBlock`",
                },
                "templateString": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 65_536,
                    "description": "Text around references: `{{ .Kind.name.path }}`, `{{ .Kind.name }}` for the main \
                        id, `{{ .ConfigMap.name.key }}`, `{{ .Secret.name.key }}`; names with dots in brackets, a kind with \
                        its group too (`{{ .[\"VPC.aws\"].main }}`); `namespace:name` in another namespace. Example: \
                        `http://{{ .LoadBalancer.web.dnsName }}:{{ .ConfigMap[\"my.app\"].port }}/`",
                },
            },
            "oneOf": [
                {"required": ["configMap"]},
                {"required": ["secret"]},
                {"required": ["krakenResource"]},
                {"required": ["ref"]},
                {"required": ["templateString"]},
            ],
        })
    }
}

impl JsonSchema for JsonType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "JsonType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": JsonType::ALL.map(JsonType::name)})
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        any_json(generator)
    }
}

/// Replaces every untyped schema with one that preserves unknown fields. The API server accepts
/// `additionalProperties: true`, but then silently prunes the values.
fn preserve_any_json(schema: &mut Value, depth: usize) {
    // A derived schema is a few levels deep; the bound only keeps this function total.
    if depth > 64 {
        return;
    }
    match schema {
        Value::Bool(true) => *schema = json!({"x-kubernetes-preserve-unknown-fields": true}),
        Value::Object(members) if has_no_keyword(members) => {
            members.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
        }
        Value::Object(members) => {
            if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
                properties.values_mut().for_each(|property| preserve_any_json(property, depth + 1));
            } else if let Some(additional) = members.get_mut("additionalProperties") {
                preserve_any_json(additional, depth + 1);
            }
            if let Some(items) = members.get_mut("items") {
                preserve_any_json(items, depth + 1);
            }
        }
        _ => {}
    }
}

fn has_no_keyword(schema: &Map<String, Value>) -> bool {
    schema.keys().all(|key| matches!(key.as_str(), "description" | "title" | "default" | "nullable"))
}

fn example(schema: &Value) -> &'static str {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "text",
        Some("integer") => "3",
        Some("number") => "0.5",
        Some("boolean") => "true",
        Some("array") => "[a, b]",
        _ => "{a: b}",
    }
}

fn describe(schema: &mut Value, description: &str) {
    if let Some(members) = schema.as_object_mut() {
        members.entry("description").or_insert_with(|| description.into());
    }
}

fn redescribe(schema: &mut Value, description: &str) {
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), description.into());
    }
}

#[cfg(test)]
mod tests;
