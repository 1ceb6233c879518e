//! Where remote objects are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The location of remote objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The account at the provider, or the options of its configuration that say where its objects are. Example: `123456789012`.
    #[schemars(length(max = 256))]
    pub account: String,
    /// The region of the provider; empty if it has none. Example: `eu-west-1`.
    #[schemars(length(max = 256))]
    pub region: String,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.region.is_empty() {
            return f.write_str(&self.account); // a provider without regions says what it is
        }
        write!(f, "account {}, region {}", self.account, self.region)
    }
}
