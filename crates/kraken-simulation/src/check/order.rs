//! The order of deletion: those that refer to a resource go first.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use kraken_kind::api::REFERENCES_FINALIZER;
use serde_json::Value;

use super::{Checks, Class, SLACK, history::Record};
use crate::{kinds::key, oracle::Oracle};

/// A resource by its kind without case and hyphens, and its name.
type Node = (String, String);

/// The controlling owners of a request in its versions, the oldest first.
fn owners(request: &Record) -> impl DoubleEndedIterator<Item = &Value> {
    request.versions.iter().filter_map(|version| {
        let owners = version.value["metadata"]["ownerReferences"].as_array()?;
        owners.iter().find(|owner| owner["controller"] == true)
    })
}

fn node(owner: &Value) -> Option<Node> {
    Some((key(owner["kind"].as_str()?), owner["name"].as_str()?.to_owned()))
}

/// The dependent: the owner with which the spoke created the request. `kubectl delete --cascade=orphan` removes it, and
/// users can set another.
pub(super) fn dependent(request: &Record) -> Option<Node> {
    owners(request).next().and_then(node)
}

/// The UID of the dependent. It is another one after the dependent was recreated.
pub(super) fn dependent_uid(request: &Record) -> Option<&str> {
    let dependent = dependent(request)?;
    let owner = owners(request).rev().find(|owner| node(owner).as_ref() == Some(&dependent))?;
    owner["uid"].as_str()
}

/// The objects that the request refers to.
pub(super) fn dependencies(request: &Value) -> impl Iterator<Item = Node> {
    let of = |list: &str| request["spec"][list].as_array().into_iter().flatten();
    let all = of("krakenResourceDependencies").chain(of("inPlaceDependencies"));
    // Those to other namespaces are not among the resources whose order is compared.
    let all = all.filter(|one| one["namespace"].is_null());
    all.filter_map(|one| Some((key(one["kind"].as_str()?), one["name"].as_str()?.to_owned())))
}

/// When the spoke of a request released it.
fn released(request: &Record) -> Option<Duration> {
    let is_held = |value: &Value| {
        let finalizers = value["metadata"]["finalizers"].as_array();
        finalizers.into_iter().flatten().any(|finalizer| finalizer == REFERENCES_FINALIZER)
    };
    let pairs = request.versions.iter().zip(request.versions.iter().skip(1));
    let mut releases = pairs.filter(|(before, after)| is_held(&before.value) && !is_held(&after.value));
    releases.next_back().map(|(_, after)| after.at)
}

impl Checks {
    /// Before the first remote object of a resource that is being deleted is deleted.
    pub(super) fn check_order(&mut self, now: Duration, uid: &str) {
        if !self.deleting.insert(uid.to_owned()) {
            return;
        }
        let Some(record) = self.history.records.get(uid) else { return };
        // Recent references, or references during faults, may be unknown. A deletion lists all references, so what users do
        // meanwhile, also to the namespace, is no excuse.
        let Some(settled) = now.checked_sub(SLACK).filter(|at| self.faults_until <= *at) else { return };
        let node = (key(&record.kind), record.name.clone());
        let blockers = self.blockers(record, &node, settled);
        if let Some((kind, name)) = blockers.first() {
            let message = format!("{} is deleted although {kind} {name} refers to it", record.title());
            self.violated(now, Class::OutOfOrder, message);
        }
    }

    /// Whether a request was deleted during the deletion of its owner, which still has remote objects: the references that it
    /// recorded still count, unless its spoke released it before, because the spec referred to nothing any more.
    fn still_counts(&self, request: &Record) -> bool {
        // A process without a memory knows only the requests that exist.
        if request.gone.is_some_and(|gone| self.restarted_at.is_some_and(|at| gone < at)) {
            return false;
        }
        let Some(uid) = dependent_uid(request) else { return false };
        let Some(owner) = self.history.records.get(uid) else { return false };
        // A spoke that releases a request may not know yet that the deletion began.
        let known = released(request).map(|at| at.saturating_sub(SLACK)).or(request.gone);
        let is_during_deletion = known.is_some_and(|at| {
            let then = owner.versions.iter().take_while(|version| version.at <= at).last();
            then.is_some_and(|version| version.policy().deleting)
        });
        is_during_deletion
            && request.disturbed.is_none()
            && owner.gone.is_none()
            && owner.disturbed.is_none()
            && self.cloud.of_uid(uid).any(|(id, remote)| remote.alive && !self.tampered.contains_key(id))
    }

    pub(super) fn blockers(&self, record: &Record, node: &Node, settled: Duration) -> Vec<Node> {
        let counts = |request: &Record| request.gone.is_none() || self.still_counts(request);
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.namespace == record.namespace
                && (request.gone >= Some(settled) || counts(request))
        });
        let mut graph: BTreeMap<Node, BTreeSet<Node>> = BTreeMap::new();
        let mut old: BTreeSet<Node> = BTreeSet::new();
        for request in requests {
            let Some(from) = dependent(request) else { continue };
            let mut since = request.versions.iter().filter(|version| version.at >= settled);
            // A cycle that existed recently may have been the reason, also one with a request that was deleted since.
            let recent: BTreeSet<Node> =
                since.clone().flat_map(|version| dependencies(&version.value)).collect();
            graph.entry(from.clone()).or_default().extend(recent);
            let before = request.versions.iter().rev().find(|version| version.at < settled);
            let refers = |value: &Value| dependencies(value).any(|to| to == *node);
            if counts(request)
                && before.is_some_and(|before| refers(&before.value))
                && since.all(|version| refers(&version.value))
            {
                old.insert(from.clone());
            }
            let before = before.into_iter().flat_map(|before| dependencies(&before.value));
            graph.entry(from).or_default().extend(before);
        }
        // Members of a cycle do not block each other.
        let (mut reached, mut open) = (BTreeSet::new(), vec![node.clone()]);
        while let Some(next) = open.pop() {
            if reached.insert(next.clone()) {
                open.extend(graph.get(&next).into_iter().flatten().cloned());
            }
        }
        old.extend(self.users_in_place(record, settled));
        old.into_iter().filter(|from| !reached.contains(from)).collect()
    }

    /// Whether the request of this resource was removed or edited by a user, so that a process without a memory does not know its
    /// references.
    fn has_lost_request(&self, uid: &str) -> bool {
        let mut requests = self
            .history
            .records
            .values()
            .filter(|request| request.kind == "DependencyRequest" && dependent_uid(request) == Some(uid));
        let is_lost = |request: &Record| {
            request.disturbed.is_some() || (request.gone.is_some() && !self.still_counts(request))
        };
        requests.clone().next().is_some() && requests.all(is_lost)
    }

    /// The resources whose remote objects use this one, because the spec that was last in place refers to it, whatever the current
    /// one does.
    fn users_in_place(&self, record: &Record, settled: Duration) -> Vec<Node> {
        let used = &record.latest().value;
        let oracle = Oracle::of(&[]);
        let is_user = |(uid, user): &(&String, &Record)| {
            let value = &user.latest().value;
            let in_place = value["status"]["inPlace"]["generation"].as_i64();
            let mut versions = user.versions.iter().filter(|version| version.at < settled);
            user.namespace == record.namespace
                && user.gone.is_none()
                && !self.has_lost_request(uid)
                && user.disturbed.is_none()
                && in_place.is_some()
                && in_place < value["metadata"]["generation"].as_i64()
                && versions.next_back().is_some_and(|version| version.at < settled)
                && user.versions.iter().any(|version| {
                    version.value["metadata"]["generation"].as_i64() == in_place
                        && oracle.refers_to(&version.value, used)
                })
                && self.cloud.of_uid(uid).any(|(id, remote)| remote.alive && !self.tampered.contains_key(id))
        };
        let users = self.history.records.iter().filter(is_user);
        users.map(|(_, user)| (key(&user.kind), user.name.clone())).collect()
    }
}
