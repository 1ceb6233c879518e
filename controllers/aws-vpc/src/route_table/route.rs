//! A route: one destination and its target, in the spec and in the desired state. Pure.

use std::fmt;

use kraken_aws::{
    aws_group,
    bounds::{ANY_V4, CidrV6, INSTANCE_ID, Id, NETWORK_INTERFACE_ID, Pattern},
    cidr,
    resolved::Joined,
};
use kraken_kind::Opt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The id of an internet gateway or of a virtual private gateway.
static GATEWAY_ID: Pattern = Pattern::new(
    "^(igw|vgw)-[a-z0-9]+$",
    64,
    "must look like igw-0abc1234def567890 or vgw-0abc1234def567890",
);

/// A route with one destination and one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "[has(self.destinationCIDRBlock), has(self.destinationIPv6CIDRBlock)].exists_one(is_set, is_set)",
    "message": "must have exactly one of destinationCIDRBlock and destinationIPv6CIDRBlock",
}, {
    "rule": "[has(self.gatewayID), has(self.natGatewayID), has(self.instanceID), has(self.networkInterfaceID), has(self.vpcPeeringConnectionID), has(self.transitGatewayID), has(self.egressOnlyInternetGatewayID)].exists_one(is_set, is_set)",
    "message": "must have exactly one target: gatewayID, natGatewayID, instanceID, networkInterfaceID, vpcPeeringConnectionID, transitGatewayID or egressOnlyInternetGatewayID",
}]))]
pub(crate) struct Route {
    #[serde(flatten)]
    pub(super) destination: DestinationSpec,
    #[serde(flatten)]
    pub(super) target: TargetSpec,
}

/// The destination of a route.
#[aws_group(choice, problem = Self::problem)]
pub(crate) struct DestinationSpec {
    /// The destination, as an IPv4 CIDR block. Exactly one of this and `destinationIPv6CIDRBlock`. Example:
    /// `{value: 0.0.0.0/0}`
    #[field("destinationCIDRBlock", rule = ANY_V4)]
    pub(super) destination_cidr_block: Option<Opt<String>>,

    /// The destination, as an IPv6 CIDR block. Exactly one of this and `destinationCIDRBlock`. Example:
    /// `{value: "::/0"}`
    #[field("destinationIPv6CIDRBlock", rule = CidrV6)]
    pub(super) destination_ipv6_cidr_block: Option<Opt<String>>,
}

/// The target of a route.
#[aws_group(choice, problem = Self::problem)]
pub(crate) struct TargetSpec {
    /// The target: an internet gateway or a virtual private gateway. A route has exactly one target. Example:
    /// `{valueFrom: {ref: InternetGateway/main}}`
    #[field("gatewayID", rule = GATEWAY_ID)]
    pub(super) gateway_id: Option<Opt<String>>,

    /// The target: a NAT gateway. Example: `{valueFrom: {ref: NATGateway/a}}`
    #[field("natGatewayID", rule = Id("nat-"))]
    pub(super) nat_gateway_id: Option<Opt<String>>,

    /// The target: an instance with one network interface. Example:
    /// `{valueFrom: {ref: EC2Instance/router}}`
    #[field("instanceID", rule = INSTANCE_ID)]
    pub(super) instance_id: Option<Opt<String>>,

    /// The target: a network interface. Example: `{value: eni-0abc1234def567890}`
    #[field("networkInterfaceID", rule = NETWORK_INTERFACE_ID)]
    pub(super) network_interface_id: Option<Opt<String>>,

    /// The target: a VPC peering connection. Example: `{valueFrom: {ref: VPCPeeringConnection/data}}`
    #[field("vpcPeeringConnectionID", rule = Id("pcx-"))]
    pub(super) vpc_peering_connection_id: Option<Opt<String>>,

    /// The target: a transit gateway. Example: `{value: tgw-0abc1234def567890}`
    #[field("transitGatewayID", rule = Id("tgw-"))]
    pub(super) transit_gateway_id: Option<Opt<String>>,

    /// The target: an egress-only internet gateway, for IPv6. Example: `{value: eigw-0abc1234def567890}`
    #[field("egressOnlyInternetGatewayID", rule = Id("eigw-"))]
    pub(super) egress_only_internet_gateway_id: Option<Opt<String>>,
}

impl DestinationSpec {
    fn problem(given: &[&str], all: &[&str]) -> String {
        match given {
            [] => format!("requires {}", all.join(" or ")),
            _ => format!("must have only one of {}", all.join(" and ")),
        }
    }
}

impl TargetSpec {
    fn problem(given: &[&str], all: &[&str]) -> String {
        match given {
            [] => format!("requires a target: one of {}", all.join(", ")),
            _ => format!("has more than one target: {}", given.join(", ")),
        }
    }
}

/// All routes; none if the spec does not manage them.
pub(crate) type Routes = Option<Vec<Joined<Wanted>>>;

/// One destination and its target.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(super) destination: Destination,
    pub(super) target: DesiredTarget,
}

/// With its CIDR block in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    V4(String),
    V6(String),
    PrefixList(String),
}

impl From<&DesiredDestination> for Destination {
    fn from(given: &DesiredDestination) -> Self {
        let block = cidr::canonical(given.value().expose());
        match given {
            DesiredDestination::DestinationCidrBlock(_) => Self::V4(block),
            DesiredDestination::DestinationIpv6CidrBlock(_) => Self::V6(block),
        }
    }
}

impl Destination {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::V4(text) | Self::V6(text) | Self::PrefixList(text) => text,
        }
    }
}

impl Wanted {
    /// The id of the target.
    pub(super) fn id(&self) -> &String {
        self.target.value().expose()
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
