//! RouteTable, the API type.

use kraken_aws::{
    aws_kind,
    bounds::{SUBNET_ID, VPC_ID},
    resolved::Joined,
};
use kraken_kind::{Opt, options::ListOpt};

use super::route::{Destination, Route, Routes, Wanted};

/// A route table, with its routes and its associations with subnets.
#[aws_kind(
    kind = "RouteTable",
    plural = "routetables",
    shortname = "rtb",
    doc = "A route table: its routes and its associations with subnets. Its main id is its RouteTableId.",
    noun = "route table",
    state = "routeTable",
    tag_name = "public",
    observed = super::observed::RouteTable,
    summary("VPC" = "VpcId"),
    change = Change
)]
pub(crate) struct RouteTableSpec {
    /// The VPC of the route table. Immutable. Example: `{valueFrom: {ref: VPC/main}}`
    #[field("vpcID", rule = VPC_ID, fixed)]
    pub(crate) vpc_id: Opt<String>,

    /// All routes, except those that AWS manages (the local route, propagated routes, routes of endpoints). Changed in place. A
    /// route that is not in this list is removed. Default: none; existing routes are not managed. Example: `[{destinationCIDRBlock:
    /// {value: 0.0.0.0/0}, gatewayID: {valueFrom: {ref: InternetGateway/main}}}]`
    #[schemars(length(max = 200))]
    #[field(
        "routes",
        resolve = Self::routes => Routes,
        compare = Self::compare_routes,
        import = Self::import_routes,
        published("Routes")
    )]
    pub(crate) routes: Option<Vec<Route>>,

    /// The subnets that are associated with the table. A subnet can have one route table. Changed in place. Default: none;
    /// existing associations are not managed. Example:
    /// `{value: [{valueFrom: {ref: Subnet/public-a}}]}`
    #[field(
        "subnetIDs",
        rule = SUBNET_ID,
        items(0, 1_000),
        add = Associate,
        remove = Disassociate,
        observed = subnet_ids(),
        published("Associations"),
        none_if_unset
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
