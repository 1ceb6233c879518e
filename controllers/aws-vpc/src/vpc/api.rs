//! VPC, the API type.

use kraken_aws::{
    TagOptions,
    bounds::{self, CidrV4, Words, literal},
    tags,
};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus, options::ListOpt};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const CIDR_BLOCK: CidrV4 = CidrV4(16, 28);
pub(super) const TENANCY: Words = Words(&["default", "dedicated"]);

/// A VPC: an isolated virtual network.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "VPC",
    plural = "vpcs",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "A virtual private cloud: a network of its own. Its main id is its VpcId."
)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.enableDNSHostnames) || !has(self.enableDNSHostnames.value) || self.enableDNSHostnames.value == false || !has(self.enableDNSSupport) || !has(self.enableDNSSupport.value) || self.enableDNSSupport.value == true",
    "message": "requires enableDNSSupport: {value: true}, or none",
    "fieldPath": ".enableDNSHostnames",
}]))]
pub(crate) struct VPCSpec {
    /// The primary IPv4 CIDR block, /16 to /28. Immutable; to add addresses, see `secondaryCIDRBlocks`. Example:
    /// `{value: 10.0.0.0/16}`
    #[serde(rename = "cidrBlock")]
    #[schemars(transform = literal(&CIDR_BLOCK))]
    pub(crate) cidr_block: Opt<String>,

    /// Secondary IPv4 CIDR blocks, /16 to /28, at most 50, without overlaps. Added and removed in place. Default: none;
    /// existing blocks are not managed. Example: `{value: [10.1.0.0/16]}`
    #[serde(rename = "secondaryCIDRBlocks", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&CIDR_BLOCK).items(0, 50))]
    pub(crate) secondary_cidr_blocks: Option<ListOpt<String>>,

    /// Whether AWS's DNS server resolves names in this VPC. Changed in place. Default: AWS's default (true); an
    /// existing setting is not managed. Example: `{value: true}`
    #[serde(rename = "enableDNSSupport", skip_serializing_if = "Option::is_none")]
    pub(crate) enable_dns_support: Option<Opt<bool>>,

    /// Whether instances with a public address get a public DNS name. Requires DNS support. Changed in place. Default:
    /// AWS's default (false); an existing setting is not managed. Example: `{value: true}`
    #[serde(rename = "enableDNSHostnames", skip_serializing_if = "Option::is_none")]
    pub(crate) enable_dns_hostnames: Option<Opt<bool>>,

    /// The tenancy of instances: `default` for shared hardware, or `dedicated` at an additional cost. Immutable.
    /// Default: AWS's default (`default`). Example: `{value: default}`
    #[serde(rename = "instanceTenancy", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&TENANCY))]
    pub(crate) instance_tenancy: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters. Each value is a literal or a reference,
    /// but not to a Secret. Tags that are set outside Kraken are not changed. Default: none. Example:
    /// `{Name: main, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    #[schemars(transform = bounds::tags())]
    pub(crate) tags: TagOptions,

    /// How this resource is created, reconciled and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for VPCSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
