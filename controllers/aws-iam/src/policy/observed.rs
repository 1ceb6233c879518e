//! The observed policy, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    resource::{RemoteObject, is_generated_name},
    tags,
};

use crate::{
    document::decoded,
    iam::{self, types},
    named::name_of,
};

#[aws_observed(from = types::Policy)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Policy {
    pub(crate) arn: String,
    pub(crate) policy_name: String,
    pub(crate) policy_id: String,
    pub(crate) path: String,
    pub(crate) description: String,
    pub(crate) default_version_id: String,
    /// The JSON of the default version, which another call reads. Not published, because it can contain secrets.
    #[serde(skip)]
    pub(crate) document: String,
    #[from(iam::tags(sdk.tags))]
    #[serde(serialize_with = "tags::written")]
    pub(crate) tags: Tags,
}

/// From an answer with all details, which has documents and no tags.
impl From<types::ManagedPolicyDetail> for Policy {
    fn from(sdk: types::ManagedPolicyDetail) -> Self {
        let versions = sdk.policy_version_list.unwrap_or_default().into_iter();
        let default =
            versions.filter(|version| version.is_default_version).find_map(|version| version.document);
        let arn = sdk.arn.unwrap_or_default();
        Self {
            // The name is the end of the ARN.
            policy_name: name_of(&arn).to_owned(),
            arn,
            policy_id: sdk.policy_id.unwrap_or_default(),
            path: sdk.path.unwrap_or_default(),
            description: sdk.description.unwrap_or_default(),
            default_version_id: sdk.default_version_id.unwrap_or_default(),
            document: decoded(default),
            tags: Tags::new(),
        }
    }
}

impl Tagged for Policy {
    fn id(&self) -> &str {
        &self.arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a policy of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.policy_name)
    }
}

impl RemoteObject for Policy {}
