//! Invariants after faults end: everything is in place or reports why not, then nothing is written, and after everything is
//! deleted nothing remains.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use kraken_kind::api::interval;
use kraken_simulator::hook::Call;
use serde_json::Value;

use super::{
    Checks, Class,
    call::ParsedCall,
    history::{Record, uid_of},
    policy::{external_ids, is_held_by_others, is_resource, ready, text},
    remote::{place_of, remote_kind},
};
use crate::oracle::Oracle;

/// The time for which writes are recorded.
const REMEMBERED: Duration = Duration::from_mins(10);

/// The maximum number of rejections of one call about the same objects in the last minute of a steady state: with backoff, six.
const REJECTIONS: u32 = 12;

/// The resync interval of a resource within which it was certainly observed before convergence is checked.
pub(super) const OBSERVED: Duration = Duration::from_secs(25);

/// The recent writes.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Writes that had an effect.
    writes: VecDeque<(Duration, String)>,
    /// Calls to the cloud that were to change something.
    attempts: VecDeque<(Duration, String)>,
    /// Those that were rejected, with the objects that they are about.
    rejected: VecDeque<(Duration, String)>,
}

impl Rest {
    pub(super) fn write(&mut self, now: Duration, call: &Call) {
        if !call.name.contains("leases") {
            note(&mut self.writes, now, format!("{} {}/{}", call.name, call.namespace, call.object));
        }
    }

    pub(super) fn attempt(&mut self, now: Duration, call: &Call, status: u16) {
        note(&mut self.attempts, now, call.name.clone());
        if status < 300 {
            note(&mut self.writes, now, call.name.clone());
        } else {
            let parsed = ParsedCall::of(call);
            let about = parsed.uid().map_or_else(|| parsed.subjects.join(", "), ToOwned::to_owned);
            note(&mut self.rejected, now, format!("{} of {about}", call.name));
        }
    }
}

fn note(list: &mut VecDeque<(Duration, String)>, now: Duration, what: String) {
    while list.front().is_some_and(|(at, _)| *at + REMEMBERED < now) {
        list.pop_front();
    }
    list.push_back((now, what));
}

fn counted(list: &VecDeque<(Duration, String)>, since: Duration) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for (_, what) in list.iter().filter(|(at, _)| *at >= since) {
        *counts.entry(what.as_str()).or_default() += 1;
    }
    counts
}

impl Checks {
    /// The unsettled objects, as text: neither Ready nor with a condition that names the cause. Records no violation.
    pub fn unsettled(&self) -> Vec<String> {
        let objects = (self.view.objects)();
        let unsettled = |object: &Value| {
            let meta = &object["metadata"];
            let title =
                || format!("{} {}/{}", object["kind"], meta["namespace"], meta["name"]).replace('"', "");
            let is_ours = is_resource(object) || object["kind"] == "ConfigExport";
            if !is_ours {
                return None;
            }
            if super::full::is_elsewhere(object) {
                return None;
            }
            let ready = ready(object);
            // The former target is kept by another controller, for as long as that likes.
            let is_kept = |other: &Arc<Value>| {
                is_held_by_others(other) && other["metadata"]["namespace"] == meta["namespace"]
            };
            if ready["reason"] == "WriteFailed" && objects.iter().any(is_kept) {
                return None;
            }
            if !is_current(object, ready) {
                return Some(format!("{} has no condition for its generation: {ready}", title()));
            }
            (is_open(object, ready) && !self.is_without_capacity(object, ready))
                .then(|| format!("{} is not settled: {}: {}", title(), ready["reason"], ready["message"]))
        };
        objects.iter().filter_map(|object| unsettled(object)).collect()
    }

    /// Some time after faults end: everything must be settled, and the cloud and the exports must match the specs.
    pub fn converged(&mut self, now: Duration) {
        self.after_out_of_band(now);
        for what in self.unsettled() {
            self.violated(now, Class::NotConverged, what);
        }
        let objects = (self.view.objects)();
        let oracle = Oracle::of(&objects);
        for object in objects.iter() {
            for wrong in oracle.wrong(object) {
                self.violated(now, Class::Wrong, wrong);
            }
            for unreadable in super::readable::unreadable(object) {
                self.violated(now, Class::Unreadable, unreadable);
            }
            if is_resource(object) && ready(object)["status"] == "True" {
                self.check_remote(now, &oracle, object);
                self.check_restored(now, object);
            }
            if is_resource(object) {
                self.check_losses_named(now, object);
            }
        }
        self.check_orphans(now);
    }

    /// The number and tags of remote objects must match the spec.
    fn check_remote(&mut self, now: Duration, oracle: &Oracle<'_>, object: &Value) {
        let uid = super::history::uid_of(object);
        let Some(record) = self.history.records.get(uid) else { return };
        let is_deleting = object["metadata"]["deletionTimestamp"].is_string();
        if is_deleting || ignores_drift(object) || self.has_unknown_location(uid, record) {
            return;
        }
        let last = record.versions.len().saturating_sub(1);
        let mut live = self.live_of(uid, record, record.versions.get(last..).unwrap_or_default());
        live.retain(|id| !self.is_out_of_reach(record, place_of(id)));
        let wanted = match record.kind.as_str() {
            "EC2Instance" => oracle.number(object, "/spec/maxCount"),
            _ => Some(1),
        };
        let title = record.title();
        let unwatched = is_unwatched(object);
        if wanted.is_some_and(|wanted| wanted < live.len() || (wanted > live.len() && !unwatched)) {
            let message = format!(
                "{title} is ready with {} live remote objects and not {wanted:?}: {live:?}",
                live.len()
            );
            self.violated(now, Class::Wrong, message);
        }
        for (key, value) in oracle.tags(object) {
            for id in &live {
                let have = self.cloud.0.get(id).and_then(|remote| remote.tags.get(&key)).cloned();
                let unnoticed = unwatched && self.tampered.contains_key(id);
                if have.as_ref() != Some(&value) && !unnoticed {
                    let message = format!("{title} is ready and {id} has tag {key}={have:?} and not {value}");
                    self.violated(now, Class::Wrong, message);
                }
            }
        }
    }

    /// A resource whose spec cannot be applied must say which of its remote objects a person deleted meanwhile.
    fn check_losses_named(&mut self, now: Duration, object: &Value) {
        let ready = ready(object);
        let is_held_up =
            ["DependenciesNotReady", "InvalidSpec"].iter().any(|reason| ready["reason"] == *reason);
        let is_deleting = object["metadata"]["deletionTimestamp"].is_string();
        let record = self.history.records.get(uid_of(object));
        let Some(record) = record.filter(|record| record.disturbed.is_none()) else { return };
        if !is_held_up || is_deleting || is_unwatched(object) {
            return;
        }
        let is_gone = |id: &&str| {
            self.cloud.0.get(*id).is_some_and(|remote| !remote.exists) && self.tampered.contains_key(*id)
        };
        let unnamed = external_ids(object).filter(is_gone).find(|id| !text(&ready["message"]).contains(id));
        if let Some(id) = unnamed {
            let message = format!("{} does not say that {id} is gone: {}", record.title(), ready["message"]);
            self.violated(now, Class::Wrong, message);
        }
    }

    /// Every object with the cluster's tags must have an owner.
    fn check_orphans(&mut self, now: Duration) {
        let mut orphans = vec![];
        for (id, remote) in &self.cloud.0 {
            let Some(uid) = remote.uid().filter(|_| remote.alive && !self.tampered.contains_key(id)) else {
                continue;
            };
            let record = self.history.records.get(uid);
            let is_main = record.is_none_or(|record| remote_kind(&record.kind) == Some(remote.kind));
            if is_main && record.is_none_or(|record| record.gone.is_some() && !record.excused) {
                orphans.push(format!(
                    "{id} belongs to {}",
                    record.map_or_else(|| uid.to_owned(), Record::title)
                ));
            }
        }
        for orphan in orphans {
            self.violated(now, Class::Orphan, format!("{orphan}, which is deleted"));
        }
    }

    /// Whether the spec requests more objects than fit in a subnet: no capacity is withheld after faults have ended.
    fn is_without_capacity(&self, object: &Value, ready: &Value) -> bool {
        let Some(calm) = self.calm else { return false };
        let call = format!("RunInstances of {}", uid_of(object));
        text(&ready["message"]).ends_with("(InsufficientFreeAddressesInSubnet)")
            && self.rest.rejected.iter().any(|(at, what)| *at > calm && *what == call)
    }

    /// After this time in steady state: nothing was written, and rejected calls are not repeated without backoff.
    pub fn rested(&mut self, now: Duration, quiet: Duration) {
        let mut found = vec![];
        for (what, times) in counted(&self.rest.writes, now.saturating_sub(quiet)) {
            found.push((Class::Restless, format!("{what} was written {times} times at rest")));
        }
        // Deleted resources made calls until then.
        let since = now.saturating_sub(REMEMBERED);
        let was_there = |record: &&Record| {
            record.gone.is_none_or(|gone| gone >= since) && is_resource(&record.latest().value)
        };
        let resources = self.history.records.values().filter(was_there).count();
        let minutes = u32::try_from(REMEMBERED.as_secs() / 60).unwrap_or(10);
        // Calls that the provider rejects are retried at least every minute, at first more often.
        let most = u32::try_from(resources).unwrap_or(u32::MAX).saturating_mul(minutes * 2 + 8).max(60);
        for (action, times) in counted(&self.rest.attempts, now.saturating_sub(REMEMBERED)) {
            if times > most {
                let message = format!("{action} was called {times} times in {minutes} minutes");
                found.push((Class::Busy, message));
            }
        }
        let minute = now.saturating_sub(Duration::from_mins(1));
        for (what, times) in counted(&self.rest.rejected, minute) {
            if times > REJECTIONS {
                let message = format!("{what} was rejected {times} times in the last minute");
                found.push((Class::Busy, message));
            }
        }
        for (class, message) in found {
            self.violated(now, class, message);
        }
    }

    /// Some time after everything was deleted: nothing may be left.
    pub fn emptied(&mut self, now: Duration) {
        self.after_out_of_band(now);
        for what in self.left() {
            self.violated(now, Class::LeftBehind, what);
        }
    }
}

/// Whether out-of-band changes are not detected before the next edit, because there was no resync until now.
fn is_unwatched(object: &Value) -> bool {
    let own = object["spec"]["lifecycle"]["resyncInterval"].as_str().map(interval::parse);
    own.is_some_and(|own| own.is_ok_and(|own| own.is_none_or(|own| own > OBSERVED)))
}

/// Whether a condition is about the generation that the object has.
fn is_current(object: &Value, ready: &Value) -> bool {
    let generation = &object["metadata"]["generation"];
    !ready.is_null() && object["status"]["observedGeneration"] == *generation
}

/// Whether a condition speaks of something that passes.
fn is_open(object: &Value, ready: &Value) -> bool {
    let (reason, message) =
        (ready["reason"].as_str().unwrap_or_default(), ready["message"].as_str().unwrap_or_default());
    match reason {
        "Pending"
        | "WaitingForHub"
        | "Throttled"
        | "CloudUnavailable"
        | "KubernetesError"
        | "InternalError"
        | "CredentialsMissing"
        | "ControllerNotConfigured"
        | "WriteFailed" => true,
        // The provider reports a prerequisite.
        "Creating" | "Updating" | "Replacing" | "Deleting" => {
            let waits_for_the_provider = message.trim_end().ends_with(')')
                || (reason == "Updating" && message.contains("still returns the old value"));
            !waits_for_the_provider
        }
        _ => object["metadata"]["deletionTimestamp"].is_string() && ready["status"] == "True",
    }
}

/// Whether the resource is content with what differs.
pub(super) fn ignores_drift(object: &Value) -> bool {
    let lifecycle = &object["spec"]["lifecycle"];
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let is_drifted = conditions
        .into_iter()
        .any(|condition| condition["type"] == "Drifted" && condition["status"] == "True");
    lifecycle["paused"] == true
        || is_drifted
        || lifecycle["ignoreChanges"].as_array().is_some_and(|all| !all.is_empty())
}
