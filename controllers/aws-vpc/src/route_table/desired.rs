//! The routes of a route table: resolved, validated and compared. Pure.

use kraken_aws::{
    AwsGroup as _,
    fields::{ABSENT, item_path},
    prelude::*,
    resolved::Joined,
    rules::unique,
};

use super::{
    api::{Change, Desired, PartialDesired, RouteTableSpec},
    observed::RouteTable,
    route::{DesiredDestination, Destination, DestinationSpec, Route, Routes, TargetSpec, Wanted},
};

impl RouteTableSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if let Some(Err(why)) = given(&partial.subnet_ids).map(|ids| unique(ids)) {
            validator.problem("subnetIDs", why);
        }
    }

    pub(super) fn routes(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Routes> {
        self.routes.as_ref().map_or(Some(None), |all| routes(validator, all).map(Some))
    }

    pub(super) fn compare_routes(desired: &Desired, table: &RouteTable) -> Vec<Difference<Change>> {
        desired.routes.as_ref().map_or(vec![], |wanted| of_routes(wanted, table))
    }
}

/// All routes; `None` if a value is missing. Problems are reported with the index.
fn routes(validator: &mut SpecValidator<'_, '_>, routes: &[Route]) -> Routes {
    let mut all = vec![];
    for (index, Route { destination, target }) in routes.iter().enumerate() {
        let field = format!("routes[{index}]");
        // Both are resolved before an error is returned, so that all problems are reported.
        all.push((destination.desired(&field, validator), target.desired(&field, validator)));
    }
    let destination = |(given, _): &(Option<DesiredDestination>, _)| given.as_ref().map(Destination::from);
    let destinations: Vec<_> = all.iter().map(destination).collect();
    for (index, destination) in destinations.iter().enumerate().filter(|(_, known)| known.is_some()) {
        if let Some(first) = destinations[..index].iter().position(|other| other == destination) {
            let why = format!("has the same destination as routes[{first}]");
            validator.problem(&format!("routes[{index}]"), why);
        }
    }
    let whole = all.into_iter().zip(destinations).map(|((given, target), destination)| {
        let (given, target, destination) = (given?, target?, destination?);
        let is_secret = DestinationSpec::is_secret(&given) || TargetSpec::is_secret(&target);
        Some(Joined::new(Wanted { destination, target }, is_secret))
    });
    whole.collect()
}

fn of_routes(wanted: &[Joined<Wanted>], table: &RouteTable) -> Vec<Difference<Change>> {
    let mut found = vec![];
    for route in wanted {
        let Wanted { destination, target } = route.expose();
        let (have, change) = match table.route_to(destination) {
            None => (ABSENT.to_owned(), Change::CreateRoute(route.clone())),
            Some(have) if have.target(target) == Some(route.expose().id()) => continue,
            Some(have) => (have.shown_target(route.is_secret()), Change::ReplaceRoute(route.clone())),
        };
        found.push(difference(&path(destination, route.is_secret()), route.shown(), have, change));
    }
    let any_secret = wanted.iter().any(Joined::is_secret);
    let is_wanted = |to: &Destination| wanted.iter().any(|route| route.expose().destination == *to);
    for have in table.own_routes() {
        let Some(destination) = have.destination().filter(|to| !is_wanted(to)) else { continue };
        let (path, target) = (path(&destination, any_secret), have.shown_target(any_secret));
        found.push(difference(&path, ABSENT, target, Change::DeleteRoute(destination)));
    }
    found
}

fn path(destination: &Destination, is_secret: bool) -> String {
    if is_secret { "routes".to_owned() } else { item_path("routes", destination.as_str()) }
}
