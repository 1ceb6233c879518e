//! The account: all objects, with their ids and tags, at the time of the current call.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use jiff::Timestamp;
use tokio::time::Instant;

use super::event::Event;
use super::form::Form;
use super::kind::Kind;
use super::model::instance::State;
use super::model::part_ids::PartIds;
use super::model::{Instance, NatGateway};
use super::options::SimulatorOptions;
use super::refusal::Refusal;
use super::registry::{ObjectRef, Registry};
use super::stale::Stale;
use super::store::{CloudObject, Store};
use super::touched::Touched;

/// The use of a client token.
#[derive(Debug, Clone)]
pub(super) struct Used {
    pub(super) digest: String,
    /// The numbers of the created objects.
    pub(super) made: Vec<u64>,
}

/// The account.
#[derive(Debug)]
pub(super) struct Cloud {
    pub(super) options: SimulatorOptions,
    /// The creation time of the account, by the wall clock and by the simulated clock.
    born: (Timestamp, Instant),
    /// The time of the call that is carried out.
    pub(super) now: Instant,
    /// The number of calls and events that changed an object.
    pub(super) revision: u64,
    pub(super) touched: Touched,
    /// The number of that call.
    pub(super) call: u64,
    pub(super) registry: Registry,
    pub(super) store: Store,
    pub(super) part_ids: PartIds,
    pub(super) stale: Stale,
    tokens: BTreeMap<(Kind, String), Used>,
    /// The limit of the next launch.
    pub(super) next_launch: Option<usize>,
    pub(super) events: BinaryHeap<Reverse<(Instant, Event)>>,
}

impl Cloud {
    pub(super) fn new(options: SimulatorOptions) -> Self {
        let (now, base) = (Instant::now(), options.base());
        Self {
            born: (options.epoch.unwrap_or_else(Timestamp::now), now),
            options,
            now,
            revision: 0,
            touched: Touched::default(),
            call: 0,
            registry: Registry::new(base),
            store: Store::default(),
            part_ids: PartIds::new(base),
            stale: Stale::default(),
            tokens: BTreeMap::new(),
            next_launch: None,
            events: BinaryHeap::new(),
        }
    }

    /// The current time in AWS's format.
    pub(super) fn timestamp(&self) -> String {
        let (wall, then) = self.born;
        let seconds = self.now.saturating_duration_since(then).as_secs();
        let now = wall.checked_add(std::time::Duration::from_secs(seconds)).unwrap_or(wall);
        now.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
    }

    /// All objects of a kind, by number.
    pub(super) fn all<T: CloudObject>(&self) -> &BTreeMap<u64, T> {
        T::all(&self.store)
    }

    /// Whether an object is live: it exists and is not being deleted.
    pub(super) fn is_live(&self, object: ObjectRef) -> bool {
        let state = |number| self.store.instances.get(&number).map(|instance| instance.state(self.now));
        self.registry.is_present(object)
            && match object.kind {
                Kind::Instance => state(object.number).is_some_and(|state| !state.is_over()),
                Kind::NatGateway => self
                    .all::<NatGateway>()
                    .get(&object.number)
                    .is_some_and(|gateway| gateway.is_live(self.now)),
                _ => true,
            }
    }

    /// Executes a call; a read returns the frozen states.
    pub(super) fn seen<T>(&mut self, reads: bool, call: impl FnOnce(&mut Self) -> T) -> T {
        self.stale.expire(self.now);
        if !reads || self.stale.is_empty() {
            return call(self);
        }
        let mut stale = std::mem::take(&mut self.stale);
        stale.swap(&mut self.store);
        let answer = call(self);
        stale.swap(&mut self.store);
        self.stale = stale;
        answer
    }

    /// Freezes the current state of an object in Describe calls, until then.
    pub(super) fn keep_described(&mut self, object: ObjectRef, until: Instant) {
        self.stale.keep(&self.store, object, until);
    }

    /// Schedules a transition.
    pub(super) fn schedule(&mut self, at: Instant, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    /// The previous use of a create call's token.
    pub(super) fn used(&self, kind: Kind, form: &Form) -> Result<Option<Used>, Refusal> {
        let Some(token) = form.get("ClientToken").filter(|token| !token.is_empty()) else { return Ok(None) };
        if let Some(used) = self.tokens.get(&(kind, token.to_owned())) {
            if used.digest != form.digest() {
                let message = "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).";
                return Err(Refusal::new("IdempotentParameterMismatch", message));
            }
            return Ok(Some(used.clone()));
        }
        if token.len() > 64 {
            let message = "Client token may not be longer than 64 ASCII characters";
            return Err(Refusal::new("InvalidParameterValue", message));
        }
        Ok(None)
    }

    /// Records the use of a call's token, if it has one.
    pub(super) fn use_token(&mut self, kind: Kind, form: &Form, made: Vec<u64>) {
        if let Some(token) = form.text("ClientToken").filter(|token| !token.is_empty()) {
            self.tokens.insert((kind, token), Used { digest: form.digest(), made });
        }
    }

    /// The remaining capacity for instances.
    pub(super) fn remaining_capacity(&self) -> usize {
        let Some(capacity) = self.options.capacity else { return usize::MAX };
        capacity.saturating_sub(self.live_instances().count())
    }

    /// The instances that are not terminated.
    pub(super) fn live_instances(&self) -> impl Iterator<Item = &Instance> {
        let present = self.registry.present(Kind::Instance);
        let instances = present.filter_map(|object| self.store.instances.get(&object.number));
        instances.filter(|instance| instance.state(self.now) != State::Terminated)
    }
}
