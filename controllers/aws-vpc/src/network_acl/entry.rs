//! An entry of a network ACL in AWS's form, which is that of observed and of desired ones: equivalent entries are equal. Pure.

use std::fmt;

use kraken_aws::{aws_observed, cidr, ec2::types, resolved::Joined};

use crate::security_group::rule::{Direction, Peer, Permission};

/// The highest number of an entry that is not AWS's own.
pub(super) const LAST: i32 = 32_766;

#[aws_observed(from = types::NetworkAclEntry)]
pub(crate) struct Entry {
    /// Entries are applied in the order of their numbers.
    pub(super) rule_number: i32,
    pub(super) egress: bool,
    pub(super) rule_action: String,
    /// A number; `-1` for all.
    #[from(numbered(sdk.protocol.as_deref().unwrap_or_default()).to_owned())]
    pub(super) protocol: String,
    #[from(sdk.cidr_block.as_deref().map(cidr::canonical))]
    pub(super) cidr_block: Option<String>,
    #[from(sdk.ipv6_cidr_block.as_deref().map(cidr::canonical))]
    pub(super) ipv6_cidr_block: Option<String>,
    pub(super) port_range: Option<PortRange>,
    pub(super) icmp_type_code: Option<IcmpTypeCode>,
}

#[aws_observed(from = types::PortRange)]
pub(crate) struct PortRange {
    pub(super) from: i32,
    pub(super) to: i32,
}

#[aws_observed(from = types::IcmpTypeCode)]
pub(crate) struct IcmpTypeCode {
    pub(super) r#type: i32,
    pub(super) code: i32,
}

/// The entries of one direction; none if the spec does not manage them.
pub(crate) type Entries = Option<Vec<Joined<Entry>>>;

impl Entry {
    pub(super) fn is_of(&self, direction: Direction) -> bool {
        self.egress == (direction == Direction::Egress)
    }

    /// Its protocol, ports and addresses, as a rule of a security group has them.
    pub(super) fn permission(&self) -> Permission {
        let icmp = self.icmp_type_code.as_ref().map(|icmp| (icmp.r#type, icmp.code));
        let ports = self.port_range.as_ref().map(|ports| (ports.from, ports.to)).or(icmp);
        let v6 = self.ipv6_cidr_block.clone().map(Peer::V6);
        let peer = v6.unwrap_or_else(|| Peer::V4(self.cidr_block.clone().unwrap_or_default()));
        Permission::new(&self.protocol, ports.map(|ports| ports.0), ports.map(|ports| ports.1), peer)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rule_action, self.permission())
    }
}

/// The number of a protocol, which network ACLs have instead of its name.
pub(super) fn numbered(protocol: &str) -> &str {
    match protocol {
        "icmp" => "1",
        "tcp" => "6",
        "udp" => "17",
        "icmpv6" => "58",
        number => number,
    }
}
