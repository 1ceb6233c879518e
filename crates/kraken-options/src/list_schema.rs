//! The schema of a list or a map whose elements are literals or references.
//!
//! Kubernetes' structural schemas have no "a string or an object": `type` must not stand inside `anyOf`. An element therefore
//! has no type and preserves unknown fields. A value that is neither the literal nor a reference is rejected by unsatisfiable
//! bounds for the other JSON types. `null` passes, and is reported when the list is parsed.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::list::{Element, Elements};
use crate::map::MapOpt;
use crate::option::ValueFrom;

impl<T: JsonSchema> JsonSchema for Elements<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Elements_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<Element<T>>(),
            "description": "The list itself: each element is a literal or an object with `valueFrom`. Example: \
                `[a, {valueFrom: {configMap: {name: sizes, key: small}}}]`",
        })
    }
}

// No description: it would hide the description of the field.
impl<T: JsonSchema> JsonSchema for MapOpt<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Map_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let element = generator.subschema_for::<Element<T>>();
        json_schema!({"type": "object", "additionalProperties": element})
    }
}

impl<T: JsonSchema> JsonSchema for Element<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Element_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let literal = generator.subschema_for::<T>().to_value();
        let mut source = generator.subschema_for::<ValueFrom>().to_value();
        if let Some(members) = source.as_object_mut() {
            members.insert(
                "description".to_owned(),
                "The source of the element: exactly one of these. Example: `{ref: VPC/main}`".into(),
            );
        }
        let mut schema = match literal.get("properties").and_then(Value::as_object) {
            Some(fields) => object(fields, literal.get("required"), source),
            None => untyped(literal.get("type").and_then(Value::as_str), &source),
        };
        schema.insert("description".to_owned(), "A literal, or an object with `valueFrom`.".into());
        schema
    }
}

/// An element whose literals are objects with known fields: these fields, or `valueFrom` only.
fn object(fields: &Map<String, Value>, required: Option<&Value>, source: Value) -> Schema {
    let mut properties = fields.clone();
    for property in properties.values_mut() {
        // The API server would also set the default beside a reference; deserializing the literal applies it anyway.
        property.as_object_mut().map(|property| property.remove("default"));
    }
    properties.insert("valueFrom".to_owned(), source);
    let mut literal = json!({"not": {"required": ["valueFrom"]}});
    if let Some(required) = required {
        literal["required"] = required.clone();
    }
    let reference = json!({"required": ["valueFrom"], "maxProperties": 1});
    json_schema!({"type": "object", "properties": properties, "oneOf": [reference, literal]})
}

/// The schema of an element whose literals have this JSON type, for a kind whose schema is made while the controller runs. `source` is the
/// schema of `valueFrom`.
pub fn element_schema(wanted: &str, source: &Value) -> Value {
    untyped(Some(wanted), source).to_value()
}

/// Any other element. `wanted` is the JSON type of its literals, if only one is possible.
fn untyped(wanted: Option<&str>, source: &Value) -> Schema {
    let mut schema = json_schema!({
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"valueFrom": source},
    });
    let Some(wanted) = wanted else { return schema };
    let mut bounds = Map::new();
    let mut bound = |bound: Value| bounds.extend(bound.as_object().cloned().unwrap_or_default());
    if wanted != "string" {
        bound(json!({"minLength": 1, "maxLength": 0}));
    }
    match wanted {
        "integer" => bound(json!({"multipleOf": 1.0})),
        "number" => {}
        _ => bound(json!({"minimum": 1.0, "maximum": 0.0})),
    }
    if wanted != "array" {
        bound(json!({"minItems": 1, "maxItems": 0}));
    }
    if wanted != "boolean" {
        bound(json!({"not": {"enum": [true, false]}}));
    }
    if wanted != "object" {
        bound(json!({"required": ["valueFrom"]}));
    }
    // Inside `anyOf`, so that the message says that no alternative matches.
    schema.insert("anyOf".to_owned(), json!([bounds]));
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::ListOpt;
    use schemars::generate::SchemaSettings;
    use serde::Deserialize;

    // The settings of kube's CRD generation.
    fn elements<T: JsonSchema>() -> Value {
        let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<ListOpt<T>>().to_value();
        assert_eq!(schema["oneOf"], json!([{"required": ["value"]}, {"required": ["valueFrom"]}]));
        assert_eq!(schema["properties"]["value"]["type"], "array");
        schema["properties"]["value"]["items"].take()
    }

    /// A rule.
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Rule {
        /// The port.
        port: u16,
        /// The protocol.
        #[serde(default = "tcp")]
        protocol: String,
    }

    fn tcp() -> String {
        "tcp".to_owned()
    }

    #[test]
    fn an_element_without_a_type_is_preserved_and_says_what_a_reference_is() {
        for element in
            [elements::<String>(), elements::<u16>(), elements::<bool>(), elements::<Vec<String>>()]
        {
            assert_eq!(element["x-kubernetes-preserve-unknown-fields"], true);
            assert!(element.get("type").is_none());
            let sources = &element["properties"]["valueFrom"]["oneOf"];
            assert_eq!(sources.as_array().map(Vec::len), Some(5));
            assert_eq!(element["anyOf"][0]["required"], json!(["valueFrom"]));
            // Not allowed inside `anyOf` of a structural schema.
            for name in ["type", "properties", "description", "default"] {
                assert!(element["anyOf"][0].get(name).is_none(), "{name}");
            }
        }
    }

    #[test]
    fn bounds_that_nothing_satisfies_leave_only_the_type_of_the_literal() {
        let bounds = |element: Value| {
            let bounds = element["anyOf"][0].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            bounds.join(" ")
        };
        assert_eq!(bounds(elements::<String>()), "maxItems maximum minItems minimum not required");
        assert_eq!(bounds(elements::<f64>()), "maxItems maxLength minItems minLength not required");
        assert_eq!(
            bounds(elements::<i64>()),
            "maxItems maxLength minItems minLength multipleOf not required"
        );
        assert_eq!(
            bounds(elements::<bool>()),
            "maxItems maxLength maximum minItems minLength minimum required"
        );
    }

    #[test]
    fn an_object_element_is_its_fields_or_a_reference_alone() {
        let element = elements::<Rule>();
        assert_eq!(element["type"], "object");
        let names: Vec<_> = element["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["port", "protocol", "valueFrom"]);
        assert!(element["properties"]["protocol"].get("default").is_none());
        let reference = json!({"required": ["valueFrom"], "maxProperties": 1});
        let literal = json!({"required": ["port"], "not": {"required": ["valueFrom"]}});
        assert_eq!(element["oneOf"], json!([reference, literal]));
    }

    #[test]
    fn a_map_or_anything_is_preserved() {
        assert!(elements::<Value>().get("anyOf").is_none());
        let map = elements::<BTreeMap<String, String>>();
        assert_eq!(map["x-kubernetes-preserve-unknown-fields"], true);
        assert!(map["anyOf"][0].get("required").is_none());
    }
}
