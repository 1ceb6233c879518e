//! Remaining objects after everything was deleted, and their explanations.
//!
//! A resource may remain only if its condition names the cause, and no controller is responsible for it: objects that users created
//! or whose tags they removed, released objects, objects that were orphaned by a removed finalizer, objects that users connected
//! against the order of deletion, or another resource that remains for such a reason.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kraken_api::names::{owned_name, owner_kind};
use kraken_kind::api::{DOMAIN, EXPORTED_BY_ANNOTATION, FINALIZER};
use kraken_simulator::Kind;
use serde_json::Value;

use super::{
    Checks, RemoteObject, RemoteObjects, SLACK,
    given::is_on_record,
    history::{Record, uid_of},
    policy::{is_held_by_others, is_resource, ready, text},
    remote::{remote_kind, title},
    waits::connected_by_users,
};
use crate::oracle::Oracle;

impl Checks {
    /// The remaining objects that must be deleted, as text. Records no violation.
    pub fn left(&self) -> Vec<String> {
        let objects = (self.view.objects)();
        let cloud = (self.view.cloud)();
        let explained = self.explained(&objects, &cloud);
        let remaining: Vec<_> = objects.iter().filter(|object| explained.contains(uid_of(object))).collect();
        let requests: BTreeSet<(&str, String)> =
            remaining.iter().map(|resource| request_of(resource)).collect();
        // A spoke keeps the Account and its Secrets to the end.
        let is_of_account = |object: &Value| {
            let (namespace, name) = name_of(object);
            remaining.iter().any(|resource| {
                name_of(resource).0 == namespace
                    && name.ends_with(&format!(".account.{}", account_name(resource)))
            })
        };
        let is_left = |object: &&Arc<Value>| {
            let is_own = is_resource(object) || object["kind"] == "ConfigExport";
            let is_of_explained = owners(object).any(|owner| explained.contains(owner))
                || (is_request(object) && (requests.contains(&name_of(object)) || is_of_account(object)));
            is_of_kraken(object)
                && !is_held_by_others(object)
                && !explained.contains(uid_of(object))
                && (is_own || !is_of_explained)
        };
        let ours = objects.iter().filter(is_left).map(|object| {
            let meta = &object["metadata"];
            let reason = ready(object);
            format!(
                "{} {}/{} remains: {}: {}",
                object["kind"], meta["namespace"], meta["name"], reason["reason"], reason["message"]
            )
        });
        let left = cloud.0.iter().filter(|(_, remote)| remote.exists).filter_map(|(id, remote)| {
            let record = remote.uid().and_then(|uid| self.history.records.get(uid));
            // Objects that a user created or tagged belong to the user.
            let is_tagged = record.is_some() && !self.tampered.contains_key(id);
            // An object that a user tagged with another resource's tags is not deleted.
            let is_still = |maker: &&String| remote.uid().is_none_or(|uid| uid == maker.as_str());
            let maker = self.launched.get(id).filter(|_| !self.released.contains(id)).filter(is_still);
            let maker = maker.and_then(|uid| self.history.records.get(uid));
            // A retained object without tags may remain.
            let maker = maker.filter(|record| {
                remote.uid().is_some()
                    || (!record.latest().policy().keeps() && !self.is_untraceable(id, record))
            });
            let is_main = |record: &Record| remote_kind(&record.kind) == Some(remote.kind);
            let is_lost = |record: &Record| is_main(record) && !record.excused && record.gone.is_some();
            let owner = record.filter(|_| is_tagged).or(maker).filter(|record| is_lost(record))?;
            Some(format!("{id} of {} remains in the cloud", owner.title()))
        });
        let is_internal = |text: &String| {
            ["DependencyRequest", "StateDeclaration"].iter().any(|kind| text.starts_with(kind))
        };
        let (internal, mut all): (Vec<String>, Vec<String>) =
            ours.map(|text| text.replace('"', "")).partition(is_internal);
        all.extend(internal);
        all.extend(left);
        all
    }

    /// The UIDs of resources that are being deleted and whose conditions name the cause.
    fn explained(&self, objects: &[Arc<Value>], cloud: &RemoteObjects) -> BTreeSet<String> {
        let staying: Vec<(&str, Kind)> = cloud
            .0
            .iter()
            .filter(|(id, remote)| {
                // It is deleted with the other object. Without tags, it is nobody's.
                let is_default =
                    remote.is_implicit && remote.tags.is_empty() && !self.launched.contains_key(*id);
                remote.alive && !is_default && self.may_stay(id, remote)
            })
            .map(|(id, remote)| (title(id), remote.kind))
            .collect();
        let resources: Vec<&Arc<Value>> = objects.iter().filter(|object| is_resource(object)).collect();
        // Users deleted its Account before it used it: nobody can say with which credentials its objects are deleted.
        let oracle = Oracle::of(objects);
        let mut explained: BTreeSet<String> = resources
            .iter()
            .filter(|object| {
                super::full::is_elsewhere(object)
                    || (oracle.lacks_account(object) && !self.lost_its_account(object))
            })
            .map(|object| uid_of(object).to_owned())
            .collect();
        explained.extend(connected_by_users(&oracle, &resources, cloud));
        loop {
            let mut named: Vec<String> = staying.iter().map(|(id, _)| (*id).to_owned()).collect();
            let mut kinds: Vec<Kind> = staying.iter().map(|(_, kind)| *kind).collect();
            for object in resources.iter().filter(|object| explained.contains(uid_of(object))) {
                let uid = uid_of(object);
                named.extend(
                    cloud.of_uid(uid).filter(|(_, remote)| remote.alive).map(|(id, _)| title(id).to_owned()),
                );
                let (kind, name) = (text(&object["kind"]).to_lowercase(), text(&object["metadata"]["name"]));
                named.push(format!("{kind} {name}"));
                kinds.extend(remote_kind(text(&object["kind"])));
            }
            let is_new = |object: &&&Arc<Value>| {
                let message = text(&ready(object)["message"]);
                object["metadata"]["deletionTimestamp"].is_string()
                    && !explained.contains(uid_of(object))
                    && (named.iter().any(|name| message.contains(name.as_str()))
                        || is_refused_for(message, &kinds))
            };
            let new: Vec<String> =
                resources.iter().filter(is_new).map(|object| uid_of(object).to_owned()).collect();
            if new.is_empty() {
                return explained;
            }
            explained.extend(new);
        }
    }

    /// Whether the Account of a resource was deleted while the resource had named it for some time, and may have had remote objects: a
    /// spoke must keep it.
    fn lost_its_account(&self, object: &Value) -> bool {
        let name = account_name(object);
        let Some(record) = self.history.records.get(uid_of(object)) else { return false };
        let used_at = |at: Duration| {
            let then = record.versions.iter().take_while(|version| version.at <= at).last();
            then.is_some_and(|version| {
                let finalizers = version.value["metadata"]["finalizers"].as_array();
                account_name(&version.value) == name
                    && finalizers.into_iter().flatten().any(|finalizer| finalizer == FINALIZER)
            })
        };
        let accounts = self.history.records.values().filter(|account| {
            account.kind == "Account" && account.name == name && account.namespace == record.namespace
        });
        let went = accounts.filter(|account| account.disturbed.is_none()).filter_map(|account| account.gone);
        record.disturbed.is_none()
            && went.filter_map(|gone| gone.checked_sub(SLACK)).any(|at| used_at(at) && at > self.faults_until)
    }

    /// Whether the owner of a remote object without owner tags cannot be found: users removed the tags before its id was
    /// recorded, or removed the record too, or the tags were another resource's. A key pair is recorded by its name, which is
    /// not unique over time.
    fn is_untraceable(&self, id: &str, maker: &Record) -> bool {
        let Some(stripped) = self.tampered.get(id) else { return false };
        let then = maker.versions.iter().take_while(|version| version.at <= *stripped).last();
        !then.is_some_and(|version| is_on_record(version, id))
            || maker.disturbed.is_some_and(|at| at >= *stripped)
            || self.was_left_to_another(id, maker)
    }

    /// Whether a remote object may remain: no controller must delete it.
    fn may_stay(&self, id: &str, remote: &RemoteObject) -> bool {
        let owner = remote.uid().and_then(|uid| Some((uid, self.history.records.get(uid)?)));
        match (self.launched.get(id), owner) {
            // An adopted object belongs to its resource, but an object of another kind with its tags does not.
            (None, owner) => owner.is_none_or(|(_, record)| {
                record.gone.is_some() || remote_kind(&record.kind) != Some(remote.kind)
            }),
            (Some(maker), owner) => {
                let is_lost = |record: &Record| record.gone.is_some() && record.excused;
                self.released.contains(id)
                    || owner.is_none_or(|(uid, record)| uid != maker || is_lost(record))
            }
        }
    }
}

/// Whether the provider's error names no object, but implies one of these kinds.
fn is_refused_for(message: &str, kinds: &[Kind]) -> bool {
    // Termination protection that a user enabled, or a route table that a user made the main one.
    if message.contains("'disableApiTermination'") || message.contains("it is the main route table of") {
        return true;
    }
    let of: &[Kind] = if message.contains("has some mapped public address(es)") {
        &[Kind::Address, Kind::NatGateway, Kind::Instance, Kind::LoadBalancer]
    } else if message.contains("failed to disassociate the address") {
        &[Kind::NatGateway, Kind::LoadBalancer]
    } else {
        &[]
    };
    kinds.iter().any(|kind| of.contains(kind))
}

/// Whether an object has to go when everything is deleted.
fn is_of_kraken(object: &Value) -> bool {
    let is_group = object["apiVersion"].as_str().is_some_and(|version| version.contains(DOMAIN));
    let made = &object["metadata"]["annotations"][EXPORTED_BY_ANNOTATION];
    // Static states belong to users.
    let is_fact = text(&object["metadata"]["name"]).starts_with("static-");
    let is_own = is_resource(object) || object["kind"] == "ConfigExport";
    // A spoke finds its requests by their names, too. Other orphaned objects have no owner.
    is_own
        || is_request(object)
        || (owners(object).next().is_some() && !is_fact && (is_group || made.is_string()))
}

fn is_request(object: &Value) -> bool {
    object["kind"] == "DependencyRequest"
}

/// The name of the Account that a resource uses.
fn account_name(resource: &Value) -> &str {
    resource["spec"]["account"]["name"].as_str().unwrap_or("default")
}

/// The namespace and the name of an object.
fn name_of(object: &Value) -> (&str, String) {
    let meta = &object["metadata"];
    (text(&meta["namespace"]), text(&meta["name"]).to_owned())
}

/// The namespace and the name of the request of a resource, by which it is the resource's, even if it lost its owner.
fn request_of(resource: &Value) -> (&str, String) {
    let (namespace, name) = name_of(resource);
    let group = text(&resource["apiVersion"]).split('/').next().unwrap_or_default();
    (namespace, owned_name(&owner_kind(text(&resource["kind"]), group), &name))
}

/// The UIDs of its owners.
fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().map(|owner| text(&owner["uid"]))
}
