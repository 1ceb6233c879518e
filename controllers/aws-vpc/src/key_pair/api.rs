//! KeyPair as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus, options::Public};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key for SSH, of which AWS has the public half.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "KeyPair",
    plural = "keypairs",
    shortname = "kp",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A key for SSH, of which AWS has the public half, for instances to be launched with. Its main id is its KeyName."
)]
pub(crate) struct KeyPairSpec {
    /// The public key in the form of OpenSSH, RSA or Ed25519; this or `generate`. It cannot be changed later. Default: none.
    /// Example: `{value: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBnF ops}`
    #[serde(rename = "publicKey", skip_serializing_if = "Option::is_none")]
    pub(crate) public_key: Option<Opt<String>>,

    /// Make a new Ed25519 key instead of `publicKey`. AWS gets its public half only, and nothing but the Secret holds the
    /// private one. Default: none. Example: `{secretName: ops-key}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generate: Option<Generate>,

    /// The name, of up to 255 characters and once in a region. It cannot be changed later. Default: one that Kraken makes,
    /// so that a key is never imported twice. Example: `{value: ops}`
    #[serde(rename = "keyName", skip_serializing_if = "Option::is_none")]
    pub(crate) key_name: Option<Public<Opt<String>>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a reference,
    /// but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Name: ops, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

/// Where a new key goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Generate {
    /// The Secret for the key, of type `kubernetes.io/ssh-auth`: `ssh-privatekey` and `ssh-publickey`, both in the form of
    /// OpenSSH. It is made if there is none of this name; one that exists is used. It goes with this resource unless
    /// `lifecycle.deletion` is Retain. Example: `ops-key`
    #[serde(rename = "secretName")]
    pub(crate) secret_name: String,
}

impl HasLifecycle for KeyPairSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
