//! ElasticIP as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A public IPv4 address that stays.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ElasticIP",
    plural = "elasticips",
    shortname = "eip",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A public IPv4 address that stays. Its main id is its AllocationId; the address is elasticIP.PublicIp."
)]
pub(crate) struct ElasticIPSpec {
    /// The instance that is reached by it, or `networkInterfaceID`; changed in place. Default: an association that is
    /// there, such as a NAT gateway's, is left alone. Example:
    /// `{valueFrom: {krakenResource: {kind: ec2instance, name: web}}}`
    #[serde(rename = "instanceID", skip_serializing_if = "Option::is_none")]
    pub(crate) instance_id: Option<Opt<String>>,

    /// The network interface that is reached by it, or `instanceID`; changed in place. Default: an association that is
    /// there is left alone. Example: `{value: eni-0abc1234def567890}`
    #[serde(rename = "networkInterfaceID", skip_serializing_if = "Option::is_none")]
    pub(crate) network_interface_id: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a reference,
    /// but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Name: web, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for ElasticIPSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
