//! The name and the rules of a security group: resolved and validated. Pure.

use kraken_aws::{
    bounds, cidr,
    resolved::{Joined, exposed, given},
    rules::{Verdict, between, ensure},
    validator::{SpecValidator, ValidationError},
};
use kraken_spoke::{
    Resolved,
    options::{ListOpt, Text},
};

use super::{
    api::{DESCRIPTION, Desired, PEER_ID, PREFIX_LIST_ID, PROTOCOL, Rule, SecurityGroupSpec},
    rule::{Direction, Entry, Peer, Permission, SELF, named},
};

type Entries = Option<Option<Vec<Joined<Entry>>>>;

impl SecurityGroupSpec {
    pub(super) fn check_name(name: &str) -> Verdict {
        DESCRIPTION.check(name)?;
        ensure(!name.starts_with("sg-") && name.trim() == name, || {
            "must not start with sg-, and must not start or end with a space".to_owned()
        })
    }

    pub(super) fn ingress(&self, validator: &mut SpecValidator<'_, '_>) -> Entries {
        of_rules(validator, "ingress", self.ingress.as_deref())
    }

    pub(super) fn egress(&self, validator: &mut SpecValidator<'_, '_>) -> Entries {
        of_rules(validator, "egress", self.egress.as_deref())
    }
}

impl Desired {
    /// The rules of a direction; empty if the spec does not manage them.
    pub(super) fn rules(&self, direction: Direction) -> &[Joined<Entry>] {
        let rules = match direction {
            Direction::Ingress => &self.ingress,
            Direction::Egress => &self.egress,
        };
        rules.as_deref().unwrap_or_default()
    }
}

fn of_rules(validator: &mut SpecValidator<'_, '_>, field: &str, rules: Option<&[Rule]>) -> Entries {
    match rules {
        Some(rules) => entries(validator, field, rules).map(Some),
        None => Some(None),
    }
}

/// The permissions of all rules of one direction; `None` if a value is missing. Problems are reported with the index.
fn entries(validator: &mut SpecValidator<'_, '_>, field: &str, rules: &[Rule]) -> Option<Vec<Joined<Entry>>> {
    let taken: Vec<_> = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| of_rule(validator, &format!("{field}[{index}]"), rule))
        .collect();
    let mut all = Vec::<(usize, Joined<Entry>)>::new();
    for (index, entries) in taken.iter().enumerate() {
        for entry in entries.iter().flatten() {
            let is_same =
                |other: &&(usize, Joined<Entry>)| other.1.expose().permission == entry.expose().permission;
            if let Some((first, _)) = all.iter().find(is_same) {
                let why = format!("{} is in {field}[{first}] already", entry.shown());
                validator.problem(&format!("{field}[{index}]"), why);
            }
            all.push((index, entry.clone()));
        }
    }
    let is_whole = taken.iter().all(Option::is_some);
    is_whole.then(|| all.into_iter().map(|(_, entry)| entry).collect())
}

fn of_rule(validator: &mut SpecValidator<'_, '_>, field: &str, rule: &Rule) -> Option<Vec<Joined<Entry>>> {
    let at = |name: &str| format!("{field}.{name}");
    let protocol = validator.one(&at("protocol"), &rule.protocol, |text: &Text| is_protocol(&text.0));
    let name = protocol.as_ref().map(|protocol| named(&protocol.expose().0).to_owned());
    let (min, max) = match name.as_deref() {
        Some("icmp" | "icmpv6") => (-1, 255),
        _ => (0, 65_535),
    };
    let port = |port: &i32| between(*port, min, max);
    let from = validator.optional(&at("fromPort"), rule.from_port.as_ref(), port);
    let to = validator.optional(&at("toPort"), rule.to_port.as_ref(), port);
    let description =
        validator.optional(&at("description"), rule.description.as_ref(), bounds::rule(&DESCRIPTION));
    let peers = peers(validator, &at, rule);

    match name.as_deref() {
        Some("tcp" | "udp") => {
            if rule.from_port.is_none() {
                validator.problem(&at("fromPort"), "is required for tcp and udp");
            }
            if given(&from).zip(given(&to)).is_some_and(|(from, to)| from > to) {
                validator.problem(&at("fromPort"), "must not be greater than toPort");
            }
        }
        Some("icmp" | "icmpv6") | None => {}
        Some(_) => {
            for (name, port) in [("fromPort", &rule.from_port), ("toPort", &rule.to_port)] {
                if port.is_some() {
                    validator.problem(
                        &at(name),
                        "is only allowed for tcp, udp and icmp: this protocol has no ports",
                    );
                }
            }
        }
    }

    let (protocol, from, to, description, peers) = (protocol?, from?, to?, description?, peers?);
    let is_secret = |option: &Option<Resolved<i32>>| option.as_ref().is_some_and(Resolved::is_secret);
    let rest_is_secret = protocol.is_secret()
        || is_secret(&from)
        || is_secret(&to)
        || description.as_ref().is_some_and(Resolved::is_secret);
    let (from, to) = (exposed(from.as_ref()), exposed(to.as_ref()));
    let entry = |peer: Joined<Peer>| {
        let permission = Permission::new(&protocol.expose().0, from, to, peer.expose().clone());
        let description = exposed(description.as_ref());
        Joined::new(Entry { permission, description }, rest_is_secret || peer.is_secret())
    };
    Some(peers.into_iter().map(entry).collect())
}

fn peers(
    validator: &mut SpecValidator<'_, '_>,
    at: &impl Fn(&str) -> String,
    rule: &Rule,
) -> Option<Vec<Joined<Peer>>> {
    let is_group = |id: &str| PEER_ID.check(id);
    let lists = [
        (validator.each(&at("cidrBlocks"), rule.cidr_blocks.as_ref(), cidr::v4), v4 as fn(&str) -> Peer),
        (validator.each(&at("ipv6CIDRBlocks"), rule.ipv6_cidr_blocks.as_ref(), cidr::v6), v6),
        (validator.each(&at("securityGroupIDs"), rule.security_group_ids.as_ref(), is_group), group),
        (
            validator.each(&at("prefixListIDs"), rule.prefix_list_ids.as_ref(), |id: &str| {
                PREFIX_LIST_ID.check(id)
            }),
            prefix_list,
        ),
    ];
    let given: [&Option<ListOpt<String>>; 4] =
        [&rule.cidr_blocks, &rule.ipv6_cidr_blocks, &rule.security_group_ids, &rule.prefix_list_ids];
    if given.iter().all(|list| list.is_none()) {
        let why = "no peer specified: set cidrBlocks, ipv6CIDRBlocks, securityGroupIDs or prefixListIDs";
        validator.problem(at("").trim_end_matches('.'), why);
    }
    let mut all = vec![];
    for (list, peer) in lists {
        if let Some(list) = list? {
            all.extend(list.expose().iter().map(|item| Joined::new(peer(item), list.is_secret())));
        }
    }
    Some(all)
}

fn v4(block: &str) -> Peer {
    Peer::V4(cidr::canonical(block))
}

fn v6(block: &str) -> Peer {
    Peer::V6(cidr::canonical(block))
}

fn group(id: &str) -> Peer {
    if id == SELF { Peer::Itself } else { Peer::Group(id.to_owned()) }
}

fn prefix_list(id: &str) -> Peer {
    Peer::PrefixList(id.to_owned())
}

fn is_protocol(protocol: &str) -> Result<(), ValidationError> {
    Ok(PROTOCOL.check(protocol)?)
}
