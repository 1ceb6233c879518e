//! The type of a value, and the type that its schema has.

use serde_json::Value;

use super::{Schema, Type};

/// The expected and the actual type, if they differ.
pub(super) fn wrong_type(value: &Value, schema: &Schema) -> Option<(&'static str, &'static str)> {
    let wanted = match schema.type_ {
        _ if schema.int_or_string => "integer,string",
        None => return None,
        Some(Type::Object) => "object",
        Some(Type::Array) => "array",
        Some(Type::String) => "string",
        Some(Type::Integer) => "integer",
        Some(Type::Number) => "number",
        Some(Type::Boolean) => "boolean",
    };
    if value.is_null() {
        return (!schema.nullable).then_some((wanted, "null"));
    }
    let got = name_of(value);
    // A format that is checked takes the place of the type.
    if schema.limits.format.as_deref() == Some("date-time")
        && !matches!(value, Value::String(_) | Value::Array(_))
    {
        let got = match got {
            "integer" => "int64",
            "number" => "double",
            _ => "",
        };
        return Some(("date-time", got));
    }
    (!is_of_type(value, schema)).then_some((wanted, got))
}

fn is_of_type(value: &Value, schema: &Schema) -> bool {
    if schema.int_or_string {
        return value.is_string() || is_integer(value);
    }
    match schema.type_ {
        None => true,
        Some(Type::Object) => value.is_object(),
        Some(Type::Array) => value.is_array(),
        Some(Type::String) => value.is_string(),
        Some(Type::Integer) => is_integer(value),
        Some(Type::Number) => value.is_number(),
        Some(Type::Boolean) => value.is_boolean(),
    }
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if value.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
