//! Desired routes. Pure.

use std::fmt;

use kraken_aws::{cidr, resolved::Joined, rules::ensure, validator::SpecValidator};
use kraken_spoke::Opt;

use super::api::Route;

/// One destination and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(super) destination: Destination,
    pub(super) target: Target,
    pub(super) id: String,
}

/// With its CIDR block in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    V4(String),
    V6(String),
    PrefixList(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Gateway,
    NatGateway,
    Instance,
    NetworkInterface,
    VpcPeeringConnection,
    TransitGateway,
    EgressOnlyInternetGateway,
}

impl Target {
    pub(super) const ALL: [Self; 7] = [
        Self::Gateway,
        Self::NatGateway,
        Self::Instance,
        Self::NetworkInterface,
        Self::VpcPeeringConnection,
        Self::TransitGateway,
        Self::EgressOnlyInternetGateway,
    ];
}

impl Destination {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::V4(text) | Self::V6(text) | Self::PrefixList(text) => text,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// A field for a target: its name, the target, the prefixes of its ids, and the value in the spec.
type Way<'a> = (&'static str, Target, &'static [&'static str], &'a Option<Opt<String>>);

/// All routes; `None` if a value is missing. Problems are reported with the index.
pub(super) fn routes(validator: &mut SpecValidator<'_, '_>, routes: &[Route]) -> Option<Vec<Joined<Wanted>>> {
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
            let fits = prefixes.iter().any(|prefix| kraken_aws::rules::an_id(id, prefix).is_ok());
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
