//! The permissions of a security group: parsing from calls, and formatting like AWS.

use std::fmt;

use crate::form::Form;
use crate::markup::Xml;
use crate::refusal::Refusal;

use super::cidr::{Cidr, of_v6};
use super::part_ids::PartIds;

/// The peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    V4(String),
    V6(String),
    Group(String),
    PrefixList(String),
}

/// The permissions, one peer each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) egress: bool,
    /// `tcp`, `udp`, `icmp`, `icmpv6`, a number, or `-1` for all.
    pub(crate) protocol: String,
    /// `None` for all.
    pub(crate) ports: Option<(i32, i32)>,
    pub(crate) peer: Peer,
}

/// A permission in a group.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) permission: Permission,
    pub(crate) description: Option<String>,
}

impl Peer {
    pub(crate) fn v4(&self) -> Option<&String> {
        if let Self::V4(range) = self { Some(range) } else { None }
    }

    pub(crate) fn v6(&self) -> Option<&String> {
        if let Self::V6(range) = self { Some(range) } else { None }
    }

    pub(crate) fn group(&self) -> Option<&String> {
        if let Self::Group(id) = self { Some(id) } else { None }
    }

    fn prefix_list(&self) -> Option<&String> {
        if let Self::PrefixList(id) = self { Some(id) } else { None }
    }

    fn text(&self) -> &str {
        let (Self::V4(text) | Self::V6(text) | Self::Group(text) | Self::PrefixList(text)) = self;
        text
    }
}

impl Rule {
    /// The default rule of every new group.
    pub(crate) fn allow_all_egress(part_ids: &mut PartIds) -> Self {
        let peer = Peer::V4("0.0.0.0/0".to_owned());
        let permission = Permission { egress: true, protocol: "-1".to_owned(), ports: None, peer };
        Self { id: part_ids.next("sgr-"), permission, description: None }
    }
}

impl Permission {
    /// The permissions of a call, each with its description.
    pub(crate) fn of(form: &Form, egress: bool) -> Result<Vec<(Self, Option<String>)>, Refusal> {
        let mut found = vec![];
        for form in form.structures("IpPermissions") {
            let (protocol, ports) = protocol_and_ports(&form)?;
            for (peer, description) in peers(&form)? {
                let permission = Self { egress, protocol: protocol.clone(), ports, peer };
                found.push((permission, description));
            }
        }
        Ok(found)
    }
}

/// The format in AWS's errors.
impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.protocol == "-1" { "ALL".to_owned() } else { self.protocol.to_uppercase() };
        write!(formatter, "peer: {}, {protocol}", self.peer.text())?;
        if let Some((from, to)) = self.ports {
            write!(formatter, ", from port: {from}, to port: {to}")?;
        }
        formatter.write_str(", ALLOW")
    }
}

fn protocol_and_ports(form: &Form) -> Result<(String, Option<(i32, i32)>), Refusal> {
    let protocol = match form.required("IpProtocol")? {
        "6" => "tcp".to_owned(),
        "17" => "udp".to_owned(),
        "1" => "icmp".to_owned(),
        "58" => "icmpv6".to_owned(),
        "all" => "-1".to_owned(),
        other => other.to_lowercase(),
    };
    let is_named = ["tcp", "udp", "icmp", "icmpv6"].contains(&protocol.as_str());
    if !is_named && protocol.parse::<i16>().map_or(true, |number| !(-1..=255).contains(&number)) {
        let message = format!("Invalid value '{protocol}' for IP protocol. Unknown protocol.");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    if !is_named {
        return Ok((protocol, None));
    }
    let (from, to) = (form.integer("FromPort")?, form.integer("ToPort")?);
    let (Some(from), Some(to)) = (from, to) else {
        let message = "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.";
        return Err(Refusal::new("InvalidParameterValue", message));
    };
    if matches!(protocol.as_str(), "tcp" | "udp") && !(0 <= from && from <= to && to <= 65_535) {
        let message = format!("Invalid TCP/UDP port range ({from}:{to})");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    Ok((protocol, Some((from, to))))
}

fn peers(form: &Form) -> Result<Vec<(Peer, Option<String>)>, Refusal> {
    let mut peers = vec![];
    for form in form.structures("IpRanges") {
        let text = form.required("CidrIp")?;
        let malformed = || Refusal::new("InvalidParameterValue", format!("CIDR block {text} is malformed"));
        let range = Cidr::parse(text).ok_or_else(malformed)?;
        peers.push((Peer::V4(range.to_string()), form.text("Description")));
    }
    for form in form.structures("Ipv6Ranges") {
        peers.push((Peer::V6(of_v6(form.required("CidrIpv6")?, "cidrIpv6")?), form.text("Description")));
    }
    for form in form.structures("Groups") {
        peers.push((Peer::Group(form.required("GroupId")?.to_owned()), form.text("Description")));
    }
    for form in form.structures("PrefixListIds") {
        let list = form.required("PrefixListId")?.to_owned();
        peers.push((Peer::PrefixList(list), form.text("Description")));
    }
    if peers.is_empty() {
        let message = "The request must contain a peer: ipRanges, ipv6Ranges, groups or prefixListIds";
        return Err(Refusal::new("MissingParameter", message));
    }
    Ok(peers)
}

/// Rules with the same protocol and port range are returned as one permission with several peers.
pub(crate) fn write_permissions<'a>(
    xml: &mut Xml,
    account: &str,
    name: &str,
    rules: impl Iterator<Item = &'a Rule>,
) {
    let mut merged: Vec<Vec<&Rule>> = vec![];
    for rule in rules {
        let same = |other: &&mut Vec<&Rule>| {
            let first = other.first().map(|other| (&other.permission.protocol, other.permission.ports));
            first == Some((&rule.permission.protocol, rule.permission.ports))
        };
        match merged.iter_mut().find(same) {
            Some(together) => together.push(rule),
            None => merged.push(vec![rule]),
        }
    }
    xml.list(name, &merged, |xml, together| {
        if let Some(first) = together.first() {
            xml.text("ipProtocol", &first.permission.protocol);
            if let Some((from, to)) = first.permission.ports {
                xml.text("fromPort", from);
                xml.text("toPort", to);
            }
        }
        write_peers(xml, account, together, "groups", "groupId", Peer::group);
        write_peers(xml, account, together, "ipRanges", "cidrIp", Peer::v4);
        write_peers(xml, account, together, "ipv6Ranges", "cidrIpv6", Peer::v6);
        write_peers(xml, account, together, "prefixListIds", "prefixListId", Peer::prefix_list);
    });
}

fn write_peers(
    xml: &mut Xml,
    account: &str,
    rules: &[&Rule],
    set: &str,
    name: &str,
    of: fn(&Peer) -> Option<&String>,
) {
    let peers = rules.iter().filter_map(|rule| Some((of(&rule.permission.peer)?, rule)));
    xml.list(set, peers, |xml, (peer, rule)| {
        if set == "groups" {
            xml.text("userId", account);
        }
        xml.text(name, peer);
        xml.optional("description", rule.description.as_ref());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<(Permission, Option<String>)>, Refusal> {
        Permission::of(&Form::parse(text), false)
    }

    #[test]
    fn each_peer_is_a_permission() {
        let found = of("IpPermissions.1.IpProtocol=6&IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=80\
             &IpPermissions.1.IpRanges.1.CidrIp=10.0.0.9/8&IpPermissions.1.IpRanges.1.Description=office\
             &IpPermissions.1.Groups.1.GroupId=sg-1&IpPermissions.2.IpProtocol=-1\
             &IpPermissions.2.Ipv6Ranges.1.CidrIpv6=::/0")
        .unwrap();
        let described: Vec<String> = found.iter().map(|(permission, _)| permission.to_string()).collect();
        assert_eq!(
            described,
            [
                "peer: 10.0.0.0/8, TCP, from port: 80, to port: 80, ALLOW",
                "peer: sg-1, TCP, from port: 80, to port: 80, ALLOW",
                "peer: ::/0, ALL, ALLOW",
            ]
        );
        assert_eq!(found[0].1.as_deref(), Some("office"));
    }

    #[test]
    fn invalid_permissions_are_rejected() {
        let tcp = "IpPermissions.1.IpProtocol=tcp&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0";
        assert_eq!(of(tcp).unwrap_err().code, "InvalidParameterValue");
        let ports =
            |from, to| of(&format!("{tcp}&IpPermissions.1.FromPort={from}&IpPermissions.1.ToPort={to}"));
        assert_eq!(ports(90, 80).unwrap_err().code, "InvalidParameterValue");
        assert!(ports(80, 90).is_ok());
        assert!(of("IpPermissions.1.IpProtocol=moon&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0").is_err());
        assert_eq!(of("IpPermissions.1.IpProtocol=-1").unwrap_err().code, "MissingParameter");
    }
}
