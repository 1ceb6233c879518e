//! The status that every spoke kind shares.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the controller last saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// `Ready`, `Synced` and `DependenciesResolved`.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::conditions_schema")]
    pub conditions: Vec<Condition>,

    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The cloud's own ids of what this resource manages, the main one first. Example: `["i-0abc1234def567890"]`.
    #[serde(default, rename = "externalIDs", skip_serializing_if = "Vec::is_empty")]
    pub external_ids: Vec<String>,

    /// The launch that these ids come from: a higher number than the last one means that a launch is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<i64>,

    /// The version of the referenced values that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_inputs: Option<String>,

    /// How the infrastructure differs from the spec, if it does and is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<FieldDiff>,
}

/// One field that is not as wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldDiff {
    /// The field's path under `spec`. Example: `tags.Team`.
    pub path: String,
    /// The value this resource asks for; `***` if it comes from a Secret.
    pub want: String,
    /// The value the cloud has.
    pub have: String,
    /// When the difference was first seen, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl FieldDiff {
    /// A difference not yet dated.
    pub fn new(path: impl Into<String>, want: impl Into<String>, have: impl Into<String>) -> Self {
        Self { path: path.into(), want: want.into(), have: have.into(), since: None }
    }
}
