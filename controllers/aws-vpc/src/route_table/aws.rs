//! Route tables in AWS.

use kraken_aws::{
    Aws, Single, Tags, cidr,
    ec2::types::{self, ResourceType},
    lookup::Tagged,
    missing::unless_done,
    single::{Creation, Question, Thing},
    tags,
};
use kraken_spoke::{Difference, Failure, Resolver};
use serde::Serialize;

use super::{
    api::{RouteTable as Resource, RouteTableSpec},
    plan::{self, Change, Desired},
    route::{Destination, Target, Wanted},
};

/// Every route table.
pub(crate) struct RouteTables;

/// One of them. Its lists are sorted, so that AWS's order does not matter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct RouteTable {
    pub(super) route_table_id: String,
    pub(super) vpc_id: Option<String>,
    pub(super) routes: Vec<Route>,
    pub(super) associations: Vec<Association>,
    pub(super) owner_id: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Route {
    pub(super) destination_cidr_block: Option<String>,
    pub(super) destination_ipv6_cidr_block: Option<String>,
    pub(super) destination_prefix_list_id: Option<String>,
    pub(super) gateway_id: Option<String>,
    pub(super) nat_gateway_id: Option<String>,
    pub(super) instance_id: Option<String>,
    pub(super) network_interface_id: Option<String>,
    pub(super) vpc_peering_connection_id: Option<String>,
    pub(super) transit_gateway_id: Option<String>,
    pub(super) egress_only_internet_gateway_id: Option<String>,
    pub(super) origin: Option<String>,
    pub(super) state: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Association {
    pub(super) subnet_id: Option<String>,
    pub(super) gateway_id: Option<String>,
    pub(super) route_table_association_id: String,
    pub(super) main: Option<bool>,
    #[serde(skip)]
    pub(super) is_going: bool,
}

impl RouteTable {
    /// The routes that somebody made: not those of AWS itself, of propagation and of endpoints.
    pub(super) fn own_routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter().filter(|route| {
            let way = route.gateway_id.as_deref().unwrap_or_default();
            let is_made = route.origin.as_deref().is_none_or(|origin| origin == "CreateRoute");
            is_made && way != "local" && !way.starts_with("vpce-")
        })
    }

    pub(super) fn route_to(&self, destination: &Destination) -> Option<&Route> {
        self.own_routes().find(|route| route.destination().as_ref() == Some(destination))
    }

    /// The subnets that it is for.
    pub(super) fn subnet_ids(&self) -> Vec<String> {
        self.of_subnets().filter_map(|association| association.subnet_id.clone()).collect()
    }

    fn of_subnets(&self) -> impl Iterator<Item = &Association> {
        self.associations.iter().filter(|association| !association.is_going && association.main != Some(true))
    }

    #[cfg(test)]
    pub(super) fn with_subnet(mut self, id: &str) -> Self {
        let main = Association { main: Some(true), ..Association::default() };
        self.associations =
            vec![main, Association { subnet_id: Some(id.to_owned()), ..Association::default() }];
        self
    }
}

impl Route {
    pub(super) fn destination(&self) -> Option<Destination> {
        let v4 = self.destination_cidr_block.as_deref().map(|block| Destination::V4(cidr::canonical(block)));
        let v6 = || {
            self.destination_ipv6_cidr_block.as_deref().map(|block| Destination::V6(cidr::canonical(block)))
        };
        v4.or_else(v6).or_else(|| self.destination_prefix_list_id.clone().map(Destination::PrefixList))
    }

    /// The way there, if it is of this type. For an instance AWS tells its network interface too.
    pub(super) fn target(&self, target: Target) -> Option<&String> {
        match target {
            Target::Gateway => self.gateway_id.as_ref(),
            Target::NatGateway => self.nat_gateway_id.as_ref(),
            Target::Instance => self.instance_id.as_ref(),
            Target::NetworkInterface => self.network_interface_id.as_ref(),
            Target::VpcPeeringConnection => self.vpc_peering_connection_id.as_ref(),
            Target::TransitGateway => self.transit_gateway_id.as_ref(),
            Target::EgressOnlyInternetGateway => self.egress_only_internet_gateway_id.as_ref(),
        }
    }

    pub(super) fn shown_target(&self) -> String {
        let all = [
            &self.gateway_id,
            &self.nat_gateway_id,
            &self.instance_id,
            &self.network_interface_id,
            &self.vpc_peering_connection_id,
            &self.transit_gateway_id,
            &self.egress_only_internet_gateway_id,
        ];
        all.into_iter().flatten().next().cloned().unwrap_or_else(|| "another target".to_owned())
    }

    #[cfg(test)]
    pub(super) fn v4(block: &str, field: fn(&mut Self) -> &mut Option<String>, id: &str) -> Self {
        let mut route = Self { origin: Some("CreateRoute".into()), ..Self::default() };
        route.destination_cidr_block = Some(block.to_owned());
        *field(&mut route) = Some(id.to_owned());
        route
    }
}

impl Tagged for RouteTable {
    fn id(&self) -> &str {
        &self.route_table_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl Thing for RouteTable {}

fn table(table: types::RouteTable) -> RouteTable {
    let mut routes: Vec<Route> = table.routes.unwrap_or_default().into_iter().map(route).collect();
    let associations = table.associations.unwrap_or_default();
    let mut associations: Vec<Association> = associations.into_iter().map(association).collect();
    routes.sort();
    associations.sort();
    RouteTable {
        route_table_id: table.route_table_id.unwrap_or_default(),
        vpc_id: table.vpc_id,
        routes,
        associations,
        owner_id: table.owner_id,
        tags: tags::from_sdk(&table.tags.unwrap_or_default()),
    }
}

fn route(route: types::Route) -> Route {
    Route {
        destination_cidr_block: route.destination_cidr_block,
        destination_ipv6_cidr_block: route.destination_ipv6_cidr_block,
        destination_prefix_list_id: route.destination_prefix_list_id,
        gateway_id: route.gateway_id,
        nat_gateway_id: route.nat_gateway_id,
        instance_id: route.instance_id,
        network_interface_id: route.network_interface_id,
        vpc_peering_connection_id: route.vpc_peering_connection_id,
        transit_gateway_id: route.transit_gateway_id,
        egress_only_internet_gateway_id: route.egress_only_internet_gateway_id,
        origin: route.origin.map(|origin| origin.as_str().to_owned()),
        state: route.state.map(|state| state.as_str().to_owned()),
    }
}

fn association(association: types::RouteTableAssociation) -> Association {
    let state = association.association_state.and_then(|state| state.state);
    let is_going =
        state.is_some_and(|state| matches!(state.as_str(), "disassociating" | "disassociated" | "failed"));
    Association {
        subnet_id: association.subnet_id,
        gateway_id: association.gateway_id,
        route_table_association_id: association.route_table_association_id.unwrap_or_default(),
        main: association.main,
        is_going,
    }
}

impl Single for RouteTables {
    type Kind = Resource;
    type Desired = Desired;
    type Thing = RouteTable;
    type Change = Change;
    const NOUN: &'static str = "route table";
    const STATE_KEY: &'static str = "routeTable";
    const IS_IDEMPOTENT: bool = true;

    fn desired(spec: &RouteTableSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        plan::desired(spec, values)
    }

    fn tags(spec: &RouteTableSpec) -> &Tags {
        &spec.tags
    }

    fn differences(desired: &Desired, table: &RouteTable) -> Vec<Difference<Change>> {
        plan::differences(desired, table)
    }

    async fn read(aws: &Aws, question: Question) -> Result<Vec<RouteTable>, Failure> {
        let call =
            aws.ec2().describe_route_tables().set_route_table_ids(question.ids).set_filters(question.filters);
        let pages = call.into_paginator().send();
        let pages = aws.pages("DescribeRouteTables", "failed to look at route tables", pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.route_tables.unwrap_or_default()).map(table).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<RouteTable, Failure> {
        let call = aws
            .ec2()
            .create_route_table()
            .vpc_id(desired.vpc_id.expose())
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::RouteTable)));
        let made = aws.call("CreateRouteTable", "failed to create the route table", call.send()).await?;
        Ok(made.route_table.map(table).unwrap_or_default())
    }

    async fn update(aws: &Aws, change: &Change, _: &Desired, table: &RouteTable) -> Result<(), Failure> {
        let id = &table.route_table_id;
        match change {
            Change::CreateRoute(route) => create_route(aws, id, route.expose()).await,
            Change::ReplaceRoute(route) => replace_route(aws, id, route.expose()).await,
            Change::DeleteRoute(destination) => delete_route(aws, id, destination).await,
            Change::Associate(subnet_id) => {
                let call = aws.ec2().associate_route_table().route_table_id(id).subnet_id(subnet_id);
                let action = "failed to associate a subnet";
                aws.call("AssociateRouteTable", action, call.send()).await.map(drop)
            }
            Change::Disassociate(subnet_id) => {
                let all = table.of_subnets().filter(|a| a.subnet_id.as_ref() == Some(subnet_id));
                disassociate(aws, all).await
            }
        }
    }

    async fn delete(aws: &Aws, table: &RouteTable) -> Result<(), Failure> {
        disassociate(aws, table.of_subnets()).await?;
        let call = aws.ec2().delete_route_table().route_table_id(&table.route_table_id);
        aws.call("DeleteRouteTable", "failed to delete the route table", call.send()).await.map(drop)
    }
}

async fn disassociate(aws: &Aws, all: impl Iterator<Item = &Association>) -> Result<(), Failure> {
    for association in all {
        let call =
            aws.ec2().disassociate_route_table().association_id(&association.route_table_association_id);
        let result = aws.call("DisassociateRouteTable", "failed to disassociate a subnet", call.send()).await;
        unless_done(result, &["InvalidAssociationID.NotFound"])?;
    }
    Ok(())
}

async fn create_route(aws: &Aws, id: &str, route: &Wanted) -> Result<(), Failure> {
    let call = aws.ec2().create_route().route_table_id(id);
    let call = match &route.destination {
        Destination::V4(block) => call.destination_cidr_block(block),
        Destination::V6(block) => call.destination_ipv6_cidr_block(block),
        Destination::PrefixList(id) => call.destination_prefix_list_id(id),
    };
    let call = match route.target {
        Target::Gateway => call.gateway_id(&route.id),
        Target::NatGateway => call.nat_gateway_id(&route.id),
        Target::Instance => call.instance_id(&route.id),
        Target::NetworkInterface => call.network_interface_id(&route.id),
        Target::VpcPeeringConnection => call.vpc_peering_connection_id(&route.id),
        Target::TransitGateway => call.transit_gateway_id(&route.id),
        Target::EgressOnlyInternetGateway => call.egress_only_internet_gateway_id(&route.id),
    };
    aws.call("CreateRoute", "failed to add a route", call.send()).await.map(drop)
}

async fn replace_route(aws: &Aws, id: &str, route: &Wanted) -> Result<(), Failure> {
    let call = aws.ec2().replace_route().route_table_id(id);
    let call = match &route.destination {
        Destination::V4(block) => call.destination_cidr_block(block),
        Destination::V6(block) => call.destination_ipv6_cidr_block(block),
        Destination::PrefixList(id) => call.destination_prefix_list_id(id),
    };
    let call = match route.target {
        Target::Gateway => call.gateway_id(&route.id),
        Target::NatGateway => call.nat_gateway_id(&route.id),
        Target::Instance => call.instance_id(&route.id),
        Target::NetworkInterface => call.network_interface_id(&route.id),
        Target::VpcPeeringConnection => call.vpc_peering_connection_id(&route.id),
        Target::TransitGateway => call.transit_gateway_id(&route.id),
        Target::EgressOnlyInternetGateway => call.egress_only_internet_gateway_id(&route.id),
    };
    aws.call("ReplaceRoute", "failed to change a route", call.send()).await.map(drop)
}

async fn delete_route(aws: &Aws, id: &str, destination: &Destination) -> Result<(), Failure> {
    let call = aws.ec2().delete_route().route_table_id(id);
    let call = match destination {
        Destination::V4(block) => call.destination_cidr_block(block),
        Destination::V6(block) => call.destination_ipv6_cidr_block(block),
        Destination::PrefixList(id) => call.destination_prefix_list_id(id),
    };
    let result = aws.call("DeleteRoute", "failed to take a route away", call.send()).await;
    unless_done(result, &["InvalidRoute.NotFound"])
}
