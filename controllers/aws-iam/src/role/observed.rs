//! The observed role, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    resource::{RemoteObject, is_generated_name},
    tags,
};

use crate::{
    document::decoded,
    iam::{self, types},
};

#[aws_observed(from = types::Role)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Role {
    #[from(sdk.arn)]
    pub(crate) arn: String,
    #[from(sdk.role_name)]
    pub(crate) role_name: String,
    #[from(sdk.role_id)]
    pub(crate) role_id: String,
    #[from(sdk.path)]
    pub(crate) path: String,
    #[from(sdk.description.unwrap_or_default())]
    pub(crate) description: String,
    #[from(sdk.max_session_duration)]
    pub(crate) max_session_duration: Option<i32>,
    #[from(boundary(sdk.permissions_boundary))]
    pub(crate) permissions_boundary: Option<String>,
    /// The ARNs. Read by another call.
    #[from(vec![])]
    pub(crate) attached_policies: Vec<String>,
    /// JSON. Not published, like the other documents, because it can contain secrets.
    #[serde(skip)]
    #[from(decoded(sdk.assume_role_policy_document))]
    pub(crate) trust_policy: String,
    /// JSON by name. Read by another call.
    #[serde(skip)]
    pub(crate) inline_policies: BTreeMap<String, String>,
    #[from(iam::tags(sdk.tags))]
    #[serde(serialize_with = "tags::written")]
    pub(crate) tags: Tags,
}

/// The ARN of a permissions boundary.
pub(super) fn boundary(boundary: Option<types::AttachedPermissionsBoundary>) -> Option<String> {
    boundary.and_then(|boundary| boundary.permissions_boundary_arn).filter(|arn| !arn.is_empty())
}

impl Role {
    /// Adds what only an answer with all details contains.
    pub(super) fn with_details(mut self, detail: types::RoleDetail) -> Self {
        self.permissions_boundary = boundary(detail.permissions_boundary);
        self.attached_policies = arns(detail.attached_managed_policies);
        let inline = detail.role_policy_list.unwrap_or_default().into_iter();
        let document =
            |policy: types::PolicyDetail| Some((policy.policy_name?, decoded(policy.policy_document)));
        self.inline_policies = inline.filter_map(document).collect();
        self.tags = iam::tags(detail.tags);
        self
    }
}

/// The ARNs of attached policies, in a fixed order.
pub(super) fn arns(attached: Option<Vec<types::AttachedPolicy>>) -> Vec<String> {
    let attached = attached.unwrap_or_default().into_iter();
    let mut arns: Vec<String> = attached.filter_map(|policy| policy.policy_arn).collect();
    arns.sort();
    arns
}

impl Tagged for Role {
    fn id(&self) -> &str {
        &self.arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a role of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.role_name)
    }
}

impl RemoteObject for Role {
    fn tagged_as(&self) -> &str {
        &self.role_name
    }
}
