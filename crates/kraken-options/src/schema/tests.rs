use super::*;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use std::collections::BTreeMap;

// The settings of kube's CRD generation.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn value_schema<T: JsonSchema>() -> Value {
    let mut schema = schema_of::<Opt<T>>();
    let mut value = schema["properties"]["value"].take();
    assert!(value["description"].is_string());
    value.as_object_mut().unwrap().remove("description");
    value
}

/// The requirements of the API server for a structural schema that these types can violate.
fn assert_structural(schema: &Value, at: &str) {
    let preserved = schema["x-kubernetes-preserve-unknown-fields"] == true;
    assert!(schema["type"].is_string() || preserved, "{at}: no type in {schema}");
    assert!(schema.get("$ref").is_none(), "{at}: a reference");
    for branch in schema["oneOf"].as_array().into_iter().flatten() {
        assert_eq!(branch.as_object().unwrap().keys().collect::<Vec<_>>(), ["required"], "{at}");
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        assert!(property["description"].is_string(), "{at}.{name}: no description");
        assert_structural(property, &format!("{at}.{name}"));
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner_schema) = schema.get(inner) {
            assert_structural(inner_schema, &format!("{at}.{inner}"));
        }
    }
}

/// A nested object.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Volume {
    /// Size in GiB.
    size: i32,
    /// Anything at all.
    extra: Value,
}

#[test]
fn every_option_is_structural() {
    assert_structural(&schema_of::<Opt<String>>(), "string");
    assert_structural(&schema_of::<Opt<f64>>(), "number");
    assert_structural(&schema_of::<Opt<Vec<String>>>(), "list");
    assert_structural(&schema_of::<Opt<Vec<Value>>>(), "list of anything");
    assert_structural(&schema_of::<Opt<BTreeMap<String, Value>>>(), "map of anything");
    assert_structural(&schema_of::<Opt<Value>>(), "anything");
    assert_structural(&schema_of::<Opt<Volume>>(), "object");
    assert_structural(&schema_of::<ValueFrom>(), "source");
}

#[test]
fn exactly_one_of_value_and_value_from_is_required() {
    let schema = schema_of::<Opt<String>>();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["oneOf"], json!([{"required": ["value"]}, {"required": ["valueFrom"]}]));
    assert!(schema.get("description").is_none());
}

#[test]
fn exactly_one_source_is_required() {
    let schema = schema_of::<ValueFrom>();
    let sources = ["configMap", "secret", "krakenResource", "ref", "templateString"];
    assert_eq!(schema["oneOf"], json!(sources.map(|source| json!({"required": [source]}))));
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), sources.len());
}

#[test]
fn every_name_is_bounded() {
    let schema = schema_of::<ValueFrom>();
    for (place, max) in [
        ("/configMap/properties/name", 253),
        ("/configMap/properties/key", 253),
        ("/secret/properties/name", 253),
        ("/secret/properties/key", 253),
        ("/krakenResource/properties/kind", 317),
        ("/krakenResource/properties/name", 253),
        ("/krakenResource/properties/path", 1024),
        ("/templateString", 65_536),
    ] {
        let bounded = schema["properties"].pointer(place).expect(place);
        assert_eq!((&bounded["minLength"], &bounded["maxLength"]), (&json!(1), &json!(max)), "{place}");
        assert!(bounded["description"].as_str().unwrap().contains("Example: `"), "{place}");
    }
}

#[test]
fn only_the_path_of_a_resource_is_optional() {
    let resource = schema_of::<ValueFrom>()["properties"]["krakenResource"].take();
    assert_eq!(resource["required"], json!(["kind", "name"]));
    assert!(resource["properties"]["path"].get("default").is_none());
}

#[test]
fn a_value_has_the_schema_of_its_type() {
    assert_eq!(value_schema::<String>(), json!({"type": "string"}));
    assert_eq!(value_schema::<Vec<String>>(), json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(value_schema::<bool>(), json!({"type": "boolean"}));
}

#[test]
fn arbitrary_json_is_preserved_at_every_level() {
    let any = json!({"x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(value_schema::<Value>(), any);
    assert_eq!(value_schema::<Text>(), any);
    assert_eq!(value_schema::<Vec<Value>>()["items"], any);
    assert_eq!(value_schema::<BTreeMap<String, Value>>()["additionalProperties"], any);
    let extra = value_schema::<Volume>()["properties"]["extra"].clone();
    assert_eq!(extra["x-kubernetes-preserve-unknown-fields"], true);
}

#[test]
fn a_value_is_described_with_an_example_of_its_type() {
    let described = schema_of::<Opt<i64>>()["properties"]["value"]["description"].clone();
    assert_eq!(described, "The literal value. Example: `3`");
}

#[test]
fn a_nested_object_keeps_its_own_description() {
    let schema = schema_of::<Opt<Volume>>();
    assert_eq!(schema["properties"]["value"]["description"], "A nested object.");
}

#[test]
fn a_json_type_is_one_of_its_names() {
    let names = json!(["string", "integer", "number", "boolean", "array", "object", "any"]);
    assert_eq!(schema_of::<JsonType>()["enum"], names);
}
