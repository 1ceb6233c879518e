//! The observed key, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    observed::{WithTags, text},
    resource::{Phase, RemoteObject},
    tags,
};

use crate::kms::types::{self, KeyManagerType, MultiRegionKeyType, OriginType};

/// The type and the use that AWS chooses.
pub(super) const SYMMETRIC: &str = "SYMMETRIC_DEFAULT";
const ENCRYPT_DECRYPT: &str = "ENCRYPT_DECRYPT";

#[aws_observed(from = types::KeyMetadata)]
#[allow(clippy::struct_field_names, clippy::struct_excessive_bools)] // AWS's names, and each is independent of the others
pub(crate) struct Key {
    #[from(sdk.key_id.clone())]
    pub(super) key_id: String,
    pub(super) arn: String,
    pub(super) description: String,
    #[from(text(sdk.key_spec.clone()).unwrap_or_else(|| SYMMETRIC.to_owned()))]
    pub(super) key_spec: String,
    #[from(text(sdk.key_usage.clone()).unwrap_or_else(|| ENCRYPT_DECRYPT.to_owned()))]
    pub(super) key_usage: String,
    pub(super) key_state: String,
    #[from(sdk.enabled)]
    pub(super) enabled: bool,
    #[from(sdk.multi_region.unwrap_or_default())]
    pub(super) multi_region: bool,
    /// Whether it is one of AWS's own, of a service.
    #[serde(skip)]
    #[from(sdk.key_manager == Some(KeyManagerType::Aws))]
    pub(super) is_of_aws: bool,
    /// Whether it is a replica of a key in another region.
    #[serde(skip)]
    #[from(sdk.multi_region_configuration.as_ref().is_some_and(|one| one.multi_region_key_type == Some(MultiRegionKeyType::Replica)))]
    pub(super) is_replica: bool,
    /// Whether AWS made its material, which it can rotate.
    #[serde(skip)]
    #[from(sdk.origin == Some(OriginType::AwsKms))]
    pub(super) is_material_of_kms: bool,
    /// Read only in deep observations, and therefore not published. None if they were not read.
    #[serde(skip)]
    pub(super) settings: Option<Settings>,
    /// For how many days its deletion can be cancelled.
    #[serde(skip)]
    pub(super) deletion_window_days: i32,
    #[from(Tags::new())]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// What two more calls read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Settings {
    /// JSON.
    pub(super) policy: String,
    pub(super) is_rotated: bool,
    /// None if it is not rotated.
    pub(super) rotation_period_days: Option<i32>,
}

impl Key {
    /// Whether a text is an ARN of a key. AWS accepts aliases too.
    pub(super) fn is_arn(text: &str) -> bool {
        text.starts_with("arn:") && text.split(':').nth(2) == Some("kms") && text.contains(":key/")
    }

    /// Whether AWS can rotate it.
    pub(super) fn can_rotate(&self) -> bool {
        self.key_spec == SYMMETRIC && self.is_material_of_kms
    }
}

impl Tagged for Key {
    fn id(&self) -> &str {
        &self.arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl WithTags for Key {
    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl RemoteObject for Key {
    /// A key whose deletion is scheduled encrypts and decrypts nothing, and nobody can change it.
    fn phase(&self) -> Phase {
        match self.key_state.as_str() {
            "PendingDeletion" | "PendingReplicaDeletion" => Phase::Deleted,
            "Creating" | "Updating" => Phase::Pending(self.key_state.clone()),
            _ => Phase::Available,
        }
    }
}
