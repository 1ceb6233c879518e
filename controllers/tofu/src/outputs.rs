//! Sensitive outputs: attributes that the provider computes and that must not be shown, such as a generated password. They are in no
//! published state; a resource that wants them names a Secret of its own. Pure.

use std::collections::BTreeMap;

use k8s_openapi::{
    ByteString,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, JSONSchemaProps},
};
use kraken_tfplugin::{
    Value,
    schema::{Attribute, Block},
};
use serde_json::{Value as Json, json};

/// The field of a spec that names the Secret. No argument of a provider has a capital letter.
const FIELD: &str = "sensitiveOutputs";

/// The name of the Secret that this spec wants.
pub(crate) fn secret_name(spec: &Json) -> Option<&str> {
    spec[FIELD]["secretName"].as_str()
}

/// The attributes that the provider computes and that must not be shown.
fn attributes(block: &Block) -> impl Iterator<Item = &String> {
    let is_output = |attribute: &Attribute| attribute.is_computed && attribute.has_secrets();
    block.attributes.iter().filter(move |(_, attribute)| is_output(attribute)).map(|(name, _)| name)
}

/// Adds the field to the CRD of a type that has such attributes.
pub(crate) fn add_field(crd: &mut CustomResourceDefinition, block: &Block) {
    let names: Vec<&str> = attributes(block).map(String::as_str).collect();
    if names.is_empty() {
        return;
    }
    let field = json!({
        "type": "object",
        "required": ["secretName"],
        "description": format!(
            "Where the sensitive attributes are written that the provider computes: {}. Default: nowhere. Example: `{{secretName: web-outputs}}`",
            names.join(", ")
        ),
        "properties": {"secretName": {
            "type": "string", "minLength": 1, "maxLength": 253,
            "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            "description": "The Secret, in the namespace of the resource, with one key for each attribute. It must not exist before, and is deleted \
                            with the resource.",
        }},
    });
    let field: JSONSchemaProps = serde_json::from_value(field).unwrap_or_default();
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let spec = schema.and_then(|schema| schema.properties.as_mut()?.get_mut("spec"));
        if let Some(spec) = spec {
            spec.properties.get_or_insert_default().insert(FIELD.to_owned(), field.clone());
        }
    }
}

/// The content of the Secret: each sensitive attribute that the provider chose, a text as it is, anything else as JSON.
pub(crate) fn content(block: &Block, config: &Value, state: &Value) -> BTreeMap<String, ByteString> {
    let chosen = attributes(block).filter(|name| config.attribute(name).is_null());
    let text = |name: &String| match state.attribute(name).to_json().ok()? {
        Json::Null => None,
        Json::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    chosen.filter_map(|name| Some((name.clone(), ByteString(text(name)?.into_bytes())))).collect()
}

#[cfg(test)]
mod tests {
    use kraken_tfplugin::{Type, schema::Schema};

    use super::*;
    use crate::fixtures;

    fn schema() -> Schema {
        let attribute = |form: Type, is_computed, is_sensitive| Attribute {
            is_computed,
            is_sensitive,
            ..fixtures::attribute(form)
        };
        let attributes = [
            ("id", attribute(Type::String, true, false)),
            ("keys", attribute(Type::List(Box::new(Type::String)), true, true)),
            ("password", attribute(Type::String, true, true)),
            ("token", attribute(Type::String, false, true)),
        ];
        let attributes = attributes.map(|(name, attribute)| (name.to_owned(), attribute));
        Schema::new(0, Block { attributes: attributes.into(), ..Block::default() })
    }

    #[test]
    fn content_has_what_the_provider_chose() {
        let schema = schema();
        let value = |json: Json| Value::from_json(&json, &schema.value_type).unwrap();
        let state = value(json!({"id": "1", "keys": ["a", "b"], "password": "p", "token": "t"}));
        let content = |config: Json| {
            let content = content(&schema.block, &value(config), &state);
            content
                .into_iter()
                .map(|(key, text)| (key, String::from_utf8(text.0).unwrap()))
                .collect::<Vec<_>>()
        };
        let pair = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        assert_eq!(content(json!({"token": "t"})), [pair("keys", r#"["a","b"]"#), pair("password", "p")]);
        // What the spec itself says is not an output.
        assert_eq!(content(json!({"password": "p"})), [pair("keys", r#"["a","b"]"#)]);
    }

    #[test]
    fn field_exists_only_for_types_with_sensitive_outputs() {
        let with_field = |block: &Block| {
            let spec = json!({"properties": {"spec": {"type": "object", "properties": {}}}});
            let crd = json!({"metadata": {}, "spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"}, "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": spec}},
            ]}});
            let mut crd = serde_json::from_value(crd).unwrap();
            add_field(&mut crd, block);
            serde_json::to_value(crd).unwrap().to_string()
        };
        assert!(with_field(&schema().block).contains("computes: keys, password. Default: nowhere."));
        assert!(!with_field(&Block::default()).contains(FIELD));
        assert_eq!(secret_name(&json!({FIELD: {"secretName": "a"}})), Some("a"));
        assert_eq!(secret_name(&json!({"name": {"value": "a"}})), None);
    }
}
