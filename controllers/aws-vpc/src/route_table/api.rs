//! RouteTable, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{ANY_V4, CidrV6, INSTANCE_ID, Id, NETWORK_INTERFACE_ID, Pattern, SUBNET_ID, VPC_ID, literal},
    resolved::Joined,
};
use kraken_spoke::{Opt, options::ListOpt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::route::{Destination, Wanted};

/// The id of an internet gateway or of a virtual private gateway.
static GATEWAY_ID: Pattern = Pattern::new(
    "^(igw|vgw)-[a-z0-9]+$",
    64,
    "must look like igw-0abc1234def567890 or vgw-0abc1234def567890",
);

/// A route table, with its routes and its associations with subnets.
#[aws_kind(
    kind = "RouteTable",
    plural = "routetables",
    shortname = "rtb",
    doc = "Where the traffic of subnets goes. Its main id is its RouteTableId.",
    noun = "route table",
    state = "routeTable",
    tag_name = "public",
    observed = super::observed::RouteTable,
    summary("VPC" = "VpcId"),
    change = Change,
    rules = Self::between_fields
)]
pub(crate) struct RouteTableSpec {
    /// The VPC of the route table. Immutable. Example: `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[field("vpcID", rule = VPC_ID, fixed)]
    pub(crate) vpc_id: Opt<String>,

    /// All routes, except those that AWS manages (the local route, propagated routes, routes of endpoints). Changed in place. A
    /// route that is not in this list is removed. Default: none; existing routes are not managed. Example: `[{destinationCIDRBlock:
    /// {value: 0.0.0.0/0}, gatewayID: {valueFrom: {krakenResource: {kind: internetgateway, name: main}}}}]`
    #[schemars(length(max = 200))]
    #[field(
        "routes",
        resolve = Self::routes => Option<Vec<Joined<Wanted>>>,
        compare = Self::compare_routes,
        published("Routes")
    )]
    pub(crate) routes: Option<Vec<Route>>,

    /// The subnets that are associated with the table. A subnet can have one route table. Changed in place. Default: none;
    /// existing associations are not managed. Example:
    /// `{value: [{valueFrom: {krakenResource: {kind: subnet, name: public-a}}}]}`
    #[field(
        "subnetIDs",
        rule = SUBNET_ID,
        items(0, 1_000),
        add = Associate,
        remove = Disassociate,
        observed = subnet_ids(),
        published("Associations")
    )]
    pub(crate) subnet_ids: Option<ListOpt<String>>,
}

/// A change in place. Subnets are associated after the routes were changed, so that they have their routes at once.
#[derive(Debug)]
pub(crate) enum Change {
    CreateRoute(Joined<Wanted>),
    ReplaceRoute(Joined<Wanted>),
    DeleteRoute(Destination),
    Associate(String),
    Disassociate(String),
}

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
    /// The destination, as an IPv4 CIDR block. Exactly one of this and `destinationIPv6CIDRBlock`. Example:
    /// `{value: 0.0.0.0/0}`
    #[serde(rename = "destinationCIDRBlock", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&ANY_V4))]
    pub(crate) destination_cidr_block: Option<Opt<String>>,

    /// The destination, as an IPv6 CIDR block. Exactly one of this and `destinationCIDRBlock`. Example:
    /// `{value: "::/0"}`
    #[serde(rename = "destinationIPv6CIDRBlock", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&CidrV6))]
    pub(crate) destination_ipv6_cidr_block: Option<Opt<String>>,

    /// The target: an internet gateway or a virtual private gateway. A route has exactly one target. Example:
    /// `{valueFrom: {krakenResource: {kind: internetgateway, name: main}}}`
    #[serde(rename = "gatewayID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&GATEWAY_ID))]
    pub(crate) gateway_id: Option<Opt<String>>,

    /// The target: a NAT gateway. Example: `{valueFrom: {krakenResource: {kind: natgateway, name: a}}}`
    #[serde(rename = "natGatewayID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&Id("nat-")))]
    pub(crate) nat_gateway_id: Option<Opt<String>>,

    /// The target: an instance with one network interface. Example:
    /// `{valueFrom: {krakenResource: {kind: ec2instance, name: router}}}`
    #[serde(rename = "instanceID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&INSTANCE_ID))]
    pub(crate) instance_id: Option<Opt<String>>,

    /// The target: a network interface. Example: `{value: eni-0abc1234def567890}`
    #[serde(rename = "networkInterfaceID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&NETWORK_INTERFACE_ID))]
    pub(crate) network_interface_id: Option<Opt<String>>,

    /// The target: a VPC peering connection. Example: `{value: pcx-0abc1234def567890}`
    #[serde(rename = "vpcPeeringConnectionID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&Id("pcx-")))]
    pub(crate) vpc_peering_connection_id: Option<Opt<String>>,

    /// The target: a transit gateway. Example: `{value: tgw-0abc1234def567890}`
    #[serde(rename = "transitGatewayID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&Id("tgw-")))]
    pub(crate) transit_gateway_id: Option<Opt<String>>,

    /// The target: an egress-only internet gateway, for IPv6. Example: `{value: eigw-0abc1234def567890}`
    #[serde(rename = "egressOnlyInternetGatewayID", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = literal(&Id("eigw-")))]
    pub(crate) egress_only_internet_gateway_id: Option<Opt<String>>,
}
