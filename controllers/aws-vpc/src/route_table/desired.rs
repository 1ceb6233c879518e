//! The routes of a route table: resolved, validated and compared. Pure.

use kraken_aws::{
    AwsGroup as _, cidr,
    diff::difference,
    fields::{ABSENT, NOT_SHOWN, item_path},
    resolved::{Joined, given},
    rules::unique,
    validator::SpecValidator,
};
use kraken_spoke::Difference;

use super::{
    api::{Change, Desired, PartialDesired, RouteTableSpec},
    observed::RouteTable,
    route::{DesiredDestination, Destination, DestinationSpec, Route, TargetSpec, Wanted},
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

/// All routes; `None` if a value is missing. Problems are reported with the index.
fn routes(validator: &mut SpecValidator<'_, '_>, routes: &[Route]) -> Option<Vec<Joined<Wanted>>> {
    let mut all = Vec::<(Option<Joined<Destination>>, _)>::new();
    for (index, Route { destination, target }) in routes.iter().enumerate() {
        let field = format!("routes[{index}]");
        // Both are resolved before an error is returned, so that all problems are reported.
        let destination = destination.desired(&field, validator).map(|block| canonical(&block));
        all.push((destination, target.desired(&field, validator)));
    }
    for (index, (destination, _)) in all.iter().enumerate() {
        let Some(destination) = destination else { continue };
        let is_same = |(other, _): &(Option<Joined<Destination>>, _)| {
            other.as_ref().is_some_and(|other| other.expose() == destination.expose())
        };
        if let Some(first) = all[..index].iter().position(is_same) {
            let why = format!("has the same destination as routes[{first}]");
            validator.problem(&format!("routes[{index}]"), why);
        }
    }
    let whole = all.into_iter().map(|(destination, target)| {
        let (destination, target) = (destination?, target?);
        let is_secret = destination.is_secret() || TargetSpec::is_secret(&target);
        Some(Joined::new(Wanted { destination: destination.expose().clone(), target }, is_secret))
    });
    whole.collect()
}

fn canonical(destination: &DesiredDestination) -> Joined<Destination> {
    let block = cidr::canonical(destination.value().expose());
    let block = match destination {
        DesiredDestination::DestinationCidrBlock(_) => Destination::V4(block),
        DesiredDestination::DestinationIpv6CidrBlock(_) => Destination::V6(block),
    };
    Joined::new(block, DestinationSpec::is_secret(destination))
}

fn of_routes(wanted: &[Joined<Wanted>], table: &RouteTable) -> Vec<Difference<Change>> {
    let mut found = vec![];
    for route in wanted {
        let path = path(&route.expose().destination, route.is_secret());
        match table.route_to(&route.expose().destination) {
            None => {
                found.push(difference(&path, route.shown(), ABSENT, Change::CreateRoute(route.clone())));
            }
            Some(have) if have.target(&route.expose().target) != Some(route.expose().id()) => {
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
