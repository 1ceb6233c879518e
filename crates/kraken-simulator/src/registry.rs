//! Ids, tags and visibility of objects of all kinds.

use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

use super::kind::Kind;
use super::tags::{History, TagIndex, Tags};

/// The key of a current or former object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectRef {
    pub(super) kind: Kind,
    /// The number of the object within its kind, from 1.
    pub(super) number: u64,
}

/// The visibility of an object: both kinds of calls may be delayed after its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    /// A Describe call.
    Described,
    /// A call that changes or uses it.
    Known,
}

/// The entry of each object, including deleted ones.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) tags: History,
    pub(super) described_from: Instant,
    pub(super) known_from: Instant,
    /// The number of the call that created it.
    pub(super) made_by: u64,
}

/// The objects of one kind.
#[derive(Debug, Default)]
pub(super) struct KindObjects {
    entries: BTreeMap<u64, Entry>,
    /// The existing ones.
    pub(super) present: BTreeSet<u64>,
    pub(super) index: TagIndex,
}

/// All existing objects.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// Numbers begin after it.
    base: u64,
    by_id: BTreeMap<String, ObjectRef>,
    kinds: BTreeMap<Kind, KindObjects>,
}

impl Registry {
    pub(super) fn new(base: u64) -> Self {
        Self { base, ..Self::default() }
    }

    /// The number of the next object of a kind.
    pub(super) fn next_number(&self, kind: Kind) -> u64 {
        let last = self.kinds.get(&kind).and_then(|objects| objects.entries.last_key_value());
        last.map_or(self.base, |(last, _)| *last) + 1
    }

    pub(super) fn add(&mut self, object: ObjectRef, entry: Entry) {
        self.by_id.insert(entry.id.clone(), object);
        let objects = self.kinds.entry(object.kind).or_default();
        objects.index.replace(object.number, &BTreeSet::new(), &entry.tags.all());
        objects.present.insert(object.number);
        objects.entries.insert(object.number, entry);
    }

    /// It is deleted; only its entry remains.
    pub(super) fn remove(&mut self, object: ObjectRef) {
        let Some(objects) = self.kinds.get_mut(&object.kind) else { return };
        let Some(entry) = objects.entries.get(&object.number) else { return };
        if objects.present.remove(&object.number) {
            self.by_id.remove(&entry.id);
            objects.index.replace(object.number, &entry.tags.all(), &BTreeSet::new());
        }
    }

    /// Sets the time from which Describe calls return it.
    pub(super) fn described_from(&mut self, object: ObjectRef, time: Instant) {
        if let Some(entry) =
            self.kinds.get_mut(&object.kind).and_then(|objects| objects.entries.get_mut(&object.number))
        {
            entry.described_from = time;
        }
    }

    /// The time from which Describe calls return an object.
    pub(super) fn since(&self, object: ObjectRef) -> Option<Instant> {
        self.objects_of(object.kind)?.entries.get(&object.number).map(|entry| entry.described_from)
    }

    /// The object with an id.
    pub(super) fn object(&self, id: &str) -> Option<ObjectRef> {
        self.by_id.get(id).copied()
    }

    pub(super) fn objects_of(&self, kind: Kind) -> Option<&KindObjects> {
        self.kinds.get(&kind)
    }

    /// The existing objects of a kind, oldest first.
    pub(super) fn present(&self, kind: Kind) -> impl Iterator<Item = ObjectRef> + '_ {
        let numbers = self.objects_of(kind).map(|objects| &objects.present).into_iter().flatten();
        numbers.map(move |number| ObjectRef { kind, number: *number })
    }

    /// All current and former objects of a kind, with their existence.
    pub(super) fn current_and_former(
        &self,
        kind: Kind,
    ) -> impl Iterator<Item = (ObjectRef, &Entry, bool)> + '_ {
        self.objects_of(kind).into_iter().flat_map(move |objects| {
            objects.entries.iter().map(move |(number, entry)| {
                (ObjectRef { kind, number: *number }, entry, objects.present.contains(number))
            })
        })
    }

    pub(super) fn entry(&self, object: ObjectRef) -> Option<&Entry> {
        self.kinds.get(&object.kind)?.entries.get(&object.number)
    }

    pub(super) fn is_present(&self, object: ObjectRef) -> bool {
        self.objects_of(object.kind).is_some_and(|objects| objects.present.contains(&object.number))
    }

    /// Whether an existing object is visible to such a call.
    pub(super) fn is_seen(&self, object: ObjectRef, visibility: Visibility, now: Instant) -> bool {
        self.is_present(object)
            && self.entry(object).is_some_and(|entry| match visibility {
                Visibility::Described => entry.described_from <= now,
                Visibility::Known => entry.known_from <= now,
            })
    }

    /// Its tags in Describe calls; empty for an object that never existed.
    pub(super) fn tags(&self, object: ObjectRef, now: Instant) -> &Tags {
        static NONE: Tags = Tags::new();
        self.entry(object).map_or(&NONE, |entry| entry.tags.described(now))
    }

    /// Its current tags.
    pub(super) fn latest_tags(&self, object: ObjectRef) -> Tags {
        self.entry(object).map(|entry| entry.tags.latest().clone()).unwrap_or_default()
    }

    /// Changes the history of its tags. Deleted objects are not indexed.
    pub(super) fn with_history(&mut self, object: ObjectRef, change: impl FnOnce(&mut History)) {
        let Some(objects) = self.kinds.get_mut(&object.kind) else { return };
        let Some(entry) = objects.entries.get_mut(&object.number) else { return };
        let before = entry.tags.all();
        change(&mut entry.tags);
        if objects.present.contains(&object.number) {
            objects.index.replace(object.number, &before, &entry.tags.all());
        }
    }
}
