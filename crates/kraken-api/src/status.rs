//! The status of all kinds of spokes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ledger::Ledger, location::Location, lookup::Answer};

/// The last observed state and the result of the last reconcile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// The conditions `Ready`, `Synced` and `DependenciesResolved`, and, only while they are true, `Reconciling`,
    /// `Stalled` and `Drifted`.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::conditions_schema")]
    pub conditions: Vec<Condition>,

    /// The generation of the spec that this status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The provider's ids of the remote objects, the main id first. An edit has no effect. Example:
    /// `["i-0abc1234def567890"]`.
    // Not "externalIDs", which kubectl describe displays as "External I Ds".
    #[serde(default, rename = "externalIds", skip_serializing_if = "Vec::is_empty")]
    pub external_ids: Vec<String>,

    /// The account and region of the remote objects, recorded with the first creation. A controller that works in another
    /// location creates, changes and deletes nothing. Example: `{account: "123456789012", region: eu-west-1}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,

    /// The ids in `externalIds` of remote objects that were adopted. By default they are retained when the resource is
    /// deleted. Example: `["i-0abc1234def567890"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<String>,

    /// Public values of the observed state, for the columns of `kubectl get`. Example: `{cidr: 10.0.0.0/16}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summary: BTreeMap<String, String>,

    /// The number of remote objects of a scalable kind, for `kubectl scale` and autoscalers. Example: `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// What was launched, adopted and replaced for the resource. The controller writes it before it acts, and it is the only record that
    /// it reads after a restart: it must not be edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,

    /// What a look-up found and publishes. Absent for every other kind. Example: `{ids: [ami-0abc1234def567890]}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,

    /// The state that was last in place. An outage does not change it. A difference from it is drift, any other
    /// difference an edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,

    /// The values that were applied when the remote object was created and that the provider does not return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_creation: Option<AtCreation>,

    /// The fields of the spec whose value at the provider came from a Secret. Their values are not shown anywhere, even
    /// after an edit to a literal, until that edit is in place. Empty if there are none. Example: `[description]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_fields: Vec<String>,

    /// The drift that is not reverted, because `lifecycle.drift` is `Report`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<FieldDiff>,

    /// The hash of the plan that was carried out last. An approval of it is not valid any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_plan: Option<String>,

    /// The plan that awaits approval, or that is being carried out after its approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

impl ResourceStatus {
    /// The status of the resource with this UID. What was restored from a backup of another one, such as a former one of its name, is no
    /// record of this one: of that, only the ledger is kept, which names its resource, and the fields whose values must not be shown.
    #[must_use]
    pub fn of(self, uid: Option<&str>) -> Self {
        let is_own = self.ledger.as_ref().is_none_or(|ledger| Some(&*ledger.uid) == uid);
        if is_own {
            return self;
        }
        Self { ledger: self.ledger, secret_fields: self.secret_fields, ..Self::default() }
    }
}

/// The spec and the inputs that were last in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InPlace {
    /// The generation of the resource that was in place. Example: `3`.
    pub generation: i64,
    /// A digest of the spec without the fields of `lifecycle` that do not affect the desired state, 32 hexadecimal
    /// digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spec: String,
    /// A digest of the values of all references and of the default tags of the account, 32 hexadecimal digits. For a
    /// Secret it covers the version only. Empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    /// A digest of the values of references to other resources, 16 hexadecimal digits: before a resource that is replaced
    /// with `CreateFirst` deletes its former object, it reads here whether its successor is in use. Empty if there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub references: String,
    /// The same with the hub's keyed digest of each Secret's value instead of its version, 32 hexadecimal digits. A difference is an
    /// edit only if both digests changed. Empty if no value comes from a Secret, or the hub gave no digest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
}

/// Digests of the values of fields that are applied at creation only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AtCreation {
    /// The external id of the remote object that was created with them. Example: `i-0abc1234def567890`.
    pub id: String,
    /// A digest of each field's value, by the field's path, 16 hexadecimal digits.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

/// The actions that require approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The hash of the plan. To approve the plan, set the annotation `kraken-iac.eoinfennessy.com/approved-plan` to
    /// this value.
    pub hash: String,
    /// The action: `Create`, `Change`, `Replace`, `Adopt`, `Delete` or `Publish`.
    pub action: PlanAction,
    /// A summary of the objects that are created, adopted or deleted. Example: `1 instance of 1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// The fields that change, each with its new value (`want`) and its old value (`have`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldDiff>,
    /// The reason why an existing approval is stale, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// A digest of the desired end state. The steps of an approved plan continue only while it is unchanged.
    pub target: String,
}

impl Plan {
    /// What the summary of an adoption says after the id if the object stays as it is.
    pub const WITHOUT_CHANGES: &str = " without changes";

    /// Whether it adopts an object that stays as it is. What cannot change in place is only in the summary, and not among the fields.
    pub fn is_adoption_without_changes(&self) -> bool {
        self.action == PlanAction::Adopt
            && self.changes.is_empty()
            && self.what.ends_with(Self::WITHOUT_CHANGES)
    }
}

/// The action of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlanAction {
    /// Creates missing objects.
    Create,
    /// Changes fields in place.
    Change,
    /// Deletes an object and creates a new one, because a field cannot be changed in place.
    Replace,
    /// Adopts an existing object, and changes fields in place.
    Adopt,
    /// Deletes the objects.
    Delete,
    /// Publishes the newer answer of a look-up, which its dependents then use.
    Publish,
}

/// What stands for a missing value in differences.
pub const ABSENT: &str = "(absent)";

/// The path of a tag: `tags.Team`, or `tags["cost.center"]` for a key that a dotted path cannot contain.
pub fn tag_path(key: &str) -> String {
    let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(simple) { format!("tags.{key}") } else { format!("tags[{key:?}]") }
}

/// A field whose observed value differs from the desired value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldDiff {
    /// The field's path under `spec`. Example: `tags.Team`.
    pub path: String,
    /// The desired value; `***` if it comes from a Secret.
    pub want: String,
    /// The observed value; `***` if the desired value comes from a Secret.
    pub have: String,
    /// The time when the difference was first observed, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl FieldDiff {
    /// A difference without a time.
    pub fn new(path: impl Into<String>, want: impl Into<String>, have: impl Into<String>) -> Self {
        Self { path: path.into(), want: want.into(), have: have.into(), since: None }
    }
}
