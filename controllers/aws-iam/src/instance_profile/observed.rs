//! The observed instance profile, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    items::sorted,
    lookup::Tagged,
    resource::{RemoteObject, is_generated_name},
    tags,
};

use crate::iam::{self, types};

#[aws_observed(from = types::InstanceProfile)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct InstanceProfile {
    #[from(sdk.arn)]
    pub(crate) arn: String,
    #[from(sdk.instance_profile_name)]
    pub(crate) instance_profile_name: String,
    #[from(sdk.instance_profile_id)]
    pub(crate) instance_profile_id: String,
    #[from(sdk.path)]
    pub(crate) path: String,
    #[from(sorted(Some(sdk.roles)))]
    pub(crate) roles: Vec<RoleIn>,
    #[from(iam::tags(sdk.tags))]
    #[serde(serialize_with = "tags::written")]
    pub(crate) tags: Tags,
}

#[aws_observed(from = types::Role)]
pub(crate) struct RoleIn {
    #[from(sdk.arn)]
    pub(crate) arn: String,
    #[from(sdk.role_name)]
    pub(crate) role_name: String,
}

impl Tagged for InstanceProfile {
    fn id(&self) -> &str {
        &self.arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a profile of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.instance_profile_name)
    }
}

impl RemoteObject for InstanceProfile {
    fn tagged_as(&self) -> &str {
        &self.instance_profile_name
    }
}
