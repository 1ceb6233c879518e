//! The observed log group, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    observed::WithTags,
    resource::{RemoteObject, is_generated_name},
    tags,
};

use crate::logs::types;

/// The class that AWS chooses.
pub(super) const STANDARD: &str = "STANDARD";

#[aws_observed(from = types::LogGroup)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct LogGroup {
    pub(super) log_group_name: String,
    pub(super) log_group_arn: String,
    #[from(sdk.log_group_class.as_ref().map_or(STANDARD, |class| class.as_str()).to_owned())]
    pub(super) log_group_class: String,
    /// 0 for ever.
    #[from(sdk.retention_in_days.unwrap_or_default())]
    pub(super) retention_in_days: i32,
    /// Empty for none.
    pub(super) kms_key_id: String,
    #[from(Tags::new())]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

impl LogGroup {
    #[allow(clippy::unnecessary_wraps)] // the form of an observed value
    pub(super) fn retention(&self) -> Option<&i32> {
        Some(&self.retention_in_days)
    }

    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn key(&self) -> Option<&String> {
        Some(&self.kms_key_id)
    }
}

impl Tagged for LogGroup {
    fn id(&self) -> &str {
        &self.log_group_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a log group of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.log_group_name)
    }
}

impl WithTags for LogGroup {
    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl RemoteObject for LogGroup {
    fn tagged_as(&self) -> &str {
        &self.log_group_arn
    }
}
