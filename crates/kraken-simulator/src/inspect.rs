//! Access of tests to the actual state of the cloud, without delays.

use std::collections::BTreeMap;
use tokio::time::Instant;

use super::journal::{Call, Outcome};
use super::kind::Kind;
use super::refusal::DEPENDENCY_VIOLATION;
use super::registry::{Entry, ObjectRef};
use super::simulator::Simulator;

/// A live object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveObject {
    /// Its kind.
    pub kind: Kind,
    /// Its id, or for the load balancing API its ARN.
    pub id: String,
    /// All its tags.
    pub tags: BTreeMap<String, String>,
    /// The number of the call that created it.
    pub made_by: u64,
}

/// A current or former object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRecord {
    /// Its id, or for the load balancing API its ARN.
    pub id: String,
    /// The name of a current key pair: other objects refer to it by its name.
    pub name: Option<String>,
    /// All its tags.
    pub tags: BTreeMap<String, String>,
    /// The number of the call that created it.
    pub made_by: u64,
    /// Whether it is live: neither deleted nor being deleted.
    pub alive: bool,
}

impl Simulator {
    /// All current and former objects of a kind, oldest first.
    pub fn objects(&self, kind: Kind) -> Vec<ObjectRecord> {
        let mut state = self.shared.lock();
        state.cloud.tick(Instant::now());
        let cloud = &state.cloud;
        let record = |(object, entry, there): (ObjectRef, &Entry, bool)| ObjectRecord {
            id: entry.id.clone(),
            name: cloud.store.key_name(object).map(ToOwned::to_owned),
            tags: entry.tags.latest().clone(),
            made_by: entry.made_by,
            alive: there && cloud.is_live(object),
        };
        cloud.registry.current_and_former(kind).map(record).collect()
    }

    /// All live objects of all kinds, oldest first within each kind. `known` is a [`Simulator::revision`]: `None` if
    /// no object has changed since.
    pub fn live_objects(&self, known: Option<u64>) -> Option<Vec<LiveObject>> {
        let mut state = self.shared.lock();
        state.cloud.tick(Instant::now());
        let cloud = &state.cloud;
        if known == Some(cloud.revision) {
            return None;
        }
        let objects = Kind::ALL.into_iter().flat_map(|kind| cloud.registry.present(kind));
        let live = objects.filter(|object| cloud.is_live(*object)).filter_map(|object| {
            let entry = cloud.registry.entry(object)?;
            let (id, tags) = (entry.id.clone(), entry.tags.latest().clone());
            Some(LiveObject { kind: object.kind, id, tags, made_by: entry.made_by })
        });
        Some(live.collect())
    }

    /// Increases with every change, by a call or a transition.
    pub fn revision(&self) -> u64 {
        let mut state = self.shared.lock();
        state.cloud.tick(Instant::now());
        state.cloud.revision
    }

    /// The live objects with this tag, by the tag index.
    pub fn live_objects_with_tag(&self, key: &str, value: &str) -> Vec<(Kind, String)> {
        let mut state = self.shared.lock();
        state.cloud.tick(Instant::now());
        let cloud = &state.cloud;
        let mut found = vec![];
        for kind in Kind::ALL {
            let numbers = cloud.registry.objects_of(kind).and_then(|objects| objects.index.with(key, value));
            for number in numbers.into_iter().flatten() {
                let object = ObjectRef { kind, number: *number };
                let entry = cloud.registry.entry(object).filter(|_| cloud.is_live(object));
                let has = |entry: &&Entry| entry.tags.latest().get(key).is_some_and(|have| have == value);
                found.extend(entry.filter(has).map(|entry| (kind, entry.id.clone())));
            }
        }
        found
    }

    /// The number of live objects per kind; kinds without any are omitted.
    pub fn live_counts(&self) -> BTreeMap<Kind, usize> {
        let mut state = self.shared.lock();
        state.cloud.tick(Instant::now());
        let cloud = &state.cloud;
        let count = |kind| cloud.registry.present(kind).filter(|object| cloud.is_live(*object)).count();
        Kind::ALL.into_iter().map(|kind| (kind, count(kind))).filter(|(_, count)| *count > 0).collect()
    }

    /// The ids of the live objects of a kind with this tag.
    pub fn tagged(&self, kind: Kind, key: &str, value: &str) -> Vec<String> {
        let objects = self.objects(kind).into_iter();
        let found =
            objects.filter(|object| object.alive && object.tags.get(key).is_some_and(|have| have == value));
        found.map(|object| object.id).collect()
    }

    /// The calls that were rejected with this code.
    pub fn refusals(&self, code: &str) -> Vec<Call> {
        let state = self.shared.lock();
        let is_meant = |call: &&Call| matches!(&call.outcome, Outcome::Refused(refused) if refused == code);
        state.journal.iter().filter(is_meant).cloned().collect()
    }

    /// The deletions that were rejected because of dependent objects.
    pub fn dependency_violations(&self) -> Vec<Call> {
        self.refusals(DEPENDENCY_VIOLATION)
    }
}
