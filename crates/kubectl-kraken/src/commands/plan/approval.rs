//! One approval for a set: the plan that a resource with `approval: Manual` shows after the apply is approved if it is what was reviewed
//! as a part of the plan of the set. Client required to approve; [`agrees`] decides, and is pure.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use kraken_api::{FieldDiff, Plan, PlanAction, effect::Effect};

use super::{
    entry::{Action, Entry},
    run,
};
use crate::{
    cluster::Cluster,
    commands::approve::approve,
    graph::{Graph, Node},
    print::{Lines, clean, out},
    resource::Resource,
};

/// The approvals that a plan of a set includes.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    /// The hashes of the plans that were approved.
    given: BTreeSet<String>,
    /// Why the present plans of resources are not.
    withheld: BTreeMap<Node, String>,
}

impl Approvals {
    /// Approves what awaits it and was reviewed.
    pub(super) async fn give(&mut self, cluster: &Cluster, plan: &run::Plan, graph: &Graph) -> Result<()> {
        self.withheld.clear();
        for entry in plan.entries.iter().filter(|entry| entry.action.is_some()) {
            let Some(pending) = graph.get(&entry.node).and_then(Resource::pending_plan) else { continue };
            // The list may be older than the approval.
            if self.given.contains(&pending.hash) {
                continue;
            }
            let refused = match agrees(entry, pending) {
                Ok(()) => approve(cluster, &entry.node, &pending.hash).await?,
                Err(why) => Some(why),
            };
            if let Some(why) = refused {
                self.withheld.insert(entry.node.clone(), why);
            } else {
                self.given.insert(pending.hash.clone());
                out(&format!(
                    "{} approved: plan {}\n",
                    clean(&entry.node.to_string()),
                    clean(&pending.hash)
                ))?;
            }
        }
        Ok(())
    }

    /// What a person has to look at.
    pub(super) fn explain(&self) -> Result<()> {
        let mut text = Lines::default();
        for (node, why) in &self.withheld {
            text.line(format!("  {node} was not approved: {why}; see kubectl kraken approve"));
        }
        out(&text.finish())
    }
}

/// Whether the plan of a resource does nothing else than its entry says: the same action, and no other fields; otherwise what differs.
///
/// Controllers decide from what they observe, so that a plan may also revert drift, which nobody reviewed.
fn agrees(entry: &Entry, plan: &Plan) -> Result<(), String> {
    let differs = |what: String| Err(format!("its plan {} {what}", plan.hash));
    let is_same = match plan.action {
        PlanAction::Create => entry.action == Action::Create || announces(entry, Effect::Creates),
        PlanAction::Change => matches!(entry.action, Action::Change | Action::Stop),
        PlanAction::Replace => entry.action == Action::Replace,
        PlanAction::Adopt => entry.action == Action::Adopt,
        PlanAction::Delete | PlanAction::Publish => false,
    };
    if !is_same {
        let what = if plan.what.is_empty() { String::new() } else { format!(" ({})", plan.what) };
        return differs(format!(
            "would {:?}{what}, and what was reviewed is: {:?}",
            plan.action, entry.action
        ));
    }
    // What an adoption changes is known only after a look at the object.
    if plan.action == PlanAction::Adopt && !plan.is_adoption_without_changes() {
        return differs(format!("also changes what it adopts: {}", shown(plan.changes.iter())));
    }
    let reviewed = fields(entry);
    let mut others = plan.changes.iter().filter(|change| !reviewed.contains(field(&change.path))).peekable();
    if others.peek().is_some() {
        return differs(format!("also changes what was not reviewed: {}", shown(others)));
    }
    Ok(())
}

fn announces(entry: &Entry, effect: Effect) -> bool {
    entry.lines.iter().any(|line| Effect::of(line) == Some(effect))
}

fn shown<'a>(changes: impl Iterator<Item = &'a FieldDiff>) -> String {
    let each = |change: &FieldDiff| format!("spec.{} {} -> {}", change.path, change.have, change.want);
    changes.map(each).collect::<Vec<_>>().join("; ")
}

/// The fields that the effects of an entry name, after the first colon: `changes vpc-1 in place: tags.Team a -> b; enableDNSSupport …`.
fn fields(entry: &Entry) -> BTreeSet<&str> {
    let named = entry.lines.iter().filter_map(|line| Effect::of(line).and(line.split_once(": ")));
    let paths = named.flat_map(|(_, fields)| fields.split("; "));
    paths.filter_map(|text| text.split_once(' ')).map(|(path, _)| field(path)).collect()
}

/// The field of a path: of a tag the whole, because each is a field of its own; otherwise the part that a spec has at its top. What the
/// comparison of a kind names below it need not be what an edit of the spec names.
fn field(path: &str) -> &str {
    let is_tag = path.starts_with("tags.") || path.starts_with("tags[");
    if is_tag { path } else { path.split(['.', '[']).next().unwrap_or(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::node;

    fn entry(action: Action, line: &str) -> Entry {
        Entry::new(node("VPC", "main"), action, vec![line.to_owned()])
    }

    fn plan(action: PlanAction, what: &str, changes: &[(&str, &str, &str)]) -> Plan {
        let change = |(path, have, want): &(&str, &str, &str)| FieldDiff::new(*path, *want, *have);
        Plan {
            hash: "a14e9c64".to_owned(),
            action,
            what: what.to_owned(),
            changes: changes.iter().map(change).collect(),
            stale: None,
            target: String::new(),
        }
    }

    #[test]
    fn the_same_action_on_the_same_fields_is_what_was_reviewed() {
        let same = [
            (entry(Action::Create, ""), plan(PlanAction::Create, "1 VPC of 1", &[])),
            (entry(Action::Adopt, "takes over vpc-1"), plan(PlanAction::Adopt, "vpc-1 without changes", &[])),
            (
                entry(
                    Action::Change,
                    "changes sg-1 in place after its plan is approved: tags.Team a -> b; ingress[0].fromPort 80 -> 81",
                ),
                plan(PlanAction::Change, "", &[("tags.Team", "a", "b"), ("ingress", "tcp 80", "tcp 81")]),
            ),
            (
                entry(Action::Change, "creates 2 more after its plan is approved: maxCount 1 -> 3"),
                plan(PlanAction::Create, "2 instances of 3", &[]),
            ),
            (
                entry(Action::Stop, "stops and starts i-1: instanceType a -> b"),
                plan(PlanAction::Change, "", &[("instanceType", "a", "b")]),
            ),
        ];
        for (entry, plan) in same {
            assert_eq!(agrees(&entry, &plan), Ok(()), "{plan:?}");
        }
    }

    #[test]
    fn another_action_is_not() {
        let entry = entry(Action::Change, "changes vpc-1 in place: tags.Team a -> b");
        let why =
            agrees(&entry, &plan(PlanAction::Replace, "vpc-1", &[("tags.Team", "a", "b")])).unwrap_err();
        assert_eq!(why, "its plan a14e9c64 would Replace (vpc-1), and what was reviewed is: Change");
        assert!(agrees(&entry, &plan(PlanAction::Create, "1 VPC of 1", &[])).is_err());
        assert!(agrees(&entry, &plan(PlanAction::Delete, "vpc-1", &[])).is_err());
    }

    #[test]
    fn drift_that_nobody_reviewed_is_named() {
        let entry = entry(Action::Change, "changes vpc-1 in place: tags.Team a -> b");
        let drifted = plan(PlanAction::Change, "", &[("tags.Team", "a", "b"), ("tags.Owner", "eve", "shop")]);
        let why = agrees(&entry, &drifted).unwrap_err();
        assert_eq!(why, "its plan a14e9c64 also changes what was not reviewed: spec.tags.Owner eve -> shop");
        let other = plan(PlanAction::Change, "", &[("enableDNSSupport", "false", "true")]);
        assert!(agrees(&entry, &other).unwrap_err().contains("spec.enableDNSSupport"));
    }

    #[test]
    fn an_adoption_that_changes_the_object_is_reviewed_by_itself() {
        let entry = entry(Action::Adopt, "takes over {\"id\":\"vpc-1\"}");
        let changes = plan(PlanAction::Adopt, "vpc-1", &[("tags.Team", "a", "b")]);
        assert!(agrees(&entry, &changes).unwrap_err().contains("spec.tags.Team a -> b"));
        let immutable =
            plan(PlanAction::Adopt, "vpc-1, then replace it to change spec.cidrBlock from a to b", &[]);
        assert!(agrees(&entry, &immutable).is_err());
    }

    /// The placeholder of a value that only the apply brings is text like any other.
    #[test]
    fn what_follows_from_a_replacement_is_named_by_its_field() {
        let entry =
            entry(Action::Replace, "replaces i-1 (CreateFirst): subnetID Subnet/a -> (known after apply)");
        let follows = plan(PlanAction::Replace, "", &[("subnetID", "subnet-1", "subnet-2")]);
        assert_eq!(agrees(&entry, &follows), Ok(()));
    }
}
