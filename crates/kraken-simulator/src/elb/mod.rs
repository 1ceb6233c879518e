//! Load balancers: the API of Elastic Load Balancing, version 2.

mod actions;
mod attributes;
mod listener;
mod listener_changes;
mod load_balancer;
mod members;
mod names;
mod paging;
mod placement;
mod rule;
mod rule_changes;
mod tags;
mod target_group;
mod targets;

use super::answer::Handler;

/// The implementation of an action.
pub(super) fn handler(action: &str) -> Option<Handler> {
    let subjects = [
        load_balancer::handler,
        members::handler,
        attributes::handler,
        target_group::handler,
        targets::handler,
        listener::handler,
        listener_changes::handler,
        rule::handler,
        rule_changes::handler,
        tags::handler,
    ];
    subjects.iter().find_map(|subject| subject(action))
}
