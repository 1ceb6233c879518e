//! The account: all objects, and their state transitions over time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use jiff::Timestamp;
use tokio::time::Instant;

use super::changes::Touched;
use super::elb::{self, Balancing};
use super::form::Form;
use super::instance::{Instance, State};
use super::kind::Kind;
use super::network::{self, Network};
use super::objects::CloudObject;
use super::options::SimulatorOptions;
use super::refusal::Refusal;
use super::registry::{ObjectRef, Registry};
use super::stale::Stale;
use super::tags::Tags;

/// The use of a client token.
#[derive(Debug, Clone)]
pub(super) struct Used {
    pub(super) digest: String,
    /// The numbers of the created objects.
    pub(super) made: Vec<u64>,
}

/// A scheduled transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// Changed tags are described.
    Settled(ObjectRef),
    /// An instance is terminated.
    Terminated(u64),
    /// A NAT gateway is deleted.
    NatDeleted(u64),
    /// A volume is detached.
    Detached(u64),
    /// The interfaces of a deleted load balancer are deleted.
    Released(u64),
    /// A deleted object is no longer described.
    Vanished(ObjectRef),
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
    /// All current and former instances.
    pub(super) instances: BTreeMap<u64, Instance>,
    pub(super) network: Network,
    pub(super) balancing: Balancing,
    pub(super) stale: Stale,
    tokens: BTreeMap<(Kind, String), Used>,
    /// The limit of the next launch.
    pub(super) next_launch: Option<usize>,
    events: BinaryHeap<Reverse<(Instant, Event)>>,
}

impl CloudObject for Instance {
    const KIND: Kind = Kind::Instance;

    fn all(cloud: &Cloud) -> &BTreeMap<u64, Self> {
        &cloud.instances
    }

    fn all_mut(cloud: &mut Cloud) -> &mut BTreeMap<u64, Self> {
        &mut cloud.instances
    }
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
            instances: BTreeMap::new(),
            network: Network::new(base),
            balancing: Balancing::default(),
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

    /// Advances the time. It never decreases, even if a caller is outside the runtime with its clock.
    pub(super) fn tick(&mut self, now: Instant) {
        let now = now.max(self.now);
        while let Some(Reverse((at, event))) = self.events.peek().copied()
            && at <= now
        {
            self.events.pop();
            self.now = at;
            self.revision += 1;
            self.apply_event(event);
        }
        self.now = now;
    }

    fn apply_event(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Settled(object) => self.registry.with_history(object, |history| history.settle(now)),
            Event::Terminated(number) => network::left(self, number),
            Event::NatDeleted(number) => network::nat_deleted(self, number),
            Event::Detached(number) => network::detached(self, number),
            Event::Released(number) => elb::released(self, number),
            Event::Vanished(object) => self.registry.remove(object),
        }
    }

    /// Schedules a transition.
    pub(super) fn schedule(&mut self, at: Instant, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    pub(super) fn set_tags(&mut self, object: ObjectRef, tags: Tags) {
        self.touch_any(object);
        let seen = self.now + self.options.tag_lag;
        self.registry.with_history(object, |history| history.set(seen, tags));
        self.schedule(seen, Event::Settled(object));
        self.tick(self.now); // without a delay it is visible at once
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
        let instances = present.filter_map(|object| self.instances.get(&object.number));
        instances.filter(|instance| instance.state(self.now) != State::Terminated)
    }
}
