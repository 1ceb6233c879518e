//! NetworkACL, the API type.

use kraken_aws::{
    aws_group, aws_kind,
    bounds::{ANY_V4, CidrV6, Range, SUBNET_ID, VPC_ID, Words},
    resolved::Joined,
};
use kraken_kind::{
    Opt,
    options::{ListOpt, Public, Text},
};

use super::entry::{Entries, Entry, LAST};
use crate::security_group::{
    api::{PORT, PROTOCOL},
    rule::{Direction, ports},
};

const RULE_NUMBER: Range = Range(1, LAST);
const ACTION: Words = Words(&["allow", "deny"]);

/// A network ACL: the traffic that may enter and leave subnets.
#[aws_kind(
    kind = "NetworkACL",
    plural = "networkacls",
    shortname = "acl",
    doc = "A network ACL: the traffic that may enter and leave subnets. Its main id is its NetworkAclId.",
    noun = "network ACL",
    state = "networkACL",
    tag_name = "private",
    observed = super::observed::NetworkAcl,
    summary("VPC" = "VpcId"),
    change = Change
)]
pub(crate) struct NetworkACLSpec {
    /// The VPC of the network ACL. Immutable. Example: `{valueFrom: {ref: VPC/main}}`
    #[field("vpcID", rule = VPC_ID, fixed)]
    pub(crate) vpc_id: Opt<String>,

    /// All entries for inbound traffic, up to 40, which are applied in the order of their numbers; other traffic is denied. Changed in place. An
    /// entry that is not in this list is removed. Default: none; existing entries are not managed. Example: `[{ruleNumber: {value: 100}, action:
    /// {value: allow}, protocol: {value: tcp}, fromPort: {value: 443}, cidrBlock: {value: 0.0.0.0/0}}]`
    #[schemars(length(max = 40))]
    #[field(
        "ingress",
        resolve = Self::ingress => Entries,
        compare = Self::compare_ingress,
        import = Self::import_ingress,
        published("Entries")
    )]
    pub(crate) ingress: Option<Vec<EntrySpec>>,

    /// All entries for outbound traffic, up to 40, like `ingress`. Network ACLs are stateless: responses need an entry too. Default: none; existing
    /// entries are not managed. Example: `[{ruleNumber: {value: 100}, action: {value: allow}, protocol: {value: -1}, cidrBlock: {value: 0.0.0.0/0}}]`
    #[schemars(length(max = 40))]
    #[field(
        "egress",
        resolve = Self::egress => Entries,
        compare = Self::compare_egress,
        import = Self::import_egress,
        published("Entries")
    )]
    pub(crate) egress: Option<Vec<EntrySpec>>,

    /// The subnets that the network ACL applies to, up to 1000. A subnet has one network ACL; one that is removed from the list gets the default one
    /// of the VPC. Changed in place. Default: none; existing associations are not managed. Example: `{value: [{valueFrom: {ref: Subnet/private-a}}]}`
    #[field(
        "subnetIDs",
        rule = SUBNET_ID,
        items(0, 1_000),
        add = Associate,
        remove = Disassociate,
        observed = subnet_ids(),
        published("Associations"),
        none_if_unset
    )]
    pub(crate) subnet_ids: Option<ListOpt<String>>,
}

/// An entry: whether it allows or denies a protocol, ports and addresses.
#[aws_group(
    one_of(cidr_block, ipv6_cidr_block),
    rules = Self::between_fields,
    cel(
        "has(self.fromPort) || !has(self.protocol.value) || !(string(self.protocol.value) in ['tcp', 'udp', '6', '17'])"
            else "is required for tcp and udp" at "fromPort",
        "!has(self.fromPort) || !has(self.protocol.value) || string(self.protocol.value) in ['tcp', 'udp', '6', '17', 'icmp', 'icmpv6', '1', '58']"
            else "is only allowed for tcp, udp and icmp: remove it or change the protocol" at "fromPort",
        "!has(self.toPort) || !has(self.protocol.value) || string(self.protocol.value) in ['tcp', 'udp', '6', '17', 'icmp', 'icmpv6', '1', '58']"
            else "is only allowed for tcp, udp and icmp: remove it or change the protocol" at "toPort",
        "!has(self.fromPort) || !has(self.fromPort.value) || !has(self.toPort) || !has(self.toPort.value) || !has(self.protocol.value) || !(string(self.protocol.value) in ['tcp', 'udp', '6', '17']) || self.fromPort.value <= self.toPort.value"
            else "must not be greater than toPort" at "fromPort",
        "!has(self.fromPort) || !has(self.fromPort.value) || !has(self.protocol.value) || (self.fromPort.value >= 0 && !(string(self.protocol.value) in ['icmp', 'icmpv6', '1', '58'])) || (self.fromPort.value <= 255 && string(self.protocol.value) in ['icmp', 'icmpv6', '1', '58'])"
            else "must be 0 to 65535, or for ICMP -1 to 255" at "fromPort",
        "!has(self.toPort) || !has(self.toPort.value) || !has(self.protocol.value) || (self.toPort.value >= 0 && !(string(self.protocol.value) in ['icmp', 'icmpv6', '1', '58'])) || (self.toPort.value <= 255 && string(self.protocol.value) in ['icmp', 'icmpv6', '1', '58'])"
            else "must be 0 to 65535, or for ICMP -1 to 255" at "toPort",
    )
)]
pub(crate) struct EntrySpec {
    /// The number, 1 to 32766, unique in its direction. The entry with the lowest number that matches the traffic decides. Example: `{value: 100}`
    #[field("ruleNumber", rule = RULE_NUMBER)]
    pub(crate) rule_number: Public<Opt<i32>>,

    /// Whether the traffic is allowed or denied: `allow` or `deny`. Example: `{value: allow}`
    #[field("action", rule = ACTION)]
    pub(crate) action: Opt<String>,

    /// The protocol: `tcp`, `udp`, `icmp`, `icmpv6`, a number of 0 to 255, or `-1` for all. Example: `{value: tcp}`
    #[field("protocol", rule = PROTOCOL)]
    pub(crate) protocol: Opt<Text>,

    /// The first port, 0 to 65535. Required for `tcp` and `udp`. For ICMP, the type, -1 to 255; default: -1 for all types. Example: `{value: 443}`
    #[field("fromPort", rule = PORT, check = |port: &i32| ports(protocol.as_ref()).check(*port))]
    pub(crate) from_port: Option<Opt<i32>>,

    /// The last port, 0 to 65535. Default: `fromPort`. For ICMP, the code, -1 to 255; default: -1 for all codes. Example: `{value: 443}`
    #[field("toPort", rule = PORT, check = |port: &i32| ports(protocol.as_ref()).check(*port))]
    pub(crate) to_port: Option<Opt<i32>>,

    /// The addresses of the other side, as an IPv4 CIDR block. Exactly one of this and `ipv6CIDRBlock`. Example: `{value: 0.0.0.0/0}`
    #[field("cidrBlock", rule = ANY_V4)]
    pub(crate) cidr_block: Option<Opt<String>>,

    /// The addresses of the other side, as an IPv6 CIDR block. Exactly one of this and `cidrBlock`. Example: `{value: "::/0"}`
    #[field("ipv6CIDRBlock", rule = CidrV6)]
    pub(crate) ipv6_cidr_block: Option<Opt<String>>,
}

/// A change in place. Subnets are associated after the entries were changed, so that their traffic passes at once.
#[derive(Debug)]
pub(crate) enum Change {
    Create(Joined<Entry>),
    Replace(Joined<Entry>),
    Delete(Direction, i32),
    Associate(String),
    Disassociate(String),
}
