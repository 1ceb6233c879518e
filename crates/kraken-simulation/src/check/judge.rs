//! Checks one call to the cloud against the versions that its caller can have known.

use std::time::Duration;

use kraken_simulator::Kind;
use kraken_simulator::hook::Call;
use serde_json::Value;

use super::history::Version;
use super::policy::{Policy, adopted, approved, external_ids, intent, is_held};
use super::remote::{Asked, PREFIX, Remote, Verb, plain, remote_kind};
use super::{Caller, Checks, Class, Cloud, SLACK};
use crate::schedule::Controller;

/// The tag of an instance that was stopped to change it.
const DISRUPTION: &str = "kraken-iac.eoinfennessy.com/disruption";

impl Checks {
    /// After a call that may have changed something.
    pub(super) fn judge(&mut self, now: Duration, by: &Caller, call: &Call, status: u16) {
        let before = std::mem::replace(&mut self.cloud, (self.view.cloud)());
        let mut asked = Asked::of(call);
        if asked.verb == Verb::Create {
            self.check_token(now, &asked);
        }
        if status >= 300 && before == self.cloud {
            return;
        }
        // Changes by others in the cluster since the last check.
        let changes = self.observe(now);
        self.note_outside(now, &changes);
        for (key, value) in &asked.tags {
            if let Some(form) = self.canary.found(key).or_else(|| self.canary.found(value)) {
                self.violated(
                    now,
                    Class::Secret,
                    format!("{} sets tag {key}={value}, which has a Secret's value {form}", asked.action),
                );
            }
        }
        if asked.verb == Verb::Create {
            self.judge_creation(now, by, &asked, &before);
        }
        for id in &mut asked.subjects {
            id.push_str(&by.place);
        }
        for id in asked.subjects.clone() {
            if let Some(remote) = before.0.get(&id).filter(|remote| remote.exists).cloned() {
                self.judge_subject(now, by, &asked, &id, &remote);
            }
        }
        if asked.verb == Verb::Untag && asked.is_about_ownership() {
            self.released.extend(asked.subjects.iter().cloned());
        }
        if asked.verb == Verb::Tag && asked.is_about_ownership() {
            for id in &asked.subjects {
                self.released.remove(id);
            }
        }
    }

    fn judge_creation(&mut self, now: Duration, by: &Caller, asked: &Asked, before: &Cloud) {
        let is_new = |id: &&String| !before.0.contains_key(*id);
        let made: Vec<String> = self.cloud.0.keys().filter(is_new).cloned().collect();
        if made.is_empty() {
            return; // a replay of an earlier call
        }
        let what = format!("{} made {}", asked.action, made.join(", "));
        let Some(uid) = asked.uid().map(ToOwned::to_owned) else {
            return self.violated(now, Class::NoIntent, format!("{what} without owner tags"));
        };
        for id in made {
            self.launched.insert(id, uid.clone());
        }
        self.check_recreation(now, by, &uid);
        let Some(record) = self.history.records.get(&uid) else {
            return self.violated(now, Class::CreatedForGone, format!("{what} for {uid}, which never was"));
        };
        let what = format!("{what} for {}", record.title());
        let candidates = self.history.candidates(record, by, now, self.calm);
        if record.gone.is_some_and(|gone| self.is_long_ago(gone, now)) {
            return self.violated(now, Class::CreatedForGone, format!("{what}, which is deleted"));
        }
        let all = |forbids: fn(&Policy) -> bool| all(candidates, forbids);
        let has_intent = |version: &Version| {
            let epoch = intent(&version.value).and_then(|intent| intent["epoch"].as_i64());
            epoch.is_some() && epoch == asked.epoch() && is_held(&version.value)
        };
        let found = if all(|policy| policy.deleting) {
            Some((Class::CreatedForGone, "which is being deleted"))
        } else if all(|policy| policy.paused) {
            Some((Class::Paused, "which is paused"))
        } else if !record.versions.iter().any(has_intent) {
            Some((Class::NoIntent, "of which no such intent is on record"))
        } else if self.is_only_drift(&uid, candidates) && all(|policy| policy.report) {
            Some((Class::Reported, "whose drift is only reported"))
        } else if is_elsewhere(candidates, by) {
            Some((Class::Elsewhere, "whose objects are in another location"))
        } else if self.is_unapproved(&uid, candidates, asked.verb) {
            Some((Class::Unapproved, "of which no such plan is approved"))
        } else {
            None
        };
        if let Some((class, why)) = found {
            self.violated(now, class, format!("{what}, {why}"));
        }
        self.check_count(now, by, &uid);
    }

    /// A token belongs to one launch: with the token of an earlier one, a provider returns the earlier objects.
    fn check_token(&mut self, now: Duration, asked: &Asked) {
        let (Some(token), Some(uid)) = (asked.token.clone(), asked.uid()) else { return };
        let launch = (uid.to_owned(), asked.epoch());
        let first = self.tokens.entry(token).or_insert_with(|| launch.clone()).clone();
        if first != launch {
            let message = format!("{} for {launch:?} has the token of {first:?}", asked.action);
            self.violated(now, Class::SameToken, message);
        }
    }

    fn judge_subject(&mut self, now: Duration, by: &Caller, asked: &Asked, id: &str, remote: &Remote) {
        let what = format!("{} of {id}", asked.action);
        if remote.cluster().is_some_and(|cluster| !self.is_this_cluster(cluster)) {
            return self.violated(now, Class::NotOurs, format!("{what}, which belongs to another cluster"));
        }
        let is_recent = self.tampered.get(id).is_some_and(|at| !self.is_long_ago(*at, now));
        let Some(uid) = remote.uid().map(ToOwned::to_owned) else {
            if asked.verb == Verb::Tag && asked.is_about_ownership() {
                self.judge_claim(now, by, asked, id, remote);
            } else if !is_recent && !self.released.contains(id) && !self.is_recorded(id) {
                self.violated(now, Class::NotOurs, format!("{what}, which has no owner tags"));
            }
            return;
        };
        if asked.verb == Verb::Tag && asked.uid().is_some_and(|new| new != uid) && !is_recent {
            return self.violated(now, Class::NotOurs, format!("{what} takes it from {uid}"));
        }
        let Some(record) = self.history.records.get(&uid) else {
            let is_removal = asked.verb == Verb::Delete && self.removes_orphans;
            if !is_removal && !is_recent {
                self.violated(
                    now,
                    Class::NotOurs,
                    format!("{what}, which belongs to {uid}, which never was"),
                );
            }
            return;
        };
        if record.gone.is_some() && self.removes_orphans && asked.verb == Verb::Delete {
            return; // the policy of a deleted object does not apply
        }
        if record.gone.is_some_and(|gone| self.is_long_ago(gone, now)) {
            if !self.removes_orphans && !is_recent {
                self.violated(
                    now,
                    Class::NotOurs,
                    format!("{what}, which belongs to {}, which is deleted", record.title()),
                );
            }
            return;
        }
        if Controller::of(&record.kind) != by.controller {
            if !is_recent {
                let title = record.title();
                self.violated(now, Class::NotOurs, format!("{what}, which belongs to {title}"));
            }
            return;
        }
        // Its tags may name another resource now than the one that the call is for.
        if !is_recent {
            self.judge_policies(now, by, asked, id, remote, &uid);
        }
    }

    /// Whether the resource that created the object still has it on record: it keeps it without its tags, too.
    fn is_recorded(&self, id: &str) -> bool {
        let record = self.launched.get(id).and_then(|uid| self.history.records.get(uid));
        record.is_some_and(|record| {
            record.gone.is_none() && external_ids(&record.latest().value).any(|known| known == plain(id))
        })
    }

    fn judge_policies(
        &mut self,
        now: Duration,
        by: &Caller,
        asked: &Asked,
        id: &str,
        remote: &Remote,
        uid: &str,
    ) {
        let Some(record) = self.history.records.get(uid) else { return };
        let candidates = self.history.candidates(record, by, now, self.calm);
        let what = format!("{} of {id} for {}", asked.action, record.title());
        let all = |forbids: fn(&Policy) -> bool| all(candidates, forbids);
        let deletes = asked.verb == Verb::Delete;
        let live = self.live_of(uid, record, candidates).len() + usize::from(deletes);
        let is_scaling = candidates.iter().any(|version| self.wanted(record, version) < live)
            && !candidates.iter().any(|version| {
                intent(&version.value).is_some_and(|intent| intent["outgoing"] != Value::Null)
            });
        // Its adoption was observed, and no client has removed the record of it since.
        let was_adopted =
            self.adopted.get(id).is_some_and(|adopter| adopter == uid) && record.disturbed.is_none();
        let is_adopted = |version: &Version| {
            let policy = version.policy();
            let is_recorded = || adopted(&version.value).iter().any(|adopted| adopted == plain(id));
            policy.retain || (!policy.delete && (was_adopted || is_recorded()))
        };
        // An object is adopted or created, whatever other objects of its resource are.
        let is_created = self.launched.get(id).is_some_and(|launched| launched == uid)
            && remote.kind != Kind::KeyPair
            && record.disturbed.is_none();
        let is_kept = |version: &Version| {
            let recorded = adopted(&version.value);
            let is_unknown = version.policy().adopts && recorded.is_empty();
            version.policy().retain || is_unknown || recorded.iter().any(|adopted| adopted == plain(id))
        };
        // A disruption in progress is completed in any case.
        let is_disrupted = remote.tags.contains_key(DISRUPTION);
        let is_own = asked.is_about_ownership();
        let found = if all(|policy| policy.paused) {
            Some((Class::Paused, "which is paused"))
        } else if deletes && !is_scaling && all(|policy| policy.protect) {
            Some((Class::Protected, "which is protected"))
        } else if deletes && !is_scaling && !candidates.is_empty() && candidates.iter().all(is_adopted) {
            Some((Class::Retained, "which leaves it behind"))
        } else if asked.verb == Verb::Untag
            && is_own
            && is_created
            // The volume of an instance that was terminated just before is still listed.
            && remote_kind(&record.kind) == Some(remote.kind)
            && !candidates.is_empty()
            && !candidates.iter().any(is_kept)
        {
            Some((Class::Released, "which created it and does not retain it"))
        } else if !is_disrupted && self.is_only_drift(uid, candidates) && all(|policy| policy.report) {
            Some((Class::Reported, "whose drift is only reported"))
        } else if !is_disrupted && !is_own && self.is_unapproved(uid, candidates, asked.verb) {
            Some((Class::Unapproved, "of which no such plan is approved"))
        } else {
            None
        };
        if let Some((class, why)) = found {
            self.violated(now, class, format!("{what}, {why}"));
        } else if deletes && all(|policy| policy.deleting) {
            self.check_order(now, uid);
        }
    }

    /// Owner tags may be set on an object without owner if it is adopted or recorded.
    fn judge_claim(&mut self, now: Duration, by: &Caller, asked: &Asked, id: &str, remote: &Remote) {
        let Some(uid) = asked.uid() else { return };
        let what = format!("{} claims {id} for {uid}", asked.action);
        let Some(record) = self.history.records.get(uid) else {
            return self.violated(now, Class::NotOurs, format!("{what}, which never was"));
        };
        let candidates = self.history.candidates(record, by, now, self.calm);
        let is_launched = self.launched.get(id).is_some_and(|launched| launched == uid);
        let is_on_record = record.versions.iter().any(|version| {
            let outgoing = intent(&version.value).unwrap_or_default();
            external_ids(&version.value).any(|known| known == plain(id))
                || super::policy::strings(&outgoing["outgoing"]).any(|known| known == plain(id))
                || adopted(&version.value).iter().any(|known| known == plain(id))
        });
        // Its name is on record, and a person made another one of that name.
        let is_by_name = remote.kind == Kind::KeyPair && self.tampered.contains_key(id);
        let is_adopted = candidates.iter().any(|version| adopts(&version.value, id, remote));
        let title = record.title();
        // The intent of an adoption is written before the claim; an object that was observed before is claimed again.
        let is_observed = record
            .versions
            .iter()
            .any(|version| external_ids(&version.value).any(|known| known == plain(id)));
        if is_adopted && !is_launched && !is_observed && remote.kind != Kind::KeyPair {
            self.adopted.insert(id.to_owned(), uid.to_owned());
        }
        if !is_launched && !is_on_record && !is_adopted && !is_by_name {
            self.violated(
                now,
                Class::NotOurs,
                format!("{what}, {title}, which neither has it on record nor adopts it"),
            );
        } else if all(candidates, |policy| policy.paused) {
            self.violated(now, Class::Paused, format!("{what}, {title}, which is paused"));
        }
    }

    /// Whether the desired state of these versions was in place before with the same values, so that a difference is
    /// drift.
    pub(super) fn is_only_drift(&self, uid: &str, candidates: &[Version]) -> bool {
        let Some(record) = self.history.records.get(uid) else { return false };
        let in_place = |version: &Version| {
            let object = &version.value;
            let place = &object["status"]["inPlace"];
            !version.policy().deleting
                && place["generation"].is_i64()
                && place["generation"] == object["metadata"]["generation"]
        };
        if candidates.is_empty() || !candidates.iter().all(in_place) {
            return false;
        }
        let place = &record.latest().value["status"]["inPlace"];
        let since =
            record.versions.iter().rev().take_while(|version| version.value["status"]["inPlace"] == *place);
        let Some(since) = since.last().map(|version| version.at) else { return false };
        // A value that changed after that, or not long before, is an edit.
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.namespace == record.namespace
                && request.versions.iter().any(|version| is_owned(&version.value, uid))
        });
        let changed = requests.flat_map(|request| request.versions.windows(2)).filter(|pair| {
            let values = |version: &Version| version.value["status"]["dependentValues"].clone();
            values(&pair[0]) != values(&pair[1])
        });
        // So is one of its Account, which adds tags.
        let accounts = self
            .history
            .records
            .values()
            .filter(|account| account.kind == "Account" && account.namespace == record.namespace);
        let edited = accounts
            .flat_map(|account| account.versions.iter().map(|version| version.at).chain(account.gone));
        let last = changed.map(|pair| pair[1].at).chain(edited).max();
        last.is_none_or(|last| last + SLACK < since)
    }

    /// Whether a required approval is missing.
    fn is_unapproved(&self, uid: &str, candidates: &[Version], verb: Verb) -> bool {
        if !all(candidates, |policy| policy.manual) {
            return false;
        }
        let is_granted = |version: &Version| {
            let object = &version.value;
            let Some(hash) = approved(object) else { return false };
            // What was approved is the plan that a controller showed under this hash, and not what a client stored under it.
            let Some(shown) = self.plans.get(&(uid.to_owned(), hash.to_owned())) else { return false };
            let stored = &object["status"]["plan"];
            if ["hash", "action", "what", "changes", "target"]
                .iter()
                .any(|field| stored[*field] != shown[*field])
            {
                return false;
            }
            let action = shown["action"].as_str().unwrap_or_default();
            let deleting = version.policy().deleting;
            match verb {
                Verb::Create => matches!(action, "Create" | "Replace"),
                _ if deleting => action == "Delete",
                Verb::Delete => matches!(action, "Replace" | "Change" | "Create" | "Adopt"),
                Verb::Change | Verb::Tag | Verb::Untag => action != "Delete",
            }
        };
        !candidates.iter().any(is_granted)
    }

    /// Whether this is the UID of our own `kube-system`.
    fn is_this_cluster(&self, cluster: &str) -> bool {
        let system = self.history.records.get(cluster);
        system.is_some_and(|system| system.kind == "Namespace" && system.name == "kube-system")
    }

    /// Whether it was before anything that a process can still be acting on.
    pub(super) fn is_long_ago(&self, at: Duration, now: Duration) -> bool {
        let Some(cutoff) = now.checked_sub(SLACK) else { return false };
        at < cutoff && self.calm.is_some_and(|calm| calm <= cutoff)
    }
}

/// Whether each of these versions forbids it. Without any, nothing is forbidden.
pub(super) fn all(candidates: &[Version], forbids: impl Fn(&Policy) -> bool) -> bool {
    !candidates.is_empty() && candidates.iter().all(|version| forbids(&version.policy()))
}

/// Whether an object has this owner.
pub(super) fn is_owned(object: &Value, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
}

fn is_elsewhere(candidates: &[Version], by: &Caller) -> bool {
    let Some((account, region)) = &by.location else { return false };
    let differs = |version: &Version| {
        let recorded = &version.value["status"]["location"];
        // The location is on record before the first call.
        let intended = intent(&version.value).unwrap_or_default();
        let place = if recorded.is_object() { recorded } else { &intended["location"] };
        place.is_object() && (place["account"] != **account || place["region"] != **region)
    };
    !candidates.is_empty() && candidates.iter().all(differs)
}

fn adopts(object: &Value, id: &str, remote: &Remote) -> bool {
    let adopt = &object["spec"]["lifecycle"]["adopt"];
    let has = |(key, value): (&String, &Value)| {
        remote.tags.get(key).map(String::as_str) == value.as_str() && !key.starts_with(PREFIX)
    };
    adopt["id"] == plain(id)
        || adopt["tags"].as_object().is_some_and(|tags| !tags.is_empty() && tags.iter().all(has))
}
