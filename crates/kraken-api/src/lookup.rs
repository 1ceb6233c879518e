//! Look-ups: resources that find objects which Kraken does not manage, and publish them. What is in their spec and status alone.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::Lifecycle;

/// The members of `lifecycle` that a look-up has: it creates, changes and deletes nothing.
const LIFECYCLE: [&str; 4] = ["resyncInterval", "paused", "dependsOn", "share"];

/// Whether a look-up has this member of `lifecycle`.
pub(crate) fn applies(member: &str) -> bool {
    LIFECYCLE.contains(&member)
}

/// The schema of `spec.lifecycle` of a look-up.
pub fn lifecycle(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Lifecycle::json_schema(generator);
    if let Some(members) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
        members.retain(|name, _| applies(name));
    }
    schema
}

/// For `skip_serializing_if`: then the schema has no default, which would contain members that a look-up does not have.
pub fn is_default(lifecycle: &Lifecycle) -> bool {
    *lifecycle == Lifecycle::default()
}

/// What a look-up publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The provider's ids of the objects, the main id first. Example: `["ami-0abc1234def567890"]`.
    pub ids: Vec<String>,
    /// The same of a newer answer that is not published, because `spec.pin` is `true` and its plan is not approved. Empty if there is
    /// none. Example: `["ami-0def1234abc567890"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newer: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lifecycle_of_a_lookup_has_only_what_applies_to_it() {
        let schema = lifecycle(&mut SchemaGenerator::default());
        let members = schema.as_value()["properties"].as_object().unwrap();
        // Each of them exists under this name.
        assert_eq!(members.len(), LIFECYCLE.len(), "{members:?}");
    }
}
