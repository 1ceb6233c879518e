//! The observed bucket, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    partition,
    resource::{RemoteObject, is_generated_name},
    tags,
};

use super::lifecycle::Rule;

#[aws_observed]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Bucket {
    pub(super) name: String,
    pub(super) bucket_arn: String,
    pub(super) bucket_region: String,
    pub(super) bucket_regional_domain_name: String,
    /// Read only in deep observations, and therefore not published.
    #[serde(skip)]
    pub(super) settings: Option<Settings>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// What takes one call for each attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Settings {
    /// `Disabled` if it was never enabled.
    pub(super) versioning: Option<String>,
    /// Whether all four settings of the public access block are on, or all are off; else none.
    pub(super) blocks_public_access: Option<bool>,
    pub(super) algorithm: Option<String>,
    pub(super) kms_key_id: Option<String>,
    pub(super) bucket_key: Option<bool>,
    pub(super) rules: Vec<Rule>,
    /// JSON; empty for none.
    pub(super) policy: String,
}

impl Bucket {
    pub(super) fn new(name: &str, region: &str, tags: Tags) -> Self {
        let (partition, domain) = partition(region);
        Self {
            name: name.to_owned(),
            bucket_arn: format!("arn:{partition}:s3:::{name}"),
            bucket_region: region.to_owned(),
            bucket_regional_domain_name: format!("{name}.s3.{region}.{domain}"),
            settings: None,
            tags,
        }
    }

    pub(super) fn versioning(&self) -> Option<&String> {
        self.settings.as_ref()?.versioning.as_ref()
    }

    pub(super) fn algorithm(&self) -> Option<&String> {
        self.settings.as_ref()?.algorithm.as_ref()
    }

    pub(super) fn kms_key_id(&self) -> Option<&String> {
        self.settings.as_ref()?.kms_key_id.as_ref()
    }

    pub(super) fn bucket_key(&self) -> Option<&bool> {
        self.settings.as_ref()?.bucket_key.as_ref()
    }
}

impl Tagged for Bucket {
    fn id(&self) -> &str {
        &self.name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a bucket of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.name)
    }
}

impl RemoteObject for Bucket {}
