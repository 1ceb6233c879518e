//! Resources that wait for each other because users connected their remote objects against the order of deletion.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::RemoteObjects;
use super::history::uid_of;
use super::policy::{is_deleting, ready, text};
use super::remote::title;
use crate::oracle::Oracle;

/// The UIDs of a resource and of the one that it waits for.
type Wait<'a> = (&'a str, &'a str);

/// The UIDs of resources that wait for each other: the condition of each names the next. Each waits for a dependent, except at
/// least one: the provider rejects its deletion because of an object of the next, whose spec does not refer to it. Users
/// connected these objects, in the cloud or by a value of a ConfigMap or a Secret. With the reference the resources would form a
/// cycle, whose members do not block each other.
pub(super) fn connected_by_users(
    oracle: &Oracle<'_>,
    resources: &[&Arc<Value>],
    cloud: &RemoteObjects,
) -> BTreeSet<String> {
    let deleting: Vec<&Arc<Value>> = resources.iter().copied().filter(|object| is_deleting(object)).collect();
    let connections = waits(&deleting, |used, user| is_connected(oracle, cloud, used, user));
    if connections.is_empty() {
        return BTreeSet::new();
    }
    let mut all = waits(&deleting, waits_for);
    all.extend(&connections);
    let mut found = BTreeSet::new();
    for (used, user) in connections {
        let is_between = |uid: &&str| reached(&all, uid).contains(used);
        found.extend(reached(&all, user).into_iter().filter(is_between).map(ToOwned::to_owned));
    }
    found
}

/// The pairs of a namespace of which the first waits for the second.
fn waits<'a>(resources: &[&'a Arc<Value>], is_wait: impl Fn(&Value, &Value) -> bool) -> Vec<Wait<'a>> {
    let mut found = vec![];
    for resource in resources {
        let namespace = &resource["metadata"]["namespace"];
        let others = resources.iter().filter(|other| other["metadata"]["namespace"] == *namespace);
        let next = others.filter(|other| is_wait(resource, other));
        found.extend(next.map(|other| (uid_of(resource), uid_of(other))));
    }
    found
}

/// Whether a resource waits for this dependent.
fn waits_for(resource: &Value, dependent: &Value) -> bool {
    let condition = ready(resource);
    let (kind, name) = (text(&dependent["kind"]).to_lowercase(), text(&dependent["metadata"]["name"]));
    let node = format!("{kind} {name}");
    let mut dependents = text(&condition["message"]).rsplit(": ").next().unwrap_or_default().split(", ");
    condition["reason"] == "DeletionBlocked" && dependents.any(|dependent| dependent == node)
}

/// Whether an object of `user`, which waits for a dependent, prevents the deletion of an object of `used`, although the spec
/// of `user` does not refer to `used`.
fn is_connected(oracle: &Oracle<'_>, cloud: &RemoteObjects, used: &Value, user: &Value) -> bool {
    // Before these words is the provider's error, which can also name what the object itself uses.
    let Some((_, users)) = text(&ready(used)["message"]).split_once("used by ") else { return false };
    ready(user)["reason"] == "DeletionBlocked"
        && ids(cloud, user).iter().any(|id| users.contains(id.as_str()))
        && !oracle.refers_to(user, used)
}

/// How conditions name the remote objects of a resource.
fn ids(cloud: &RemoteObjects, object: &Value) -> Vec<String> {
    let alive = cloud.of_uid(uid_of(object)).filter(|(_, remote)| remote.alive);
    alive.map(|(id, _)| title(id).to_owned()).collect()
}

/// The resource and all that it waits for, directly or not.
fn reached<'a>(waits: &[Wait<'a>], from: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(uid) = open.pop() {
        if reached.insert(uid) {
            open.extend(waits.iter().filter(|(waiting, _)| *waiting == uid).map(|(_, next)| *next));
        }
    }
    reached
}
