//! Everything that exists, with the indexes that keep a Describe as cheap as its answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::time::Instant;

use super::instance::{Instance, State};
use super::options::SimulatorOptions;
use super::refusal::{Refusal, is_well_formed};
use super::tags::{History, TagIndex, Tags};

/// What a client token was used for.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) digest: String,
    pub(super) instances: Vec<u64>,
}

/// Something that has tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Instance(u64),
    Volume(u64),
}

/// The account.
#[derive(Debug)]
pub(super) struct Cloud {
    pub(super) options: SimulatorOptions,
    /// The time of the call that is carried out.
    pub(super) now: Instant,
    /// The number of that call.
    pub(super) call: u64,
    /// Every instance that ever was.
    pub(super) instances: BTreeMap<u64, Instance>,
    /// Those that have not vanished.
    pub(super) present: BTreeSet<u64>,
    by_id: HashMap<String, Thing>,
    pub(super) instance_tags: TagIndex,
    pub(super) volume_tags: TagIndex,
    pub(super) tokens: HashMap<String, Used>,
    /// What the next launch may get at most.
    pub(super) next_launch: Option<usize>,
    /// Terminated instances by the time of it.
    ended: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Tag changes by the time when they are seen.
    settling: BinaryHeap<Reverse<(Instant, Thing)>>,
}

impl Cloud {
    pub(super) fn new(options: SimulatorOptions) -> Self {
        Self {
            options,
            now: Instant::now(),
            call: 0,
            instances: BTreeMap::new(),
            present: BTreeSet::new(),
            by_id: HashMap::new(),
            instance_tags: TagIndex::default(),
            volume_tags: TagIndex::default(),
            tokens: HashMap::new(),
            next_launch: None,
            ended: BinaryHeap::new(),
            settling: BinaryHeap::new(),
        }
    }

    /// Lets time pass.
    pub(super) fn tick(&mut self, now: Instant) {
        self.now = now;
        while let Some(Reverse((at, number))) = self.ended.peek().copied()
            && at + self.options.terminated_visible <= now
        {
            self.ended.pop();
            self.vanish(number);
        }
        while let Some(Reverse((at, thing))) = self.settling.peek().copied()
            && at <= now
        {
            self.settling.pop();
            self.with_history(thing, |history| history.settle(now));
        }
    }

    fn vanish(&mut self, number: u64) {
        let Some(instance) = self.instances.get(&number) else { return };
        self.present.remove(&number);
        self.by_id.remove(&instance.id);
        self.instance_tags.replace(number, &instance.tags.all(), &BTreeSet::new());
        if !instance.settings.keeps_volume {
            self.by_id.remove(&instance.volume);
            self.volume_tags.replace(number, &instance.volume_tags.all(), &BTreeSet::new());
        }
    }

    pub(super) fn add(&mut self, instance: Instance) {
        let number = instance.number;
        self.instance_tags.replace(number, &BTreeSet::new(), &instance.tags.all());
        self.volume_tags.replace(number, &BTreeSet::new(), &instance.volume_tags.all());
        self.by_id.insert(instance.id.clone(), Thing::Instance(number));
        self.by_id.insert(instance.volume.clone(), Thing::Volume(number));
        self.present.insert(number);
        self.instances.insert(number, instance);
    }

    /// The number of the next instance.
    pub(super) fn next_number(&self) -> u64 {
        self.instances.last_key_value().map_or(1, |(last, _)| last + 1)
    }

    /// What an id stands for.
    pub(super) fn thing(&self, id: &str) -> Option<Thing> {
        self.by_id.get(id).copied()
    }

    pub(super) fn set_tags(&mut self, thing: Thing, tags: Tags) {
        let seen = self.now + self.options.tag_lag;
        self.with_history(thing, |history| history.set(seen, tags));
        self.settling.push(Reverse((seen, thing)));
        self.tick(self.now); // without a lag it is seen at once
    }

    pub(super) fn history(&self, thing: Thing) -> Option<&History> {
        match thing {
            Thing::Instance(number) => self.instances.get(&number).map(|instance| &instance.tags),
            Thing::Volume(number) => self.instances.get(&number).map(|instance| &instance.volume_tags),
        }
    }

    fn with_history(&mut self, thing: Thing, change: impl FnOnce(&mut History)) {
        let (Thing::Instance(number) | Thing::Volume(number)) = thing;
        let Some(instance) = self.instances.get_mut(&number) else { return };
        let (history, index) = match thing {
            Thing::Instance(_) => (&mut instance.tags, &mut self.instance_tags),
            Thing::Volume(_) => (&mut instance.volume_tags, &mut self.volume_tags),
        };
        // What has vanished is in no index and must not come back into one.
        let indexed = self.by_id.get(match thing {
            Thing::Instance(_) => &instance.id,
            Thing::Volume(_) => &instance.volume,
        });
        let (before, present) = (history.all(), indexed.is_some());
        change(history);
        if present {
            index.replace(number, &before, &history.all());
        }
    }

    /// The instances with these ids, for a Describe call.
    pub(super) fn described(&self, ids: &[&str]) -> Result<BTreeSet<u64>, Refusal> {
        self.numbers(ids, |instance| instance.described_from)
    }

    /// The instances with these ids, for a call that changes them.
    pub(super) fn known(&self, ids: &[&str]) -> Result<BTreeSet<u64>, Refusal> {
        self.numbers(ids, |instance| instance.known_from)
    }

    fn numbers(&self, ids: &[&str], from: impl Fn(&Instance) -> Instant) -> Result<BTreeSet<u64>, Refusal> {
        if let Some(id) = ids.iter().find(|id| !is_well_formed(id, "i-")) {
            return Err(Refusal::malformed("InvalidInstanceID.Malformed", id, "i-"));
        }
        let (mut found, mut missing) = (BTreeSet::new(), vec![]);
        for id in ids {
            match self.thing(id) {
                Some(Thing::Instance(number))
                    if self.instances.get(&number).is_some_and(|instance| from(instance) <= self.now) =>
                {
                    found.insert(number);
                }
                _ => missing.push(*id),
            }
        }
        if missing.is_empty() { Ok(found) } else { Err(Refusal::no_instances(&missing)) }
    }

    /// The one instance that a call is about.
    pub(super) fn one(&mut self, id: &str) -> Result<&mut Instance, Refusal> {
        let number = self.known(&[id])?.into_iter().next();
        number.and_then(|number| self.instances.get_mut(&number)).ok_or_else(|| Refusal::no_instances(&[id]))
    }

    pub(super) fn ids(&self, numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
        numbers.into_iter().filter_map(|number| Some(self.instances.get(&number)?.id.clone())).collect()
    }

    /// Notes that an instance is over from `at` on.
    pub(super) fn ends(&mut self, number: u64, at: Instant) {
        self.ended.push(Reverse((at, number)));
    }

    /// How many instances can still be launched.
    pub(super) fn room(&self) -> usize {
        let Some(capacity) = self.options.capacity else { return usize::MAX };
        let present = self.present.iter().filter_map(|number| self.instances.get(number));
        capacity
            .saturating_sub(present.filter(|instance| instance.state(self.now) != State::Terminated).count())
    }
}
