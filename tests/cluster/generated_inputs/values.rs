//! Values of a type: sources of options, distinct items, and the smallest value of a schema.

use serde_json::{Value, json};

/// A text with a letter that is composed, an emoji, a zero-width space and a mark that reverses the direction.
pub(super) const ODD: &str = "e\u{301}\u{1f4a9}\u{200b}\u{202e}";

/// A valid source of each type.
pub(super) fn source(name: &str) -> Value {
    match name {
        "configMap" | "secret" => json!({"name": "sizes", "key": "small"}),
        "krakenResource" => json!({"kind": "VPC", "name": "main", "path": "vpc.VpcId"}),
        "ref" => json!("VPC/main/vpc.VpcId"),
        _ => json!("{{ .ConfigMap.sizes.small }}"),
    }
}

/// An item like the first, with other text.
pub(super) fn distinct(first: &Value, n: u64) -> Value {
    match first {
        Value::String(text) => format!("{text}{n}").into(),
        Value::Object(fields) => {
            let mut fields = fields.clone();
            for name in ["key", "name"] {
                if let Some(Value::String(text)) = fields.get_mut(name) {
                    *text = format!("{text}{n}");
                }
            }
            fields.into()
        }
        other => other.clone(),
    }
}

/// The smallest value of the type of a schema.
pub(super) fn minimal(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => json!({}),
        Some("array") => json!([]),
        Some("integer") => json!(1),
        _ => json!("a"),
    }
}
