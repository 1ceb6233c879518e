//! The observed key pair, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    ec2::types,
    lookup::Tagged,
    observed::non_empty,
    resource::{RemoteObject, is_generated_name},
    tags,
};

/// Instances refer to it by its name, so its name is its id here; calls for its tags use AWS's `KeyPairId`.
#[aws_observed(from = types::KeyPairInfo)]
pub(crate) struct KeyPair {
    pub(super) key_name: String,
    pub(super) key_pair_id: String,
    pub(super) key_fingerprint: Option<String>,
    pub(super) key_type: Option<String>,
    #[from(non_empty(sdk.public_key))]
    pub(super) public_key: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

impl Tagged for KeyPair {
    fn id(&self) -> &str {
        &self.key_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a key of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.key_name)
    }
}

impl RemoteObject for KeyPair {
    fn tagged_as(&self) -> &str {
        &self.key_pair_id
    }
}
