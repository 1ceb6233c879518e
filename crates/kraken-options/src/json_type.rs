//! The JSON type of a field or a value.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON type, as in a DependencyRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonType {
    /// Text.
    String,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    Array,
    /// A map or an object with known fields.
    Object,
    /// Any type.
    Any,
}

impl JsonType {
    /// Every type, in the order of the schema.
    pub const ALL: [Self; 7] =
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Array, Self::Object, Self::Any];

    /// The narrowest type of a value. JSON `null` has none and is [`JsonType::Any`].
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Any,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_i64() || number.is_u64() => Self::Integer,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// True if `value` is acceptable for this type: an integer for a number, and `3.0` for an integer.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Number => value.is_number(),
            Self::Integer => as_integer(value).is_some(),
            exact => !value.is_null() && Self::of(value) == exact,
        }
    }

    /// The name in a DependencyRequest, for example `integer`.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Any => "any",
        }
    }

    /// The type that covers both: the same one, a number for an integer and a number, else any.
    pub(crate) fn covering(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Integer, Self::Number) | (Self::Number, Self::Integer) => Self::Number,
            _ => Self::Any,
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The integer that a JSON number denotes, even if it is written `3.0`. A float beyond 2^53 denotes no integer exactly.
pub(crate) fn as_integer(value: &Value) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(integer) = value.as_i64() {
        return Some(integer.into());
    }
    if let Some(integer) = value.as_u64() {
        return Some(integer.into());
    }
    let float = value.as_f64()?;
    let exact = float.fract() == 0.0 && float.abs() <= EXACT;
    exact.then(|| format!("{float:.0}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_type_is_written_in_lower_case() {
        for wanted in JsonType::ALL {
            assert_eq!(serde_json::to_value(wanted).unwrap(), wanted.name());
            assert_eq!(wanted.to_string(), wanted.name());
        }
    }

    #[test]
    fn a_value_has_the_narrowest_type() {
        for (value, wanted) in [
            (json!("3"), JsonType::String),
            (json!(-3), JsonType::Integer),
            (json!(u64::MAX), JsonType::Integer),
            (json!(3.5), JsonType::Number),
            (json!(false), JsonType::Boolean),
            (json!([]), JsonType::Array),
            (json!({}), JsonType::Object),
            (json!(null), JsonType::Any),
        ] {
            assert_eq!(JsonType::of(&value), wanted, "{value}");
            assert!(JsonType::Any.accepts(&value));
            assert!(wanted.accepts(&value));
        }
    }

    #[test]
    fn a_string_of_digits_is_not_an_integer() {
        assert!(!JsonType::Integer.accepts(&json!("3")));
        assert!(!JsonType::String.accepts(&json!(3)));
        assert!(!JsonType::Boolean.accepts(&json!("true")));
    }

    #[test]
    fn an_integer_is_accepted_as_a_number_and_a_whole_float_as_an_integer() {
        assert!(JsonType::Number.accepts(&json!(3)));
        assert!(JsonType::Integer.accepts(&json!(3.0)));
        assert!(JsonType::Integer.accepts(&json!(-0.0)));
        assert!(!JsonType::Integer.accepts(&json!(3.5)));
        assert!(!JsonType::Integer.accepts(&json!(1e300)));
    }

    #[test]
    fn null_is_accepted_only_as_anything() {
        let accepting = JsonType::ALL.into_iter().filter(|wanted| wanted.accepts(&Value::Null));
        assert_eq!(accepting.collect::<Vec<_>>(), [JsonType::Any]);
    }

    #[test]
    fn two_expected_types_are_covered_by_the_narrowest_type() {
        assert_eq!(JsonType::Integer.covering(JsonType::Integer), JsonType::Integer);
        assert_eq!(JsonType::Integer.covering(JsonType::Number), JsonType::Number);
        assert_eq!(JsonType::String.covering(JsonType::Any), JsonType::Any);
        assert_eq!(JsonType::String.covering(JsonType::Integer), JsonType::Any);
    }
}
