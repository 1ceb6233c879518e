//! The status that every spoke kind shares.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the controller last saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// `Ready`, `Synced` and `DependenciesResolved`; and, only while they are true, `Reconciling`, `Stalled` and `Drifted`.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::conditions_schema")]
    pub conditions: Vec<Condition>,

    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The cloud's own ids of what this resource manages, the main one first. Example: `["i-0abc1234def567890"]`.
    // Not "externalIDs": kubectl describe takes that apart as "External I Ds".
    #[serde(default, rename = "externalIds", skip_serializing_if = "Vec::is_empty")]
    pub external_ids: Vec<String>,

    /// The account and region that the remote objects are in, recorded with the first creation. A controller that works in
    /// another one creates, changes and deletes nothing. Example: `{account: "123456789012", region: eu-west-1}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,

    /// Those of `externalIds` that existed before this resource and were adopted: by default they are left behind when
    /// the resource is deleted. Example: `["i-0abc1234def567890"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<String>,

    /// A few public values of what there is, for the columns of `kubectl get`. Example: `{cidr: 10.0.0.0/16}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summary: BTreeMap<String, String>,

    /// How many there are, of a kind that scales: what `kubectl scale` and autoscalers read. Example: `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// The launch that these ids come from: a higher number than the last one means that a launch is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<i64>,

    /// The launch from which on remote objects count: what earlier launches created is replaced by it and is deleted.
    /// Absent if nothing was ever replaced. Example: `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_before: Option<i64>,

    /// What was last in place. An outage does not change it: a difference from it is drift, anything else an edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,

    /// The values that were applied when the remote object was created and that the provider does not show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_creation: Option<AtCreation>,

    /// How the infrastructure differs from the spec, if it does and is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<FieldDiff>,

    /// The plan that was carried out last, by its hash: an approval of it is used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_plan: Option<String>,

    /// What is to be done and waits for approval, or is being done after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

/// Where remote objects are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The provider's account. Example: `123456789012`.
    #[schemars(length(max = 256))]
    pub account: String,
    /// The provider's region. Example: `eu-west-1`.
    #[schemars(length(max = 256))]
    pub region: String,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "account {}, region {}", self.account, self.region)
    }
}

/// The spec and the inputs that were last in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InPlace {
    /// The generation of the resource that was in place. Example: `3`.
    pub generation: i64,
    /// A digest of the spec without the part of `lifecycle` that orders no change, 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spec: String,
    /// A digest of the values of all references, 32 hexadecimal digits: of a Secret it covers the version only. Empty if
    /// there are no references.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
}

/// The values of fields that are applied at creation only, as digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AtCreation {
    /// The external id of the remote object that was created with them. Example: `i-0abc1234def567890`.
    pub id: String,
    /// A digest of each field's value, by the field's path, 16 hexadecimal digits.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

/// What would be done, for a person to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The value that the annotation `kraken-iac.eoinfennessy.com/approved-plan` has to carry for this to be done.
    pub hash: String,
    /// What is done: `Create`, `Change`, `Replace`, `Adopt` or `Delete`.
    pub action: PlanAction,
    /// What is created, adopted or deleted, in words. Example: `1 instance of 1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// Each field that changes, with its new value (`want`) and its old one (`have`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldDiff>,
    /// Why an approval that was given does not count, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// A digest of everything that is wanted: the steps of an approved plan go on only while it is the same.
    pub target: String,
}

/// What a plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlanAction {
    /// Creates what is missing.
    Create,
    /// Changes fields in place.
    Change,
    /// Deletes what is there and creates it anew, because a field cannot be changed.
    Replace,
    /// Takes over what exists already, and changes fields in place.
    Adopt,
    /// Deletes what is there.
    Delete,
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
