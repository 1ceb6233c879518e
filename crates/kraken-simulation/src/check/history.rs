//! What every object was, and which of its versions a controller can still be acting on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::policy::{Policy, is_displacement};
use crate::schedule::Controller;

/// The time for which a controller may act on an outdated version without faults: reads that wait for a batch, slow calls, watch
/// events in transit.
pub(super) const SLACK: Duration = Duration::from_secs(10);

/// A process of a controller, by the number of its start.
type Process = (Controller, u64);

/// One process of a controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallingProcess {
    /// Of which controller.
    pub controller: Controller,
    /// Which of its processes.
    pub incarnation: u64,
    /// How it calls itself in its lease; empty if it has none.
    pub identity: String,
    /// The account and the region of its call, if it has a cloud.
    pub location: Option<(String, String)>,
    /// What its ids end with: see [`PLACE`](super::PLACE).
    pub place: String,
}

impl CallingProcess {
    /// Which process it is, whatever cloud it calls.
    pub(super) fn process(&self) -> Process {
        (self.controller, self.incarnation)
    }
}

/// One version of an object.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub at: Duration,
    pub value: Arc<Value>,
}

impl Version {
    pub(super) fn policy(&self) -> Policy {
        Policy::of(&self.value)
    }
}

/// One object, from its creation on.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// Never empty.
    pub versions: Vec<Version>,
    /// The time of its deletion.
    pub gone: Option<Duration>,
    /// The last time that another than its controller removed parts of its status, finalizers or annotations, or
    /// restored an old version.
    pub disturbed: Option<Duration>,
    /// When another than its controller removed where its objects are, or restored a version that names another place.
    pub displaced: BTreeSet<Duration>,
    /// Whether a user restored it from the manifest of a former object of its name.
    pub is_restored: bool,
    /// Whether it goes or went in a way that no controller could have noticed in time.
    pub excused: bool,
    /// The newest version that each process has proven to know.
    known: BTreeMap<Process, usize>,
}

impl Record {
    /// `KIND NAMESPACE/NAME`.
    pub(super) fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }

    pub(super) fn latest(&self) -> &Version {
        let last = self.versions.len().saturating_sub(1);
        &self.versions[last]
    }
}

/// All objects with a UID that ever were.
#[derive(Debug)]
pub(super) struct History {
    pub records: BTreeMap<String, Record>,
    /// The last observed objects. A different memory address is a different version.
    last: Arc<[Arc<Value>]>,
    /// The time of each process's first call: it does not know versions that were replaced before.
    began: BTreeMap<Process, Duration>,
}

/// The changes in the cluster since the last observation.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub all: Vec<Change>,
}

/// The UID, the previous and the current object.
pub(super) type Change = (String, Option<Arc<Value>>, Option<Arc<Value>>);

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// An object's UID.
pub(super) fn uid_of(value: &Value) -> &str {
    text(value, "/metadata/uid")
}

fn address(object: &Arc<Value>) -> usize {
    Arc::as_ptr(object).cast::<u8>().addr()
}

/// Both lists without their common prefix and suffix: after one write, little remains.
fn differing<'a>(old: &'a [Arc<Value>], new: &'a [Arc<Value>]) -> (&'a [Arc<Value>], &'a [Arc<Value>]) {
    let is_same = |(old, new): &(&Arc<Value>, &Arc<Value>)| Arc::ptr_eq(old, new);
    let start = old.iter().zip(new).take_while(is_same).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(is_same).count();
    (&old[..old.len() - end], &new[..new.len() - end])
}

impl Default for History {
    fn default() -> Self {
        Self { records: BTreeMap::new(), last: Arc::new([]), began: BTreeMap::new() }
    }
}

impl History {
    /// Notes the first call of a process.
    pub(super) fn began(&mut self, by: &CallingProcess, now: Duration) {
        self.began.entry(by.process()).or_insert(now);
    }

    /// When a process made its first call.
    pub(super) fn began_at(&self, by: &CallingProcess) -> Option<Duration> {
        self.began.get(&by.process()).copied()
    }

    /// The versions that this process can be acting on at `now`: not those before one that it has proven to know, nor those
    /// that were replaced before it began, and, in calm times, none that was replaced long ago.
    pub(super) fn candidates<'a>(
        &self,
        record: &'a Record,
        by: &CallingProcess,
        now: Duration,
        calm: Option<Duration>,
    ) -> &'a [Version] {
        let proven = record.known.get(&by.process()).copied().unwrap_or(0);
        let recent = now.checked_sub(SLACK).filter(|cutoff| calm.is_some_and(|calm| calm <= *cutoff));
        let cutoff = recent.max(self.began.get(&by.process()).copied());
        let superseded = |cutoff| record.versions.iter().skip(1).take_while(|next| next.at < cutoff).count();
        let start = proven.max(cutoff.map_or(0, superseded));
        record.versions.get(start..).unwrap_or_default()
    }

    /// Records the current objects of the cluster.
    pub(super) fn observe(&mut self, now: Duration, objects: &Arc<[Arc<Value>]>) -> Changes {
        let mut changes = Changes::default();
        let last = std::mem::replace(&mut self.last, objects.clone());
        let (old, new) = differing(&last, objects);
        let (known, seen): (BTreeSet<usize>, BTreeSet<usize>) =
            (old.iter().map(address).collect(), new.iter().map(address).collect());
        let removed = old.iter().filter(|object| !seen.contains(&address(object)));
        let mut before: BTreeMap<String, Arc<Value>> =
            removed.map(|object| (uid_of(object).to_owned(), object.clone())).collect();
        for object in new.iter().filter(|object| !known.contains(&address(object))) {
            let uid = uid_of(object).to_owned();
            let record = self.records.entry(uid.clone()).or_insert_with(|| Record {
                kind: text(object, "/kind").to_owned(),
                namespace: text(object, "/metadata/namespace").to_owned(),
                name: text(object, "/metadata/name").to_owned(),
                versions: vec![],
                gone: None,
                disturbed: None,
                displaced: BTreeSet::new(),
                is_restored: false,
                excused: false,
                known: BTreeMap::new(),
            });
            if record.gone.take().is_some() {
                // A backup brought it back.
                record.disturbed = Some(now);
                if is_displacement(&record.latest().value, object) {
                    record.displaced.insert(now);
                }
            }
            record.versions.push(Version { at: now, value: object.clone() });
            changes.all.push((uid.clone(), before.remove(&uid), Some(object.clone())));
        }
        for (uid, object) in before {
            if let Some(record) = self.records.get_mut(&uid) {
                record.gone = Some(now);
            }
            changes.all.push((uid, Some(object), None));
        }
        changes
    }

    /// Notes that a write by this process proves that it knew the version before the newest.
    pub(super) fn record_knowledge(&mut self, uid: &str, by: &CallingProcess) {
        if let Some(record) = self.records.get_mut(uid) {
            let before = record.versions.len().saturating_sub(2);
            record.known.insert(by.process(), before);
        }
    }

    /// All that are there now.
    pub(super) fn all_live(&self) -> impl Iterator<Item = (&String, &Record)> {
        self.records.iter().filter(|(_, record)| record.gone.is_none())
    }
}
