//! The name of a Secret in a plain field, which is not an option.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::schema::NAME_PATTERN;

/// The name of a Secret in the namespace of the resource that names it.
///
/// The schema of its CRD has the title `SecretName`, by which the generator of the admission policies finds the fields whose
/// author must be allowed to `get` the Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretName(String);

impl From<&str> for SecretName {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for SecretName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SecretName".into()
    }

    // A title, because a CRD cannot contain an extension of Kraken's own.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "SecretName", "type": "string", "minLength": 1, "maxLength": 253, "pattern": NAME_PATTERN,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_name_is_written_as_text_and_marked_in_the_schema() {
        let name: SecretName = serde_json::from_value(json!("ops-key")).unwrap();
        assert_eq!((serde_json::to_value(&name).unwrap(), name), (json!("ops-key"), "ops-key".into()));
        let schema = SecretName::json_schema(&mut SchemaGenerator::default()).to_value();
        assert_eq!((&schema["title"], &schema["type"]), (&json!("SecretName"), &json!("string")));
    }
}
