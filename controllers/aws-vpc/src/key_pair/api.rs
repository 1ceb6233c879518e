//! KeyPair as users write it.

use kraken_aws::Tags;
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The public half of a key for SSH.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "KeyPair",
    plural = "keypairs",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "The public half of a key for SSH, for instances to be launched with. Its main id is its KeyName."
)]
pub(crate) struct KeyPairSpec {
    /// The public key in the form of OpenSSH, RSA or Ed25519. It cannot be changed later. Example:
    /// `{value: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBnF ops}`
    #[serde(rename = "publicKey")]
    pub(crate) public_key: Opt<String>,

    /// The name, of up to 255 characters and once in a region. It cannot be changed later. Default: one that Kraken makes,
    /// so that a key is never imported twice. Example: `{value: ops}`
    #[serde(rename = "keyName", skip_serializing_if = "Option::is_none")]
    pub(crate) key_name: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Tags that others set are left alone.
    /// Default: none. Example: `{Name: ops, Team: shop}`
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub(crate) tags: Tags,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for KeyPairSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
