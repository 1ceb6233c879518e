//! A simulation: the API server, the cloud and the controllers as tasks of one thread with a paused clock.
//!
//! All sources of nondeterminism are derived from the seed: latencies, UIDs, identities, the order of hash maps. Time
//! advances only when all tasks wait, so an hour takes only as long as its events.

mod checker;
mod fault;
mod gate;
mod operate;
mod panics;
mod process;
pub mod providers;
mod report;
mod shared;
mod start;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use kraken_mutants::Mutant;
use kraken_runtime::{clock, random};
use kraken_simulator::Simulator;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use checker::{Caller, Checker, Place, Unchecked, View, Violation};
pub use report::{Report, Statistics};
pub use trace::{CallEvent, Event, EventKind, ProcessId, Trace};

use crate::apiserver::{ApiServer, Kinds, SchemaError};
use crate::kinds;
use crate::provider_types;
use crate::schedule::{Action, Controller, Fault, Operation, Schedule, Step, Tamper};
use shared::{Shared, State};

/// When every simulation begins.
const BEGINNING: Timestamp = Timestamp::constant(1_767_225_600, 0); // 2026-01-01T00:00:00Z
/// The maximum virtual time until the desired state is reached after faults ended.
const CONVERGENCE: Duration = Duration::from_mins(40);
/// The phase that begins when faults end.
pub const FAULTS_END: &str = "faults end";
/// The phase in which processes without a memory observe what was reported to be in place.
const RESTARTS: &str = "all controllers restart";
/// How long nothing may be written after faults ended until all is deleted: longer than faults have consequences, so that the
/// deletion is judged without any excuse.
const CALM: Duration = Duration::from_secs(75);
/// The stack of the thread of one simulation: a reconcile in an unoptimised build is deep.
const STACK: usize = 32 << 20;

/// A running simulation. Clones share the same state.
#[derive(Clone, Debug)]
pub struct Simulation(Arc<Shared>);

impl Simulation {
    /// Runs a schedule to its end, on a thread of its own, or to the first violation.
    pub fn run(schedule: &Schedule, checker: Box<dyn Checker>) -> Report {
        Self::run_with(schedule, checker, None)
    }

    /// As [`run`](Self::run), with a seeded bug in the controllers. Without effect in a build without the patches.
    pub fn run_with(schedule: &Schedule, checker: Box<dyn Checker>, mutant: Option<Mutant>) -> Report {
        let run = || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            match runtime {
                Ok(runtime) => runtime.block_on(Self::run_on_this_thread(schedule, checker, mutant)),
                Err(error) => failed(format!("failed to build a runtime: {error}")),
            }
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(report)) => report,
                Ok(Err(_)) => failed("the simulation panicked".to_owned()),
                Err(error) => failed(format!("failed to start a thread: {error}")),
            }
        })
    }

    async fn run_on_this_thread(
        schedule: &Schedule,
        checker: Box<dyn Checker>,
        mutant: Option<Mutant>,
    ) -> Report {
        kraken_mutants::select(mutant);
        let _time = clock::simulate(BEGINNING);
        let _random = random::seed(schedule.seed);
        kraken_aws::injected::seed(schedule.seed);
        panics::collect();
        let kinds = match served_kinds() {
            Ok(kinds) => kinds,
            Err(error) => return failed(format!("failed to read the CRDs: {error}")),
        };
        let engine = Self::new(schedule, kinds, checker);
        tokio::select! {
            biased;
            () = engine.0.stop.cancelled() => {}
            () = engine.run_steps(schedule) => {}
        }
        engine.report()
    }

    fn new(schedule: &Schedule, kinds: Arc<Kinds>, checker: Box<dyn Checker>) -> Self {
        let has_second = |step: &crate::schedule::Step| match &step.action {
            Action::Fault(Fault::Replica { controller, .. }) => Some(*controller),
            _ => None,
        };
        let mut state = State::new(checker);
        let controllers = schedule.settings.suite.controllers();
        state.places = controllers.iter().map(|controller| (*controller, Place::default())).collect();
        Self(Arc::new(Shared {
            api: ApiServer::new(kinds, schedule.seed, kraken_runtime::clock::now),
            settings: schedule.settings.clone(),
            electing: schedule.steps.iter().filter_map(has_second).collect::<BTreeSet<_>>(),
            begin: Instant::now(),
            stop: CancellationToken::new(),
            state: Mutex::new(state),
            memory: Mutex::default(),
            world: Arc::default(),
        }))
    }

    /// The steps, then the end of all faults, then the desired state must be reached, then everything is deleted.
    async fn run_steps(&self, schedule: &Schedule) {
        let shared = self.0.clone();
        tokio::spawn(self.0.api.run_controllers(schedule.seed, move || shared.collected()));
        self.0.cloud_at(&Place::default());
        self.install();
        for &controller in self.0.settings.suite.controllers() {
            self.0.state.lock().replicas.insert((controller, 0));
            self.0.start(controller, 0);
        }
        let mut steps: Vec<_> = schedule.steps.iter().collect();
        steps.sort_by_key(|step| step.at);
        for step in steps {
            tokio::time::sleep_until(self.0.begin + step.at).await;
            match &step.action {
                Action::Operation(operation) => self.operate(operation),
                Action::Fault(fault) => self.fail(fault),
            }
        }
        self.phase(FAULTS_END);
        self.end_faults();
        self.settle(self.least_calm(schedule)).await;
        self.check(checker::Checker::settled);
        self.restart_all().await;
        let teardown = {
            let mut state = self.0.state.lock();
            state.check(&self.0, |checker, view, _| checker.teardown(view))
        };
        if !teardown.is_empty() {
            self.phase("all is deleted");
            for operation in &teardown {
                self.operate(operation);
            }
        }
        // If all was deleted before, with its namespace for example, something may be left all the same.
        if !teardown.is_empty() || self.is_pending() {
            self.settle(Duration::ZERO).await;
        }
        self.check(checker::Checker::emptied);
    }

    /// How long the slowest observation of what users did takes.
    fn least_calm(&self, schedule: &Schedule) -> Duration {
        let settings = &self.0.settings;
        let mut least = CALM;
        // Only a sweep finds an object that a restored backup does not name.
        let is_restore = |step: &Step| {
            let restores = |operation: &Operation| {
                matches!(operation, Operation::Restore | Operation::RestoreManifests { .. })
            };
            matches!(&step.action, Action::Operation(operation) if restores(operation))
        };
        if schedule.steps.iter().any(is_restore) {
            least = least.max(settings.swept_after() + Duration::from_secs(10));
        }
        // Only a deep resync reads some attributes.
        let is_change = |step: &Step| {
            matches!(
                &step.action,
                Action::Operation(Operation::TamperRemote { tamper: Tamper::Change { .. }, .. })
                    | Action::Fault(Fault::Contend { tamper: Tamper::Change { .. }, .. })
            )
        };
        if schedule.steps.iter().any(is_change) {
            least = least.max(settings.deeply_observed_after() + Duration::from_secs(10));
        }
        least
    }

    /// Replaces every process by one without a memory, and waits until these have observed everything.
    async fn restart_all(&self) {
        self.phase(RESTARTS);
        for &controller in self.0.settings.suite.controllers() {
            self.restart(controller, self.place(controller));
        }
        self.settle(self.0.settings.swept_after()).await;
    }

    /// Waits until the desired state is reached and nothing has been written for longer than it takes until every change is
    /// observed, and at least for this time.
    async fn settle(&self, least: Duration) {
        let quiet = least.max(self.0.settings.observed_after() + Duration::from_secs(10));
        let limit = Instant::now() + CONVERGENCE;
        let begin = Instant::now();
        let mut pause = Duration::from_secs(1);
        while Instant::now() < limit {
            tokio::time::sleep(pause).await;
            let mut state = self.0.state.lock();
            if state.last_write.max(begin).elapsed() < quiet {
                continue;
            }
            if state.check(&self.0, |checker, view, _| checker.pending(view)).is_empty() {
                return;
            }
            // It is at rest and not settled, and may remain so until the limit.
            pause = Duration::from_secs(10);
        }
    }

    /// Whether the desired state is not reached yet.
    fn is_pending(&self) -> bool {
        let mut state = self.0.state.lock();
        !state.check(&self.0, |checker, view, _| checker.pending(view)).is_empty()
    }

    fn check(&self, inspect: impl FnOnce(&mut dyn Checker, &View<'_>) -> Vec<Violation>) {
        let mut state = self.0.state.lock();
        let found = state.check(&self.0, |checker, view, _| inspect(checker, view));
        self.0.add(&mut state, found);
    }

    fn phase(&self, text: &str) {
        self.0.note(EventKind::Phase(text.to_owned()));
    }

    fn report(&self) -> Report {
        let mut state = self.0.state.lock();
        let mut report = Report {
            trace: std::mem::take(&mut state.trace),
            violations: std::mem::take(&mut state.violations),
            statistics: state.statistics,
            reached_mutants: kraken_mutants::take_reached(),
        };
        report.statistics.time = self.0.begin.elapsed();
        report
    }

    /// Performs an operation.
    pub fn operate(&self, operation: &Operation) {
        let text = match self.carry_out(operation) {
            None => operation.to_string(),
            Some(why) => format!("{operation} ({why})"),
        };
        self.0.note(EventKind::Operation(text));
    }

    /// The cluster.
    pub fn api(&self) -> &ApiServer {
        &self.0.api
    }

    /// The cloud in which a controller works now.
    pub fn cloud(&self, controller: Controller) -> Option<Arc<Simulator>> {
        self.0.cloud(controller)
    }

    /// All clouds that were used.
    pub fn clouds(&self) -> BTreeMap<Place, Arc<Simulator>> {
        self.0.state.lock().clouds.clone()
    }

    /// Stops a controller as a rollout does, and starts it at another place.
    pub fn restart(&self, controller: Controller, place: Place) {
        self.0.state.lock().places.insert(controller, place);
        for process in self.0.processes(controller) {
            process.shutdown.cancel();
        }
    }

    /// Where a controller works.
    pub fn place(&self, controller: Controller) -> Place {
        self.0.state.lock().places.get(&controller).cloned().unwrap_or_default()
    }
}

/// The kinds of all simulations; parsing their schemas takes longer than a simulation.
fn served_kinds() -> Result<Arc<Kinds>, SchemaError> {
    static KINDS: OnceLock<Arc<Kinds>> = OnceLock::new();
    if let Some(kinds) = KINDS.get() {
        return Ok(kinds.clone());
    }
    let kinds = Kinds::new(&[kinds::definitions(), &provider_types::crds()].concat())?;
    Ok(KINDS.get_or_init(|| kinds).clone())
}

fn failed(message: String) -> Report {
    let violation = Violation { at: Duration::ZERO, invariant: "the simulation runs".to_owned(), message };
    Report { violations: vec![violation], ..Report::default() }
}
