//! The observed security group, which is the published state.

use kraken_aws::{Tags, cidr, resource::RemoteObject, tagged_by, tags};
use serde::Serialize;

use super::rule::{Direction, Entry, Peer, Permission};

/// Its rules are sorted, because AWS's order varies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SecurityGroup {
    pub(super) group_id: String,
    pub(super) group_name: Option<String>,
    pub(super) security_group_arn: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) description: Option<String>,
    pub(super) owner_id: Option<String>,
    pub(super) ip_permissions: Vec<IpPermission>,
    pub(super) ip_permissions_egress: Vec<IpPermission>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

impl SecurityGroup {
    /// Its rules as single permissions.
    pub(super) fn entries(&self, direction: Direction) -> Vec<Entry> {
        let all = match direction {
            Direction::Ingress => &self.ip_permissions,
            Direction::Egress => &self.ip_permissions_egress,
        };
        all.iter().flat_map(IpPermission::entries).collect()
    }
}

tagged_by!(SecurityGroup, group_id);

impl RemoteObject for SecurityGroup {}

/// A protocol and its ports, with all peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct IpPermission {
    pub(super) ip_protocol: String,
    pub(super) from_port: Option<i32>,
    pub(super) to_port: Option<i32>,
    pub(super) ip_ranges: Vec<Cidr>,
    pub(super) ipv6_ranges: Vec<Cidr>,
    pub(super) user_id_group_pairs: Vec<Pair>,
    pub(super) prefix_list_ids: Vec<PrefixList>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Cidr {
    pub(super) cidr_ip: Option<String>,
    pub(super) cidr_ipv6: Option<String>,
    pub(super) description: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Pair {
    pub(super) group_id: String,
    pub(super) user_id: Option<String>,
    pub(super) description: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PrefixList {
    pub(super) prefix_list_id: String,
    pub(super) description: Option<String>,
}

impl IpPermission {
    /// As single permissions.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let v4 = self.ip_ranges.iter().map(|range| (Peer::V4(text(&range.cidr_ip)), &range.description));
        let v6 = self
            .ipv6_ranges
            .iter()
            .map(|range| (Peer::V6(cidr::canonical(&text(&range.cidr_ipv6))), &range.description));
        let groups = self
            .user_id_group_pairs
            .iter()
            .map(|pair| (Peer::Group(pair.group_id.clone()), &pair.description));
        let lists = self
            .prefix_list_ids
            .iter()
            .map(|list| (Peer::PrefixList(list.prefix_list_id.clone()), &list.description));
        let entry = |(peer, description): (Peer, &Option<String>)| Entry {
            permission: Permission::new(&self.ip_protocol, self.from_port, self.to_port, peer),
            description: description.clone(),
        };
        v4.chain(v6).chain(groups).chain(lists).map(entry).collect()
    }
}
