//! The observed route table, which is the published state.

use kraken_aws::{aws_observed, cidr, ec2::types, fields::NOT_SHOWN};

use super::route::{DesiredTarget, Destination};

#[aws_observed(from = types::RouteTable, id = route_table_id)]
pub(crate) struct RouteTable {
    pub(super) route_table_id: String,
    pub(super) vpc_id: Option<String>,
    pub(super) routes: Vec<Route>,
    pub(super) associations: Vec<Association>,
    pub(super) owner_id: Option<String>,
}

#[aws_observed(from = types::Route)]
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

#[aws_observed(from = types::RouteTableAssociation)]
pub(crate) struct Association {
    pub(super) subnet_id: Option<String>,
    pub(super) gateway_id: Option<String>,
    pub(super) route_table_association_id: String,
    pub(super) main: Option<bool>,
    #[serde(skip)]
    #[from(is_going(&sdk))]
    pub(super) is_going: bool,
}

fn is_going(association: &types::RouteTableAssociation) -> bool {
    let state = association.association_state.as_ref().and_then(|state| state.state.as_ref());
    state.is_some_and(|state| matches!(state.as_str(), "disassociating" | "disassociated" | "failed"))
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

    /// Whether its target does not exist any more. One to an instance or an interface also passes nothing on while that is stopped.
    pub(super) fn is_dead(&self) -> bool {
        self.state.as_deref() == Some("blackhole")
            && self.instance_id.is_none()
            && self.network_interface_id.is_none()
    }

    /// As text, unless it is a former value of a Secret.
    pub(super) fn shown_target(&self, is_secret: bool) -> String {
        if is_secret {
            return NOT_SHOWN.to_owned();
        }
        let vias = [&self.gateway_id, &self.nat_gateway_id, &self.instance_id, &self.network_interface_id];
        let others = [&self.vpc_peering_connection_id, &self.transit_gateway_id];
        let all = vias.into_iter().chain(others).chain([&self.egress_only_internet_gateway_id]);
        let target = all.flatten().next().map_or("another target", String::as_str);
        if self.is_dead() {
            format!("{target}, to which the route is a blackhole")
        } else {
            target.to_owned()
        }
    }
}
