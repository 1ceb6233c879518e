//! Converts rules in responses and requests.

use kraken_aws::{
    ec2::types::{IpPermission as Sdk, IpRange, Ipv6Range, PrefixListId, UserIdGroupPair},
    from_sdk,
    items::sorted,
};

use super::{
    observed::{Cidr, IpPermission, Pair, PrefixList},
    rule::{Entry, Peer},
};

from_sdk!(Sdk as permission => IpPermission {
    ip_protocol, from_port, to_port;
    ip_ranges: sorted(permission.ip_ranges),
    ipv6_ranges: sorted(permission.ipv6_ranges),
    user_id_group_pairs: sorted(permission.user_id_group_pairs),
    prefix_list_ids: sorted(permission.prefix_list_ids),
});
from_sdk!(IpRange as range => Cidr { cidr_ip, description; cidr_ipv6: None });
from_sdk!(Ipv6Range as range => Cidr { cidr_ipv6, description; cidr_ip: None });
from_sdk!(UserIdGroupPair => Pair { group_id, user_id, description });
from_sdk!(PrefixListId => PrefixList { prefix_list_id, description });

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
