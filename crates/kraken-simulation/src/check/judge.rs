//! Checks one call to the cloud against the versions that its caller can have known.

use std::time::Duration;

use kraken_simulator::hook::Call;
use serde_json::Value;

use super::call::{ParsedCall, Verb};
use super::history::Version;
use super::policy::{Policy, is_held, ledger};
use super::{CallingProcess, Checks, Class, RemoteObjects, SLACK};

impl Checks {
    /// After a call that may have changed something.
    pub(super) fn judge(&mut self, now: Duration, by: &CallingProcess, call: &Call, status: u16) {
        let before = std::mem::replace(&mut self.cloud, (self.view.cloud)());
        let mut parsed = ParsedCall::of(call);
        if parsed.verb == Verb::Create {
            self.check_token(now, &parsed);
        }
        if status >= 300 && before == self.cloud {
            return;
        }
        // Changes by others in the cluster since the last check.
        let changes = self.observe(now);
        self.note_out_of_band(now, &changes);
        for (key, value) in &parsed.tags {
            if let Some(form) = self.canary.found(key).or_else(|| self.canary.found(value)) {
                self.violated(
                    now,
                    Class::Secret,
                    format!("{} sets tag {key}={value}, which has a Secret's value {form}", parsed.action),
                );
            }
        }
        if parsed.verb == Verb::Create {
            self.judge_creation(now, by, &parsed, &before);
        }
        for id in &mut parsed.subjects {
            id.push_str(&by.place);
        }
        for id in parsed.subjects.clone() {
            if let Some(remote) = before.0.get(&id).filter(|remote| remote.exists).cloned() {
                self.judge_subject(now, by, &parsed, &id, &remote);
            }
        }
        if parsed.verb == Verb::Untag && parsed.is_about_ownership() {
            self.released.extend(parsed.subjects.iter().cloned());
        }
        if parsed.verb == Verb::Tag && parsed.is_about_ownership() {
            for id in &parsed.subjects {
                self.released.remove(id);
            }
        }
    }

    fn judge_creation(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        parsed: &ParsedCall,
        before: &RemoteObjects,
    ) {
        let is_new = |id: &&String| !before.0.contains_key(*id);
        let made: Vec<String> = self.cloud.0.keys().filter(is_new).cloned().collect();
        if made.is_empty() {
            return; // a replay of an earlier call
        }
        let what = format!("{} made {}", parsed.action, made.join(", "));
        let Some(uid) = parsed.uid().map(ToOwned::to_owned) else {
            return self.violated(now, Class::NoLedger, format!("{what} without owner tags"));
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
        let has_ledger = |version: &Version| {
            let epoch = ledger(&version.value).and_then(|ledger| ledger["epoch"].as_i64());
            epoch.is_some() && epoch == parsed.epoch() && is_held(&version.value)
        };
        let found = if all(|policy| policy.deleting) {
            Some((Class::CreatedForGone, "which is being deleted"))
        } else if all(|policy| policy.paused) {
            Some((Class::Paused, "which is paused"))
        } else if !record.versions.iter().any(has_ledger) {
            Some((Class::NoLedger, "of which no such ledger is on record"))
        } else if self.is_only_drift(by, &uid, candidates) && all(|policy| policy.report) {
            Some((Class::Reported, "whose drift is only reported"))
        } else if is_elsewhere(candidates, by) {
            Some((Class::Elsewhere, "whose objects are in another location"))
        } else if self.is_unapproved(&uid, candidates, parsed.verb) {
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
    fn check_token(&mut self, now: Duration, parsed: &ParsedCall) {
        let (Some(token), Some(uid)) = (parsed.token.clone(), parsed.uid()) else { return };
        let launch = (uid.to_owned(), parsed.epoch());
        let first = self.tokens.entry(token).or_insert_with(|| launch.clone()).clone();
        if first != launch {
            let message = format!("{} for {launch:?} has the token of {first:?}", parsed.action);
            self.violated(now, Class::SameToken, message);
        }
    }

    /// Whether this is the UID of our own `kube-system`.
    pub(super) fn is_this_cluster(&self, cluster: &str) -> bool {
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

fn is_elsewhere(candidates: &[Version], by: &CallingProcess) -> bool {
    let Some((account, region)) = &by.location else { return false };
    let differs = |version: &Version| {
        let recorded = &version.value["status"]["location"];
        // The location is on record before the first call.
        let intended = ledger(&version.value).unwrap_or_default();
        let place = if recorded.is_object() { recorded } else { &intended["location"] };
        place.is_object() && (place["account"] != **account || place["region"] != **region)
    };
    !candidates.is_empty() && candidates.iter().all(differs)
}
