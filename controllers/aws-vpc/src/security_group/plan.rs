//! What is wanted of a security group, and how it differs from what there is. Pure.

use std::collections::BTreeMap;

use kraken_aws::{
    differ::{difference, fixed},
    fields::{ABSENT, NOT_SHOWN, listed},
    rules::{an_id, ensure},
    take::{Fault, Joined, Take},
};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{
    api::SecurityGroupSpec,
    aws::SecurityGroup,
    rule::{self, Entry, Peer, Permission},
};

/// What there shall be. What is absent is AWS's business: it is neither sent nor compared.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(super) vpc_id: Resolved<String>,
    pub(super) group_name: Option<Resolved<String>>,
    pub(super) description: Option<Resolved<String>>,
    pub(super) ingress: Option<Vec<Joined<Entry>>>,
    pub(super) egress: Option<Vec<Joined<Entry>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Ingress,
    Egress,
}

/// A change in place: of several rules of one direction, by one call.
#[derive(Debug)]
pub(crate) enum Change {
    Authorize(Direction, Vec<Joined<Entry>>),
    Describe(Direction, Vec<Joined<Entry>>),
    Revoke(Direction, Vec<Joined<Entry>>),
}

pub(super) fn desired(spec: &SecurityGroupSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut take = Take::new(values);
    let vpc_id = take.one("vpcID", &spec.vpc_id, |id: &str| an_id(id, "vpc-"));
    let group_name = take.optional("groupName", spec.group_name.as_ref(), |name: &str| {
        rule::is_description(name)?;
        let fits = !name.starts_with("sg-") && name.trim() == name;
        Ok::<_, Fault>(ensure(fits, || "must not begin with sg-, nor begin or end with a space".to_owned())?)
    });
    let description = take.optional("description", spec.description.as_ref(), rule::is_description);
    let ingress = spec.ingress.as_ref().map(|rules| rule::entries(&mut take, "ingress", rules));
    let egress = spec.egress.as_ref().map(|rules| rule::entries(&mut take, "egress", rules));
    let valid = take.is_valid();
    let desired = Desired {
        vpc_id: vpc_id?,
        group_name: group_name?,
        description: description?,
        ingress: ingress.map_or(Some(None), |taken| taken.map(Some))?,
        egress: egress.map_or(Some(None), |taken| taken.map(Some))?,
    };
    valid.then_some(desired)
}

pub(super) fn differences(desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
    let fixed = [
        fixed("vpcID", Some(&desired.vpc_id), group.vpc_id.as_ref()),
        fixed("groupName", desired.group_name.as_ref(), group.group_name.as_ref()),
        fixed("description", desired.description.as_ref(), group.description.as_ref()),
    ];
    let mut found: Vec<_> = fixed.into_iter().flatten().collect();
    for (direction, wanted) in [(Direction::Ingress, &desired.ingress), (Direction::Egress, &desired.egress)]
    {
        if let Some(wanted) = wanted {
            of_rules(direction, wanted, group, &mut found);
        }
    }
    found
}

/// What is missing comes first: what may pass in the old way and in the new one is never cut off in between.
fn of_rules(
    direction: Direction,
    wanted: &[Joined<Entry>],
    group: &SecurityGroup,
    found: &mut Vec<Difference<Change>>,
) {
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

    let any_secret = wanted.iter().any(Joined::is_secret);
    let is_wanted =
        |permission: &Permission| wanted.iter().any(|entry| entry.expose().permission == *permission);
    let extra: Vec<_> = have
        .into_iter()
        .filter(|(permission, _)| !is_wanted(permission))
        // The former value of a secret, perhaps.
        .map(|(permission, _)| Joined::new(Entry { permission, description: None }, any_secret))
        .collect();
    if !extra.is_empty() {
        let shown = listed(&extra.iter().map(Joined::shown).collect::<Vec<_>>());
        found.push(difference(path, ABSENT, shown, Change::Revoke(direction, extra)));
    }
}

/// The group itself by its id, as AWS has it.
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
    use crate::{
        security_group::SecurityGroups,
        testing::{self, told},
    };
    use serde_json::{Value, json};

    fn written(changes: Value) -> Value {
        let mut spec = json!({"vpcID": {"value": "vpc-1"}});
        spec.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        spec
    }

    fn problems(changes: Value) -> Vec<String> {
        testing::problems::<SecurityGroups>(written(changes))
    }

    /// A group that has these rules by AWS's account: protocol, ports, one peer.
    fn group(ingress: &[(&str, i32, Peer)]) -> SecurityGroup {
        let entries = ingress.iter().map(|(protocol, port, peer)| Entry {
            permission: Permission::new(protocol, Some(*port), Some(*port), peer.clone()),
            description: None,
        });
        SecurityGroup::with_rules("sg-1", "vpc-1", entries)
    }

    fn compared(changes: Value, group: &SecurityGroup) -> Vec<String> {
        let found = differences(&testing::desired::<SecurityGroups>(written(changes)), group);
        let short = |text: String| {
            text.split(": Authorize").next().unwrap().split(": Revoke").next().unwrap().to_owned()
        };
        told(found).into_iter().map(short).collect()
    }

    fn everywhere() -> Peer {
        Peer::V4("0.0.0.0/0".into())
    }

    fn web() -> Value {
        json!({"protocol": {"value": "tcp"}, "fromPort": {"value": 443}, "cidrBlocks": {"value": ["0.0.0.0/0"]}})
    }

    #[test]
    fn rules_that_mean_the_same_are_the_same() {
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
    fn what_is_missing_is_authorized_before_what_is_too_much_is_revoked() {
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
    fn a_list_that_is_absent_is_left_alone_and_an_empty_one_is_not() {
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
    fn name_description_and_vpc_are_fixed() {
        let wanted = json!({"groupName": {"value": "web"}, "description": {"value": "d"}, "vpcID": {"value": "vpc-2"}});
        assert_eq!(
            compared(wanted, &group(&[])),
            [
                "vpcID: vpc-1 becomes vpc-2: fixed",
                "groupName: (absent) becomes web: fixed",
                "description: (absent) becomes d: fixed",
            ]
        );
    }

    #[test]
    fn everything_wrong_with_rules_is_told_with_its_place() {
        let rule = |protocol: Value, from: i32, to: i32| {
            json!({
                "protocol": {"value": protocol}, "fromPort": {"value": from}, "toPort": {"value": to},
                "cidrBlocks": {"value": ["10.0.0.0/8"]},
            })
        };
        let mut several = rule(json!("tcp"), -1, 65_536);
        several["cidrBlocks"] = json!({"value": ["10.0.0.1/8", "10.0.0.0/8"]});
        several["securityGroupIDs"] = json!({"value": ["web"]});
        let found = problems(json!({
            "ingress": [
                several,
                rule(json!("tcp"), 81, 80),
                rule(json!("http"), 80, 80),
                rule(json!(-1), 1, 1),
                {"protocol": {"value": "udp"}},
                rule(json!("icmp"), -1, 256),
            ],
            "egress": [web(), web()],
            "groupName": {"value": "sg-web"},
            "description": {"value": "a<b"},
        }));
        assert_eq!(
            found,
            [
                "spec.groupName: must not begin with sg-, nor begin or end with a space",
                "spec.description: may have letters, digits, spaces and ._-:/()#,@[]+=&;{}!$* only",
                "spec.ingress[0].fromPort: must be 0 to 65535",
                "spec.ingress[0].toPort: must be 0 to 65535",
                "spec.ingress[0].cidrBlocks: item 0 has address bits set behind its /8: write 10.0.0.0/8",
                "spec.ingress[0].securityGroupIDs: item 0 must look like sg-0abc1234def567890",
                "spec.ingress[1].fromPort: must not be greater than toPort",
                "spec.ingress[2].protocol: must be tcp, udp, icmp, icmpv6, a number of 0 to 255, or -1 for all",
                "spec.ingress[2].fromPort: is for tcp, udp and icmp only: this protocol has no ports",
                "spec.ingress[2].toPort: is for tcp, udp and icmp only: this protocol has no ports",
                "spec.ingress[3].fromPort: is for tcp, udp and icmp only: this protocol has no ports",
                "spec.ingress[3].toPort: is for tcp, udp and icmp only: this protocol has no ports",
                "spec.ingress[4]: says for nobody: it needs cidrBlocks, ipv6CIDRBlocks, securityGroupIDs or prefixListIDs",
                "spec.ingress[4].fromPort: is needed for tcp and udp",
                "spec.ingress[5].toPort: must be -1 to 255",
                "spec.ingress[0]: tcp -1-65536 10.0.0.0/8 is in ingress[0] already",
                "spec.egress[1]: tcp 443 0.0.0.0/0 is in egress[0] already",
            ]
        );
    }

    #[test]
    fn a_secret_in_a_rule_is_not_told() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let mut rule = web();
        rule["description"] = from_secret;
        let desired = testing::desired::<SecurityGroups>(written(json!({"ingress": [rule]})));
        let found = differences(&desired, &group(&[("tcp", 22, everywhere())]));
        let text = format!("{desired:?} {found:?}");
        assert!(!text.contains(testing::HIDDEN), "{text}");
        assert_eq!(found[0].field.want, "***");
    }
}
