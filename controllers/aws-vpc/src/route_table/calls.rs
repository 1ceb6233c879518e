//! The calls of route tables.

use kraken_aws::prelude::*;

use super::{
    api::{self, Change, Desired},
    import,
    observed::{Association, RouteTable},
    route::{DesiredTarget, Destination, Wanted},
};
use crate::conflicts::unless_own;

/// The kind RouteTable.
pub(crate) struct RouteTables;

/// Sets the destination of a route on a call. The builders of three calls have these setters in common.
macro_rules! with_destination {
    ($call:expr, $destination:expr) => {{
        let call = $call;
        match $destination {
            Destination::V4(block) => call.destination_cidr_block(block),
            Destination::V6(block) => call.destination_ipv6_cidr_block(block),
            Destination::PrefixList(id) => call.destination_prefix_list_id(id),
        }
    }};
}

/// Sets the destination and the target of a route on a call. The builders of two calls have these setters in common.
macro_rules! with_route {
    ($call:expr, $route:expr) => {{
        let Wanted { destination, target } = $route;
        let call = with_destination!($call, destination);
        match target {
            DesiredTarget::GatewayId(id) => call.gateway_id(id.expose()),
            DesiredTarget::NatGatewayId(id) => call.nat_gateway_id(id.expose()),
            DesiredTarget::InstanceId(id) => call.instance_id(id.expose()),
            DesiredTarget::NetworkInterfaceId(id) => call.network_interface_id(id.expose()),
            DesiredTarget::VpcPeeringConnectionId(id) => call.vpc_peering_connection_id(id.expose()),
            DesiredTarget::TransitGatewayId(id) => call.transit_gateway_id(id.expose()),
            DesiredTarget::EgressOnlyInternetGatewayId(id) => {
                call.egress_only_internet_gateway_id(id.expose())
            }
        }
    }};
}

impl AwsResource for RouteTables {
    type Kind = api::RouteTable;
    const FEATURES: Features =
        Features { ordered_fields: &["routes", "subnetIDs"], is_idempotent: true, ..Features::NONE };

    fn not_importable(table: &RouteTable) -> Option<String> {
        import::not_importable(table)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<RouteTable>, Failure> {
        let call =
            aws.ec2().describe_route_tables().set_route_table_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeRouteTables", "failed to describe route tables", pages, |page| page.route_tables)
            .await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<RouteTable, Failure> {
        // Routes and associations are added by changes.
        let Desired { vpc_id, routes: _, subnet_ids: _ } = desired;
        let call = aws
            .ec2_once()
            .create_route_table()
            .vpc_id(vpc_id.expose())
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::RouteTable)));
        let made = aws.call("CreateRouteTable", "failed to create the route table", call.send()).await?;
        Ok(made.route_table.map(RouteTable::from).unwrap_or_default())
    }

    async fn update(aws: &Aws, change: &Change, _: &Desired, table: &RouteTable) -> Result<(), Failure> {
        let id = &table.route_table_id;
        match change {
            Change::CreateRoute(route) => {
                let call = with_route!(aws.ec2().create_route().route_table_id(id), route.expose());
                // A route with another target is observed by the next reconcile, and replaced.
                let result = aws.call("CreateRoute", "failed to add a route", call.send()).await;
                ignore_codes(result, &["RouteAlreadyExists"])
            }
            Change::ReplaceRoute(route) => {
                let call = with_route!(aws.ec2().replace_route().route_table_id(id), route.expose());
                // A deleted route is observed by the next reconcile, and created.
                let result = aws.call("ReplaceRoute", "failed to change a route", call.send()).await;
                ignore_codes(result, &["InvalidRoute.NotFound"])
            }
            Change::DeleteRoute(destination) => {
                let call = with_destination!(aws.ec2().delete_route().route_table_id(id), destination);
                let result = aws.call("DeleteRoute", "failed to delete a route", call.send()).await;
                ignore_codes(result, &["InvalidRoute.NotFound"])
            }
            Change::Associate(subnet_id) => associate(aws, table, subnet_id).await,
            Change::Disassociate(subnet_id) => {
                let all = table.of_subnets().filter(|a| a.subnet_id.as_ref() == Some(subnet_id));
                disassociate(aws, all).await
            }
        }
    }

    async fn delete(aws: &Aws, table: &RouteTable) -> Result<(), Failure> {
        disassociate(aws, table.of_subnets()).await?;
        let call = aws.ec2().delete_route_table().route_table_id(&table.route_table_id);
        let result = aws.call("DeleteRouteTable", "failed to delete the route table", call.send()).await;
        result.map(drop).map_err(|failure| explained(failure, table))
    }
}

/// AWS does not say that a route table cannot be deleted because it was made the main one of its VPC.
fn explained(failure: Failure, table: &RouteTable) -> Failure {
    if failure.code != "DependencyViolation" || !table.is_main() {
        return failure;
    }
    let (message, vpc) = (&failure.message, table.vpc_id.as_deref().unwrap_or("its VPC"));
    let message =
        format!("{message}; it is the main route table of {vpc}: make another one the main route table");
    Failure { message, ..failure }
}

/// A subnet can have only one route table. If AWS reports one, the call succeeds if it is this one.
async fn associate(aws: &Aws, own: &RouteTable, subnet_id: &String) -> Result<(), Failure> {
    let call = aws.ec2().associate_route_table().route_table_id(&own.route_table_id).subnet_id(subnet_id);
    let result = aws
        .call("AssociateRouteTable", "failed to associate a subnet with the route table", call.send())
        .await;
    let read = async {
        let mut tables =
            RouteTables::read(aws, DescribeQuery::with("association.subnet-id", subnet_id)).await?;
        tables.retain(|table| table.subnet_ids().contains(subnet_id));
        Ok::<_, Failure>(tables)
    };
    unless_own(result, &["Resource.AlreadyAssociated"], own, read, |other| {
        format!("{subnet_id} has the route table {other} already: disassociate it there first")
    })
    .await
}

async fn disassociate(aws: &Aws, all: impl Iterator<Item = &Association>) -> Result<(), Failure> {
    for association in all {
        let call =
            aws.ec2().disassociate_route_table().association_id(&association.route_table_association_id);
        let result = aws
            .call(
                "DisassociateRouteTable",
                "failed to disassociate a subnet from the route table",
                call.send(),
            )
            .await;
        ignore_codes(result, &["InvalidAssociationID.NotFound"])?;
    }
    Ok(())
}
