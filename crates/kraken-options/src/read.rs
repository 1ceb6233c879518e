//! Parsing values of a type: from text of a ConfigMap, a Secret or a template, and from JSON of another resource.

use serde_json::Value;

use crate::bounds::is_shallow;
use crate::json_type::{JsonType, as_integer};
use crate::types::OptionType;

/// Why a value cannot be parsed to the type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Text that is not of the type.
    NotA(JsonType),
    /// An integer that does not fit.
    OutOfRange(i128, i128),
    /// JSON of another type.
    Mismatch(JsonType, JsonType),
    /// The correct JSON type with invalid content. The detail may quote values.
    Content(JsonType, String),
    /// JSON that is nested too deeply.
    TooDeep,
}

impl Unreadable {
    /// The message about the value. Only the message of a public value contains a detail that may quote it.
    pub(crate) fn describe(&self, public: bool) -> String {
        match self {
            Self::NotA(JsonType::Array) => r#"is not a JSON list such as ["a", "b"]"#.to_owned(),
            Self::NotA(JsonType::Object) => r#"is not a JSON object such as {"a": "b"}"#.to_owned(),
            Self::NotA(wanted) => format!("is not {}", phrase(*wanted)),
            Self::OutOfRange(low, high) => format!("is out of range: {low} to {high}"),
            Self::Mismatch(wanted, found) => format!("expected {wanted}, found {found}"),
            Self::Content(_, detail) if public => format!("is invalid: {detail}"),
            Self::Content(wanted, _) => format!("is {}, but its content is invalid", phrase(*wanted)),
            Self::TooDeep => "is nested too deeply".to_owned(),
        }
    }
}

fn phrase(wanted: JsonType) -> &'static str {
    match wanted {
        JsonType::String => "a string",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::Boolean => "a boolean (true or false)",
        JsonType::Array => "a JSON list",
        JsonType::Object => "a JSON object",
        JsonType::Any => "a value",
    }
}

/// Parses text: a string is returned unchanged, integers, numbers and booleans strictly except for surrounding white
/// space, all other types as JSON. If the type is `any`, text that is not JSON is a string.
pub(crate) fn text<T: OptionType>(text: &str) -> Result<T, Unreadable> {
    let trimmed = text.trim();
    let json = || serde_json::from_str::<Value>(trimmed).ok();
    let value = match T::TYPE {
        _ if T::VERBATIM => Value::from(text),
        JsonType::String => Value::from(text),
        JsonType::Any => json().unwrap_or_else(|| Value::from(text)),
        JsonType::Integer => integer(trimmed, T::RANGE)?,
        wanted => json().filter(|value| wanted.accepts(value)).ok_or(Unreadable::NotA(wanted))?,
    };
    content(value)
}

/// Reads JSON from another resource, which must have the type of the field.
pub(crate) fn json<T: OptionType>(value: &Value) -> Result<T, Unreadable> {
    if !T::TYPE.accepts(value) {
        return Err(Unreadable::Mismatch(T::TYPE, JsonType::of(value)));
    }
    if !is_shallow(value) {
        return Err(Unreadable::TooDeep);
    }
    content(value.clone())
}

fn integer(text: &str, range: Option<(i128, i128)>) -> Result<Value, Unreadable> {
    let not_an_integer = Unreadable::NotA(JsonType::Integer);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let leading_zero = digits.len() > 1 && digits.starts_with('0');
    if digits.is_empty() || leading_zero || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(not_an_integer);
    }
    let (low, high) = range.unwrap_or((i64::MIN.into(), u64::MAX.into()));
    // A value that exceeds the widest type is out of range for every type.
    let integer = text.parse::<i128>().map_err(|_| Unreadable::OutOfRange(low, high))?;
    let value = i64::try_from(integer).map(Value::from).or_else(|_| u64::try_from(integer).map(Value::from));
    value.map_err(|_| Unreadable::OutOfRange(low, high))
}

fn content<T: OptionType>(value: Value) -> Result<T, Unreadable> {
    if let (Some((low, high)), Some(integer)) = (T::RANGE, as_integer(&value))
        && !(low..=high).contains(&integer)
    {
        return Err(Unreadable::OutOfRange(low, high));
    }
    let whole = has_whole_float(&value).then(|| with_integers(value.clone()));
    serde_json::from_value(value).or_else(|error| match whole {
        // Some JSON serializers write integers as 3.0; serde parses only 3.
        Some(whole) => serde_json::from_value(whole).map_err(|_| type_mismatch::<T>(&error)),
        None => Err(type_mismatch::<T>(&error)),
    })
}

fn type_mismatch<T: OptionType>(error: &serde_json::Error) -> Unreadable {
    Unreadable::Content(T::TYPE, error.to_string())
}

// These recurse: `content` receives only shallow values.
fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && as_integer(value).is_some(),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(members) => members.values().any(has_whole_float),
        _ => false,
    }
}

fn with_integers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let value = Value::Number(number);
            match as_integer(&value).and_then(|integer| i64::try_from(integer).ok()) {
                Some(integer) => integer.into(),
                None => value,
            }
        }
        Value::Array(items) => items.into_iter().map(with_integers).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, member)| (key, with_integers(member))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Text;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn reads<T: OptionType>(written: &str, expected: &T) {
        assert_eq!(text::<T>(written).as_ref(), Ok(expected), "{written}");
    }

    fn not_a<T: OptionType>(written: &str) {
        assert_eq!(text::<T>(written), Err(Unreadable::NotA(T::TYPE)), "{written}");
    }

    #[test]
    fn text_of_a_string_is_unchanged() {
        for written in ["", " a\n", "3", "{\"a\": 1}"] {
            reads(written, &written.to_owned());
            reads(written, &Text(written.to_owned()));
        }
    }

    #[test]
    fn integers_are_read_strictly_but_for_white_space() {
        reads("3\n", &3_i64);
        reads(" -3 ", &-3_i32);
        reads("-0", &0_i64);
        for written in
            ["", " ", "abc", "3.0", "1e3", "+3", "007", "-", "--3", "3 4", "0x1", "٣", "true", "\"3\""]
        {
            not_a::<i64>(written);
        }
    }

    #[test]
    fn an_integer_out_of_range_is_reported_with_the_range() {
        let range = |low: i128, high: i128| Unreadable::OutOfRange(low, high);
        assert_eq!(text::<u16>("65536"), Err(range(0, 65535)));
        assert_eq!(text::<u32>("-1"), Err(range(0, u32::MAX.into())));
        assert_eq!(text::<i64>("9223372036854775808"), Err(range(i64::MIN.into(), i64::MAX.into())));
        assert_eq!(text::<i32>(&"9".repeat(1000)), Err(range(i32::MIN.into(), i32::MAX.into())));
        assert_eq!(json::<i32>(&json!(3_000_000_000_u64)), Err(range(i32::MIN.into(), i32::MAX.into())));
        assert_eq!(
            text::<i32>("2147483648").unwrap_err().describe(true),
            "is out of range: -2147483648 to 2147483647"
        );
    }

    #[test]
    fn numbers_and_booleans_are_read_as_json_writes_them() {
        reads(" 3.5e2\n", &350.0_f64);
        reads("3", &3.0_f64);
        reads("true\n", &true);
        for written in ["", "NaN", "inf", "1e999", "true", "0x1", ".5"] {
            not_a::<f64>(written);
        }
        for written in ["", "True", "yes", "1", "\"true\""] {
            not_a::<bool>(written);
        }
    }

    #[test]
    fn lists_and_maps_are_read_from_json() {
        reads("[\"a\", \"b\"]\n", &vec!["a".to_owned(), "b".to_owned()]);
        reads("{\"a\": 1}", &BTreeMap::from([("a".to_owned(), 1_i64)]));
        for written in ["", "a,b", "[", "{}", "\"a\"", &"[".repeat(100_000)] {
            not_a::<Vec<String>>(written);
        }
        not_a::<BTreeMap<String, String>>("[]");
    }

    #[test]
    fn any_text_is_json_if_it_parses_and_a_string_otherwise() {
        reads("{\"a\": [1]}", &json!({"a": [1]}));
        reads(" 3\n", &json!(3));
        reads("three\n", &json!("three\n"));
        reads("", &json!(""));
    }

    #[test]
    fn invalid_content_is_quoted_only_for_public_values() {
        let wrong = text::<Vec<i64>>("[\"hunter2\"]").unwrap_err();
        assert!(wrong.describe(true).contains("invalid type: string \"hunter2\""));
        assert_eq!(wrong.describe(false), "is a JSON list, but its content is invalid");
    }

    #[test]
    fn text_that_is_no_list_is_reported_with_an_example() {
        let describe = |error: Unreadable| error.describe(true);
        assert_eq!(
            describe(text::<Vec<String>>("a,b").unwrap_err()),
            r#"is not a JSON list such as ["a", "b"]"#
        );
        let map = text::<BTreeMap<String, String>>("a=b").unwrap_err();
        assert_eq!(describe(map), r#"is not a JSON object such as {"a": "b"}"#);
    }

    #[test]
    fn json_must_have_the_type_of_the_field() {
        assert_eq!(json::<i64>(&json!("3")), Err(Unreadable::Mismatch(JsonType::Integer, JsonType::String)));
        assert_eq!(json::<i64>(&json!("3")).unwrap_err().describe(true), "expected integer, found string");
        assert_eq!(json::<String>(&json!(3)), Err(Unreadable::Mismatch(JsonType::String, JsonType::Integer)));
        assert_eq!(json::<i64>(&json!(3.5)), Err(Unreadable::Mismatch(JsonType::Integer, JsonType::Number)));
        assert_eq!(json::<String>(&json!("3")), Ok("3".to_owned()));
    }

    #[test]
    fn whole_floats_are_integers_at_every_level() {
        assert_eq!(json::<i64>(&json!(3.0)), Ok(3));
        assert_eq!(json::<Vec<i64>>(&json!([1.0, 2])), Ok(vec![1, 2]));
        assert_eq!(json::<f64>(&json!(3)), Ok(3.0));
        assert_eq!(json::<Value>(&json!(3.0)), Ok(json!(3.0)));
        assert!(json::<Vec<i64>>(&json!([1.5])).is_err());
    }

    #[test]
    fn json_that_is_nested_too_deeply_is_rejected() {
        let deep = (0..1000).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(json::<Value>(&deep), Err(Unreadable::TooDeep));
    }
}
