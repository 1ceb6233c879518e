//! Converts rules in responses and requests.

use kraken_aws::ec2::types::{IpPermission as Sdk, IpRange, Ipv6Range, PrefixListId, UserIdGroupPair};

use super::{
    observed::{Cidr, IpPermission, Pair, PrefixList},
    rule::{Entry, Peer},
};

/// Converts permissions. They are sorted, because AWS's order varies.
pub(super) fn permissions(permissions: Vec<Sdk>) -> Vec<IpPermission> {
    let one = |permission: Sdk| IpPermission {
        ip_protocol: permission.ip_protocol.unwrap_or_default(),
        from_port: permission.from_port,
        to_port: permission.to_port,
        ip_ranges: sorted(permission.ip_ranges, |range| Cidr {
            cidr_ip: range.cidr_ip,
            cidr_ipv6: None,
            description: range.description,
        }),
        ipv6_ranges: sorted(permission.ipv6_ranges, |range| Cidr {
            cidr_ip: None,
            cidr_ipv6: range.cidr_ipv6,
            description: range.description,
        }),
        user_id_group_pairs: sorted(permission.user_id_group_pairs, |pair| Pair {
            group_id: pair.group_id.unwrap_or_default(),
            user_id: pair.user_id,
            description: pair.description,
        }),
        prefix_list_ids: sorted(permission.prefix_list_ids, |list| PrefixList {
            prefix_list_id: list.prefix_list_id.unwrap_or_default(),
            description: list.description,
        }),
    };
    sorted(Some(permissions), one)
}

fn sorted<F, T: Ord>(from: Option<Vec<F>>, one: impl FnMut(F) -> T) -> Vec<T> {
    let mut all: Vec<T> = from.unwrap_or_default().into_iter().map(one).collect();
    all.sort();
    all
}

/// Converts to the SDK's type.
pub(super) fn to_sdk(entry: &Entry) -> Sdk {
    let Entry { permission, description } = entry;
    let made = Sdk::builder()
        .ip_protocol(&permission.protocol)
        .set_from_port(permission.ports.map(|ports| ports.0))
        .set_to_port(permission.ports.map(|ports| ports.1));
    let about = description.clone();
    match &permission.peer {
        Peer::V4(block) => {
            made.ip_ranges(IpRange::builder().cidr_ip(block).set_description(about).build()).build()
        }
        Peer::V6(block) => {
            made.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(block).set_description(about).build()).build()
        }
        Peer::PrefixList(id) => {
            let list = PrefixListId::builder().prefix_list_id(id).set_description(about).build();
            made.prefix_list_ids(list).build()
        }
        Peer::Group(id) => {
            let pair = UserIdGroupPair::builder().group_id(id).set_description(about).build();
            made.user_id_group_pairs(pair).build()
        }
        // Does not occur: the comparison replaces it with the id of the group.
        Peer::Itself => made.build(),
    }
}
