//! Rules as sets of single permissions in canonical form: equivalent permissions are equal. Pure.

use std::fmt;

use kraken_aws::{bounds::Range, resolved::Joined};
use kraken_kind::{Resolved, options::Text};

/// The value for the security group that has the rule.
pub(super) const SELF: &str = "self";

/// One permission: protocol, ports and one peer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Permission {
    /// In AWS's spelling: a name if the protocol has one, `-1` for all.
    pub(crate) protocol: String,
    pub(crate) ports: Option<(i32, i32)>,
    pub(super) peer: Peer,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    V4(String),
    V6(String),
    Group(String),
    /// The group that has the rule.
    Itself,
    PrefixList(String),
}

/// A permission with its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(super) permission: Permission,
    pub(super) description: Option<String>,
}

/// The rules of one direction; none if the spec does not manage them.
pub(crate) type Entries = Option<Vec<Joined<Entry>>>;

impl Permission {
    /// In canonical form: AWS returns some protocols by name instead of number, and supports ports for a few only.
    pub(crate) fn new(protocol: &str, from: Option<i32>, to: Option<i32>, peer: Peer) -> Self {
        let protocol = named(protocol).to_owned();
        let ports = match &*protocol {
            "tcp" | "udp" => from.zip(to.or(from)),
            "icmp" | "icmpv6" => Some((from.unwrap_or(-1), to.unwrap_or(-1))),
            _ => None,
        };
        Self { protocol, ports, peer }
    }
}

/// The name of a protocol, if it has one.
pub(crate) fn named(protocol: &str) -> &str {
    match protocol {
        "1" => "icmp",
        "6" => "tcp",
        "17" => "udp",
        "58" => "icmpv6",
        other => other,
    }
}

/// The ports of a protocol; for ICMP, its types and codes.
pub(crate) fn ports(protocol: Option<&Resolved<Text>>) -> Range {
    match protocol.map(|protocol| named(&protocol.expose().0)) {
        Some("icmp" | "icmpv6") => Range(-1, 255),
        _ => Range(0, 65_535),
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.protocol {
            "-1" => f.write_str("all")?,
            name if name.starts_with(|c: char| c.is_ascii_digit()) => write!(f, "protocol {name}")?,
            name => f.write_str(name)?,
        }
        match self.ports {
            Some((-1, -1)) | None => {}
            Some((from, to)) if from == to => write!(f, " {from}")?,
            Some((from, to)) => write!(f, " {from}-{to}")?,
        }
        match &self.peer {
            Peer::V4(peer) | Peer::V6(peer) | Peer::Group(peer) | Peer::PrefixList(peer) => {
                write!(f, " {peer}")
            }
            Peer::Itself => write!(f, " {SELF}"),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.permission.fmt(f)
    }
}

/// The direction of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Ingress,
    Egress,
}

impl Direction {
    pub(super) const BOTH: [Self; 2] = [Self::Ingress, Self::Egress];

    /// The field of the spec.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }
}

/// A change in place: of several rules of one direction, by one call.
#[derive(Debug)]
pub(crate) enum Change {
    Authorize(Direction, Vec<Joined<Entry>>),
    Describe(Direction, Vec<Joined<Entry>>),
    Revoke(Direction, Vec<Joined<Entry>>),
}
