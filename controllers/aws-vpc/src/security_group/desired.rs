//! The name and the rules of a security group: resolved and validated. Pure.

use std::collections::BTreeMap;

use kraken_aws::{
    AwsGroup as _, cidr, group,
    prelude::*,
    resolved::{Joined, Optional},
    rules::{ValidationResult, ensure},
};
use kraken_kind::{Opt, options::Text};

use super::{
    api::{DESCRIPTION, DesiredRule, PartialRule, Rule, SecurityGroupSpec},
    rule::{Entries, Entry, Peer, Permission, SELF, named},
};

impl SecurityGroupSpec {
    pub(super) fn check_name(name: &str) -> ValidationResult {
        DESCRIPTION.check(name)?;
        ensure(!name.starts_with("sg-") && name.trim() == name, || {
            "must not start with sg-, and must not start or end with a space".to_owned()
        })
    }

    pub(super) fn ingress(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Entries> {
        self.ingress.as_ref().map_or(Some(None), |rules| entries(validator, "ingress", rules).map(Some))
    }

    pub(super) fn egress(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Entries> {
        self.egress.as_ref().map_or(Some(None), |rules| entries(validator, "egress", rules).map(Some))
    }
}

/// The permissions of all rules of one direction; `None` if a value is missing. Problems are reported with the index.
fn entries(validator: &mut SpecValidator<'_, '_>, field: &str, rules: &[Rule]) -> Entries {
    let taken = group::each_known(field, rules, validator);
    let is_whole = taken.iter().all(Option::is_some);
    let all = taken.into_iter().flatten().flat_map(of_rule).collect();
    is_whole.then(|| merged(all))
}

/// Permissions are a set: the same one in two rules, such as by references that lead to the same block, is one with the
/// first description.
fn merged(all: Vec<Joined<Entry>>) -> Vec<Joined<Entry>> {
    let mut merged = Vec::<Joined<Entry>>::with_capacity(all.len());
    let mut places = BTreeMap::<Permission, usize>::new();
    for entry in all {
        let permission = &entry.expose().permission;
        let Some(place) = places.get(permission) else {
            places.insert(permission.clone(), merged.len());
            merged.push(entry);
            continue;
        };
        let first = &mut merged[*place];
        let is_secret = first.is_secret() || entry.is_secret();
        let mut both = first.expose().clone();
        both.description = both.description.or_else(|| entry.expose().description.clone());
        *first = Joined::new(both, is_secret);
    }
    merged
}

/// One permission for each peer.
fn of_rule(mut rule: DesiredRule) -> Vec<Joined<Entry>> {
    let peers = [
        (rule.cidr_blocks.take(), (|block| Peer::V4(cidr::canonical(block))) as fn(&str) -> Peer),
        (rule.ipv6_cidr_blocks.take(), |block| Peer::V6(cidr::canonical(block))),
        (
            rule.security_group_ids.take(),
            |id| if id == SELF { Peer::Itself } else { Peer::Group(id.to_owned()) },
        ),
        (rule.prefix_list_ids.take(), |id| Peer::PrefixList(id.to_owned())),
    ];
    let rest_is_secret = Rule::is_secret(&rule);
    let (from, to) = (exposed(rule.from_port.as_ref()), exposed(rule.to_port.as_ref()));
    let description = exposed(rule.description.as_ref());
    let mut all = vec![];
    for (list, peer) in peers {
        let Some(list) = list else { continue };
        let is_secret = rest_is_secret || list.is_secret();
        all.extend(list.expose().iter().map(|item| {
            let permission = Permission::new(&rule.protocol.expose().0, from, to, peer(item));
            Joined::new(Entry { permission, description: description.clone() }, is_secret)
        }));
    }
    all
}

impl Rule {
    pub(super) fn between_fields(
        &self,
        field: &str,
        partial: &PartialRule,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        let lists =
            [&self.cidr_blocks, &self.ipv6_cidr_blocks, &self.security_group_ids, &self.prefix_list_ids];
        if lists.iter().all(|list| list.is_none()) {
            let why = "no peer specified: set cidrBlocks, ipv6CIDRBlocks, securityGroupIDs or prefixListIDs";
            validator.problem(field, why);
        }
        let ports = [(&self.from_port, &partial.from_port), (&self.to_port, &partial.to_port)];
        check_ports(field, partial.protocol.as_ref(), ports, validator);
    }
}

/// Whether the protocol has these ports, each as it is written and as far as it is known.
pub(crate) fn check_ports(
    field: &str,
    protocol: Option<&Resolved<Text>>,
    [from, to]: [(&Option<Opt<i32>>, &Optional<i32>); 2],
    validator: &mut SpecValidator<'_, '_>,
) {
    let mut problem = |name: &str, why: &str| validator.problem(&format!("{field}.{name}"), why);
    match protocol.map(|protocol| named(&protocol.expose().0)) {
        Some("tcp" | "udp") => {
            if from.0.is_none() {
                problem("fromPort", "is required for tcp and udp");
            }
            if given(from.1).zip(given(to.1)).is_some_and(|(from, to)| from > to) {
                problem("fromPort", "must not be greater than toPort");
            }
        }
        Some("icmp" | "icmpv6") | None => {}
        Some(_) => {
            for (name, port) in [("fromPort", from.0), ("toPort", to.0)] {
                if port.is_some() {
                    problem(name, "is only allowed for tcp, udp and icmp: this protocol has no ports");
                }
            }
        }
    }
}
