//! Networks: VPCs and the objects in them, and the network resources of instances.

mod address;
mod address_uses;
mod associations;
mod attachments;
mod cidr;
mod gateway;
mod interfaces;
mod key_pair;
mod launch;
mod nat;
mod parts;
mod permissions;
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

use std::collections::BTreeMap;

use super::answer::Handler;
use super::cloud::Cloud;
use super::kind::{Kind, id};
use super::objects::{CloudObject, cloud_objects};

pub(super) use address::Address;
pub(super) use attachments::detached;
pub(super) use gateway::{InternetGateway, has_gateway};
pub(super) use interfaces::Interface;
pub(super) use key_pair::{KeyPair, key_exists};
pub(super) use launch::{Site, groups_exist, left, place, site};
pub(super) use nat::{NatGateway, deleted as nat_deleted};
pub(super) use parts::part_of;
pub(super) use route_table::RouteTable;
pub(super) use security_group::{SecurityGroup, default_group};
pub(super) use subnet::Subnet;
pub(super) use volume::{Root, Volume, write_devices};
pub(super) use vpc::Vpc;

/// All networks of the account.
#[derive(Debug, Default)]
pub(super) struct Network {
    vpcs: BTreeMap<u64, Vpc>,
    subnets: BTreeMap<u64, Subnet>,
    gateways: BTreeMap<u64, InternetGateway>,
    route_tables: BTreeMap<u64, RouteTable>,
    groups: BTreeMap<u64, SecurityGroup>,
    volumes: BTreeMap<u64, Volume>,
    addresses: BTreeMap<u64, Address>,
    nats: BTreeMap<u64, NatGateway>,
    key_pairs: BTreeMap<u64, KeyPair>,
    /// The counter for ids of parts of objects: associations, rules.
    parts: u64,
}

impl Network {
    pub(super) fn new(base: u64) -> Self {
        Self { parts: base, ..Self::default() }
    }

    /// An id for a part of an object.
    fn part(&mut self, prefix: &str) -> String {
        self.parts += 1;
        id(prefix, self.parts)
    }
}

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

cloud_objects! {
    Vpc: Vpc in network.vpcs;
    Subnet: Subnet in network.subnets;
    InternetGateway: InternetGateway in network.gateways;
    RouteTable: RouteTable in network.route_tables;
    SecurityGroup: SecurityGroup in network.groups;
    Volume: Volume in network.volumes;
    Address: Address in network.addresses;
    NatGateway: NatGateway in network.nats;
    KeyPair: KeyPair in network.key_pairs;
}
