//! The types of values, and their JSON form, in which schemas name them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value as Json;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Any type, which the value itself names.
    Dynamic,
    /// `true` or `false`.
    Bool,
    /// A number of any size.
    Number,
    /// Text.
    String,
    /// Elements of one type, in order.
    List(Box<Type>),
    /// Different elements of one type, without an order.
    Set(Box<Type>),
    /// Elements of one type by key.
    Map(Box<Type>),
    /// Elements of these types.
    Tuple(Vec<Type>),
    /// Attributes by name.
    Object(BTreeMap<String, Type>),
}

/// Why JSON is not a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid type expression: {0}")]
pub struct TypeError(String);

impl Type {
    /// Reads the JSON form: `"string"`, `["list", "string"]`, `["object", {"name": "string"}]`, ...
    ///
    /// # Errors
    /// When it is no type.
    pub fn from_json(json: &Json) -> Result<Self, TypeError> {
        let unknown = || TypeError(json.to_string().chars().take(100).collect());
        let inner = |json: &Json| Self::from_json(json).map(Box::new);
        match json {
            Json::String(name) => match name.as_str() {
                "dynamic" => Ok(Self::Dynamic),
                "bool" => Ok(Self::Bool),
                "number" => Ok(Self::Number),
                "string" => Ok(Self::String),
                _ => Err(unknown()),
            },
            Json::Array(parts) => match (parts.first().and_then(Json::as_str), parts.get(1)) {
                (Some("list"), Some(element)) => inner(element).map(Self::List),
                (Some("set"), Some(element)) => inner(element).map(Self::Set),
                (Some("map"), Some(element)) => inner(element).map(Self::Map),
                (Some("tuple"), Some(Json::Array(elements))) => {
                    elements.iter().map(Self::from_json).collect::<Result<_, _>>().map(Self::Tuple)
                }
                // A third part lists optional attributes, which matters to configurations only.
                (Some("object"), Some(Json::Object(attributes))) => attributes
                    .iter()
                    .map(|(name, json)| Ok((name.clone(), Self::from_json(json)?)))
                    .collect::<Result<_, _>>()
                    .map(Self::Object),
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }

    /// Reads the text of the JSON form.
    ///
    /// # Errors
    /// When it is no JSON or no type.
    pub fn parse(text: &[u8]) -> Result<Self, TypeError> {
        Self::from_json(&serde_json::from_slice(text).map_err(|error| TypeError(error.to_string()))?)
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        let collection = |name: &str, inner: Json| Json::Array(vec![name.into(), inner]);
        match self {
            Self::Dynamic => "dynamic".into(),
            Self::Bool => "bool".into(),
            Self::Number => "number".into(),
            Self::String => "string".into(),
            Self::List(element) => collection("list", element.to_json()),
            Self::Set(element) => collection("set", element.to_json()),
            Self::Map(element) => collection("map", element.to_json()),
            Self::Tuple(elements) => {
                collection("tuple", Json::Array(elements.iter().map(Self::to_json).collect()))
            }
            Self::Object(attributes) => {
                let attributes = attributes.iter().map(|(name, inner)| (name.clone(), inner.to_json()));
                collection("object", Json::Object(attributes.collect()))
            }
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dynamic => f.write_str("any type"),
            Self::Bool => f.write_str("bool"),
            Self::Number => f.write_str("number"),
            Self::String => f.write_str("string"),
            Self::List(element) => write!(f, "list of {element}"),
            Self::Set(element) => write!(f, "set of {element}"),
            Self::Map(element) => write!(f, "map of {element}"),
            Self::Tuple(_) => f.write_str("tuple"),
            Self::Object(_) => f.write_str("object"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> Result<String, TypeError> {
        Type::parse(text.as_bytes()).map(|parsed| parsed.to_json().to_string())
    }

    #[test]
    fn a_type_has_one_json_form() {
        for text in [
            r#""dynamic""#,
            r#"["list",["set",["map","number"]]]"#,
            r#"["tuple",["string","bool"]]"#,
            r#"["object",{"a":"string","b":["list","bool"]}]"#,
        ] {
            assert_eq!(round_trip(text).unwrap(), text);
        }
    }

    #[test]
    fn optional_attributes_of_an_object_type_are_accepted() {
        assert_eq!(round_trip(r#"["object",{"a":"string"},["a"]]"#).unwrap(), r#"["object",{"a":"string"}]"#);
    }

    #[test]
    fn invalid_types_are_rejected() {
        for text in ["", "1", r#""text""#, r#"["list"]"#, r#"["tuple","string"]"#, r#"["vector","string"]"#] {
            assert!(round_trip(text).is_err(), "{text}");
        }
    }
}
