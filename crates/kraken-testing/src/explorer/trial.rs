//! One run of a scenario as the proxies see it: counts calls, makes the fault happen, and checks at every step what
//! must always hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::checks::named;
use super::cloud::Cloud;
use super::fault::{Fault, Numbered, Point};
use crate::kube_proxy::{Answer, Call, Hook, Order, Scissors};
use crate::proxy::When;

/// A controller has so many watches: its kind, its DependencyRequests, its StateDeclarations.
const WATCHES: u32 = 3;

/// One line of the journal.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Since the start of the run.
    pub at: Duration,
    /// What happened.
    pub text: String,
    /// Whether it may have changed something.
    pub(super) writes: bool,
}

/// What one run is about, shared by both proxies and the one who watches.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) cloud: Cloud,
    pub(super) point: Option<Point>,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    seen: BTreeMap<String, u32>,
    calls: Vec<Numbered>,
    /// The call whose answer the fault waits for.
    awaited: Option<(bool, u64)>,
    fired: Option<Instant>,
    pid: i32,
    scissors: Option<Scissors>,
    expired: u32,
    /// A stopped leader goes on.
    went_on: bool,
    /// The writes that were refused in a storm; none outside of one.
    refused: Option<BTreeSet<String>>,
    ceiling: usize,
    floor: usize,
    journal: Vec<Entry>,
    violations: Vec<String>,
}

impl Trial {
    pub(super) fn new(cloud: Cloud, point: Option<Point>) -> Self {
        Self { cloud, point, started: Instant::now(), state: Mutex::default() }
    }

    /// How few and how many instances of a UID may live now.
    pub(super) fn bounds(&self) -> (usize, usize) {
        let state = self.lock();
        (state.floor, state.ceiling)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, text: impl Into<String>) {
        self.enter(text.into(), false);
    }

    fn enter(&self, text: String, writes: bool) {
        self.lock().journal.push(Entry { at: self.started.elapsed(), text, writes });
    }

    /// Something that must never happen did.
    pub(super) fn violated(&self, text: String) {
        self.note(format!("VIOLATION: {text}"));
        let violations = &mut self.lock().violations;
        if !violations.contains(&text) {
            violations.push(text);
        }
    }

    pub(super) fn set_pid(&self, pid: i32) {
        self.lock().pid = pid;
    }

    pub(super) fn set_scissors(&self, scissors: Scissors) {
        self.lock().scissors = Some(scissors);
    }

    /// No UID may have more live instances than `ceiling`, nor, once terminations begin, fewer than `floor`.
    pub(super) fn bound(&self, floor: usize, ceiling: usize) {
        let mut state = self.lock();
        (state.floor, state.ceiling) = (floor, ceiling);
    }

    /// Calls count from here.
    pub(super) fn arm(&self) {
        self.lock().armed = true;
        self.note("armed");
    }

    pub(super) fn disarm(&self) {
        self.lock().armed = false;
        self.note("disarmed");
    }

    /// When the fault happened.
    pub(super) fn fired(&self) -> Option<Instant> {
        self.lock().fired
    }

    /// Whether the stopped leader goes on.
    pub(super) fn goes_on(&self) -> bool {
        self.lock().went_on
    }

    pub(super) fn go_on(&self) {
        self.lock().went_on = true;
    }

    /// How long nothing was written, neither to Kubernetes nor to the cloud.
    pub(super) fn quiet_for(&self) -> Duration {
        let last = self.lock().journal.iter().rev().find(|entry| entry.writes).map(|entry| entry.at);
        self.started.elapsed().saturating_sub(last.unwrap_or_default())
    }

    pub(super) fn calls(&self) -> Vec<Numbered> {
        self.lock().calls.clone()
    }

    pub(super) fn journal(&self) -> Vec<Entry> {
        self.lock().journal.clone()
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// Counts a call; the order if the fault is due before it.
    fn count(&self, cloud: bool, call: &Call, name: &str) -> Order {
        let mut state = self.lock();
        if call.watches && state.expired > 0 {
            state.expired -= 1;
            return Order::Refuse(410);
        }
        if !state.armed || (!cloud && !call.writes) {
            return Order::Pass;
        }
        let stormy = !cloud && call.writes;
        if stormy && state.refused.as_mut().is_some_and(|refused| refused.insert(name.to_owned())) {
            state.fired = Some(Instant::now());
            return Order::Refuse(409);
        }
        let occurrence = state.seen.entry(name.to_owned()).or_default();
        *occurrence += 1;
        let occurrence = *occurrence;
        let number = state.calls.len() + 1;
        state.calls.push(Numbered { number, name: name.to_owned(), occurrence, writes: call.writes });
        let Some(point) = &self.point else { return Order::Pass };
        if state.fired.is_some() || point.call.name != name || point.call.occurrence != occurrence {
            return Order::Pass;
        }
        if point.when == When::After {
            state.awaited = Some((cloud, call.number));
            return Order::Pass;
        }
        Self::fire(&mut state, point.fault)
    }

    fn fire(state: &mut State, fault: Fault) -> Order {
        state.fired = Some(Instant::now());
        match fault {
            Fault::Kill => {
                let _ = kill(Pid::from_raw(state.pid), Signal::SIGKILL); // it may have ended by itself
                Order::Drop
            }
            Fault::Stop => {
                let _ = kill(Pid::from_raw(state.pid), Signal::SIGSTOP); // as above
                Order::Pass
            }
            Fault::Lose => Order::Drop,
            Fault::Conflict => Order::Refuse(409),
            Fault::Storm => {
                state.refused = Some(BTreeSet::new());
                Order::Pass
            }
            Fault::Cut => {
                state.expired = WATCHES;
                if let Some(scissors) = &state.scissors {
                    scissors.cut();
                }
                Order::Pass
            }
        }
    }

    /// The order for the answer of a call.
    fn answered(&self, cloud: bool, call: &Call) -> Order {
        let mut state = self.lock();
        match (&self.point, state.awaited) {
            (Some(point), Some(awaited)) if awaited == (cloud, call.number) => {
                state.awaited = None;
                Self::fire(&mut state, point.fault)
            }
            _ => Order::Pass,
        }
    }
}

/// The proxy in front of one of the two.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) trial: Arc<Trial>,
    pub(super) cloud: bool,
}

impl Side {
    fn name(&self, call: &Call) -> String {
        format!("{} {}", if self.cloud { "cloud" } else { "kube" }, call.name)
    }

    fn told(&self, call: &Call, what: &str) {
        if self.cloud || call.writes || call.watches {
            let target = if self.cloud { named(call).join(",") } else { call.object.clone() };
            let text = format!("{} {target} {what}", self.name(call));
            self.trial.enter(text, call.writes);
        }
    }
}

impl Hook for Side {
    async fn before(&self, call: &Call) -> Order {
        if call.name.contains("lease") {
            return Order::Pass; // renewed at all times, by two replicas
        }
        let order = self.trial.count(self.cloud, call, &self.name(call));
        if order != Order::Pass {
            self.told(call, &format!("does not arrive: {order:?}"));
        } else if call.name == "TerminateInstances" {
            self.trial.check_termination(call);
        }
        order
    }

    async fn after(&self, call: &Call, answer: &Answer) -> Order {
        if call.name.contains("lease") {
            return Order::Pass;
        }
        self.told(call, &format!("-> {}", answer.status));
        if self.cloud && call.writes {
            self.trial.check_counts();
        } else if !self.cloud && call.name == "PATCH ec2instances" && answer.status == 200 {
            self.trial.check_finalizer(answer);
        }
        let order = self.trial.answered(self.cloud, call);
        if order != Order::Pass {
            self.told(call, &format!("took effect, its answer does not arrive: {order:?}"));
        }
        order
    }
}
