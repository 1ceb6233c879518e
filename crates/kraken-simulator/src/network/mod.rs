//! Networks: VPCs and the objects in them, and the network resources of instances.

mod address;
mod address_uses;
mod associations;
mod attachments;
mod gateway;
mod interfaces;
mod key_pair;
mod launch;
mod nat;
mod route_table;
mod routes;
mod rules;
mod security_group;
mod subnet;
mod volume;
mod volume_sizes;
mod vpc;
mod vpc_blocks;
mod without;
mod zones;

use super::answer::Handler;

pub(super) use gateway::has_gateway;
pub(super) use key_pair::key_exists;
pub(super) use launch::{Site, groups_exist, place, site};
pub(super) use security_group::default_group;
pub(super) use volume::Root;

/// The implementation of an action.
pub(super) fn handler(action: &str) -> Option<Handler> {
    let subjects = [
        vpc::handler,
        vpc_blocks::handler,
        zones::handler,
        subnet::handler,
        gateway::handler,
        route_table::handler,
        routes::handler,
        associations::handler,
        security_group::handler,
        rules::handler,
        address::handler,
        address_uses::handler,
        nat::handler,
        interfaces::handler,
        key_pair::handler,
        volume::handler,
        attachments::handler,
        volume_sizes::handler,
        without::handler,
    ];
    subjects.iter().find_map(|subject| subject(action))
}
