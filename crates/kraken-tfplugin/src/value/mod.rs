//! Values of configurations, plans and states.

mod json;
mod msgpack;
mod number;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub(crate) use json::{encode_number, without_unknown};
pub use number::{NotANumber, Number};

use crate::path::{Path, Step};
use crate::types::Type;

/// A value. Its type is known from the schema, except that of [`Value::Dynamic`].
///
/// `Debug` shows the value, so do not log values that may be secret. The order is that in which elements of sets are merged with
/// those of a prior state: null is last, so that what is configured in detail is found first.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(String),
    /// A list or a tuple.
    List(Vec<Value>),
    /// A set.
    Set(Elements),
    /// A map.
    Map(BTreeMap<String, Value>),
    /// An object: all attributes and blocks of its type.
    Object(BTreeMap<String, Value>),
    /// A value of an attribute with the type [`Type::Dynamic`], with its type.
    Dynamic(Box<(Type, Value)>),
    /// Not known before a change is applied.
    Unknown,
    /// No value.
    #[default]
    Null,
}

/// The elements of a set, in the order of [`Value`], so that equal sets are equal. Equal elements are one, if they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Elements(Vec<Value>);

impl Elements {
    /// The elements.
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }
}

impl FromIterator<Value> for Elements {
    fn from_iter<T: IntoIterator<Item = Value>>(elements: T) -> Self {
        let mut elements: Vec<Value> = elements.into_iter().collect();
        elements.sort();
        elements.dedup_by(|a, b| a == b && a.is_known());
        Self(elements)
    }
}

/// Why a value does not have a type, or JSON or MessagePack is no value of it. It contains no value, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", located(.path))]
pub struct ConvertError {
    /// Where.
    pub path: Path,
    /// What is wrong.
    pub why: String,
}

fn located(path: &Path) -> String {
    if path.is_root() { String::new() } else { format!("{path}: ") }
}

impl ConvertError {
    fn new(path: &Path, why: impl Into<String>) -> Self {
        Self { path: path.clone(), why: why.into() }
    }

    fn expected(path: &Path, expected: impl std::fmt::Display, got: &str) -> Self {
        Self::new(path, format!("expected {expected}, got {got}"))
    }
}

impl Value {
    /// An object of these attributes.
    pub fn object<'a>(attributes: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Self::Object(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// A set of these elements.
    pub fn set(elements: impl IntoIterator<Item = Value>) -> Self {
        Self::Set(elements.into_iter().collect())
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// Whether neither it nor a value inside it is unknown.
    pub fn is_known(&self) -> bool {
        match self {
            Self::Unknown => false,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => true,
            Self::List(elements) | Self::Set(Elements(elements)) => elements.iter().all(Self::is_known),
            Self::Map(elements) | Self::Object(elements) => elements.values().all(Self::is_known),
            Self::Dynamic(dynamic) => dynamic.1.is_known(),
        }
    }

    /// The value with null instead of unknown values.
    #[must_use]
    pub fn unknown_as_null(self) -> Self {
        let each = |(name, value): (String, Self)| (name, value.unknown_as_null());
        match self {
            Self::Unknown => Self::Null,
            Self::List(elements) => Self::List(elements.into_iter().map(Self::unknown_as_null).collect()),
            Self::Set(elements) => Self::Set(elements.0.into_iter().map(Self::unknown_as_null).collect()),
            Self::Map(elements) => Self::Map(elements.into_iter().map(each).collect()),
            Self::Object(attributes) => Self::Object(attributes.into_iter().map(each).collect()),
            Self::Dynamic(dynamic) => Self::Dynamic(Box::new((dynamic.0, dynamic.1.unknown_as_null()))),
            other => other,
        }
    }

    /// The attribute of an object; `Null` if there is none or this is no object.
    pub fn attribute(&self, name: &str) -> &Self {
        match self {
            Self::Object(attributes) => attributes.get(name).unwrap_or(&Self::Null),
            _ => &Self::Null,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value at a path. A path into a set ends at the set, because its elements have no names. `None` if there is no such value.
    pub fn get(&self, path: &Path) -> Option<&Self> {
        let mut value = self;
        for step in path.steps() {
            value = match (value.inner(), step) {
                (set @ Self::Set(_), _) => return Some(set),
                (Self::Object(attributes), Step::Attribute(name) | Step::Key(name)) => {
                    attributes.get(name)?
                }
                (Self::Map(elements), Step::Key(key) | Step::Attribute(key)) => elements.get(key)?,
                (Self::List(elements), Step::Index(index)) => elements.get(*index)?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// The value of a dynamic one, else the value itself.
    pub(crate) fn inner(&self) -> &Self {
        match self {
            Self::Dynamic(dynamic) => &dynamic.1,
            other => other,
        }
    }

    /// What it is, without its content.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Unknown => "unknown",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Map(_) => "map",
            Self::Object(_) => "object",
            Self::Dynamic(_) => "dynamic value",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}
