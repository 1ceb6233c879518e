//! VPC, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{CidrV4, Words},
};
use kraken_kind::{Opt, options::ListOpt};

pub(crate) const CIDR_BLOCK: CidrV4 = CidrV4(16, 28);
const TENANCY: Words = Words(&["default", "dedicated"]);

/// A VPC: an isolated virtual network.
#[aws_kind(
    kind = "VPC",
    plural = "vpcs",
    doc = "A VPC: an isolated virtual network. Its main id is its VpcId.",
    noun = "VPC",
    state = "vpc",
    tag_name = "main",
    observed = super::observed::Vpc,
    summary("CIDR" = "CidrBlock", "State" = "State"),
    rules = Self::between_fields,
    order = Self::order,
    cel(
        "!has(self.enableDNSHostnames) || !has(self.enableDNSHostnames.value) || self.enableDNSHostnames.value == false || !has(self.enableDNSSupport) || !has(self.enableDNSSupport.value) || self.enableDNSSupport.value == true"
            else "requires enableDNSSupport: {value: true}, or none" at "enableDNSHostnames",
    )
)]
pub(crate) struct VPCSpec {
    /// The primary IPv4 CIDR block, /16 to /28. Immutable; to add addresses, see `secondaryCIDRBlocks`. Example:
    /// `{value: 10.0.0.0/16}`
    #[field("cidrBlock", rule = CIDR_BLOCK, fixed, published("CidrBlock", "CidrBlockAssociationSet"))]
    pub(crate) cidr_block: Opt<String>,

    /// Secondary IPv4 CIDR blocks, /16 to /28, at most 50, without overlaps. Added and removed in place. Default: none;
    /// existing blocks are not managed. Example: `{value: [10.1.0.0/16]}`
    #[field(
        "secondaryCIDRBlocks",
        rule = CIDR_BLOCK,
        items(0, 50),
        add = Associate,
        remove = Disassociate,
        observed = secondary_cidr_blocks(),
        published("CidrBlockAssociationSet")
    )]
    pub(crate) secondary_cidr_blocks: Option<ListOpt<String>>,

    /// Whether AWS's DNS server resolves names in this VPC. Changed in place. Default: AWS's default (true); an
    /// existing setting is not managed. Example: `{value: true}`
    #[field("enableDNSSupport", change = DnsSupport(bool), observed = dns_support, deep, published(), unless = true)]
    pub(crate) enable_dns_support: Option<Opt<bool>>,

    /// Whether instances with a public address get a public DNS name. Requires DNS support. Changed in place. Default:
    /// AWS's default (false); an existing setting is not managed. Example: `{value: true}`
    #[field("enableDNSHostnames", change = DnsHostnames(bool), observed = dns_hostnames, deep, published(), unless = false)]
    pub(crate) enable_dns_hostnames: Option<Opt<bool>>,

    /// The tenancy of instances: `default` for shared hardware, or `dedicated` at an additional cost. Immutable.
    /// Default: AWS's default (`default`). Example: `{value: default}`
    #[field("instanceTenancy", rule = TENANCY, fixed, unless = "default")]
    pub(crate) instance_tenancy: Option<Opt<String>>,
}
