//! What an import found, and what it did not write. Pure.

use std::collections::BTreeMap;

use super::{Selection, set::Set};
use crate::print::{Lines, count};

/// The most objects of a kind that are listed with their reasons.
const SHOWN: usize = 20;

/// The report, for standard error. `namespace` is that of the flags: the YAML names none.
pub(super) fn report(set: &Set, selection: &Selection, namespace: Option<&str>) -> String {
    let mut lines = Lines::default();
    let mut kinds = BTreeMap::<&str, usize>::new();
    for item in &set.items {
        *kinds.entry(&item.kind).or_default() += 1;
    }
    let of: Vec<_> = kinds.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
    let location = set.location.as_deref().map(|location| format!(" in {location}")).unwrap_or_default();
    if set.items.is_empty() {
        lines.line(format!("nothing to import{location}"));
        if let Some(vpc) = &selection.vpc
            && set.refused.is_empty()
            && set.managed.is_empty()
        {
            lines.line(format!(
                "is {vpc} in this account and region? Choose another Account with --use-account"
            ));
        }
    } else {
        let found = count(set.items.len(), "object");
        lines.line(format!("{found}{location}: {}", of.join(", ")));
        lines.line(format!("{} instead of ids", count(set.references, "reference")));
    }
    for (kind, id, why) in set.refused.iter().take(SHOWN) {
        lines.line(format!("not written: {kind} {id}: {why}"));
    }
    if set.refused.len() > SHOWN {
        lines.line(format!("not written: {} more", set.refused.len() - SHOWN));
    }
    for what in &set.unsupported {
        lines.line(format!("no kind for {what}"));
    }
    for (resource, id) in set.managed.iter().take(SHOWN) {
        lines.line(format!("managed already: {id} by {resource}"));
    }
    if set.managed.len() > SHOWN {
        lines.line(format!("managed already: {} more", set.managed.len() - SHOWN));
    }
    if set.elsewhere > 0 {
        let objects = count(set.elsewhere as usize, "object");
        lines.line(format!("{objects} managed by resources of other namespaces or clusters"));
    }
    if set.forbidden > 0 {
        let objects = count(set.forbidden as usize, "object");
        lines.line(format!(
            "{objects} that the Account does not allow to be adopted by id (spec.allow.adopt.ids)"
        ));
    }
    for (kind, why) in &set.problems {
        lines.line(format!("error: {kind}: {why}"));
    }
    if !set.items.is_empty() {
        let flag = namespace.map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
        lines.line(format!("next: kubectl kraken plan -f FILE{flag}, which must say only \"to adopt\""));
    }
    lines.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::set::tests::answers;
    use super::*;

    fn selection() -> Selection {
        Selection { vpc: Some("vpc-1".into()), tags: vec![], account: false, use_account: None, timeout: 1 }
    }

    #[test]
    fn everything_that_is_not_written_is_said() {
        let set = Set {
            location: Some("account 1, region r".into()),
            refused: vec![("SecurityGroup".into(), "sg-0".into(), "the default security group".into())],
            unsupported: vec!["VPN gateways: vgw-1".into()],
            managed: vec![("VPC/main".into(), "vpc-9".into())],
            elsewhere: 2,
            forbidden: 1,
            problems: vec![("Volume".into(), "the credentials were rejected".into())],
            ..Set::of(answers(), &BTreeSet::new(), |_| false)
        };
        let text = report(&set, &selection(), Some("legacy"));
        for line in [
            "7 objects in account 1, region r: 1 EC2Instance, 1 KeyPair",
            "6 references instead of ids",
            "not written: SecurityGroup sg-0: the default security group",
            "no kind for VPN gateways: vgw-1",
            "managed already: vpc-9 by VPC/main",
            "2 objects managed by resources of other namespaces",
            "1 object that the Account does not allow",
            "error: Volume: the credentials were rejected",
            "next: kubectl kraken plan -f FILE -n legacy, which",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn an_id_that_is_not_found_is_questioned() {
        let text = report(&Set::default(), &selection(), None);
        assert!(text.starts_with("nothing to import\nis vpc-1 in this account"), "{text}");
    }
}
