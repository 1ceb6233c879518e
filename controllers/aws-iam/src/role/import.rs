//! The documents of a role as they are written in a spec. Pure.

use kraken_aws::import::literal;
use serde_json::{Value, json};

use super::{api::RoleSpec, observed::Role};
use crate::document::{imported, imported_trust};

/// The paths of roles that AWS creates and changes.
const OF_AWS: [&str; 2] = ["/aws-service-role/", "/aws-reserved/"];

impl RoleSpec {
    pub(super) fn import_trust_policy(role: &Role) -> Option<Value> {
        imported_trust(&role.trust_policy)
    }

    pub(super) fn import_inline(role: &Role) -> Option<Value> {
        let one = |(name, text): (&String, &String)| {
            Some(json!({"name": literal(name), "document": imported(text)?}))
        };
        let all: Option<Vec<Value>> = role.inline_policies.iter().map(one).collect();
        all.filter(|all| !all.is_empty()).map(Value::from)
    }

    pub(super) fn import_boundary(role: &Role) -> Option<Value> {
        role.permissions_boundary.as_ref().map(literal)
    }
}

/// AWS permits no change of them.
pub(super) fn not_importable(role: &Role) -> Option<String> {
    OF_AWS.iter().any(|path| role.path.starts_with(path)).then(|| "a role of an AWS service".to_owned())
}
