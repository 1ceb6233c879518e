//! The cloud of gadgets: a map, a journal of every call, and faults on demand.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use kraken_kind::{Failure, FailureClass, Location};
use parking_lot::Mutex;

/// A gadget in the cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteObject {
    /// The id in the cloud.
    pub id: String,
    /// The UID of the resource it belongs to.
    pub owner: String,
    /// The launch that created it.
    pub epoch: i64,
    /// Its size.
    pub size: i64,
    /// Its colour.
    pub colour: String,
    /// The description in the cloud, which contains the password.
    pub note: String,
    /// Whether it is deleted, and still returned.
    pub gone: bool,
    /// The number of reads that do not return it yet.
    pub lag: usize,
    /// The former state that reads return, and the number of these reads: a change that is not visible yet.
    pub stale: Option<(Box<RemoteObject>, usize)>,
    /// Its region: it cannot be observed from other regions.
    pub at: Option<Location>,
}

impl RemoteObject {
    /// The representation in the next read.
    pub(super) fn read(&mut self) -> Option<Self> {
        if self.lag > 0 {
            self.lag -= 1;
            return None;
        }
        match &mut self.stale {
            Some((old, reads)) if *reads > 0 => {
                *reads -= 1;
                Some((**old).clone())
            }
            _ => {
                self.stale = None;
                Some(self.clone())
            }
        }
    }
}

/// The fault of the next call of an operation.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Rejected without an effect.
    Before(FailureClass),
    /// Takes effect, and the response is lost.
    LostAnswer,
    /// The controller's own code panics.
    Panic,
    /// The number of reads for which a new object is invisible.
    Lag(usize),
    /// The number of reads for which a change is invisible.
    Stale(usize),
    /// The number of new objects that are visible at once, and the number of reads for which the others are invisible.
    LagOfSome(usize, usize),
}

#[derive(Debug, Default)]
struct Inside {
    objects: BTreeMap<String, RemoteObject>,
    tokens: BTreeMap<String, Vec<String>>,
    /// The maximum number that existed at once, by owner.
    most: BTreeMap<String, usize>,
    /// The epoch that another writer sets on all objects.
    epoch_of_all: Option<i64>,
    /// The maximum number of objects of one launch.
    capacity: Option<usize>,
    /// Where calls arrive.
    here: Option<Location>,
    faults: BTreeMap<&'static str, VecDeque<Fault>>,
    journal: Vec<String>,
    /// The number of searches by tag.
    searches: usize,
    /// Whether deleted objects disappear at once, as for most kinds.
    traceless: bool,
}

/// The cloud. A clone is another handle of it.
#[derive(Clone, Debug, Default)]
pub struct Cloud(Arc<Mutex<Inside>>);

impl Cloud {
    /// Injects a fault into the next call of this operation.
    pub fn fault(&self, operation: &'static str, fault: Fault) {
        self.0.lock().faults.entry(operation).or_default().push_back(fault);
    }

    /// No call fails any more.
    pub fn clear_faults(&self) {
        self.0.lock().faults.clear();
    }

    /// Deleted objects disappear at once from now on.
    pub fn forget_what_is_deleted(&self) {
        self.0.lock().traceless = true;
    }

    /// Limits the number of objects per launch, like limited capacity.
    pub fn limit_launches(&self, most: usize) {
        self.0.lock().capacity = Some(most);
    }

    /// From now on, another writer sets this epoch on all objects, as tag policies do.
    pub fn rewrite_epochs(&self, epoch: i64) {
        self.0.lock().epoch_of_all = Some(epoch);
    }

    /// The maximum number of gadgets of one resource that existed at once.
    pub fn most(&self, owner: &str) -> usize {
        self.0.lock().most.get(owner).copied().unwrap_or_default()
    }

    /// Sets the region of calls: objects in other regions cannot be observed.
    pub fn move_to(&self, region: &str) {
        let here = Location { account: "123456789012".to_owned(), region: region.to_owned() };
        self.0.lock().here = Some(here);
    }

    /// Where calls arrive.
    pub(super) fn here(&self) -> Option<Location> {
        self.0.lock().here.clone()
    }

    /// The number of objects that a launch creates, for this requested number.
    pub(super) fn capacity(&self, requested: usize) -> usize {
        self.0.lock().capacity.map_or(requested, |most| requested.min(most))
    }

    /// Every call so far.
    pub fn journal(&self) -> Vec<String> {
        self.0.lock().journal.clone()
    }

    /// The number of searches by tag so far.
    pub fn searches(&self) -> usize {
        self.0.lock().searches
    }

    pub(super) fn searched(&self, count: usize) {
        self.0.lock().searches += count;
    }

    /// The live gadgets of one resource.
    pub fn alive(&self, owner: &str) -> Vec<RemoteObject> {
        self.0.lock().objects.values().filter(|t| t.owner == owner && !t.gone).cloned().collect()
    }

    /// Creates a gadget out of band with this owner (none if empty); returns its id.
    pub fn insert(&self, owner: &str) -> String {
        let mut inside = self.0.lock();
        let id = format!("g-outside-{}", inside.objects.len());
        let (owner, colour, note) = (owner.to_owned(), "grey".to_owned(), String::new());
        let object = RemoteObject {
            id: id.clone(),
            owner,
            epoch: 1,
            size: 1,
            colour,
            note,
            gone: false,
            lag: 0,
            stale: None,
            at: inside.here.clone(),
        };
        inside.objects.insert(id.clone(), object);
        id
    }

    /// Changes a gadget out of band.
    pub fn tamper(&self, id: &str, change: impl FnOnce(&mut RemoteObject)) {
        if let Some(object) = self.0.lock().objects.get_mut(id) {
            change(object);
        }
    }

    /// One call that changes each of these gadgets that still exists.
    pub(super) fn each(
        &self,
        operation: &'static str,
        seen: &[&RemoteObject],
        change: impl Fn(&mut RemoteObject),
    ) -> Result<(), Failure> {
        self.call(operation, |objects, _| {
            for object in seen.iter().filter(|object| !object.gone) {
                objects.get_mut(&object.id).into_iter().for_each(&change);
            }
        })
    }

    /// Runs one call: records it, and injects the pending fault.
    pub(super) fn call<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut BTreeMap<String, RemoteObject>, &mut BTreeMap<String, Vec<String>>) -> T,
    ) -> Result<T, Failure> {
        let mut inside = self.0.lock();
        inside.journal.push(operation.to_owned());
        let fault = inside.faults.get_mut(operation).and_then(VecDeque::pop_front);
        let failure = |class, message: &str| Failure {
            class,
            action: format!("failed to {operation}"),
            code: "Toy".to_owned(),
            message: message.to_owned(),
        };
        match fault {
            Some(Fault::Before(class)) => return Err(failure(class, "the toy cloud rejects the call")),
            #[allow(clippy::panic, reason = "a fault that tests request")]
            Some(Fault::Panic) => panic!("the panic that a test requested"),
            _ => {}
        }
        let inside = &mut *inside;
        let before = inside.objects.clone();
        let done = work(&mut inside.objects, &mut inside.tokens);
        if let Some(epoch) = inside.epoch_of_all {
            inside.objects.values_mut().for_each(|object| object.epoch = epoch);
        }
        let mut live = BTreeMap::<String, usize>::new();
        for object in inside.objects.values().filter(|object| !object.gone) {
            *live.entry(object.owner.clone()).or_default() += 1;
        }
        for (owner, number) in live {
            let most = inside.most.entry(owner).or_default();
            *most = number.max(*most);
        }
        if inside.traceless {
            inside.objects.retain(|_, object| !object.gone);
        }
        match fault {
            Some(Fault::LostAnswer) => return Err(failure(FailureClass::Transient, "the response was lost")),
            Some(Fault::Lag(reads)) => {
                for object in inside.objects.values_mut().filter(|t| !before.contains_key(&t.id)) {
                    object.lag = reads;
                }
            }
            Some(Fault::Stale(reads)) => {
                for (id, old) in before {
                    if let Some(object) = inside.objects.get_mut(&id).filter(|object| **object != old) {
                        object.stale = Some((Box::new(old), reads));
                    }
                }
            }
            Some(Fault::LagOfSome(visible, reads)) => {
                let new = inside.objects.values_mut().filter(|t| !before.contains_key(&t.id));
                new.skip(visible).for_each(|object| object.lag = reads);
            }
            _ => {}
        }
        Ok(done)
    }
}
