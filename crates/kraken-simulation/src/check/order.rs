//! The order of deletion: those that refer to a resource go first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::history::Record;
use super::{Checks, Class, SLACK};
use crate::kinds::key;

/// A resource by its kind without case and hyphens, and its name.
type Node = (String, String);

/// The dependent, by the controlling owner of the request.
fn dependent(request: &Value) -> Option<Node> {
    let owners = request["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((key(owner["kind"].as_str()?), owner["name"].as_str()?.to_owned()))
}

/// The objects that the request refers to.
fn dependencies(request: &Value) -> impl Iterator<Item = Node> {
    let all = request["spec"]["krakenResourceDependencies"].as_array().into_iter().flatten();
    all.filter_map(|one| Some((key(one["kind"].as_str()?), one["name"].as_str()?.to_owned())))
}

impl Checks {
    /// Before the first remote object of a resource that is being deleted is deleted.
    pub(super) fn check_order(&mut self, now: Duration, uid: &str) {
        if !self.deleting.insert(uid.to_owned()) {
            return;
        }
        let Some(record) = self.history.records.get(uid) else { return };
        // Recent references, or references during faults, may be unknown.
        let Some(settled) = now.checked_sub(SLACK).filter(|at| self.calm.is_some_and(|calm| calm <= *at))
        else {
            return;
        };
        let node = (key(&record.kind), record.name.clone());
        let blockers = self.blockers(record, &node, settled);
        if let Some((kind, name)) = blockers.first() {
            let message = format!("{} is deleted although {kind} {name} refers to it", record.title());
            self.violated(now, Class::OutOfOrder, message);
        }
    }

    /// Whether a request was deleted during the deletion of its owner, which still has remote objects: the references that it
    /// recorded still count.
    fn is_missed(&self, request: &Record) -> bool {
        let mut owners =
            request.latest().value["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let owner = owners.find(|owner| owner["controller"] == true);
        let Some(uid) = owner.and_then(|owner| owner["uid"].as_str()) else { return false };
        let Some(owner) = self.history.records.get(uid) else { return false };
        let is_during_deletion = request.gone.is_some_and(|gone| {
            let then = owner.versions.iter().take_while(|version| version.at <= gone).last();
            then.is_some_and(|version| version.policy().deleting)
        });
        is_during_deletion
            && request.disturbed.is_none()
            && owner.gone.is_none()
            && self.cloud.of_uid(uid).any(|(id, remote)| remote.alive && !self.tampered.contains_key(id))
    }

    fn blockers(&self, record: &Record, node: &Node, settled: Duration) -> Vec<Node> {
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.namespace == record.namespace
                && (request.gone.is_none() || self.is_missed(request))
        });
        let mut graph: BTreeMap<Node, BTreeSet<Node>> = BTreeMap::new();
        let mut old: BTreeSet<Node> = BTreeSet::new();
        for request in requests {
            let latest = &request.latest().value;
            let Some(from) = dependent(latest) else { continue };
            let mut since = request.versions.iter().filter(|version| version.at >= settled);
            let before = request.versions.iter().rev().find(|version| version.at < settled);
            let refers = |value: &Value| dependencies(value).any(|to| to == *node);
            if before.is_some_and(|before| refers(&before.value))
                && since.all(|version| refers(&version.value))
            {
                old.insert(from.clone());
            }
            graph.entry(from).or_default().extend(dependencies(latest));
        }
        // Members of a cycle do not block each other.
        let (mut reached, mut open) = (BTreeSet::new(), vec![node.clone()]);
        while let Some(next) = open.pop() {
            if reached.insert(next.clone()) {
                open.extend(graph.get(&next).into_iter().flatten().cloned());
            }
        }
        old.into_iter().filter(|from| !reached.contains(from)).collect()
    }
}
