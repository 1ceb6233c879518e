//! What the answers about one object mean, and in which order objects are deleted. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_api::{
    effect::{Effect, shortened},
    status::ABSENT,
};
use kraken_options::Dependency;
use kube::api::DynamicObject;
use serde_json::Value;

use super::{
    entry::{Action, Entry},
    request::edited_part,
};
use crate::graph::{Graph, Node, walk};

/// The text about an object of a file that is being deleted.
pub(super) const BEING_DELETED: &str = "is being deleted; apply it again after it is gone";

/// The resources in the order in which they are deleted: what uses others first.
pub(super) fn in_order<'a>(graph: &Graph, nodes: &BTreeSet<&'a Node>) -> Vec<&'a Node> {
    let (mut left, mut order): (BTreeSet<&Node>, Vec<&Node>) = (nodes.clone(), vec![]);
    while !left.is_empty() {
        let is_free = |node: &&&Node| !graph.delays_deletion(node).iter().any(|user| left.contains(*user));
        let mut next: Vec<&Node> = left.iter().filter(is_free).copied().collect();
        if next.is_empty() {
            // Two security groups that refer to each other.
            next.extend(left.iter().copied());
        }
        left.retain(|node| !next.contains(node));
        order.extend(next);
    }
    order
}

/// What an edit does, from what admission announces. Pure.
pub(super) fn edited(
    node: Node,
    live: Option<&DynamicObject>,
    after: &DynamicObject,
    effects: Vec<String>,
) -> Entry {
    let spec = &after.data["spec"];
    let Some(live) = live else {
        if let Some(action) = Action::of(&effects) {
            return Entry::new(node, action, effects);
        }
        let adopts = &spec["lifecycle"]["adopt"];
        let action = if adopts.is_object() { Action::Adopt } else { Action::Create };
        let lines = if adopts.is_object() { vec![format!("takes over {adopts}")] } else { uses(spec) };
        return Entry::new(node, action, lines);
    };
    if live.data["spec"] == *spec {
        if let Some(action) = Action::of(&effects).filter(|action| *action != Action::Edit) {
            return Entry::new(node, action, effects);
        }
        // What is only reported stays as it is, which is no change.
        let kept = effects.into_iter().filter(|line| Effect::of(line) == Some(Effect::Keeps));
        if edited_part(Some(live)) == edited_part(Some(after)) {
            return Entry::new(node, Action::None, kept.collect());
        }
        let why = "changes only labels or annotations".to_owned();
        return Entry::new(node, Action::Edit, kept.chain([why]).collect());
    }
    // They have no remote objects of their own, and what their edits do is not announced.
    if matches!(node.kind.as_str(), "ConfigExport" | "Account") {
        let why = "is edited; what that does is not part of a plan".to_owned();
        return Entry::new(node, Action::Change, [effects, vec![why]].concat());
    }
    // Other warnings are about what is wrong in the spec: they stay, after the effects.
    let action = Action::of(&effects);
    let status = &live.data["status"];
    let mut ids =
        [&status["externalIds"], &status["answer"]["ids"]].into_iter().filter_map(|ids| ids.as_array());
    let is_there = ids.any(|ids| !ids.is_empty());
    match action {
        Some(action) => Entry::new(node, action, effects),
        None if is_there => {
            let why = "changes nothing in the cloud; or its controller does not review edits (kubectl kraken check)";
            Entry::new(node, Action::Edit, [effects, vec![why.to_owned()]].concat())
        }
        None => {
            let why = "has no object in the cloud yet: the creation uses the edit";
            Entry::new(node, Action::Edit, [effects, vec![why.to_owned()]].concat())
        }
    }
}

/// What an edit does to an object on which no controller reports, such as a ReferenceGrant. Pure.
pub(super) fn edited_plain(node: Node, live: Option<&DynamicObject>, after: &DynamicObject) -> Entry {
    match live {
        None => Entry::new(node, Action::Create, vec![]),
        Some(live) if edited_part(Some(live)) == edited_part(Some(after)) => {
            Entry::new(node, Action::None, vec![])
        }
        Some(_) => {
            let why = "is edited; what that does is not part of a plan".to_owned();
            Entry::new(node, Action::Change, vec![why])
        }
    }
}

/// What an apply does to an object that is being deleted: an edit is stored, and then the object is gone. Pure.
pub(super) fn being_deleted(mut entry: Entry) -> Entry {
    // It is not the edit, or its absence, that counts.
    if matches!(entry.action, Action::Edit | Action::None) {
        entry.lines.clear();
    }
    entry.lines.push(BEING_DELETED.to_owned());
    Entry { action: Action::Blocked, ..entry }
}

/// What the deletion of an object waits for. Pure.
pub(super) fn would_wait(node: &Node, users: &[&Node]) -> String {
    let names: Vec<_> = users.iter().map(|user| user.seen_from(node)).collect();
    let verbs = if users.len() == 1 { "uses it, and is" } else { "use it, and are" };
    format!("would wait: {} {verbs} not deleted by this plan", names.join(", "))
}

/// The fields of a new resource whose values only the apply will bring. Pure.
fn uses(spec: &Value) -> Vec<String> {
    let references = walk::references(spec).into_iter();
    let of_resources = references.filter(|one| matches!(one.dependency, Dependency::Resource(_)));
    of_resources.map(|one| format!("{}: {} (known after apply)", one.field, one.dependency)).collect()
}

/// The keys of a ConfigMap that differ, with both values. Pure.
pub(super) fn keys(
    live: Option<&DynamicObject>,
    after: &DynamicObject,
) -> BTreeMap<String, (String, String)> {
    let data = |of: &DynamicObject| {
        let data = of.data["data"].as_object().cloned().unwrap_or_default();
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        data.into_iter().map(|(key, value)| (key, text(value))).collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (live.map(data).unwrap_or_default(), data(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let value = |of: &BTreeMap<String, String>, key: &String| {
        of.get(key).cloned().unwrap_or_else(|| ABSENT.to_owned())
    };
    let both = names.into_iter().map(|key| (key.clone(), (value(&before, key), value(&after, key))));
    both.filter(|(_, (before, after))| before != after).collect()
}

/// What an edit of a ConfigMap does to the ConfigMap. Pure.
pub(super) fn edited_map(
    node: Node,
    live: Option<&DynamicObject>,
    after: &DynamicObject,
    keys: &BTreeMap<String, (String, String)>,
) -> Entry {
    let lines: Vec<String> = keys
        .iter()
        .map(|(key, (have, want))| format!("{key} {} -> {}", shortened(have), shortened(want)))
        .collect();
    match live {
        None => Entry::new(node, Action::Create, lines),
        Some(_) if !keys.is_empty() => Entry::new(node, Action::Change, lines),
        Some(live) if edited_part(Some(live)) != edited_part(Some(after)) => {
            Entry::new(node, Action::Edit, vec!["changes only what no resource of Kraken reads".to_owned()])
        }
        Some(_) => Entry::new(node, Action::None, vec![]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::graph::fixtures::node;

    #[test]
    fn drift_that_is_only_reported_is_a_kept_difference_and_no_change() {
        let vpc: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "metadata": {"name": "main"},
            "spec": {"lifecycle": {"drift": "Report"}},
        }))
        .unwrap();
        let keeps =
            "keeps what differs in vpc-1, because lifecycle.drift is Report: tags.A eve -> 1".to_owned();
        let entry = edited(node("VPC", "main"), Some(&vpc), &vpc, vec![keeps.clone()]);
        assert_eq!((entry.action, entry.lines), (Action::None, vec![keeps]));
        let paused = "changes nothing now, because it is paused".to_owned();
        assert!(edited(node("VPC", "main"), Some(&vpc), &vpc, vec![paused]).lines.is_empty());
    }

    #[test]
    fn a_user_in_another_namespace_is_named_with_it() {
        let (vpc, subnet, mut web) = (node("VPC", "main"), node("Subnet", "a"), node("EC2Instance", "web"));
        web.namespace = "other".to_owned();
        let alone = "would wait: EC2Instance/other:web uses it, and is not deleted by this plan";
        assert_eq!(would_wait(&vpc, &[&web]), alone);
        let both = "would wait: EC2Instance/other:web, Subnet/a use it, and are not deleted by this plan";
        assert_eq!(would_wait(&vpc, &[&web, &subnet]), both);
    }

    #[test]
    fn an_object_that_is_being_deleted_is_not_unchanged() {
        let unchanged = being_deleted(Entry::new(node("VPC", "main"), Action::None, vec![]));
        assert_eq!((unchanged.action, &*unchanged.lines), (Action::Blocked, &[BEING_DELETED.to_owned()][..]));
        let edit =
            Entry::new(node("VPC", "main"), Action::Edit, vec!["changes nothing in the cloud".to_owned()]);
        assert_eq!(being_deleted(edit).lines, [BEING_DELETED]);
        let change =
            Entry::new(node("VPC", "main"), Action::Change, vec!["changes vpc-1 in place: a".to_owned()]);
        assert_eq!(being_deleted(change).lines, ["changes vpc-1 in place: a", BEING_DELETED]);
    }
}
