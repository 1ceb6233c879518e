//! The routes of a route table: resolved, validated and compared. Pure.

use kraken_aws::{
    cidr,
    diff::difference,
    fields::{ABSENT, NOT_SHOWN, item_path},
    resolved::{Joined, given},
    rules::{an_id, ensure, unique},
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Opt};

use super::{
    api::{Change, Desired, PartialDesired, Route, RouteTableSpec},
    observed::RouteTable,
    route::{Destination, Target, Wanted},
};

impl RouteTableSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if let Some(Err(why)) = given(&partial.subnet_ids).map(|ids| unique(ids)) {
            validator.problem("subnetIDs", why);
        }
    }

    #[allow(clippy::option_option)] // as the other fields of `PartialDesired`
    pub(super) fn routes(
        &self,
        validator: &mut SpecValidator<'_, '_>,
    ) -> Option<Option<Vec<Joined<Wanted>>>> {
        match &self.routes {
            Some(all) => routes(validator, all).map(Some),
            None => Some(None),
        }
    }

    pub(super) fn compare_routes(desired: &Desired, table: &RouteTable) -> Vec<Difference<Change>> {
        desired.routes.as_ref().map_or(vec![], |wanted| of_routes(wanted, table))
    }
}

/// A field for a target: its name, the target, the prefixes of its ids, and the value in the spec.
type Way<'a> = (&'static str, Target, &'static [&'static str], &'a Option<Opt<String>>);

/// All routes; `None` if a value is missing. Problems are reported with the index.
fn routes(validator: &mut SpecValidator<'_, '_>, routes: &[Route]) -> Option<Vec<Joined<Wanted>>> {
    let taken: Vec<_> = routes
        .iter()
        .enumerate()
        .map(|(index, route)| {
            let field = format!("routes[{index}]");
            // Both are resolved before an error is returned, so that all problems are reported.
            let (destination, way) = (destination(validator, &field, route), way(validator, &field, route));
            (destination, way)
        })
        .collect();
    for (index, (destination, _)) in taken.iter().enumerate() {
        let Some(destination) = destination else { continue };
        let is_same = |(other, _): &(Option<Joined<Destination>>, _)| {
            other.as_ref().is_some_and(|other| other.expose() == destination.expose())
        };
        if let Some(first) = taken[..index].iter().position(is_same) {
            let why = format!("has the same destination as routes[{first}]");
            validator.problem(&format!("routes[{index}]"), why);
        }
    }
    let whole = taken.into_iter().map(|(destination, way)| {
        let (destination, (target, id)) = (destination?, way?);
        let is_secret = destination.is_secret() || id.is_secret();
        let (destination, id) = (destination.expose().clone(), id.expose().clone());
        Some(Joined::new(Wanted { destination, target, id }, is_secret))
    });
    whole.collect()
}

fn destination(
    validator: &mut SpecValidator<'_, '_>,
    field: &str,
    route: &Route,
) -> Option<Joined<Destination>> {
    let (v4, v6) = (route.destination_cidr_block.as_ref(), route.destination_ipv6_cidr_block.as_ref());
    let taken_v4 = validator.optional(&format!("{field}.destinationCIDRBlock"), v4, cidr::v4);
    let taken_v6 = validator.optional(&format!("{field}.destinationIPv6CIDRBlock"), v6, cidr::v6);
    if v4.is_some() == v6.is_some() {
        let why = match v4 {
            None => "requires destinationCIDRBlock or destinationIPv6CIDRBlock",
            Some(_) => "must have only one of destinationCIDRBlock and destinationIPv6CIDRBlock",
        };
        validator.problem(field, why);
        return None;
    }
    let (v4, v6) = (taken_v4?, taken_v6?);
    let v4 = v4.map(|b| Joined::new(Destination::V4(cidr::canonical(b.expose())), b.is_secret()));
    v4.or_else(|| v6.map(|b| Joined::new(Destination::V6(cidr::canonical(b.expose())), b.is_secret())))
}

fn way(
    validator: &mut SpecValidator<'_, '_>,
    field: &str,
    route: &Route,
) -> Option<(Target, Joined<String>)> {
    let all: [Way<'_>; 7] = [
        ("gatewayID", Target::Gateway, &["igw-", "vgw-"], &route.gateway_id),
        ("natGatewayID", Target::NatGateway, &["nat-"], &route.nat_gateway_id),
        ("instanceID", Target::Instance, &["i-"], &route.instance_id),
        ("networkInterfaceID", Target::NetworkInterface, &["eni-"], &route.network_interface_id),
        ("vpcPeeringConnectionID", Target::VpcPeeringConnection, &["pcx-"], &route.vpc_peering_connection_id),
        ("transitGatewayID", Target::TransitGateway, &["tgw-"], &route.transit_gateway_id),
        (
            "egressOnlyInternetGatewayID",
            Target::EgressOnlyInternetGateway,
            &["eigw-"],
            &route.egress_only_internet_gateway_id,
        ),
    ];
    let names = |all: &[Way<'_>]| all.iter().map(|one| one.0).collect::<Vec<_>>().join(", ");
    let given: Vec<_> = all.iter().filter(|one| one.3.is_some()).copied().collect();
    let mut taken = vec![];
    for (name, target, prefixes, option) in &given {
        let rule = |id: &str| {
            let fits = prefixes.iter().any(|prefix| an_id(id, prefix).is_ok());
            ensure(fits, || {
                format!("must look like {}0abc1234def567890", prefixes.join("0abc1234def567890 or "))
            })
        };
        taken.push((*target, validator.optional(&format!("{field}.{name}"), option.as_ref(), rule)));
    }
    match given.len() {
        1 => {
            let (target, id) = taken.pop()?;
            let id = id??;
            Some((target, Joined::new(id.expose().clone(), id.is_secret())))
        }
        0 => {
            validator.problem(field, format!("requires a target: one of {}", names(&all)));
            None
        }
        _ => {
            validator.problem(field, format!("has more than one target: {}", names(&given)));
            None
        }
    }
}

fn of_routes(wanted: &[Joined<Wanted>], table: &RouteTable) -> Vec<Difference<Change>> {
    let mut found = vec![];
    for route in wanted {
        let path = path(&route.expose().destination, route.is_secret());
        match table.route_to(&route.expose().destination) {
            None => {
                found.push(difference(&path, route.shown(), ABSENT, Change::CreateRoute(route.clone())));
            }
            Some(have) if have.target(route.expose().target) != Some(&route.expose().id) => {
                let have = if route.is_secret() { NOT_SHOWN.to_owned() } else { have.shown_target() };
                found.push(difference(&path, route.shown(), have, Change::ReplaceRoute(route.clone())));
            }
            Some(_) => {}
        }
    }
    let any_secret = wanted.iter().any(Joined::is_secret);
    for have in table.own_routes() {
        let Some(destination) = have.destination() else { continue };
        if wanted.iter().any(|route| route.expose().destination == destination) {
            continue;
        }
        let shown = if any_secret { NOT_SHOWN.to_owned() } else { have.shown_target() };
        let path = path(&destination, any_secret);
        found.push(difference(&path, ABSENT, shown, Change::DeleteRoute(destination)));
    }
    found
}

fn path(destination: &Destination, is_secret: bool) -> String {
    if is_secret { "routes".to_owned() } else { item_path("routes", destination.as_str()) }
}
