//! The observed repository, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    observed::{WithTags, non_empty},
    resource::{RemoteObject, is_generated_name},
    tags,
};
use serde_json::{Value, json};

use crate::ecr::types;

/// The encryption that AWS chooses.
pub(super) const AES: &str = "AES256";
/// The lifecycle policy with which no image expires.
pub(super) const NONE: &str = "{}";

#[aws_observed(from = types::Repository)]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Repository {
    pub(super) repository_name: String,
    pub(super) repository_arn: String,
    pub(super) repository_uri: String,
    pub(super) registry_id: String,
    pub(super) image_tag_mutability: String,
    #[from(sdk.image_scanning_configuration.as_ref().is_some_and(|scanning| scanning.scan_on_push))]
    pub(super) scan_on_push: bool,
    #[from(sdk.encryption_configuration.as_ref().map_or(AES, |one| one.encryption_type.as_str()).to_owned())]
    pub(super) encryption_type: String,
    #[from(sdk.encryption_configuration.as_ref().and_then(|one| non_empty(one.kms_key.as_ref())))]
    pub(super) kms_key: Option<String>,
    /// Read only in deep observations, and therefore not published. None if they were not read.
    #[serde(skip)]
    pub(super) policies: Option<Policies>,
    /// Whether its deletion deletes its images.
    #[serde(skip)]
    pub(super) is_emptied: bool,
    #[from(Tags::new())]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// What two more calls read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Policies {
    /// JSON with sorted keys.
    pub(super) lifecycle_policy: String,
    /// JSON; empty for none.
    pub(super) policy: String,
}

impl Policies {
    /// From AWS's texts; none for no policy.
    pub(super) fn new(lifecycle_policy: Option<&str>, policy: Option<String>) -> Self {
        let lifecycle: Option<BTreeMap<String, Value>> =
            lifecycle_policy.and_then(|text| serde_json::from_str(text).ok());
        Self {
            lifecycle_policy: lifecycle.map_or_else(|| NONE.to_owned(), |policy| json!(policy).to_string()),
            policy: policy.unwrap_or_default(),
        }
    }
}

impl Tagged for Repository {
    fn id(&self) -> &str {
        &self.repository_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a repository of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.repository_name)
    }
}

impl WithTags for Repository {
    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl RemoteObject for Repository {
    fn tagged_as(&self) -> &str {
        &self.repository_arn
    }
}
