//! The observed security group, which is the published state.

use kraken_aws::{aws_observed, cidr, ec2::types};

use super::rule::{Direction, Entry, Peer, Permission};

#[aws_observed(from = types::SecurityGroup, id = group_id)]
pub(crate) struct SecurityGroup {
    pub(super) group_id: String,
    pub(crate) group_name: Option<String>,
    pub(super) security_group_arn: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) description: Option<String>,
    pub(super) owner_id: Option<String>,
    pub(super) ip_permissions: Vec<IpPermission>,
    pub(super) ip_permissions_egress: Vec<IpPermission>,
}

impl SecurityGroup {
    /// Its rules of one direction that name other groups.
    pub(super) fn entries_with_others(&self, direction: Direction) -> Vec<Entry> {
        let mut all = self.entries(direction);
        all.retain(|entry| matches!(&entry.permission.peer, Peer::Group(id) if *id != self.group_id));
        all
    }

    /// Whether a rule names another group.
    pub(super) fn names_others(&self) -> bool {
        Direction::BOTH.into_iter().any(|direction| !self.entries_with_others(direction).is_empty())
    }

    /// Its rules as single permissions.
    pub(super) fn entries(&self, direction: Direction) -> Vec<Entry> {
        let all = match direction {
            Direction::Ingress => &self.ip_permissions,
            Direction::Egress => &self.ip_permissions_egress,
        };
        all.iter().flat_map(IpPermission::entries).collect()
    }
}

/// A protocol and its ports, with all peers.
#[aws_observed(from = types::IpPermission)]
pub(crate) struct IpPermission {
    pub(super) ip_protocol: String,
    pub(super) from_port: Option<i32>,
    pub(super) to_port: Option<i32>,
    pub(super) ip_ranges: Vec<IpRange>,
    pub(super) ipv6_ranges: Vec<Ipv6Range>,
    pub(super) user_id_group_pairs: Vec<Pair>,
    pub(super) prefix_list_ids: Vec<PrefixList>,
}

#[aws_observed(from = types::IpRange)]
pub(crate) struct IpRange {
    pub(super) cidr_ip: String,
    pub(super) description: Option<String>,
}

#[aws_observed(from = types::Ipv6Range)]
pub(crate) struct Ipv6Range {
    pub(super) cidr_ipv6: String,
    pub(super) description: Option<String>,
}

#[aws_observed(from = types::UserIdGroupPair)]
pub(crate) struct Pair {
    pub(super) group_id: String,
    pub(super) user_id: Option<String>,
    pub(super) description: Option<String>,
}

#[aws_observed(from = types::PrefixListId)]
pub(crate) struct PrefixList {
    pub(super) prefix_list_id: String,
    pub(super) description: Option<String>,
}

impl IpPermission {
    /// As single permissions.
    fn entries(&self) -> impl Iterator<Item = Entry> {
        let v4 = self.ip_ranges.iter().map(|r| (Peer::V4(r.cidr_ip.clone()), &r.description));
        let v6 = self.ipv6_ranges.iter().map(|r| (Peer::V6(cidr::canonical(&r.cidr_ipv6)), &r.description));
        let groups = self.user_id_group_pairs.iter();
        let groups = groups.map(|g| (Peer::Group(g.group_id.clone()), &g.description));
        let lists = self.prefix_list_ids.iter();
        let lists = lists.map(|l| (Peer::PrefixList(l.prefix_list_id.clone()), &l.description));
        let entry = move |(peer, description): (Peer, &Option<String>)| Entry {
            permission: Permission::new(&self.ip_protocol, self.from_port, self.to_port, peer),
            description: description.clone(),
        };
        v4.chain(v6).chain(groups).chain(lists).map(entry)
    }
}
