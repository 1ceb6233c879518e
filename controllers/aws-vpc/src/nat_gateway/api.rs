//! NATGateway, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{Id, SUBNET_ID, Words},
};
use kraken_kind::Opt;

const ALLOCATION_ID: Id = Id("eipalloc-");
const CONNECTIVITY_TYPE: Words = Words(&["public", "private"]);

/// A NAT gateway, which connects private subnets to other networks.
#[aws_kind(
    kind = "NATGateway",
    plural = "natgateways",
    shortname = "nat",
    doc = "A NAT gateway, which connects private subnets to other networks without accepting inbound connections. Its main id is its NatGatewayId.",
    noun = "NAT gateway",
    state = "natGateway",
    tag_name = "a",
    observed = super::observed::NatGateway,
    summary("Public IP" = "NatGatewayAddresses.0.PublicIp", "Subnet" = "SubnetId", "State" = "State"),
    drift("state"),
    rules = Self::between_fields,
    cel(
        "has(self.allocationID) || (has(self.connectivityType) && (!has(self.connectivityType.value) || self.connectivityType.value != 'public'))"
            else "is required for a public gateway" at "allocationID",
        "!has(self.allocationID) || !has(self.connectivityType) || !has(self.connectivityType.value) || self.connectivityType.value != 'private'"
            else "is only allowed for a public gateway; remove it or the connectivityType private" at "allocationID",
    )
)]
pub(crate) struct NATGatewaySpec {
    /// The subnet of the gateway. A public NAT gateway requires a subnet with a route to an internet gateway.
    /// Immutable. Example: `{valueFrom: {ref: Subnet/public-a}}`
    #[field("subnetID", rule = SUBNET_ID, fixed)]
    pub(crate) subnet_id: Opt<String>,

    /// The Elastic IP allocation of the gateway. Required for a public gateway, not allowed for a private one.
    /// Immutable. Default: none. Example: `{valueFrom: {ref: ElasticIP/nat}}`
    #[field(
        "allocationID",
        rule = ALLOCATION_ID,
        fixed,
        observed = allocation_id(),
        published("NatGatewayAddresses.AllocationId", "NatGatewayAddresses.PublicIp")
    )]
    pub(crate) allocation_id: Option<Opt<String>>,

    /// The connectivity type: `public` for the internet, or `private` for other VPCs and on-premises networks.
    /// Immutable. Default: `public`. Example: `{value: public}`
    #[field("connectivityType", rule = CONNECTIVITY_TYPE, fixed, unless = "public")]
    pub(crate) connectivity_type: Option<Opt<String>>,
}
