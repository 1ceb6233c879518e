//! Rules as they are written in a spec. Pure.

use std::collections::BTreeMap;

use kraken_aws::import::{Fields, literal};
use serde_json::{Value, json};

use super::{
    api::SecurityGroupSpec,
    observed::SecurityGroup,
    rule::{Direction, Entry, Peer, Permission, SELF},
};

/// The name of the group that exists with its VPC and cannot be deleted.
const DEFAULT: &str = "default";

impl SecurityGroupSpec {
    pub(super) fn import_ingress(group: &SecurityGroup) -> Option<Value> {
        rules(group, Direction::Ingress)
    }

    /// AWS adds a rule for everything to a new group.
    pub(super) fn import_egress(group: &SecurityGroup) -> Option<Value> {
        let everything = Permission::new("-1", None, None, Peer::V4("0.0.0.0/0".to_owned()));
        let all = group.entries(Direction::Egress);
        let is_default =
            matches!(all.as_slice(), [one] if one.permission == everything && one.description.is_none());
        if is_default {
            return None;
        }
        // Without any, nothing may leave, which the spec must say.
        rules(group, Direction::Egress).or_else(|| Some(json!([])))
    }
}

/// The peers of rules that have everything else in common.
#[derive(Default)]
struct Peers {
    v4: Vec<String>,
    v6: Vec<String>,
    groups: Vec<String>,
    prefix_lists: Vec<String>,
}

fn rules(group: &SecurityGroup, direction: Direction) -> Option<Value> {
    let mut rules = BTreeMap::<(String, Option<(i32, i32)>, Option<String>), Peers>::new();
    for Entry { permission, description } in group.entries(direction) {
        let Permission { protocol, ports, peer } = permission;
        let peers = rules.entry((protocol, ports, description)).or_default();
        match peer {
            Peer::V4(block) => peers.v4.push(block),
            Peer::V6(block) => peers.v6.push(block),
            Peer::Group(id) if id == group.group_id => peers.groups.push(SELF.to_owned()),
            Peer::Group(id) => peers.groups.push(id),
            Peer::Itself => peers.groups.push(SELF.to_owned()),
            Peer::PrefixList(id) => peers.prefix_lists.push(id),
        }
    }
    let rules: Vec<Value> = rules.into_iter().filter_map(|(rule, peers)| written(rule, &peers)).collect();
    (!rules.is_empty()).then(|| json!(rules))
}

fn written(
    (protocol, ports, description): (String, Option<(i32, i32)>, Option<String>),
    peers: &Peers,
) -> Option<Value> {
    let mut fields = Fields::default();
    write_protocol(&mut fields, &protocol, ports);
    fields.one("description", description.as_ref());
    fields.list("cidrBlocks", &peers.v4);
    fields.list("ipv6CIDRBlocks", &peers.v6);
    fields.list("securityGroupIDs", &peers.groups);
    fields.list("prefixListIDs", &peers.prefix_lists);
    fields.group()
}

/// A protocol, by name if it has one, with its ports.
pub(crate) fn write_protocol(fields: &mut Fields, protocol: &str, ports: Option<(i32, i32)>) {
    fields.own("protocol", Some(literal(protocol)));
    if let Some((from, to)) = ports {
        let is_icmp = protocol.starts_with("icmp");
        // -1 is any type or code of ICMP, and the default.
        fields.own("fromPort", (!is_icmp || from != -1).then(|| literal(from)));
        let is_implied = if is_icmp { to == -1 } else { to == from };
        fields.own("toPort", (!is_implied).then(|| literal(to)));
    }
}

/// The default group exists with its VPC.
pub(super) fn not_importable(group: &SecurityGroup) -> Option<String> {
    (group.group_name.as_deref() == Some(DEFAULT)).then(|| "the default security group of its VPC".to_owned())
}
