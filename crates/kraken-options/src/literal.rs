//! The bounds of literals in the schema of a CRD, declared beside the field:
//!
//! ```
//! use kraken_options::{Literal, Opt};
//! use serde_json::json;
//!
//! #[derive(schemars::JsonSchema)]
//! struct Spec {
//!     #[schemars(transform = Literal::of(json!({"minimum": 1, "maximum": 65_535})))]
//!     port: Option<Opt<i32>>,
//! }
//! ```
//!
//! Without it, the API server would validate only the type of a literal.

use schemars::{Schema, transform::Transform};
use serde_json::{Map, Value, json};

/// Adds bounds to the schema of a field: to the literal of an option, to each literal in a list or a map of options, or, if the
/// field is not an option, to the field itself.
#[derive(Clone, Debug, Default)]
pub struct Literal {
    bounds: Map<String, Value>,
    list: Map<String, Value>,
}

impl Literal {
    /// Bounds as keywords of a schema, such as `maximum` or `pattern`.
    pub fn of(bounds: Value) -> Self {
        let bounds = if let Value::Object(bounds) = bounds { bounds } else { Map::new() };
        Self { bounds, list: Map::new() }
    }

    /// With the minimum and maximum number of items of a list.
    #[must_use]
    pub fn items(mut self, min: usize, max: usize) -> Self {
        if min > 0 {
            self.list.insert("minItems".to_owned(), json!(min));
        }
        self.list.insert("maxItems".to_owned(), json!(max));
        self
    }

    /// With the maximum number of entries of a map.
    #[must_use]
    pub fn entries(mut self, max: usize) -> Self {
        self.list.insert("maxProperties".to_owned(), json!(max));
        self
    }
}

impl Transform for Literal {
    fn transform(&mut self, schema: &mut Schema) {
        let Some(field) = schema.as_object_mut() else { return };
        // At this point, the schema of an optional field is `anyOf: [FIELD, null]`.
        let field = match field.get("anyOf") {
            Some(_) => {
                field.get_mut("anyOf").and_then(|either| either.get_mut(0)).and_then(Value::as_object_mut)
            }
            None => Some(field),
        };
        let Some(field) = field else { return };
        let is_option = field.get("properties").is_some_and(|properties| properties.get("value").is_some());
        let literal = if is_option { member(field, &["properties", "value"]) } else { Some(field) };
        let Some(literal) = literal else { return };
        literal.extend(self.list.clone());
        let each = ["items", "additionalProperties"].into_iter().find(|each| literal.contains_key(*each));
        let literal = if let Some(each) = each { member(literal, &[each]) } else { Some(literal) };
        let Some(literal) = literal else { return };
        if self.bounds.contains_key("x-kubernetes-int-or-string") {
            literal.remove("x-kubernetes-preserve-unknown-fields");
        }
        let mut bounds = self.bounds.clone();
        // CEL has no access to values without a type, such as the elements of a list of options. Where it has, its message
        // replaces that of the pattern, which is the pattern itself.
        let unused = if literal.contains_key("type") { "pattern" } else { "x-kubernetes-validations" };
        if bounds.contains_key("x-kubernetes-validations") {
            bounds.remove(unused);
        }
        // Without a type, a literal is an element of a list of options, and `enum` would also reject one with `valueFrom`. A pattern
        // is about texts only.
        if !literal.contains_key("type")
            && let Some(words) = bounds.remove("enum")
        {
            bounds.insert("pattern".to_owned(), any_of(&words).into());
        }
        literal.extend(bounds);
    }
}

/// The regular expression of these words.
fn any_of(words: &Value) -> String {
    let words = words.as_array().into_iter().flatten().filter_map(Value::as_str);
    format!("^({})$", words.map(regex::escape).collect::<Vec<_>>().join("|"))
}

fn member<'a>(mut schema: &'a mut Map<String, Value>, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    for name in path {
        schema = schema.get_mut(*name)?.as_object_mut()?;
    }
    Some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ListOpt, Opt, PublicMap, Text};
    use schemars::{JsonSchema, generate::SchemaSettings};

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Spec {
        #[schemars(transform = Literal::of(json!({"maximum": 7})))]
        number: Option<Opt<i32>>,
        #[schemars(transform = Literal::of(json!({"pattern": "a", "x-kubernetes-validations": []})))]
        typed: Opt<String>,
        #[schemars(transform = Literal::of(json!({"pattern": "a", "x-kubernetes-validations": []})).items(1, 3))]
        list: ListOpt<String>,
        #[schemars(transform = Literal::of(json!({"enum": ["a", "b.c"]})))]
        words: ListOpt<String>,
        #[schemars(transform = Literal::of(json!({"enum": ["a"]})))]
        word: Opt<String>,
        #[schemars(transform = Literal::of(json!({"maxLength": 7})).entries(3))]
        map: PublicMap<String>,
        #[schemars(transform = Literal::of(json!({"x-kubernetes-int-or-string": true})))]
        text: Opt<Text>,
        #[schemars(transform = Literal::of(json!({"maxLength": 7})))]
        plain: String,
    }

    #[test]
    fn bounds_are_added_to_literals_wherever_they_are() {
        // The settings of kube's CRD generation.
        let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<Spec>().to_value();
        let fields = &schema["properties"];
        assert_eq!(fields["number"]["anyOf"][0]["properties"]["value"]["maximum"], 7);
        let list = &fields["list"]["properties"]["value"];
        assert_eq!((&list["minItems"], &list["maxItems"]), (&json!(1), &json!(3)));
        assert_eq!((&list["items"]["pattern"], list.get("pattern")), (&json!("a"), None));
        assert!(list["items"].get("x-kubernetes-validations").is_none());
        // An element can also be a reference.
        let words = &fields["words"]["properties"]["value"]["items"];
        assert_eq!((&words["pattern"], words.get("enum")), (&json!(r"^(a|b\.c)$"), None));
        assert_eq!(fields["word"]["properties"]["value"]["enum"], json!(["a"]));
        let typed = &fields["typed"]["properties"]["value"];
        assert!(typed["x-kubernetes-validations"].is_array() && typed.get("pattern").is_none());
        let map = &fields["map"];
        assert_eq!(
            (&map["maxProperties"], &map["additionalProperties"]["maxLength"]),
            (&json!(3), &json!(7))
        );
        let text = &fields["text"]["properties"]["value"];
        assert_eq!(text["x-kubernetes-int-or-string"], true);
        assert!(text.get("x-kubernetes-preserve-unknown-fields").is_none());
        assert_eq!(fields["plain"]["maxLength"], 7);
    }
}
