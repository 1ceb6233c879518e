//! The differences between desired and observed rules of one direction. Pure.

use std::collections::BTreeMap;

use kraken_aws::{
    fields::{ABSENT, NOT_SHOWN, listed},
    prelude::*,
    resolved::Joined,
};

use super::{
    api::{Desired, SecurityGroupSpec},
    observed::SecurityGroup,
    rule::{Change, Direction, Entry, Peer, Permission},
};

impl SecurityGroupSpec {
    pub(super) fn compare_ingress(desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
        differences(Direction::Ingress, desired, group)
    }

    pub(super) fn compare_egress(desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
        differences(Direction::Egress, desired, group)
    }
}

/// Missing permissions first, so that traffic that both the old and the new rules allow is never blocked.
fn differences(direction: Direction, desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
    let Some(wanted) = wanted(direction, desired, group) else { return vec![] };
    let path = direction.field();
    let mut found = vec![];
    let have = group.entries(direction).into_iter().map(|entry| (entry.permission, entry.description));
    let have: BTreeMap<Permission, Option<String>> = have.collect();

    let is_missing = |entry: &&Joined<Entry>| !have.contains_key(&entry.expose().permission);
    let missing: Vec<_> = wanted.iter().filter(is_missing).cloned().collect();
    if !missing.is_empty() {
        found.push(difference(path, shown_all(&missing), ABSENT, Change::Authorize(direction, missing)));
    }

    let is_other = |entry: &&Joined<Entry>| {
        let Entry { permission, description } = entry.expose();
        description.is_some() && have.get(permission).is_some_and(|have| have != description)
    };
    let undescribed: Vec<_> = wanted.iter().filter(is_other).cloned().collect();
    if let Some(first) = undescribed.first() {
        let text = |text: Option<&String>| match text {
            _ if first.is_secret() => NOT_SHOWN.to_owned(),
            Some(text) => text.clone(),
            None => ABSENT.to_owned(),
        };
        let Entry { permission, description } = first.expose();
        let (want, have) = (text(description.as_ref()), text(have.get(permission).and_then(Option::as_ref)));
        let path = format!("{path}.description");
        found.push(difference(&path, want, have, Change::Describe(direction, undescribed)));
    }

    let extra = extra(direction, desired, group);
    if !extra.is_empty() {
        found.push(difference(path, ABSENT, shown_all(&extra), Change::Revoke(direction, extra)));
    }
    found
}

fn shown_all(entries: &[Joined<Entry>]) -> String {
    listed(&entries.iter().map(Joined::shown).collect::<Vec<_>>())
}

/// The rules to revoke.
pub(super) fn extra(direction: Direction, desired: &Desired, group: &SecurityGroup) -> Vec<Joined<Entry>> {
    let wanted = wanted(direction, desired, group).unwrap_or_default();
    // It may be a former value of the Secret.
    let any_secret = wanted.iter().any(Joined::is_secret);
    let is_extra = |have: &Permission| wanted.iter().all(|entry| entry.expose().permission != *have);
    let have = group.entries(direction).into_iter().map(|entry| (entry.permission, entry.description));
    let have: BTreeMap<Permission, Option<String>> = have.collect();
    let extra = have.into_iter().filter(|(permission, _)| is_extra(permission));
    // As observed, with the description: not every implementation of the API finds the rule without it.
    extra
        .map(|(permission, description)| Joined::new(Entry { permission, description }, any_secret))
        .collect()
}

/// The desired rules as AWS returns them: with the id of the group itself. `None` if the spec does not manage them.
fn wanted(direction: Direction, desired: &Desired, group: &SecurityGroup) -> Option<Vec<Joined<Entry>>> {
    let rules = match direction {
        Direction::Ingress => desired.ingress.as_ref()?,
        Direction::Egress => desired.egress.as_ref()?,
    };
    let with_id = |rule: &Joined<Entry>| {
        let mut entry = rule.expose().clone();
        if entry.permission.peer == Peer::Itself {
            entry.permission.peer = Peer::Group(group.group_id.clone());
        }
        Joined::new(entry, rule.is_secret())
    };
    Some(rules.iter().map(with_id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security_group::{SecurityGroups, rule_calls::to_sdk};
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
            ip_permissions: sorted(Some(entries.map(|entry| to_sdk(&entry)).collect())),
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
    fn a_rule_is_revoked_with_the_description_that_was_observed() {
        let permission = Permission::new("tcp", Some(22), Some(22), everywhere());
        let entry = Entry { permission, description: Some("for the audit".into()) };
        let group = SecurityGroup { ip_permissions: sorted(Some(vec![to_sdk(&entry)])), ..group(&[]) };
        let desired = testing::desired::<SecurityGroups>(written(json!({"ingress": []})));
        let revoked = extra(Direction::Ingress, &desired, &group);
        assert_eq!(revoked.iter().map(Joined::expose).collect::<Vec<_>>(), [&entry]);
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
