//! Remote objects to which users gave the owner tags of another resource than the one that created them.
//!
//! No controller can distinguish such an object from one of the other resource. The resource that created it counts it as
//! lost, and the other resource can count it as one of its last launch, of which an object may not be visible yet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::history::{Record, Version};
use super::policy::external_ids;
use super::remote::{plain, remote_kind};
use super::{Checks, RemoteObject, RemoteObjects, SLACK};

/// What is known of objects that have or had the owner tags of another resource.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Until when responses can contain the owner tags of another resource than the one that created an object, after users
    /// removed them.
    shown_as_others: BTreeMap<String, Duration>,
    /// The objects in whose place another was launched while they were, or were shown as, another resource's.
    replaced: BTreeSet<String>,
    /// The UIDs of resources whose owner tags users gave to an object that was not launched for them.
    recipients: BTreeSet<String>,
}

impl Checks {
    /// After users changed the cloud.
    pub(super) fn note_given(&mut self, now: Duration, cloud: &RemoteObjects) {
        for (id, remote) in &cloud.0 {
            let before = self.cloud.0.get(id).and_then(RemoteObject::uid);
            if before == remote.uid() {
                continue;
            }
            if before.is_some_and(|owner| self.is_launched_for_another(id, owner)) {
                let until = now.max(self.faults_until) + self.tag_lag + SLACK;
                self.given.shown_as_others.insert(id.clone(), until);
            }
            if let Some(owner) = remote.uid().filter(|owner| !self.is_launched_for(id, owner)) {
                self.given.recipients.insert(owner.to_owned());
            }
        }
    }

    /// Whether responses can still contain the owner tags of another resource, which users removed from the object.
    pub(super) fn is_shown_as_another(&self, now: Duration, id: &str) -> bool {
        let is_stripped = self.cloud.0.get(id).is_some_and(|remote| remote.uid().is_none());
        is_stripped && self.given.shown_as_others.get(id).is_some_and(|until| now <= *until)
    }

    /// After an object was launched for this UID, which has `live` objects and may have `allowed` ones: if it would have too many
    /// with those that are, or are shown as, another resource's, they are replaced.
    pub(super) fn note_replaced(&mut self, now: Duration, uid: &str, allowed: usize, live: usize) {
        let kind = self.history.records.get(uid).and_then(|record| remote_kind(&record.kind));
        let given: Vec<String> = self
            .cloud
            .0
            .iter()
            .filter(|(id, remote)| {
                let is_anothers = remote.uid().is_some_and(|owner| owner != uid);
                remote.alive
                    && Some(remote.kind) == kind
                    && self.is_launched_for(id, uid)
                    && (is_anothers || self.is_shown_as_another(now, id))
            })
            .map(|(id, _)| id.clone())
            .collect();
        if live + given.len() > allowed {
            self.given.replaced.extend(given);
        }
    }

    /// Whether a resource replaced or forgot an object, or was deleted without it, while responses could still contain the owner
    /// tags of another resource.
    pub(super) fn was_left_to_another(&self, id: &str, maker: &Record) -> bool {
        if self.given.replaced.contains(id) {
            return true;
        }
        let Some(until) = self.given.shown_as_others.get(id) else { return false };
        let last = maker.versions.iter().rposition(|version| is_on_record(version, id));
        let next = last.and_then(|last| maker.versions.get(last + 1));
        next.map(|version| version.at).or(maker.gone).is_some_and(|forgotten| forgotten <= *until)
    }

    /// Whether an object may be hidden by one to which users gave the owner tags of its resource: searches show as many objects
    /// as its launch requested, and its id was never on record.
    pub(super) fn may_be_hidden(&self, id: &str, uid: &str, record: &Record) -> bool {
        self.given.recipients.contains(uid)
            && !record.versions.iter().any(|version| is_on_record(version, id))
    }
}

/// Whether the status of this version names a remote object.
pub(super) fn is_on_record(version: &Version, id: &str) -> bool {
    external_ids(&version.value).any(|known| known == plain(id))
}
