//! One run of a scenario as the proxies see it: counts calls, makes the fault happen, and checks at every step what
//! must always hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::checks::named;
use super::cloud::Cloud;
use super::fault::{Fault, Numbered, Point};
use super::outage::ApiServer;
use super::scenario::{Bound, Scenario};
use crate::kube_proxy::{Answer, Call, Hook, Order, Scissors};
use crate::proxy::When;
use crate::simulator::Kind;

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
    pub(super) api: Arc<ApiServer>,
    /// What the controller has in the cloud.
    pub(super) kinds: &'static [Kind],
    /// What an export may write: `secrets/app`.
    pub(super) targets: BTreeSet<String>,
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
    /// The leader's, and the other replica's.
    pids: Vec<i32>,
    /// Of the proxies before Kubernetes and before the cloud.
    scissors: Vec<Scissors>,
    /// The watches that were refused after a cut; none outside of one.
    expired: Option<BTreeSet<String>>,
    /// A stopped leader goes on.
    went_on: bool,
    /// The writes that were refused in a storm; none outside of one.
    refused: Option<BTreeSet<String>>,
    bounds: Vec<Bound>,
    journal: Vec<Entry>,
    violations: Vec<String>,
}

impl Trial {
    pub(super) fn new(scenario: &Scenario, point: Option<Point>, api: Arc<ApiServer>) -> Result<Self> {
        let kinds = scenario.kinds();
        Ok(Self {
            cloud: Cloud::start(kinds, scenario.lag, scenario.per_launch)?,
            point,
            api,
            kinds,
            targets: scenario.targets(),
            started: Instant::now(),
            state: Mutex::default(),
        })
    }

    /// How few and how many things of a kind and UID may live now.
    pub(super) fn bound_of(&self, kind: Kind) -> (usize, usize) {
        let bounds = &self.lock().bounds;
        bounds.iter().find(|bound| bound.kind == kind).map_or((0, 1), |bound| (bound.least, bound.most))
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

    pub(super) fn set_pids(&self, pids: Vec<i32>) {
        self.lock().pids = pids;
    }

    pub(super) fn set_scissors(&self, scissors: Vec<Scissors>) {
        self.lock().scissors = scissors;
    }

    /// How many of a kind and UID may live from now on; of other kinds at most one.
    pub(super) fn bound(&self, bounds: Vec<Bound>) {
        self.lock().bounds = bounds;
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

    /// Whether the fault has come. A restart of kube-apiserver that another run caused is met as well.
    pub(super) fn has_met_fault(&self) -> bool {
        let restarts = self.point.as_ref().is_some_and(|point| point.fault == Fault::Restart);
        self.fired().is_some() || restarts && self.api.killed().is_some_and(|at| at > self.started)
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
        if call.watches && state.expired.as_mut().is_some_and(|expired| expired.insert(name.to_owned())) {
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
        self.fire(&mut state, point)
    }

    fn fire(&self, state: &mut State, point: &Point) -> Order {
        state.fired = Some(Instant::now());
        let signal = |pid: &i32, signal: Signal| {
            let _ = kill(Pid::from_raw(*pid), signal); // it may have ended by itself
        };
        match point.fault {
            Fault::Kill | Fault::Both => {
                state.pids.iter().for_each(|pid| signal(pid, Signal::SIGKILL));
                Order::Drop
            }
            Fault::Stop => {
                state.pids.iter().take(1).for_each(|pid| signal(pid, Signal::SIGSTOP));
                Order::Pass
            }
            Fault::Restart => {
                if let Err(problem) = self.api.kill(self.started) {
                    state.violations.push(format!("cannot kill kube-apiserver: {problem:#}"));
                }
                Order::Pass
            }
            Fault::Reset => {
                state.scissors.iter().for_each(Scissors::reset);
                Order::Pass
            }
            Fault::Lose => Order::Drop,
            Fault::Conflict => Order::Refuse(409),
            Fault::Storm => {
                state.refused = Some(BTreeSet::new());
                Order::Pass
            }
            Fault::Cut => {
                state.expired = Some(BTreeSet::new());
                state.scissors.iter().for_each(Scissors::cut);
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
                self.fire(&mut state, point)
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
        } else if self.cloud && call.writes {
            self.trial.check_named(call);
        } else if call.writes {
            self.trial.check_body(call);
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
        } else if !self.cloud && call.name.starts_with("PATCH ") && answer.status == 200 {
            self.trial.check_finalizer(answer);
        }
        let order = self.trial.answered(self.cloud, call);
        if order != Order::Pass {
            self.told(call, &format!("took effect, its answer does not arrive: {order:?}"));
        }
        order
    }
}
