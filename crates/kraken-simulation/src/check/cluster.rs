//! Checks writes to the API server, and the stored objects.

use std::{fmt::Write as _, time::Duration};

use kraken_kind::api::{EXPORTED_BY_ANNOTATION, KEPT_SECRET_FINALIZER, REFERENCES_FINALIZER};
use kraken_simulator::hook::Call;
use serde_json::Value;

use super::{
    CallingProcess, Checks, Class,
    history::{Changes, uid_of},
    policy::{is_deleting, is_displacement, is_held, is_resource, ledger, strings},
};
use crate::{kinds::served, schedule::Controller};

/// What every forged value has in it.
pub const FORGED: &str = "forged";

/// The time in which the hub creates a target that it deleted for that.
const SUCCEEDS: Duration = Duration::from_secs(1);

impl Checks {
    /// Checks the cluster, including all readable content.
    pub(super) fn observe(&mut self, now: Duration) -> Changes {
        let objects = (self.view.objects)();
        let changes = self.history.observe(now, &objects);
        for (uid, before, after) in &changes.all {
            let Some(before) = before else { continue };
            let disturbed = self.history.records.get(uid).and_then(|record| record.disturbed);
            let is_recent = disturbed.is_some_and(|at| !self.is_long_ago(at, now));
            // From the beginning of its deletion on, its controller cannot restore the finalizer, however long it waits for
            // its dependents.
            let begins = |after: &Value| is_deleting(after) && !is_deleting(before) && !is_held(after);
            let is_free = !is_held(before) && after.as_deref().is_none_or(begins);
            if let Some(record) = self.history.records.get_mut(uid).filter(|_| is_free && is_recent) {
                record.excused = true; // its finalizer was removed, and its controller may be down since
            }
        }
        for (_, before, after) in &changes.all {
            let Some(object) = after else { continue };
            if object["kind"] == "Secret" {
                continue;
            }
            let mut text = String::new();
            // The fields that did not change were searched when they were written.
            write_new(before.as_deref(), object, &mut text);
            if let Some(form) = self.canary.found(&text)
                && !self.shows_an_object_of_another(object)
            {
                let message = format!("{} has a Secret's value {form}: {}", title(object), around(&text));
                self.violated(now, Class::Secret, message);
            }
        }
        changes
    }

    /// Whether a user gave the owner tags of this resource, or of the one that owns this object, to a remote object that another
    /// resource created: nothing says which of its fields came from a Secret.
    fn shows_an_object_of_another(&self, object: &Value) -> bool {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let uids: Vec<&str> =
            owners.filter_map(|owner| owner["uid"].as_str()).chain([uid_of(object)]).collect();
        self.cloud.0.iter().any(|(id, remote)| {
            remote.uid().is_some_and(|uid| uids.contains(&uid) && self.is_launched_for_another(id, uid))
        })
    }

    /// Whether an object was launched for this UID.
    pub(super) fn is_launched_for(&self, id: &str, uid: &str) -> bool {
        self.launched.get(id).is_some_and(|launched| launched == uid)
    }

    /// Whether an object was launched, and not for this UID.
    pub(super) fn is_launched_for_another(&self, id: &str, uid: &str) -> bool {
        self.launched.get(id).is_some_and(|launched| launched != uid)
    }

    /// Changes by others than controllers.
    pub(super) fn note_out_of_band(&mut self, now: Duration, changes: &Changes) {
        for (uid, before, after) in &changes.all {
            let is_restored = before.is_none()
                && after.as_deref().is_some_and(|created| self.is_being_restored(now, created));
            let Some(record) = self.history.records.get_mut(uid) else { continue };
            record.is_restored |= is_restored;
            let Some(before) = before else { continue };
            let is_free = |after: &Value| is_deleting(after) && !is_held(after);
            record.excused |= is_held(before) && after.as_deref().is_none_or(is_free);
            let refers = |request: &Value| {
                strings(&request["metadata"]["finalizers"]).any(|finalizer| finalizer == REFERENCES_FINALIZER)
            };
            // A request that is being deleted is gone with its last finalizer.
            if refers(before) && after.as_deref().is_none_or(|after| !refers(after)) {
                record.disturbed = Some(now);
            }
            let Some(after) = after else { continue };
            let older = revision(after) < revision(before);
            // The status of a restored object is written after it.
            let is_first_status = record.is_restored && before["status"].is_null();
            let lost = (is_held(before) && !is_held(after))
                || (ledger(before).is_some() && ledger(before) != ledger(after))
                || (before["status"]["externalIds"] != after["status"]["externalIds"] && !is_first_status);
            // The only record of the references of a resource that is being deleted.
            let forged = before["kind"] == "DependencyRequest" && before["spec"] != after["spec"];
            if older || forged || (lost && is_resource(after)) {
                record.disturbed = Some(now);
            }
            if is_displacement(before, after) {
                record.displaced.insert(now);
            }
        }
    }

    /// After a write of a controller.
    pub(super) fn after_write(&mut self, now: Duration, by: &CallingProcess, call: &Call, status: u16) {
        let changes = self.observe(now);
        self.working_at.insert(by.controller, by.place.clone());
        if by.controller == Controller::Hub {
            self.check_successor(now, call, status);
        }
        if status >= 300 {
            return self.note_out_of_band(now, &changes);
        }
        // A creation names no object; objects that were deleted or changed at the same moment are not created by it.
        let creates = call.object.is_empty() && call.name.starts_with("POST");
        let is_meant = |object: &Value| {
            let (namespace, name) = (&object["metadata"]["namespace"], &object["metadata"]["name"]);
            let is_named = call.object.is_empty() || name == call.object.as_str();
            is_named
                && (call.namespace.is_empty() || namespace == call.namespace.as_str())
                && is_of_kind(object, call)
        };
        let (ours, others): (Vec<_>, Vec<_>) =
            changes.all.into_iter().partition(|(_, before, after)| match (before, after) {
                (Some(_), _) if creates => false,
                (before, after) => before.as_deref().or(after.as_deref()).is_some_and(is_meant),
            });
        self.note_out_of_band(now, &Changes { all: others });
        if !ours.is_empty() {
            self.rest.write(now, call);
        }
        self.check_leader(now, by, call);
        self.check_precondition(now, by, call);
        for (uid, before, after) in ours {
            if call.body.windows(15).any(|part| part == b"resourceVersion") {
                self.history.record_knowledge(&uid, by);
            }
            let Some(object) = after.as_deref().or(before.as_deref()) else { continue };
            if is_resource(object) {
                self.check_resource(now, by, &uid, before.as_deref(), after.as_deref());
            } else if by.controller == Controller::Hub {
                self.check_export(now, by, before.as_deref(), after.as_deref());
            }
        }
    }

    /// The writer must hold the lease.
    pub(super) fn check_leader(&mut self, now: Duration, by: &CallingProcess, call: &Call) {
        if by.identity.is_empty()
            || call.name.contains("leases")
            || call.name.contains("events")
            || self.calm.is_none()
        {
            return;
        }
        let lease = self
            .history
            .all_live()
            .find(|(_, record)| record.kind == "Lease" && record.name == by.controller.name());
        let Some((_, lease)) = lease else { return };
        let holder = lease.latest().value["spec"]["holderIdentity"].as_str().unwrap_or_default();
        if !holder.is_empty() && holder != by.identity {
            let message = format!(
                "{} of {} is by {}, and {holder} holds the lease",
                call.name, by.controller, by.identity
            );
            self.violated(now, Class::NotLeader, message);
        }
    }

    /// The hub must not delete a target before it knows that the API server accepts the next one: pods mount it.
    fn check_successor(&mut self, now: Duration, call: &Call, status: u16) {
        let Some(plural) = ["configmaps", "secrets"].into_iter().find(|plural| call.name.ends_with(plural))
        else {
            return;
        };
        let target = |name: &str| format!("{plural} {}/{name}", call.namespace);
        if call.name.starts_with("DELETE") && status < 300 {
            self.deleted_targets.insert(target(&call.object), now);
        } else if call.name.starts_with("POST") {
            let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
            let target = target(text(&body["metadata"], "name"));
            let deleted = self.deleted_targets.remove(&target);
            if status == 422 && deleted.is_some_and(|deleted| now <= deleted + SUCCEEDS) {
                let message = format!("the hub deleted {target}, and the API server refuses the next one");
                self.violated(now, Class::Wrong, message);
            }
        }
    }

    /// The hub writes only the ConfigMaps and Secrets that an export created, and its finalizer on the Secrets of Accounts.
    fn check_export(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        before: Option<&Value>,
        after: Option<&Value>,
    ) {
        let Some(object) = before.or(after) else { return };
        if object["kind"] != "ConfigMap" && object["kind"] != "Secret" {
            if object["kind"] == "DependencyRequest" {
                self.check_forged(now, after, "status");
                self.check_grants(now, by, after);
            }
            return;
        }
        if let Some(before) = before.filter(|before| !is_only_kept(before, after)) {
            if after.is_none() {
                self.check_former_target(now, by, before);
            }
            let maker =
                before["metadata"]["annotations"][EXPORTED_BY_ANNOTATION].as_str().unwrap_or_default();
            let target = format!("{}/{}", text(before, "kind"), text(&before["metadata"], "name"));
            let is_made = |export: &super::history::Record| {
                export.kind == "ConfigExport"
                    && export.namespace == text(&before["metadata"], "namespace")
                    && export.versions.iter().any(|version| {
                        uid_of(&version.value) == maker
                            || version.value["status"]["target"] == target.as_str()
                    })
            };
            if !self.history.records.values().any(is_made) {
                let verb = if after.is_some() { "changes" } else { "deletes" };
                let message = format!("the hub {verb} {}, which is not a target of an export", title(before));
                self.violated(now, Class::ForeignObject, message);
            }
        }
        self.check_forged(now, after, "data");
    }

    fn check_forged(&mut self, now: Duration, object: Option<&Value>, part: &str) {
        let Some(object) = object else { return };
        let (text, encoded) = (object[part].to_string(), "Zm9yZ2Vk");
        if text.contains(FORGED) || text.contains(encoded) {
            let message = format!("{} has a forged value: {}", title(object), around(&text));
            self.violated(now, Class::Forged, message);
        }
    }
}

/// Whether a call is about objects of this kind. Kinds that no check is about are not distinguished.
fn is_of_kind(object: &Value, call: &Call) -> bool {
    let plural = call.name.split([' ', '/']).nth(1);
    served(text(object, "kind")).is_none_or(|kind| plural == Some(kind.plural))
}

/// Writes the fields of an object that differ from the version before, with their names, as JSON.
fn write_new(before: Option<&Value>, object: &Value, text: &mut String) {
    match (before, object) {
        (Some(Value::Object(before)), Value::Object(fields)) => {
            for (name, value) in fields {
                let old = before.get(name);
                if old != Some(value) {
                    text.push_str(name);
                    text.push(':');
                    write_new(old, value, text);
                    text.push('\n');
                }
            }
        }
        _ => {
            let _ = write!(text, "{object}"); // writing to a String cannot fail
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn title(object: &Value) -> String {
    let meta = &object["metadata"];
    format!("{} {}/{}", text(object, "kind"), text(meta, "namespace"), text(meta, "name"))
}

fn revision(object: &Value) -> u64 {
    text(&object["metadata"], "resourceVersion").parse().unwrap_or_default()
}

/// The part of a text that has a marker in it, or its beginning.
fn around(text: &str) -> String {
    let at = text.find(super::MARKER).or_else(|| text.find(FORGED)).unwrap_or(0);
    let start = text.char_indices().map(|(index, _)| index).rfind(|index| index + 60 <= at).unwrap_or(0);
    text.get(start..).unwrap_or_default().chars().take(160).collect()
}
/// Whether a write changed nothing but the finalizer of the Secrets of Accounts. Without its last finalizer, an object that is being
/// deleted is gone.
fn is_only_kept(before: &Value, after: Option<&Value>) -> bool {
    let others = |object: &Value| -> Vec<String> {
        let finalizers = strings(&object["metadata"]["finalizers"]);
        finalizers.filter(|finalizer| *finalizer != KEPT_SECRET_FINALIZER).map(ToOwned::to_owned).collect()
    };
    let Some(after) = after else { return is_deleting(before) && others(before).is_empty() };
    let metadata = |object: &Value| ["labels", "annotations"].map(|field| object["metadata"][field].clone());
    before["data"] == after["data"]
        && before["type"] == after["type"]
        && metadata(before) == metadata(after)
        && others(before) == others(after)
}
