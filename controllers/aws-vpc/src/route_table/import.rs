//! Routes as they are written in a spec. Pure.

use kraken_aws::{import::literal, lookup::Tagged as _};
use serde_json::{Value, json};

use super::{
    api::RouteTableSpec,
    observed::{Route, RouteTable},
    route::Destination,
};

impl RouteTableSpec {
    /// A route that a spec cannot express is left out, which the comparison reports.
    pub(super) fn import_routes(table: &RouteTable) -> Option<Value> {
        let routes: Vec<Value> = table.own_routes().filter_map(written).collect();
        (!routes.is_empty()).then(|| json!(routes))
    }
}

fn written(route: &Route) -> Option<Value> {
    let (name, destination) = match route.destination()? {
        Destination::V4(block) => ("destinationCIDRBlock", block),
        Destination::V6(block) => ("destinationIPv6CIDRBlock", block),
        Destination::PrefixList(_) => return None,
    };
    // For an instance, AWS returns its network interface too.
    let targets = [
        ("gatewayID", &route.gateway_id),
        ("natGatewayID", &route.nat_gateway_id),
        ("instanceID", &route.instance_id),
        ("networkInterfaceID", &route.network_interface_id),
        ("vpcPeeringConnectionID", &route.vpc_peering_connection_id),
        ("transitGatewayID", &route.transit_gateway_id),
        ("egressOnlyInternetGatewayID", &route.egress_only_internet_gateway_id),
    ];
    let (target, id) = targets.into_iter().find_map(|(name, id)| Some((name, id.as_deref()?)))?;
    Some(json!({name: literal(destination), target: literal(id)}))
}

/// A main route table exists with its VPC, and usually nobody changes it.
pub(super) fn not_importable(table: &RouteTable) -> Option<String> {
    let is_unchanged = table.own_routes().next().is_none()
        && table.subnet_ids().is_empty()
        && !table.tags().contains_key("Name");
    (table.is_main() && is_unchanged).then(|| "the main route table, with the local route only".to_owned())
}
