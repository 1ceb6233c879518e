//! The types of fields: their JSON type, and how their memory is wiped.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use zeroize::Zeroize;

use crate::json_type::JsonType;

/// A type of a field of a spec.
///
/// A nested struct of a kind implements it with [`option_object!`](crate::option_object); an enum of strings with
/// `impl OptionType for VolumeType { const TYPE: JsonType = JsonType::String; }`.
pub trait OptionType: Clone + fmt::Debug + PartialEq + DeserializeOwned + Serialize {
    /// The required JSON type of a value from another resource, and how text from a ConfigMap or Secret is parsed.
    const TYPE: JsonType;
    /// The minimum and maximum of integers, for messages.
    const RANGE: Option<(i128, i128)> = None;
    /// True if text is accepted unchanged although [`TYPE`](Self::TYPE) is not a string.
    const VERBATIM: bool = false;

    /// Overwrites the memory of a value that came from a Secret, before it is freed.
    fn wipe(&mut self) {}
}

/// Makes structs option types of JSON type object: `option_object!(RootVolume)`.
///
/// Their memory is not wiped when they come from a Secret; implement [`OptionType`] by hand for one that should be.
#[macro_export]
macro_rules! option_object {
    ($($name:ty),+ $(,)?) => {
        $(impl $crate::OptionType for $name {
            const TYPE: $crate::JsonType = $crate::JsonType::Object;
        })+
    };
}

impl OptionType for String {
    const TYPE: JsonType = JsonType::String;

    fn wipe(&mut self) {
        self.zeroize();
    }
}

impl OptionType for bool {
    const TYPE: JsonType = JsonType::Boolean;

    fn wipe(&mut self) {
        self.zeroize();
    }
}

impl OptionType for f64 {
    const TYPE: JsonType = JsonType::Number;

    fn wipe(&mut self) {
        self.zeroize();
    }
}

macro_rules! option_integer {
    ($($integer:ty),+) => {
        $(impl OptionType for $integer {
            const TYPE: JsonType = JsonType::Integer;
            const RANGE: Option<(i128, i128)> = Some((<$integer>::MIN as i128, <$integer>::MAX as i128));

            fn wipe(&mut self) {
                self.zeroize();
            }
        })+
    };
}

option_integer!(i32, i64, u16, u32);

impl<T: OptionType> OptionType for Vec<T> {
    const TYPE: JsonType = JsonType::Array;

    fn wipe(&mut self) {
        self.iter_mut().for_each(T::wipe);
    }
}

impl<T: OptionType> OptionType for BTreeMap<String, T> {
    const TYPE: JsonType = JsonType::Object;

    fn wipe(&mut self) {
        for (mut key, mut value) in std::mem::take(self) {
            key.zeroize();
            value.wipe();
        }
    }
}

impl OptionType for Value {
    const TYPE: JsonType = JsonType::Any;

    fn wipe(&mut self) {
        // A work list instead of recursion: a value may be nested deeper than the stack allows.
        let mut left = vec![self.take()];
        while let Some(value) = left.pop() {
            match value {
                Value::String(mut text) => text.zeroize(),
                Value::Array(items) => left.extend(items),
                Value::Object(members) => {
                    for (mut key, member) in members {
                        key.zeroize();
                        left.push(member);
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
}

/// Text of any value: a string is unchanged, any other type is written as JSON. Text from a ConfigMap or Secret is
/// unchanged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => other.to_string(),
        }))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// So that rules for texts validate it.
impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The text that a provider returns.
impl PartialEq<String> for Text {
    fn eq(&self, text: &String) -> bool {
        self.0 == *text
    }
}

impl OptionType for Text {
    const TYPE: JsonType = JsonType::Any;
    const VERBATIM: bool = true;

    fn wipe(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wiped_values_are_empty() {
        let mut list = vec!["secret".to_owned()];
        list.wipe();
        assert_eq!(list, [""]);
        let mut any = json!({"a": ["secret", 1]});
        any.wipe();
        assert_eq!(any, Value::Null);
        let mut map = BTreeMap::from([("a".to_owned(), 1_i64)]);
        map.wipe();
        assert!(map.is_empty());
    }

    #[test]
    fn a_value_deeper_than_the_stack_is_wiped() {
        let mut deep = Value::from("secret");
        for _ in 0..1_000_000 {
            deep = Value::Array(vec![deep]);
        }
        deep.wipe();
        assert_eq!(deep, Value::Null);
    }

    #[test]
    fn text_of_a_string_is_unchanged_and_other_types_are_json() {
        for (value, text) in [(json!("a b"), "a b"), (json!([1, "x"]), "[1,\"x\"]"), (json!(3), "3")] {
            assert_eq!(serde_json::from_value::<Text>(value).unwrap(), Text(text.into()));
        }
    }
}
