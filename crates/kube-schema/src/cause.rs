//! The causes of an error: invalid fields, with the texts of kube-apiserver.

use serde_json::Value;

pub use crate::go::quoted;

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid` and the like.
    pub reason: &'static str,
    /// Without the path.
    pub message: String,
    /// The path.
    pub field: String,
}

impl Cause {
    /// A value that is not as it must be.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let message = format!("Invalid value: {}: {detail}", shown(value));
        Self { reason: "FieldValueInvalid", message, field: field.into() }
    }

    /// A field that must be there.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        let message = format!("Required value{colon}{detail}");
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    /// A field that must not be there or must not change.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {detail}"), field: field.into() }
    }

    /// A field that cannot be changed.
    pub fn immutable(field: impl Into<String>, value: &Value) -> Self {
        Self::invalid(field, value, "field is immutable")
    }

    /// Blocks the evaluation of CEL rules.
    pub fn blocks_rules(&self) -> bool {
        matches!(
            self.reason,
            "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
                | "FieldValueNotSupported"
        )
    }
}

/// A value as it is printed in an error.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if number.is_f64() => crate::go::plain(value),
        other => other.to_string(),
    }
}
