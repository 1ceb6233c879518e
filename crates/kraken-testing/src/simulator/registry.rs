//! Ids, tags and visibility of objects of all kinds.

use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

use super::kind::Kind;
use super::tags::{History, TagIndex, Tags};

/// The key of a current or former object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Thing {
    pub(super) kind: Kind,
    /// The number of the object within its kind, from 1.
    pub(super) number: u64,
}

/// The visibility of an object: both kinds of calls may be delayed after its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
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
pub(super) struct Rack {
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
    by_id: BTreeMap<String, Thing>,
    racks: BTreeMap<Kind, Rack>,
}

impl Registry {
    pub(super) fn new(base: u64) -> Self {
        Self { base, ..Self::default() }
    }

    /// The number of the next object of a kind.
    pub(super) fn next_number(&self, kind: Kind) -> u64 {
        let last = self.racks.get(&kind).and_then(|rack| rack.entries.last_key_value());
        last.map_or(self.base, |(last, _)| *last) + 1
    }

    pub(super) fn add(&mut self, thing: Thing, entry: Entry) {
        self.by_id.insert(entry.id.clone(), thing);
        let rack = self.racks.entry(thing.kind).or_default();
        rack.index.replace(thing.number, &BTreeSet::new(), &entry.tags.all());
        rack.present.insert(thing.number);
        rack.entries.insert(thing.number, entry);
    }

    /// It is deleted; only its entry remains.
    pub(super) fn remove(&mut self, thing: Thing) {
        let Some(rack) = self.racks.get_mut(&thing.kind) else { return };
        let Some(entry) = rack.entries.get(&thing.number) else { return };
        if rack.present.remove(&thing.number) {
            self.by_id.remove(&entry.id);
            rack.index.replace(thing.number, &entry.tags.all(), &BTreeSet::new());
        }
    }

    /// Sets the time from which Describe calls return it.
    pub(super) fn described_from(&mut self, thing: Thing, time: Instant) {
        if let Some(entry) =
            self.racks.get_mut(&thing.kind).and_then(|rack| rack.entries.get_mut(&thing.number))
        {
            entry.described_from = time;
        }
    }

    /// The time from which Describe calls return an object.
    pub(super) fn since(&self, thing: Thing) -> Option<Instant> {
        self.rack(thing.kind)?.entries.get(&thing.number).map(|entry| entry.described_from)
    }

    /// The object with an id.
    pub(super) fn thing(&self, id: &str) -> Option<Thing> {
        self.by_id.get(id).copied()
    }

    pub(super) fn rack(&self, kind: Kind) -> Option<&Rack> {
        self.racks.get(&kind)
    }

    /// The existing objects of a kind, oldest first.
    pub(super) fn present(&self, kind: Kind) -> impl Iterator<Item = Thing> + '_ {
        let numbers = self.rack(kind).map(|rack| &rack.present).into_iter().flatten();
        numbers.map(move |number| Thing { kind, number: *number })
    }

    /// All current and former objects of a kind, with their existence.
    pub(super) fn ever(&self, kind: Kind) -> impl Iterator<Item = (Thing, &Entry, bool)> + '_ {
        self.rack(kind).into_iter().flat_map(move |rack| {
            rack.entries.iter().map(move |(number, entry)| {
                (Thing { kind, number: *number }, entry, rack.present.contains(number))
            })
        })
    }

    pub(super) fn entry(&self, thing: Thing) -> Option<&Entry> {
        self.racks.get(&thing.kind)?.entries.get(&thing.number)
    }

    pub(super) fn is_present(&self, thing: Thing) -> bool {
        self.rack(thing.kind).is_some_and(|rack| rack.present.contains(&thing.number))
    }

    /// Whether an existing object is visible to such a call.
    pub(super) fn is_seen(&self, thing: Thing, sight: Sight, now: Instant) -> bool {
        self.is_present(thing)
            && self.entry(thing).is_some_and(|entry| match sight {
                Sight::Described => entry.described_from <= now,
                Sight::Known => entry.known_from <= now,
            })
    }

    /// Its tags in Describe calls; empty for an object that never existed.
    pub(super) fn tags(&self, thing: Thing, now: Instant) -> &Tags {
        static NONE: Tags = Tags::new();
        self.entry(thing).map_or(&NONE, |entry| entry.tags.described(now))
    }

    /// Its current tags.
    pub(super) fn latest_tags(&self, thing: Thing) -> Tags {
        self.entry(thing).map(|entry| entry.tags.latest().clone()).unwrap_or_default()
    }

    /// Changes the history of its tags. Deleted objects are not indexed.
    pub(super) fn with_history(&mut self, thing: Thing, change: impl FnOnce(&mut History)) {
        let Some(rack) = self.racks.get_mut(&thing.kind) else { return };
        let Some(entry) = rack.entries.get_mut(&thing.number) else { return };
        let before = entry.tags.all();
        change(&mut entry.tags);
        if rack.present.contains(&thing.number) {
            rack.index.replace(thing.number, &before, &entry.tags.all());
        }
    }
}
