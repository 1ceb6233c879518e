//! VPC as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{HasLifecycle, Lifecycle, Opt, ResourceStatus, options::ListOpt};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network of its own.
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
pub(crate) struct VPCSpec {
    /// The IPv4 addresses, a block of /16 to /28. It cannot be changed later; see `secondaryCIDRBlocks`. Example:
    /// `{value: 10.0.0.0/16}`
    #[serde(rename = "cidrBlock")]
    pub(crate) cidr_block: Opt<String>,

    /// More IPv4 blocks of /16 to /28, up to 50 of them, none of which overlaps; added and removed in place. Default:
    /// AWS's (none), and what is there is left alone. Example: `{value: [10.1.0.0/16]}`
    #[serde(rename = "secondaryCIDRBlocks", skip_serializing_if = "Option::is_none")]
    pub(crate) secondary_cidr_blocks: Option<ListOpt<String>>,

    /// Whether AWS's DNS server answers in this VPC; changed in place. Default: AWS's (true), and what is there is left
    /// alone. Example: `{value: true}`
    #[serde(rename = "enableDNSSupport", skip_serializing_if = "Option::is_none")]
    pub(crate) enable_dns_support: Option<Opt<bool>>,

    /// Whether instances with a public address get a public DNS name, which needs DNS support; changed in place.
    /// Default: AWS's (false), and what is there is left alone. Example: `{value: true}`
    #[serde(rename = "enableDNSHostnames", skip_serializing_if = "Option::is_none")]
    pub(crate) enable_dns_hostnames: Option<Opt<bool>>,

    /// Whether instances run on hardware of their own: `default` or `dedicated`, at a price. It cannot be changed later.
    /// Default: AWS's (`default`). Example: `{value: default}`
    #[serde(rename = "instanceTenancy", skip_serializing_if = "Option::is_none")]
    pub(crate) instance_tenancy: Option<Opt<String>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a reference,
    /// but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Name: main, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for VPCSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
