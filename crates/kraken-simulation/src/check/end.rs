//! What must hold when nothing fails any more: everything is in place or says why not, then nothing happens, and after everything
//! was deleted nothing is left.

use std::collections::BTreeMap;
use std::time::Duration;

use kraken_testing::kube_proxy::Call;
use serde_json::Value;

use super::history::Record;
use super::policy::{is_resource, ready};
use super::remote::remote_kind;
use super::{Checks, Class};
use crate::oracle::Oracle;

/// What was counted since a quiet time began.
#[derive(Debug)]
pub(super) struct Quiet {
    since: Duration,
    /// How often the API server was written to, by call.
    writes: BTreeMap<String, u32>,
    /// How often the cloud was asked to change something, by call.
    attempts: BTreeMap<String, u32>,
}

impl Checks {
    pub(super) fn note_api_write(&mut self, _: Duration, call: &Call, status: u16) {
        if let Some(quiet) = &mut self.quiet
            && !call.name.contains("leases")
            && status < 300
            && !call.body.windows(8).any(|part| part == b"\"dryRun\"")
        {
            *quiet.writes.entry(format!("{} {}/{}", call.name, call.namespace, call.object)).or_default() +=
                1;
        }
    }

    pub(super) fn note_cloud_call(&mut self, _: Duration, call: &Call) {
        if let Some(quiet) = self.quiet.as_mut().filter(|_| call.writes) {
            *quiet.attempts.entry(call.name.clone()).or_default() += 1;
        }
    }

    /// What is not settled yet, in words: neither ready nor with a condition that names its cause. Nothing is recorded.
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
            let ready = ready(object);
            if !is_current(object, ready) {
                return Some(format!("{} has no condition for its generation: {ready}", title()));
            }
            is_open(object, ready)
                .then(|| format!("{} is not settled: {}: {}", title(), ready["reason"], ready["message"]))
        };
        objects.iter().filter_map(|object| unsettled(object)).collect()
    }

    /// Some time after faults ended: everything must be settled, and the cloud and the exports must be what the specs say.
    pub fn converged(&mut self, now: Duration) {
        self.outside(now);
        for what in self.unsettled() {
            self.violated(now, Class::NotConverged, what);
        }
        let objects = (self.view.objects)();
        let oracle = Oracle::of(&objects);
        for object in &objects {
            for wrong in oracle.wrong(object) {
                self.violated(now, Class::Wrong, wrong);
            }
            if is_resource(object) && ready(object)["status"] == "True" {
                self.check_remote(now, &oracle, object);
            }
        }
        self.check_orphans(now);
    }

    /// As many remote objects as the spec says, with the tags that it says.
    fn check_remote(&mut self, now: Duration, oracle: &Oracle<'_>, object: &Value) {
        let uid = super::history::uid_of(object);
        let Some(record) = self.history.records.get(uid) else { return };
        if object["metadata"]["deletionTimestamp"].is_string() || is_left_alone(object) {
            return;
        }
        let last = record.versions.len().saturating_sub(1);
        let live = self.live_of(uid, record, record.versions.get(last..).unwrap_or_default());
        let wanted = match record.kind.as_str() {
            "EC2Instance" => oracle.number(object, "/spec/maxCount"),
            _ => Some(1),
        };
        let title = record.title();
        if wanted.is_some_and(|wanted| wanted != live.len()) {
            let message = format!(
                "{title} is ready with {} live remote objects and not {wanted:?}: {live:?}",
                live.len()
            );
            self.violated(now, Class::Wrong, message);
        }
        for (key, value) in oracle.tags(object) {
            for id in &live {
                let have = self.cloud.0.get(id).and_then(|remote| remote.tags.get(&key)).cloned();
                if have.as_ref() != Some(&value) {
                    let message = format!("{title} is ready and {id} has tag {key}={have:?} and not {value}");
                    self.violated(now, Class::Wrong, message);
                }
            }
        }
    }

    /// Everything with the cluster's tags belongs to somebody.
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
            self.violated(now, Class::Orphan, format!("{orphan}, which is gone"));
        }
    }

    /// From now on nothing may be written.
    pub fn begin_quiet(&mut self, now: Duration) {
        self.quiet = Some(Quiet { since: now, writes: BTreeMap::new(), attempts: BTreeMap::new() });
    }

    /// The quiet time is over.
    pub fn end_quiet(&mut self, now: Duration) {
        let Some(quiet) = self.quiet.take() else { return };
        for (what, times) in &quiet.writes {
            self.violated(now, Class::Restless, format!("{what} was written {times} times at rest"));
        }
        let minutes = u32::try_from(now.saturating_sub(quiet.since).as_secs() / 60).unwrap_or(u32::MAX);
        let resources =
            self.history.all_live().filter(|(_, record)| is_resource(&record.latest().value)).count();
        let resources = u32::try_from(resources).unwrap_or(u32::MAX);
        // What the provider refuses is tried again each minute at the latest, and what it accepts without effect more seldom.
        let most = resources.saturating_mul(minutes.saturating_mul(2).saturating_add(4));
        for (action, times) in &quiet.attempts {
            if *times > most {
                let message = format!("{action} was called {times} times in {minutes} minutes at rest");
                self.violated(now, Class::Busy, message);
            }
        }
    }

    /// What is left of what must go when everything is deleted, in words. Nothing is recorded.
    pub fn left(&self) -> Vec<String> {
        let objects = (self.view.objects)();
        let is_ours = |object: &Value| {
            let is_group = object["apiVersion"]
                .as_str()
                .is_some_and(|version| version.contains(kraken_spoke::api::DOMAIN));
            let made = &object["metadata"]["annotations"][kraken_spoke::api::EXPORTED_BY_ANNOTATION];
            is_group || made.is_string()
        };
        let ours = objects.iter().filter(|object| is_ours(object)).map(|object| {
            let meta = &object["metadata"];
            let reason = ready(object);
            format!(
                "{} {}/{} is left: {}: {}",
                object["kind"], meta["namespace"], meta["name"], reason["reason"], reason["message"]
            )
        });
        let cloud = (self.view.cloud)();
        let left = cloud.0.iter().filter(|(_, remote)| remote.exists).filter_map(|(id, remote)| {
            let record = remote.uid().and_then(|uid| self.history.records.get(uid));
            // What a person made or tagged is that person's.
            let is_tagged = record.is_some() && !self.tampered.contains_key(id);
            let maker = self.launched.get(id).filter(|_| !self.released.contains(id));
            let maker = maker.and_then(|uid| self.history.records.get(uid));
            let is_main = |record: &Record| remote_kind(&record.kind) == Some(remote.kind);
            let is_lost = |record: &Record| is_main(record) && !record.excused && record.gone.is_some();
            let owner = record.filter(|_| is_tagged).or(maker).filter(|record| is_lost(record))?;
            Some(format!("{id} of {} is left in the cloud", owner.title()))
        });
        ours.map(|text| text.replace('"', "")).chain(left).collect()
    }

    /// Some time after everything was deleted: nothing may be left.
    pub fn emptied(&mut self, now: Duration) {
        self.outside(now);
        for what in self.left() {
            self.violated(now, Class::LeftBehind, what);
        }
    }
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
        // The provider says what has to happen first.
        "Creating" | "Updating" | "Replacing" | "Deleting" => {
            !message.trim_end().ends_with(')')
                && !(reason == "Updating" && message.contains("still shows the old value"))
        }
        _ => object["metadata"]["deletionTimestamp"].is_string() && ready["status"] == "True",
    }
}

/// Whether the resource is content with what differs.
fn is_left_alone(object: &Value) -> bool {
    let lifecycle = &object["spec"]["lifecycle"];
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let is_drifted = conditions
        .into_iter()
        .any(|condition| condition["type"] == "Drifted" && condition["status"] == "True");
    lifecycle["paused"] == true
        || is_drifted
        || lifecycle["ignoreChanges"].as_array().is_some_and(|all| !all.is_empty())
}
