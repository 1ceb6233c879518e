//! The routes of a route table: resolved, validated and compared. Pure.

use kraken_aws::{
    AwsGroup as _,
    fields::{ABSENT, item_path},
    prelude::*,
    resolved::Joined,
};

use super::{
    api::{Change, Desired, RouteTableSpec},
    observed::RouteTable,
    route::{Destination, DestinationSpec, Route, Routes, TargetSpec, Wanted},
};

impl RouteTableSpec {
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
    let is_whole = all.iter().all(|(destination, target)| destination.is_some() && target.is_some());
    let mut kept = Vec::<(usize, Joined<Wanted>)>::new();
    let whole =
        all.into_iter().enumerate().filter_map(|(index, (given, target))| Some((index, given?, target?)));
    for (index, given, target) in whole {
        let destination = Destination::from(&given);
        let is_secret = DestinationSpec::is_secret(&given) || TargetSpec::is_secret(&target);
        let wanted = Joined::new(Wanted { destination, target }, is_secret);
        let same =
            |(_, other): &&(_, Joined<Wanted>)| other.expose().destination == wanted.expose().destination;
        match kept.iter().find(same) {
            // Routes are a set: two references may lead to the same one.
            Some((_, other)) if other.expose().id() == wanted.expose().id() => {}
            Some((first, _)) => {
                let why = format!("has the same destination as routes[{first}] and another target");
                validator.problem(&format!("routes[{index}]"), why);
            }
            None => kept.push((index, wanted)),
        }
    }
    is_whole.then(|| kept.into_iter().map(|(_, route)| route).collect())
}

fn of_routes(wanted: &[Joined<Wanted>], table: &RouteTable) -> Vec<Difference<Change>> {
    let mut found = vec![];
    for route in wanted {
        let Wanted { destination, target } = route.expose();
        let (have, change) = match table.route_to(destination) {
            None => (ABSENT.to_owned(), Change::CreateRoute(route.clone())),
            // AWS says what is wrong with a target when it is set again.
            Some(have) if have.target(target) == Some(route.expose().id()) && !have.is_dead() => continue,
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
