//! Records one run of a scenario at the proxies: counts calls, injects the fault, and checks the invariants at every
//! step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use kraken_simulator::hook::{Call, HookAction};
use kraken_simulator::{FailurePoint, Kind};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cloud::Cloud;
use super::fault::{Fault, Numbered, Point};
use super::outage::ApiServer;
use super::scenario::{Bound, Scenario};
use crate::fault_proxy::ConnectionControl;

/// One line of the journal.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The time since the start of the run.
    pub at: Duration,
    /// The description.
    pub text: String,
    /// Whether it may have changed an object.
    pub(super) writes: bool,
}

/// The state of one run, shared by both proxies and the test.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) cloud: Cloud,
    pub(super) point: Option<Point>,
    pub(super) api: Arc<ApiServer>,
    /// The remote objects of the controller.
    pub(super) kinds: &'static [Kind],
    /// The targets that an export may write: `secrets/app`.
    pub(super) targets: BTreeSet<String>,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    seen: BTreeMap<String, u32>,
    calls: Vec<Numbered>,
    /// The call whose response triggers the fault.
    awaited: Option<(bool, u64)>,
    fired: Option<Instant>,
    /// The process ids of the leader and the other replica.
    pids: Vec<i32>,
    /// Of the proxies in front of Kubernetes and of the cloud.
    connections: Vec<ConnectionControl>,
    /// The watches that were rejected after a cut; none without a cut.
    expired: Option<BTreeSet<String>>,
    /// Resumes a suspended leader.
    resumed: bool,
    /// The writes that were rejected in a storm; none without a storm.
    refused: Option<BTreeSet<String>>,
    bounds: Vec<Bound>,
    journal: Vec<Entry>,
    violations: Vec<String>,
}

impl Recorder {
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

    /// The current minimum and maximum number of live objects per kind and UID.
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

    pub(super) fn enter(&self, text: String, writes: bool) {
        self.lock().journal.push(Entry { at: self.started.elapsed(), text, writes });
    }

    /// Records a violation.
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

    pub(super) fn set_connections(&self, connections: Vec<ConnectionControl>) {
        self.lock().connections = connections;
    }

    /// Sets the number of live objects per kind and UID; for other kinds at most one.
    pub(super) fn bound(&self, bounds: Vec<Bound>) {
        self.lock().bounds = bounds;
    }

    /// Starts counting calls.
    pub(super) fn arm(&self) {
        self.lock().armed = true;
        self.note("armed");
    }

    pub(super) fn disarm(&self) {
        self.lock().armed = false;
        self.note("disarmed");
    }

    /// The time of the fault.
    pub(super) fn fired(&self) -> Option<Instant> {
        self.lock().fired
    }

    /// Whether the fault occurred. A restart of kube-apiserver by another run counts too.
    pub(super) fn has_met_fault(&self) -> bool {
        let restarts = self.point.as_ref().is_some_and(|point| point.fault == Fault::Restart);
        self.fired().is_some() || restarts && self.api.killed().is_some_and(|at| at > self.started)
    }

    /// Whether the suspended leader was resumed.
    pub(super) fn is_resumed(&self) -> bool {
        self.lock().resumed
    }

    pub(super) fn resume(&self) {
        self.lock().resumed = true;
    }

    /// The time without a write to Kubernetes or the cloud.
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

    /// Counts a call; returns the action if the fault is due before it.
    pub(super) fn count(&self, cloud: bool, call: &Call, name: &str) -> HookAction {
        let mut state = self.lock();
        if call.watches && state.expired.as_mut().is_some_and(|expired| expired.insert(name.to_owned())) {
            return HookAction::Refuse(410);
        }
        if !state.armed || (!cloud && !call.writes) {
            return HookAction::Pass;
        }
        let stormy = !cloud && call.writes;
        if stormy && state.refused.as_mut().is_some_and(|refused| refused.insert(name.to_owned())) {
            state.fired = Some(Instant::now());
            return HookAction::Refuse(409);
        }
        let occurrence = state.seen.entry(name.to_owned()).or_default();
        *occurrence += 1;
        let occurrence = *occurrence;
        let number = state.calls.len() + 1;
        state.calls.push(Numbered { number, name: name.to_owned(), occurrence, writes: call.writes });
        let Some(point) = &self.point else { return HookAction::Pass };
        if state.fired.is_some() || point.call.name != name || point.call.occurrence != occurrence {
            return HookAction::Pass;
        }
        if point.when == FailurePoint::After {
            state.awaited = Some((cloud, call.number));
            return HookAction::Pass;
        }
        self.fire(&mut state, point)
    }

    fn fire(&self, state: &mut State, point: &Point) -> HookAction {
        state.fired = Some(Instant::now());
        let signal = |pid: &i32, signal: Signal| {
            let _ = kill(Pid::from_raw(*pid), signal); // it may have ended already
        };
        match point.fault {
            Fault::Kill | Fault::Both => {
                state.pids.iter().for_each(|pid| signal(pid, Signal::SIGKILL));
                HookAction::Drop
            }
            Fault::Stop => {
                state.pids.iter().take(1).for_each(|pid| signal(pid, Signal::SIGSTOP));
                HookAction::Pass
            }
            Fault::Restart => {
                if let Err(problem) = self.api.kill(self.started) {
                    state.violations.push(format!("cannot kill kube-apiserver: {problem:#}"));
                }
                HookAction::Pass
            }
            Fault::Reset => {
                state.connections.iter().for_each(ConnectionControl::reset);
                HookAction::Pass
            }
            Fault::Lose => HookAction::Drop,
            Fault::Conflict => HookAction::Refuse(409),
            Fault::Storm => {
                state.refused = Some(BTreeSet::new());
                HookAction::Pass
            }
            Fault::Cut => {
                state.expired = Some(BTreeSet::new());
                state.connections.iter().for_each(ConnectionControl::cut);
                HookAction::Pass
            }
        }
    }

    /// The action on the response of a call.
    pub(super) fn answered(&self, cloud: bool, call: &Call) -> HookAction {
        let mut state = self.lock();
        match (&self.point, state.awaited) {
            (Some(point), Some(awaited)) if awaited == (cloud, call.number) => {
                state.awaited = None;
                self.fire(&mut state, point)
            }
            _ => HookAction::Pass,
        }
    }
}
