//! Options whose values are public by definition: names and tags, which are visible at the provider, and occur in
//! external ids, events and other resources' states. They reject Secrets.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An option, list or map that rejects Secrets, directly and in templates.
///
/// The schema of its CRD has no `secret` source. A reference that passes the schema is rejected when it is resolved, and
/// the Secret is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Public<O>(pub O);

impl<O> Deref for Public<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.0
    }
}

impl<O> From<O> for Public<O> {
    fn from(option: O) -> Self {
        Self(option)
    }
}

/// A template that refers to a Secret, however the word is written. The API server matches it as RE2.
const SECRET_IN_TEMPLATE: &str = r#"(?i)\{\{\s*(\.|\.?\[["'])-*s-*e-*c-*r-*e-*t-*(["']\])?\s*[.\[]"#;

impl<O: JsonSchema> JsonSchema for Public<O> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Public_{}", O::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = generator.subschema_for::<O>();
        let mut left: Vec<&mut Value> =
            schema.as_object_mut().into_iter().flat_map(|o| o.values_mut()).collect();
        while let Some(node) = left.pop() {
            match node {
                Value::Object(members) => {
                    if let Some(source) = members.get_mut("valueFrom") {
                        without_secrets(source);
                    }
                    left.extend(members.values_mut());
                }
                Value::Array(items) => left.extend(items),
                _ => {}
            }
        }
        schema
    }
}

/// Removes the Secret from a schema of sources.
fn without_secrets(source: &mut Value) {
    let Some(properties) = source.get_mut("properties").and_then(Value::as_object_mut) else { return };
    properties.remove("secret");
    if let Some(template) = properties.get_mut("templateString").and_then(Value::as_object_mut) {
        template.insert("not".to_owned(), json!({"pattern": SECRET_IN_TEMPLATE}));
        template.insert(
            "description".to_owned(),
            "Text around references: `{{ .Kind.name.path }}`, `{{ .Kind.name }}` for the main id, \
             `{{ .ConfigMap.name.key }}`; names with dots in brackets. No Secret, because the value is public. Example: \
             `{{ .ConfigMap.app.name }}-web`"
                .into(),
        );
    }
    if let Some(sources) = source.get_mut("oneOf").and_then(Value::as_array_mut) {
        sources.retain(|one| one["required"] != json!(["secret"]));
    }
    source["description"] =
        "Where to take the value from: exactly one source, and no Secret, because the value is public. \
                             Example: `{configMap: {name: sizes, key: small}}`"
            .into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ListOpt, MapOpt, Opt};
    use schemars::generate::SchemaSettings;

    // The settings of kube's CRD generation.
    fn schema_of<T: JsonSchema>() -> Value {
        let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
        settings.into_generator().into_root_schema_for::<T>().to_value()
    }

    #[test]
    fn the_schema_of_a_public_option_has_no_secret_wherever_a_source_stands() {
        let option = schema_of::<Public<Opt<String>>>();
        let list = schema_of::<Public<ListOpt<String>>>();
        let map = schema_of::<Public<MapOpt<String>>>();
        for source in [
            &option["properties"]["valueFrom"],
            &list["properties"]["valueFrom"],
            &list["properties"]["value"]["items"]["properties"]["valueFrom"],
            &map["additionalProperties"]["properties"]["valueFrom"],
        ] {
            let names: Vec<_> = source["properties"].as_object().unwrap().keys().collect();
            assert_eq!(names, ["configMap", "krakenResource", "ref", "templateString"]);
            assert_eq!(source["oneOf"].as_array().map(Vec::len), Some(4));
            assert!(source["properties"]["templateString"]["not"]["pattern"].is_string());
        }
        assert!(schema_of::<Opt<String>>()["properties"]["valueFrom"]["properties"]["secret"].is_object());
    }

    proptest::proptest! {
        #[test]
        fn admission_rejects_every_template_that_refers_to_a_secret(
            open in "[{]{2}[ \t\n]{0,2}",
            kind in "(\\.|\\.?\\[\")-{0,2}[sS]-{0,1}[eE][cC][rR]-{0,1}[eE][tT]-{0,1}",
            name in "[.\\[\"\\]a-z]{0,12}",
            close in "[ \t]{0,2}[}]{2}",
        ) {
            let text = format!("x{open}{kind}{name}{close}");
            if crate::Template::parse(&text).is_ok_and(|template| template.has_secret()) {
                let pattern = regex::Regex::new(SECRET_IN_TEMPLATE).unwrap();
                proptest::prop_assert!(pattern.is_match(&text), "{}", text);
            }
        }
    }

    #[test]
    fn a_public_option_reads_and_writes_as_the_option_does() {
        let written = json!({"valueFrom": {"ref": "VPC/main"}});
        let option: Public<Opt<String>> = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&option).unwrap(), written);
    }
}
