//! What a test can see of the cloud as it really is: lags hide nothing here.

use std::collections::BTreeMap;
use tokio::time::Instant;

use super::Simulator;
use super::cloud::Cloud;
use super::journal::{Call, Outcome};
use super::kept::Kept as _;
use super::kind::Kind;
use super::network::NatGateway;
use super::refusal::DEPENDENCY_VIOLATION;
use super::registry::Thing;

/// Something that exists or existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThingRecord {
    /// Its id, or for the load balancing API its ARN.
    pub id: String,
    /// All its tags.
    pub tags: BTreeMap<String, String>,
    /// The number of the call that made it.
    pub made_by: u64,
    /// Whether it lives: it is not deleted, nor on its way to that.
    pub alive: bool,
}

impl Simulator {
    /// Every thing of a kind that ever was, oldest first.
    pub fn things(&self, kind: Kind) -> Vec<ThingRecord> {
        let mut state = self.shared.lock();
        state.cloud.tick(Instant::now());
        let cloud = &state.cloud;
        let record = |(thing, entry, there): (Thing, &super::registry::Entry, bool)| ThingRecord {
            id: entry.id.clone(),
            tags: entry.tags.latest().clone(),
            made_by: entry.made_by,
            alive: there && lives(cloud, thing),
        };
        cloud.registry.ever(kind).map(record).collect()
    }

    /// How many things of each kind live; kinds without any are left out.
    pub fn alive(&self) -> BTreeMap<Kind, usize> {
        let mut state = self.shared.lock();
        state.cloud.tick(Instant::now());
        let cloud = &state.cloud;
        let count = |kind| cloud.registry.present(kind).filter(|thing| lives(cloud, *thing)).count();
        Kind::ALL.into_iter().map(|kind| (kind, count(kind))).filter(|(_, count)| *count > 0).collect()
    }

    /// The ids of the living things of a kind that have this tag.
    pub fn tagged(&self, kind: Kind, key: &str, value: &str) -> Vec<String> {
        let things = self.things(kind).into_iter();
        let found =
            things.filter(|thing| thing.alive && thing.tags.get(key).is_some_and(|have| have == value));
        found.map(|thing| thing.id).collect()
    }

    /// The calls that were refused with this code.
    pub fn refusals(&self, code: &str) -> Vec<Call> {
        let state = self.shared.lock();
        let is_meant = |call: &&Call| matches!(&call.outcome, Outcome::Refused(refused) if refused == code);
        state.journal.iter().filter(is_meant).cloned().collect()
    }

    /// The calls that were refused because something else still needed what they were to delete.
    pub fn dependency_violations(&self) -> Vec<Call> {
        self.refusals(DEPENDENCY_VIOLATION)
    }
}

/// Whether a thing that is still there is more than a memory.
fn lives(cloud: &Cloud, thing: Thing) -> bool {
    match thing.kind {
        Kind::Instance => {
            cloud.instances.get(&thing.number).is_some_and(|instance| !instance.state(cloud.now).is_over())
        }
        Kind::NatGateway => {
            NatGateway::all(cloud).get(&thing.number).is_some_and(|gateway| gateway.lives(cloud))
        }
        _ => true,
    }
}
