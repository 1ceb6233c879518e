//! The state of one simulation: the cluster, the clouds, the processes, the armed faults and the trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use kraken_runtime::{clock, metrics::Metrics};
use kraken_simulator::hook::{Answer, Call};
use kraken_simulator::{Simulator, SimulatorOptions};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::checker::{Caller, Checker, Place, View, Violation};
use super::panics;
use super::process::{Process, RunningHost};
use super::providers::World;
use super::report::Statistics;
use super::trace::{CallEvent, Event, EventKind, ProcessId, Trace};
use crate::apiserver::ApiServer;
use crate::apply::Memory;
use crate::faults::{Armed, Effect};
use crate::schedule::{Controller, Moment, Settings, Side};

/// More events than this are a loop without an end.
const MOST_EVENTS: usize = 400_000;

/// The state that all parts of a simulation share.
pub(super) struct Shared {
    pub(super) api: ApiServer,
    pub(super) settings: Settings,
    /// Which controllers elect a leader: those that have a second replica at some time.
    pub(super) electing: BTreeSet<Controller>,
    pub(super) begin: Instant,
    /// Fires at the first violation.
    pub(super) stop: CancellationToken,
    pub(super) state: Mutex<State>,
    /// The state between operations.
    pub(super) memory: Mutex<Memory>,
    /// The service of the simulated provider.
    pub(super) world: Arc<World>,
}

pub(super) struct State {
    pub(super) clouds: BTreeMap<Place, Arc<Simulator>>,
    pub(super) places: BTreeMap<Controller, Place>,
    pub(super) processes: BTreeMap<(Controller, u32), Process>,
    /// The host of the simulated provider.
    pub(super) host: Option<RunningHost>,
    pub(super) incarnations: BTreeMap<(Controller, u32), u32>,
    /// When the latest process of a controller ended.
    pub(super) ended: BTreeMap<Controller, Timestamp>,
    /// The desired number of replicas.
    pub(super) replicas: BTreeSet<(Controller, u32)>,
    pub(super) armed: Armed,
    /// Until when the calls of a controller, or of all, do not get to the API server or to the cloud.
    pub(super) unreachable: BTreeMap<(Side, Option<Controller>), Instant>,
    /// Until when other clients repeat changes out of band; `None` once faults have ended.
    pub(super) contended_until: Option<Instant>,
    /// How many calls of controllers changed something in a cloud.
    pub(super) cloud_writes: u64,
    pub(super) checker: Box<dyn Checker>,
    pub(super) trace: Trace,
    pub(super) violations: Vec<Violation>,
    pub(super) statistics: Statistics,
    /// Those of every process that ever ran.
    pub(super) metrics: Vec<(ProcessId, Metrics)>,
    /// When something was last written, leases and rejected calls aside.
    pub(super) last_write: Instant,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn new(checker: Box<dyn Checker>) -> Self {
        Self {
            clouds: BTreeMap::new(),
            places: BTreeMap::new(),
            processes: BTreeMap::new(),
            host: None,
            incarnations: BTreeMap::new(),
            ended: BTreeMap::new(),
            replicas: BTreeSet::new(),
            armed: Armed::default(),
            unreachable: BTreeMap::new(),
            contended_until: None,
            cloud_writes: 0,
            checker,
            trace: Trace::default(),
            violations: Vec::new(),
            statistics: Statistics::default(),
            metrics: Vec::new(),
            last_write: Instant::now(),
        }
    }

    /// Calls the checker with the current state.
    pub(super) fn check<T>(
        &mut self,
        shared: &Shared,
        inspect: impl FnOnce(&mut dyn Checker, &View<'_>, Option<&Event>) -> T,
    ) -> T {
        let Self { checker, clouds, places, trace, metrics, .. } = self;
        let view = View {
            world: &shared.world,
            now: shared.begin.elapsed(),
            api: &shared.api,
            clouds,
            places,
            settings: &shared.settings,
            metrics,
        };
        inspect(checker.as_mut(), &view, trace.0.last())
    }
}

impl Shared {
    /// Records an event and calls the checker.
    pub(super) fn note(&self, what: EventKind) {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.statistics.count(&what);
        // A rejected call writes nothing: what is rejected once a minute forever is at rest.
        let is_write = |call: &CallEvent| call.writes && call.status.is_some_and(|status| status < 300);
        if matches!(&what, EventKind::Call(call) if is_write(call) && !call.name.ends_with(" leases")) {
            state.last_write = now;
        }
        state.trace.0.push(Event { at: self.begin.elapsed(), what });
        let mut found = state.check(self, |checker, view, event| {
            event.map(|event| checker.event(view, event)).unwrap_or_default()
        });
        found.extend(panics::take().into_iter().map(|text| self.violation("no panic", text)));
        if state.trace.0.len() == MOST_EVENTS {
            found.push(self.violation("an end", format!("{MOST_EVENTS} events, and more to come")));
        }
        self.add(&mut state, found);
    }

    /// Calls the checker for a call that took effect.
    pub(super) fn called(&self, caller: &Caller, side: Side, call: &Call, answer: &Answer) {
        let mut state = self.state.lock();
        state.cloud_writes += u64::from(side == Side::Cloud && call.writes);
        let found = state.check(self, |checker, view, _| checker.called(view, caller, side, call, answer));
        self.add(&mut state, found);
    }

    /// Calls the checker after a change by Kubernetes' own controllers.
    pub(super) fn collected(&self) {
        let mut state = self.state.lock();
        let found = state.check(self, |checker, view, _| checker.collected(view));
        self.add(&mut state, found);
    }

    /// Writes violations down; the first ends the simulation.
    pub(super) fn add(&self, state: &mut State, found: Vec<Violation>) {
        if !found.is_empty() {
            state.violations.extend(found);
            self.stop.cancel();
        }
    }

    pub(super) fn violation(&self, invariant: &str, message: String) -> Violation {
        Violation { at: self.begin.elapsed(), invariant: invariant.to_owned(), message }
    }

    pub(super) fn elects(&self, controller: Controller) -> bool {
        self.electing.contains(&controller)
    }

    pub(super) fn effect_on(
        &self,
        controller: Controller,
        side: Side,
        name: &str,
        writes: bool,
        moment: Moment,
    ) -> Option<Effect> {
        self.state.lock().armed.effect_on(controller, side, name, writes, moment)
    }

    pub(super) fn is_unreachable(&self, side: Side, from: Controller) -> bool {
        let state = self.state.lock();
        let until = [None, Some(from)].map(|controller| state.unreachable.get(&(side, controller)));
        until.into_iter().flatten().any(|until| Instant::now() < *until)
    }

    /// The cloud of a location, created on first use.
    pub(super) fn cloud_at(&self, place: &Place) -> Arc<Simulator> {
        let new = || Arc::new(Simulator::in_process(options(&self.settings, place)));
        self.state.lock().clouds.entry(place.clone()).or_insert_with(new).clone()
    }

    /// The cloud of a controller.
    pub(super) fn cloud(&self, controller: Controller) -> Option<Arc<Simulator>> {
        let place = self.state.lock().places.get(&controller)?.clone();
        Some(self.cloud_at(&place))
    }

    /// The process of a controller that holds its lease, or the first one.
    pub(super) fn leader(&self, controller: Controller) -> Option<Process> {
        let leases = self.api.objects("coordination.k8s.io", "leases");
        let holds = |process: &Process| {
            leases.iter().any(|lease| {
                lease["metadata"]["name"] == controller.to_string()
                    && lease["spec"]["holderIdentity"] == process.identity()
            })
        };
        let mut processes = self.processes(controller);
        let leads = processes.iter().position(holds).unwrap_or_default();
        (leads < processes.len()).then(|| processes.swap_remove(leads))
    }

    /// The processes of a controller, the first replica first.
    pub(super) fn processes(&self, controller: Controller) -> Vec<Process> {
        let state = self.state.lock();
        state.processes.values().filter(|process| process.id.controller == controller).cloned().collect()
    }
}

/// The cloud of a location, with the delays in the settings.
fn options(settings: &Settings, place: &Place) -> SimulatorOptions {
    let step = settings.transition;
    SimulatorOptions {
        account: place.account.clone(),
        region: place.region.clone(),
        epoch: Some(clock::now()),
        pending: step,
        stopping: step,
        shutting_down: step,
        provisioning: step,
        releasing: step,
        target_initial: step,
        draining: step,
        nat_pending: step,
        nat_deleting: step,
        volume_creating: step,
        volume_attaching: step,
        terminated_visible: settings.terminated_visible,
        describe_lag: settings.describe_lag,
        change_lag: settings.change_lag,
        tag_lag: settings.tag_lag,
        strict_network: true,
        ..SimulatorOptions::default()
    }
}
