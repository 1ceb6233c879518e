//! The observed route table, which is the published state.

use kraken_aws::{Tags, cidr, resource::RemoteObject, tagged_by, tags};
use serde::Serialize;

use super::route::{DesiredTarget, Destination};

/// Its lists are sorted, because AWS's order varies.
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
    /// The routes that Kraken manages: all except the local route, propagated routes and routes of endpoints.
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

    /// The subnets that it is associated with.
    pub(super) fn subnet_ids(&self) -> Vec<String> {
        self.of_subnets().filter_map(|association| association.subnet_id.clone()).collect()
    }

    pub(super) fn of_subnets(&self) -> impl Iterator<Item = &Association> {
        self.associations.iter().filter(|association| !association.is_going && association.main != Some(true))
    }

    /// Whether it applies to the subnets without an association.
    pub(super) fn is_main(&self) -> bool {
        self.associations.iter().any(|association| association.main == Some(true))
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

    /// The target of this type. For an instance, AWS returns its network interface too.
    pub(super) fn target(&self, target: &DesiredTarget) -> Option<&String> {
        match target {
            DesiredTarget::GatewayId(_) => &self.gateway_id,
            DesiredTarget::NatGatewayId(_) => &self.nat_gateway_id,
            DesiredTarget::InstanceId(_) => &self.instance_id,
            DesiredTarget::NetworkInterfaceId(_) => &self.network_interface_id,
            DesiredTarget::VpcPeeringConnectionId(_) => &self.vpc_peering_connection_id,
            DesiredTarget::TransitGatewayId(_) => &self.transit_gateway_id,
            DesiredTarget::EgressOnlyInternetGatewayId(_) => &self.egress_only_internet_gateway_id,
        }
        .as_ref()
    }

    pub(super) fn shown_target(&self) -> String {
        let vias = [&self.gateway_id, &self.nat_gateway_id, &self.instance_id, &self.network_interface_id];
        let others = [&self.vpc_peering_connection_id, &self.transit_gateway_id];
        let all = vias.into_iter().chain(others).chain([&self.egress_only_internet_gateway_id]);
        all.flatten().next().cloned().unwrap_or_else(|| "another target".to_owned())
    }

    #[cfg(test)]
    pub(super) fn v4(block: &str, field: fn(&mut Self) -> &mut Option<String>, id: &str) -> Self {
        let mut route = Self { origin: Some("CreateRoute".into()), ..Self::default() };
        route.destination_cidr_block = Some(block.to_owned());
        *field(&mut route) = Some(id.to_owned());
        route
    }
}

tagged_by!(RouteTable, route_table_id);

impl RemoteObject for RouteTable {}
