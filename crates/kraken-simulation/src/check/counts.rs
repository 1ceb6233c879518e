//! How many remote objects a spec explains.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::history::{Record, Version};
use super::judge::{all, is_owned};
use super::policy::{external_ids, ledger, strings};
use super::remote::{place_of, plain, remote_kind};
use super::{CallingProcess, Checks, Class, RemoteObject};

/// The maximum of a count, if its value is unknown.
const UNKNOWN: usize = 10;

impl Checks {
    /// After something was created for this UID.
    pub(super) fn check_count(&mut self, now: Duration, by: &CallingProcess, uid: &str) {
        let Some(record) = self.history.records.get(uid) else { return };
        let candidates = self.history.candidates(record, by, now, self.calm);
        let mut live = self.live_of(uid, record, candidates);
        live.retain(|id| !self.is_shown_as_another(now, id));
        if self.has_unknown_location(uid, record) {
            live.retain(|id| place_of(id) == by.place);
        }
        let outgoing = |version: &Version| {
            let ledger = ledger(&version.value).unwrap_or_default();
            let is_live = |id: &&str| live.iter().any(|live| self.cloud.recorded_id(live) == *id);
            strings(&ledger["outgoing"]).filter(is_live).count()
        };
        let explained = candidates.iter().map(|version| self.wanted(record, version)).max().unwrap_or(0);
        let replaced = candidates.iter().map(outgoing).max().unwrap_or(0);
        let allowed = explained + replaced;
        if live.len() > allowed {
            let message = format!(
                "{} has {} live remote objects; its spec explains {explained} and a replacement {replaced}: {}",
                record.title(),
                live.len(),
                live.join(", ")
            );
            self.violated(now, Class::TooMany, message);
        }
        self.note_replaced(now, uid, allowed, live.len());
    }

    /// The live objects of a resource: by their tags, unless a user copied them, and recorded objects whose tags were
    /// removed.
    pub(super) fn live_of(&self, uid: &str, record: &Record, candidates: &[Version]) -> Vec<String> {
        let kind = remote_kind(&record.kind);
        let is_known = |id: &str| {
            let recorded = self.cloud.recorded_id(id);
            candidates.iter().all(|version| external_ids(&version.value).any(|known| known == recorded))
        };
        let counts = |(id, remote): &(&String, &RemoteObject)| {
            let is_launched = self.is_launched_for(id, uid);
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

    /// Whether this deleted object was one too many for a version of the spec. An object that a replacement deletes is not:
    /// the number of its successors is what the spec explains.
    pub(super) fn was_surplus(
        &self,
        now: Duration,
        by: &CallingProcess,
        id: &str,
        uid: &str,
        record: &Record,
    ) -> bool {
        let candidates = self.history.candidates(record, by, now, self.calm);
        // A ledger also names the outgoing objects of a replacement that is complete.
        let outgoing: BTreeSet<String> = candidates
            .iter()
            .filter_map(|version| ledger(&version.value))
            .flat_map(|ledger| strings(&ledger["outgoing"]).map(ToOwned::to_owned).collect::<Vec<_>>())
            .collect();
        // A key pair is on record by its name, which a deleted one does not have any more.
        let is_by_name = record.kind == "KeyPair" && !outgoing.is_empty();
        let is_outgoing = |id: &str| is_by_name || outgoing.contains(plain(id));
        let mut live: BTreeSet<String> = self.live_of(uid, record, candidates).into_iter().collect();
        // A controller that searches by tag counts an object to which a user copied the owner tags. If the resource is being
        // deleted, nothing is scaled.
        if !all(candidates, |policy| policy.deleting) {
            let kind = remote_kind(&record.kind);
            let tagged =
                self.cloud.of_uid(uid).filter(|(_, remote)| remote.alive && Some(remote.kind) == kind);
            live.extend(tagged.map(|(id, _)| id.clone()));
        }
        // A controller that observed an object just before it was deleted out of band counts it.
        let lost = self.lost.iter().filter(|(_, (owner, at))| owner == uid && !self.is_long_ago(*at, now));
        live.extend(lost.map(|(id, _)| id.clone()));
        let others = live.iter().filter(|other| *other != id && !is_outgoing(other)).count();
        let wanted = |version: &Version| {
            self.answered(now, by, uid, version).unwrap_or_else(|| self.wanted(record, version))
        };
        !is_outgoing(id) && candidates.iter().any(|version| wanted(version) <= others)
    }

    /// How many objects a version of a spec with a reference explains at least, by the answers of the hub that this process
    /// can be acting on. Nothing if its count is no reference, or none of them has a value.
    fn answered(&self, now: Duration, by: &CallingProcess, uid: &str, version: &Version) -> Option<usize> {
        let source = version.value.pointer("/spec/maxCount/valueFrom")?;
        let path = path_of(source)?;
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.versions.iter().any(|version| is_owned(&version.value, uid))
        });
        let answers = requests.flat_map(|request| self.history.candidates(request, by, now, self.calm));
        let value = |answer: &Version| {
            let values = &answer.value["status"]["dependentValues"];
            path.iter().try_fold(values, |value, name| value.get(*name)).and_then(number)
        };
        answers.filter_map(value).min()
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

fn number(value: &Value) -> Option<usize> {
    let text = value.as_str().map(str::trim).and_then(|text| text.parse().ok());
    value.as_u64().and_then(|number| usize::try_from(number).ok()).or(text)
}

/// Where an answer of the hub has the value of a reference. The templates of counts consist of one reference to a ConfigMap.
fn path_of(source: &Value) -> Option<Vec<&str>> {
    const MAPS: &str = "fromConfigMaps";
    const STATES: &str = "fromKrakenResources";
    if let Some(template) = source["templateString"].as_str() {
        let reference = template.trim_matches(['{', '}', ' ']).strip_prefix(".ConfigMap.")?;
        let (name, key) = reference.split_once('.')?;
        return Some(vec![MAPS, name, key]);
    }
    if let Some(short) = source["ref"].as_str() {
        return Some(std::iter::once(STATES).chain(short.splitn(3, '/')).collect());
    }
    let (map, resource) = (&source["configMap"], &source["krakenResource"]);
    if map.is_object() {
        return Some(vec![MAPS, map["name"].as_str()?, map["key"].as_str()?]);
    }
    let [kind, name, path] = ["kind", "name", "path"].map(|field| resource[field].as_str());
    Some(vec![STATES, kind?, name?, path?])
}
