//! The differences between desired and observed rules of one direction. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_aws::{
    diff::difference,
    fields::{ABSENT, NOT_SHOWN, listed},
    resolved::Joined,
};
use kraken_spoke::Difference;

use super::{
    api::{Desired, SecurityGroupSpec},
    observed::SecurityGroup,
    rule::{Change, Direction, Entry, Peer, Permission},
};

impl SecurityGroupSpec {
    pub(super) fn compare_ingress(desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
        desired.ingress.as_ref().map_or(vec![], |wanted| differences(Direction::Ingress, wanted, group))
    }

    pub(super) fn compare_egress(desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
        desired.egress.as_ref().map_or(vec![], |wanted| differences(Direction::Egress, wanted, group))
    }
}

/// Missing permissions first, so that traffic that both the old and the new rules allow is never blocked.
fn differences(
    direction: Direction,
    wanted: &[Joined<Entry>],
    group: &SecurityGroup,
) -> Vec<Difference<Change>> {
    let mut found = vec![];
    let path = match direction {
        Direction::Ingress => "ingress",
        Direction::Egress => "egress",
    };
    let wanted: Vec<Joined<Entry>> = wanted.iter().map(|entry| with_id(entry, &group.group_id)).collect();
    let have: BTreeMap<Permission, Option<String>> =
        group.entries(direction).into_iter().map(|entry| (entry.permission, entry.description)).collect();

    let missing: Vec<_> =
        wanted.iter().filter(|entry| !have.contains_key(&entry.expose().permission)).cloned().collect();
    if !missing.is_empty() {
        let shown = listed(&missing.iter().map(Joined::shown).collect::<Vec<_>>());
        found.push(difference(path, shown, ABSENT, Change::Authorize(direction, missing)));
    }

    let is_other = |entry: &&Joined<Entry>| {
        let Entry { permission, description } = entry.expose();
        description.is_some() && have.get(permission).is_some_and(|have| have != description)
    };
    let undescribed: Vec<_> = wanted.iter().filter(is_other).cloned().collect();
    if let Some(first) = undescribed.first() {
        let is_secret = first.is_secret();
        let text = |text: Option<&String>| match text {
            _ if is_secret => NOT_SHOWN.to_owned(),
            Some(text) => text.clone(),
            None => ABSENT.to_owned(),
        };
        let (want, have) = (first.expose().description.as_ref(), have.get(&first.expose().permission));
        let (want, have) = (text(want), text(have.and_then(Option::as_ref)));
        let path = format!("{path}.description");
        found.push(difference(&path, want, have, Change::Describe(direction, undescribed)));
    }

    let extra = extra(direction, &wanted, group);
    if !extra.is_empty() {
        let shown = listed(&extra.iter().map(Joined::shown).collect::<Vec<_>>());
        found.push(difference(path, ABSENT, shown, Change::Revoke(direction, extra)));
    }
    found
}

/// The rules to revoke.
pub(super) fn extra(
    direction: Direction,
    wanted: &[Joined<Entry>],
    group: &SecurityGroup,
) -> Vec<Joined<Entry>> {
    let wanted: Vec<Joined<Entry>> = wanted.iter().map(|entry| with_id(entry, &group.group_id)).collect();
    // It may be a former value of the Secret.
    let any_secret = wanted.iter().any(Joined::is_secret);
    let is_wanted =
        |permission: &Permission| wanted.iter().any(|entry| entry.expose().permission == *permission);
    let have: BTreeSet<Permission> =
        group.entries(direction).into_iter().map(|entry| entry.permission).collect();
    let extra = have.into_iter().filter(|permission| !is_wanted(permission));
    extra.map(|permission| Joined::new(Entry { permission, description: None }, any_secret)).collect()
}

/// Replaces the group itself with its id, as AWS returns it.
fn with_id(entry: &Joined<Entry>, id: &str) -> Joined<Entry> {
    let mut with_id = entry.expose().clone();
    if with_id.permission.peer == Peer::Itself {
        with_id.permission.peer = Peer::Group(id.to_owned());
    }
    Joined::new(with_id, entry.is_secret())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security_group::{SecurityGroups, rule::Peer, sdk};
    use kraken_aws::{
        AwsSpec as _,
        items::sorted,
        testing::{self, rendered, with},
    };
    use serde_json::{Value, json};

    fn written(changes: Value) -> Value {
        with(json!({"vpcID": {"value": "vpc-1"}}), changes)
    }

    /// A security group as AWS returns it, with these rules: protocol, ports, one peer.
    fn group(ingress: &[(&str, i32, Peer)]) -> SecurityGroup {
        let entries = ingress.iter().map(|(protocol, port, peer)| Entry {
            permission: Permission::new(protocol, Some(*port), Some(*port), peer.clone()),
            description: None,
        });
        SecurityGroup {
            group_id: "sg-1".into(),
            vpc_id: Some("vpc-1".into()),
            ip_permissions: sorted(Some(entries.map(|entry| sdk::to_sdk(&entry)).collect())),
            ..SecurityGroup::default()
        }
    }

    fn compared(changes: Value, group: &SecurityGroup) -> Vec<String> {
        let found =
            SecurityGroupSpec::differences(&testing::desired::<SecurityGroups>(written(changes)), group);
        let short = |text: String| {
            text.split(": Authorize").next().unwrap().split(": Revoke").next().unwrap().to_owned()
        };
        rendered(found).into_iter().map(short).collect()
    }

    fn everywhere() -> Peer {
        Peer::V4("0.0.0.0/0".into())
    }

    fn web() -> Value {
        json!({"protocol": {"value": "tcp"}, "fromPort": {"value": 443}, "cidrBlocks": {"value": ["0.0.0.0/0"]}})
    }

    #[test]
    fn equivalent_rules_do_not_differ() {
        let group = group(&[("tcp", 443, everywhere()), ("-1", -1, Peer::Group("sg-1".into()))]);
        let by_number = json!({
            "protocol": {"value": 6}, "fromPort": {"value": 443}, "toPort": {"value": 443},
            "cidrBlocks": {"value": ["0.0.0.0/0"]},
        });
        let itself = json!({"protocol": {"value": -1}, "securityGroupIDs": {"value": ["self"]}});
        assert!(compared(json!({"ingress": [web(), itself]}), &group).is_empty());
        assert!(compared(json!({"ingress": [itself, by_number]}), &group).is_empty());
    }

    #[test]
    fn missing_rules_are_authorized_before_others_are_revoked() {
        let group = group(&[("tcp", 22, everywhere())]);
        let many = json!({
            "protocol": {"value": "udp"}, "fromPort": {"value": 53}, "toPort": {"value": 54},
            "cidrBlocks": {"value": ["10.0.0.0/8"]}, "ipv6CIDRBlocks": {"value": ["2001:0DB8::/32"]},
            "prefixListIDs": {"value": ["pl-1"]},
        });
        assert_eq!(
            compared(json!({"ingress": [web(), many]}), &group),
            [
                "ingress: (absent) becomes tcp 443 0.0.0.0/0, udp 53-54 10.0.0.0/8, udp 53-54 2001:db8::/32, udp 53-54 pl-1",
                "ingress: tcp 22 0.0.0.0/0 becomes (absent)",
            ]
        );
    }

    #[test]
    fn an_absent_list_is_not_managed_and_an_empty_one_is() {
        let group = group(&[("tcp", 22, everywhere())]);
        assert!(compared(json!({"egress": []}), &group).is_empty());
        assert_eq!(compared(json!({"ingress": []}), &group), ["ingress: tcp 22 0.0.0.0/0 becomes (absent)"]);
    }

    #[test]
    fn a_description_changes_in_place() {
        let mut rule = web();
        rule["description"] = json!({"value": "HTTPS"});
        let group = group(&[("tcp", 443, everywhere())]);
        let found = compared(json!({"ingress": [rule]}), &group);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("ingress.description: (absent) becomes HTTPS: Describe(Ingress"),
            "{found:?}"
        );
    }

    #[test]
    fn a_secret_in_a_rule_is_absent_from_differences() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let mut rule = web();
        rule["description"] = from_secret;
        let desired = testing::desired::<SecurityGroups>(written(json!({"ingress": [rule]})));
        let found = SecurityGroupSpec::differences(&desired, &group(&[("tcp", 22, everywhere())]));
        let text = format!("{desired:?} {found:?}");
        assert!(!text.contains(testing::HIDDEN), "{text}");
        assert_eq!(found[0].field.want, "***");
    }
}
