//! How many remote objects a spec explains.

use std::time::Duration;

use serde_json::Value;

use super::history::{Record, Version};
use super::policy::{external_ids, intent, strings};
use super::remote::{place_of, plain, remote_kind};
use super::{CallingProcess, Checks, Class};

/// The maximum of a count, if its value is unknown.
const UNKNOWN: usize = 10;

impl Checks {
    /// After something was created for this UID.
    pub(super) fn check_count(&mut self, now: Duration, by: &CallingProcess, uid: &str) {
        let Some(record) = self.history.records.get(uid) else { return };
        let candidates = self.history.candidates(record, by, now, self.calm);
        let mut live = self.live_of(uid, record, candidates);
        if self.has_lost_its_place(uid, record) {
            live.retain(|id| place_of(id) == by.place);
        }
        let outgoing = |version: &Version| {
            let intent = intent(&version.value).unwrap_or_default();
            // A key pair is on record by its name, and here by its id.
            let is_by_name = record.kind == "KeyPair";
            let is_live = |id: &&str| is_by_name || live.iter().any(|live| plain(live) == *id);
            strings(&intent["outgoing"]).filter(is_live).count()
        };
        let explained = candidates.iter().map(|version| self.wanted(record, version)).max().unwrap_or(0);
        let replaced = candidates.iter().map(outgoing).max().unwrap_or(0);
        if live.len() > explained + replaced {
            let message = format!(
                "{} has {} live remote objects; its spec explains {explained} and a replacement {replaced}: {}",
                record.title(),
                live.len(),
                live.join(", ")
            );
            self.violated(now, Class::TooMany, message);
        }
    }

    /// The live objects of a resource: by their tags, unless a user copied them, and recorded objects whose tags were
    /// removed.
    pub(super) fn live_of(&self, uid: &str, record: &Record, candidates: &[Version]) -> Vec<String> {
        let kind = remote_kind(&record.kind);
        // A key pair is on record by its name.
        let is_known = |id: &str| {
            record.kind == "KeyPair"
                || candidates
                    .iter()
                    .all(|version| external_ids(&version.value).any(|known| known == plain(id)))
        };
        let counts = |(id, remote): &(&String, &super::RemoteObject)| {
            let is_launched = self.launched.get(*id).is_some_and(|launched| launched == uid);
            let is_tagged = remote.uid() == Some(uid)
                && (is_launched || !self.tampered.contains_key(*id) || is_known(id));
            // What was released is kept, and is no longer the resource's.
            let is_stripped = remote.uid().is_none()
                && is_launched
                && !self.released.contains(*id)
                && record.kind != "KeyPair"
                && is_known(id);
            remote.alive && Some(remote.kind) == kind && (is_tagged || is_stripped)
        };
        let live = self.cloud.0.iter().filter(counts);
        live.map(|(id, _)| id.clone()).collect()
    }

    /// How many objects a version of a spec explains at most.
    pub(super) fn wanted(&self, record: &Record, version: &Version) -> usize {
        if record.kind != "EC2Instance" {
            return 1;
        }
        let option = &version.value["spec"]["maxCount"];
        self.most(record, option).unwrap_or(UNKNOWN)
    }

    /// The largest value that an option of a number ever had.
    fn most(&self, record: &Record, option: &Value) -> Option<usize> {
        let number = |value: &Value| {
            let text = value.as_str().map(str::trim).and_then(|text| text.parse().ok());
            value.as_u64().and_then(|number| usize::try_from(number).ok()).or(text)
        };
        if let Some(value) = option.get("value") {
            return number(value);
        }
        let source = &option["valueFrom"];
        let is_in_namespace = |map: &&Record| map.kind == "ConfigMap" && map.namespace == record.namespace;
        let maps = self.history.records.values().filter(is_in_namespace);
        if source["templateString"].is_string() {
            // Any value of any ConfigMap: the templates of counts consist of one reference.
            let data =
                maps.flat_map(|map| &map.versions).filter_map(|version| version.value["data"].as_object());
            return data.flat_map(|data| data.values().filter_map(number)).max();
        }
        let (name, key) = (source["configMap"]["name"].as_str()?, source["configMap"]["key"].as_str()?);
        let versions = maps.filter(|map| map.name == name).flat_map(|map| &map.versions);
        versions.filter_map(|version| number(&version.value["data"][key])).max()
    }
}
