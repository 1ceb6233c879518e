//! The entries of a network ACL: resolved, validated and compared. Pure.

use kraken_aws::{
    AwsGroup as _, cidr,
    fields::{ABSENT, NOT_SHOWN, item_path},
    group,
    prelude::*,
    resolved::Joined,
};

use super::{
    api::{Change, Desired, DesiredEntry, EntrySpec, NetworkACLSpec, PartialEntry},
    entry::{Entries, Entry, IcmpTypeCode, PortRange, numbered},
    observed::NetworkAcl,
};
use crate::security_group::{
    desired::check_ports,
    rule::{Direction, Peer, Permission},
};

impl NetworkACLSpec {
    pub(super) fn ingress(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Entries> {
        entries(Direction::Ingress, self.ingress.as_ref(), validator)
    }

    pub(super) fn egress(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Entries> {
        entries(Direction::Egress, self.egress.as_ref(), validator)
    }

    pub(super) fn compare_ingress(desired: &Desired, acl: &NetworkAcl) -> Vec<Difference<Change>> {
        differences(Direction::Ingress, desired.ingress.as_ref(), acl)
    }

    pub(super) fn compare_egress(desired: &Desired, acl: &NetworkAcl) -> Vec<Difference<Change>> {
        differences(Direction::Egress, desired.egress.as_ref(), acl)
    }
}

impl EntrySpec {
    pub(super) fn between_fields(
        &self,
        field: &str,
        partial: &PartialEntry,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        let ports = [(&self.from_port, &partial.from_port), (&self.to_port, &partial.to_port)];
        check_ports(field, partial.protocol.as_ref(), ports, validator);
    }
}

/// All entries of one direction; `None` if a value is missing. Problems are reported with the index.
fn entries(
    direction: Direction,
    entries: Option<&Vec<EntrySpec>>,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Entries> {
    let Some(entries) = entries else { return Some(None) };
    let field = direction.field();
    let taken = group::each_known(field, entries, validator);
    let numbers: Vec<Option<i32>> =
        taken.iter().map(|entry| entry.as_ref().map(|entry| *entry.rule_number.expose())).collect();
    for (index, number) in numbers.iter().enumerate().filter(|(_, number)| number.is_some()) {
        if let Some(first) = numbers[..index].iter().position(|other| other == number) {
            let why = format!("is also the number of {field}[{first}]");
            validator.problem(&format!("{field}[{index}].ruleNumber"), why);
        }
    }
    let whole = group::known(taken)?;
    let joined = |entry| Joined::new(of_spec(direction, entry), EntrySpec::is_secret(entry));
    Some(Some(whole.iter().map(joined).collect()))
}

/// An entry of the spec in AWS's form.
fn of_spec(direction: Direction, wanted: &DesiredEntry) -> Entry {
    let DesiredEntry { rule_number, action, protocol, from_port, to_port, cidr_block, ipv6_cidr_block } =
        wanted;
    let (from, to) =
        (from_port.as_ref().map(|port| *port.expose()), to_port.as_ref().map(|port| *port.expose()));
    let permission = Permission::new(&protocol.expose().0, from, to, Peer::Itself);
    let is_icmp = permission.protocol.starts_with("icmp");
    let (icmp, ports) = if is_icmp { (permission.ports, None) } else { (None, permission.ports) };
    let block = |block: &Resolved<String>| cidr::canonical(block.expose());
    Entry {
        rule_number: *rule_number.expose(),
        egress: direction == Direction::Egress,
        rule_action: action.expose().clone(),
        protocol: numbered(&permission.protocol).to_owned(),
        cidr_block: cidr_block.as_ref().map(block),
        ipv6_cidr_block: ipv6_cidr_block.as_ref().map(block),
        port_range: ports.map(|(from, to)| PortRange { from, to }),
        icmp_type_code: icmp.map(|(r#type, code)| IcmpTypeCode { r#type, code }),
    }
}

/// Entries are added and changed before others are removed.
fn differences(
    direction: Direction,
    wanted: Option<&Vec<Joined<Entry>>>,
    acl: &NetworkAcl,
) -> Vec<Difference<Change>> {
    let Some(wanted) = wanted else { return vec![] };
    let path = |number: i32| item_path(direction.field(), &number.to_string());
    let mut found = vec![];
    for entry in wanted {
        let number = entry.expose().rule_number;
        let (have, change) = match acl.own_entries(direction).find(|have| have.rule_number == number) {
            None => (ABSENT.to_owned(), Change::Create(entry.clone())),
            Some(have) if have == entry.expose() => continue,
            Some(_) if entry.is_secret() => (NOT_SHOWN.to_owned(), Change::Replace(entry.clone())),
            Some(have) => (have.to_string(), Change::Replace(entry.clone())),
        };
        found.push(difference(&path(number), entry.shown(), have, change));
    }
    // It may be a former value of the Secret.
    let any_secret = wanted.iter().any(Joined::is_secret);
    let is_extra = |have: &&Entry| wanted.iter().all(|entry| entry.expose().rule_number != have.rule_number);
    found.extend(acl.own_entries(direction).filter(is_extra).map(|have| {
        let shown = if any_secret { NOT_SHOWN.to_owned() } else { have.to_string() };
        difference(&path(have.rule_number), ABSENT, shown, Change::Delete(direction, have.rule_number))
    }));
    found
}
