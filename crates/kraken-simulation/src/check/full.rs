//! All checks, as the checker of a simulation.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kraken_runtime::coverage::{self, Reached};
use kraken_runtime::mutants::{self, Asked, Mutant};
use kraken_simulator::hook::{Answer, Call};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use super::{Caller, Checks, Class, Cloud, PLACE, logs, ready_of};
use crate::engine::{self, Checker, Event, FAULTS_END, Place, View, Violation, What};
use crate::oracle::Oracle;
use crate::schedule::{
    Action, Controller, Fault, ObjectName, Operation, Propagation, Remote, Schedule, Settings, Side, Tamper,
};

/// The time for which a fault may have effects after its end: by then every watch is reconnected and every retry was
/// made.
const AFTERMATH: Duration = Duration::from_mins(1);

thread_local! {
    /// Must be dropped on the thread that created it.
    static READING: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
}

/// Everything that must hold.
#[derive(Debug)]
pub struct FullCheck {
    checks: Option<Checks>,
    /// The state for the checks.
    now: Arc<Mutex<Now>>,
    settings: Settings,
    /// The seeded bug of this run, if it has one.
    mutant: Option<Mutant>,
    /// The duration of each fault of the schedule, by its text in the trace; none of one that fails nothing.
    faults: Vec<(String, Option<Duration>)>,
    /// Objects that were created out of band.
    remotes: Vec<String>,
    leaks: logs::Leaks,
    reached: Arc<Mutex<Reached>>,
    asked: Arc<Mutex<Asked>>,
    /// Whether all is being deleted.
    is_ending: bool,
    /// The pending objects at a revision of the cluster.
    pending: (u64, Vec<String>),
    told: usize,
}

#[derive(Debug)]
struct Now {
    objects: Arc<[Arc<Value>]>,
    cloud: Arc<Cloud>,
}

impl Default for Now {
    fn default() -> Self {
        Self { objects: Arc::new([]), cloud: Arc::default() }
    }
}

impl FullCheck {
    /// Of one run of a schedule.
    pub fn new(schedule: &Schedule) -> Self {
        let faults = schedule.steps.iter().filter_map(|step| match &step.action {
            Action::Fault(fault) => Some((fault.to_string(), lasts(fault))),
            Action::Operation(_) => None,
        });
        let remotes = schedule.steps.iter().filter_map(|step| match &step.action {
            Action::Operation(Operation::CreateRemote { name, .. }) => Some(name.clone()),
            _ => None,
        });
        Self {
            checks: None,
            now: Arc::default(),
            settings: schedule.settings.clone(),
            mutant: None,
            faults: faults.collect(),
            remotes: remotes.collect(),
            leaks: logs::Leaks::default(),
            reached: Arc::default(),
            asked: Arc::default(),
            is_ending: false,
            pending: (0, vec![]),
            told: 0,
        }
    }

    /// The same with a seeded bug in the controllers. Without effect in a build that has none.
    #[must_use]
    pub fn with(mut self, mutant: Mutant) -> Self {
        self.mutant = Some(mutant);
        self
    }

    /// The coverage of the controllers after the run.
    pub fn reached(&self) -> Arc<Mutex<Reached>> {
        self.reached.clone()
    }

    /// The places of seeded bugs that the controllers will have passed when the run is over.
    pub fn asked(&self) -> Arc<Mutex<Asked>> {
        self.asked.clone()
    }

    /// The last observed objects of the cluster, as JSON.
    pub fn objects(&self) -> impl Fn() -> String + 'static {
        let now = self.now.clone();
        move || {
            now.lock().objects.iter().fold(String::new(), |text, object| text + &object.to_string() + "\n")
        }
    }

    /// Updates the state for the checks.
    fn look(&mut self, view: &View<'_>, with_cloud: bool) {
        let mut now = self.now.lock();
        now.objects = view.api.all_objects().into();
        if with_cloud {
            let mut cloud = Cloud::default();
            for (place, simulator) in view.clouds {
                cloud.add(simulator, &suffix(place));
            }
            now.cloud = Arc::new(cloud);
        }
    }

    /// The checks; at first the thread is set up for them.
    fn checks(&mut self) -> &mut Checks {
        let Self { checks, now, settings, mutant, leaks, .. } = self;
        checks.get_or_insert_with(|| {
            mutants::select(*mutant);
            mutants::take_asked();
            coverage::begin();
            let (found, guard) = logs::read();
            *leaks = found;
            READING.set(Some(guard));
            let (objects, cloud) = (now.clone(), now.clone());
            let view = super::View {
                objects: Box::new(move || objects.lock().objects.clone()),
                cloud: Box::new(move || cloud.lock().cloud.clone()),
            };
            Checks::new(view, settings)
        })
    }

    /// The new violations.
    fn found(&mut self, at: Duration) -> Vec<Violation> {
        let leaks = std::mem::take(&mut *self.leaks.lock());
        let checks = self.checks();
        for leak in leaks {
            checks.text(at, "a log line", &leak);
        }
        let found: Vec<Violation> = checks.violations().iter().map(as_of_world).collect();
        let new = found.get(self.told..).unwrap_or_default().to_vec();
        self.told = found.len();
        new
    }
}

impl Drop for FullCheck {
    fn drop(&mut self) {
        if self.checks.is_some() {
            *self.reached.lock() = coverage::take();
            *self.asked.lock() = mutants::take_asked();
            READING.set(None);
            mutants::select(None);
        }
    }
}

fn as_of_world(violation: &super::Violation) -> Violation {
    Violation {
        at: violation.at,
        invariant: format!("{:?}", violation.class),
        message: violation.message.clone(),
    }
}

/// What ids end with that are not at the usual place.
fn suffix(place: &Place) -> String {
    if *place == Place::default() {
        String::new()
    } else {
        format!("{PLACE}{}/{}", place.account, place.region)
    }
}

/// How long a fault lasts; none if nothing fails: a second replica only waits for the lease.
fn lasts(fault: &Fault) -> Option<Duration> {
    Some(match fault {
        Fault::Replica { .. } => return None,
        Fault::Crash { down, .. } | Fault::Kill { down, .. } => *down,
        Fault::Delay { by, .. } => *by,
        Fault::DelayWatches { by, lasts, .. } => *by + *lasts,
        Fault::Suspend { lasts, .. }
        | Fault::ApiOutage { lasts, .. }
        | Fault::CloudOutage { lasts, .. }
        | Fault::Stale { lasts, .. }
        | Fault::Throttle { lasts, .. }
        | Fault::Capacity { lasts, .. }
        | Fault::PartialLaunches { lasts, .. }
        | Fault::Hide { lasts, .. } => *lasts,
        Fault::Lose { .. }
        | Fault::Refuse { .. }
        | Fault::Fail { .. }
        | Fault::CutWatches { .. }
        | Fault::Compact => Duration::ZERO,
    })
}

fn caller(caller: &engine::Caller) -> Caller {
    let process = caller.process;
    Caller {
        controller: process.controller,
        incarnation: u64::from(process.replica) << 32 | u64::from(process.incarnation),
        identity: caller.identity.clone(),
        location: caller.place.as_ref().map(|place| (place.account.clone(), place.region.clone())),
        place: caller.place.as_ref().map(suffix).unwrap_or_default(),
    }
}

impl Checker for FullCheck {
    fn event(&mut self, view: &View<'_>, event: &Event) -> Vec<Violation> {
        let now = view.now;
        match &event.what {
            What::Operation(text) => {
                self.look(view, true);
                // A restored backup and a deleted namespace have subsequent effects too.
                let lasts = if text.contains("backup") || text.contains("namespace") {
                    AFTERMATH
                } else {
                    Duration::ZERO
                };
                let checks = self.checks();
                // What it changes is judged by what was the case until now.
                checks.outside(now);
                checks.fails(now, now + lasts);
            }
            What::Fault(text) => {
                let same = self.faults.iter().filter(|(words, _)| words == text);
                let lasts = same.filter_map(|(_, lasts)| *lasts).max();
                let checks = self.checks();
                if let Some(lasts) = lasts {
                    checks.fails(now, now + lasts + AFTERMATH);
                }
            }
            What::Call(call) => {
                let until = now + AFTERMATH;
                let is_struck = call.struck.is_some();
                let checks = self.checks();
                if is_struck {
                    checks.fails(now, until);
                }
            }
            What::Phase(text) if text == FAULTS_END => self.checks().heals(now, now + AFTERMATH),
            What::Process(_) | What::Phase(_) => {
                self.checks();
            }
        }
        self.found(now)
    }

    fn called(
        &mut self,
        view: &View<'_>,
        by: &engine::Caller,
        side: Side,
        call: &Call,
        answer: &Answer,
    ) -> Vec<Violation> {
        let by = caller(by);
        match side {
            Side::Kube => {
                if call.writes {
                    let may_release = call.body.windows(10).any(|part| part == b"finalizers");
                    self.look(view, may_release);
                }
                self.checks().after_api(view.now, &by, call, answer);
            }
            Side::Cloud => {
                if call.writes {
                    self.look(view, true);
                }
                self.checks().after_cloud(view.now, &by, call, answer);
            }
        }
        self.found(view.now)
    }

    fn pending(&mut self, view: &View<'_>) -> Vec<String> {
        let revision = view.api.revision();
        if self.is_ending {
            self.look(view, true);
            return self.checks().left();
        }
        // It depends only on objects, and is called every second.
        if self.pending.0 != revision {
            self.look(view, false);
            let objects = self.now.lock().objects.clone();
            let mut pending = self.checks().unsettled();
            let oracle = Oracle::of(&objects);
            pending.extend(objects.iter().flat_map(|object| oracle.wrong(object)));
            self.pending = (revision, pending);
        }
        self.pending.1.clone()
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.look(view, true);
        let quiet = view.settings.resync_interval;
        let checks = self.checks();
        metrics(checks, view);
        checks.converged(view.now);
        checks.rested(view.now, quiet);
        self.found(view.now)
    }

    fn teardown(&mut self, view: &View<'_>) -> Vec<Operation> {
        self.is_ending = true;
        let mut operations = teardown(view);
        // Objects that were created out of band, the newest first.
        operations.extend(self.remotes.iter().rev().map(|name| Operation::TamperRemote {
            remote: Remote::Named(name.clone()),
            tamper: Tamper::Delete,
        }));
        operations
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        self.look(view, true);
        metrics(self.checks(), view);
        self.checks().emptied(view.now);
        self.found(view.now)
    }
}

/// Everything that the processes have counted is searched for Secret values: nothing is ever taken out of metrics again.
fn metrics(checks: &mut Checks, view: &View<'_>) {
    for (process, metrics) in view.metrics {
        let place = format!("a metric of {process}");
        metrics.encode().lines().for_each(|line| checks.text(view.now, &place, line));
    }
}

/// Lifts what forbids deletion, and deletes everything.
fn teardown(view: &View<'_>) -> Vec<Operation> {
    let mut operations = vec![];
    let usual = Place::default();
    for (controller, place) in view.places {
        if controller.is_spoke() && *place != usual {
            operations.push(Operation::Restart {
                controller: *controller,
                region: Some(usual.region.clone()),
                account: Some(usual.account.clone()),
            });
        }
    }
    let objects = view.api.all_objects();
    let ours = objects.iter().filter(|object| {
        let kind = object["kind"].as_str().unwrap_or_default();
        Controller::of(kind).is_spoke() || kind == "ConfigExport"
    });
    let mut deletions = vec![];
    operations.extend(accounts(&objects));
    for object in ours {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meta = &object["metadata"];
        let name = ObjectName::new(&text(&meta["namespace"]), &text(&object["kind"]), &text(&meta["name"]));
        let edit = |path: &str, value: Option<Value>| Operation::Edit {
            object: name.clone(),
            path: path.to_owned(),
            value,
        };
        let lifecycle = &object["spec"]["lifecycle"];
        for (member, usual) in [
            ("paused", json!(false)),
            ("protect", json!(false)),
            ("approval", json!("Automatic")),
            ("deletion", json!("Delete")),
        ] {
            let is_adopting = member == "deletion" && lifecycle["adopt"].is_object();
            if is_adopting || (!lifecycle[member].is_null() && lifecycle[member] != usual) {
                operations.push(edit(&format!("/spec/lifecycle/{member}"), Some(usual)));
            }
        }
        if object["kind"] == "LoadBalancer" {
            operations.push(edit("/spec/lifecycle/ignoreChanges", None));
            operations.push(edit("/spec/deletionProtection", Some(json!({"value": false}))));
        }
        deletions.push(Operation::Delete { object: name, propagation: Propagation::Background });
    }
    operations.extend(deletions);
    operations
}

/// Restores the Accounts that resources name, without restrictions: without them nothing is deleted.
fn accounts(objects: &[Arc<Value>]) -> Vec<Operation> {
    let named = objects.iter().filter_map(|object| {
        let name = object["spec"]["account"]["name"].as_str()?;
        Some((object["metadata"]["namespace"].as_str()?.to_owned(), name.to_owned()))
    });
    let known = objects.iter().filter(|object| object["kind"] == "Account").filter_map(|account| {
        let text = |field: &str| account["metadata"][field].as_str().map(ToOwned::to_owned);
        Some((text("namespace")?, text("name")?))
    });
    let all: BTreeSet<(String, String)> = named.chain(known).collect();
    let mut operations = vec![];
    for (namespace, name) in all {
        let object = json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Account",
            "metadata": {"name": name, "namespace": namespace}, "spec": {},
        });
        operations.push(Operation::Apply { object });
        let account = ObjectName::new(&namespace, "Account", &name);
        for field in ["allowedAccountIDs", "credentials", "defaultTags", "allow"] {
            let path = format!("/spec/{field}");
            operations.push(Operation::Edit { object: account.clone(), path, value: None });
        }
    }
    operations
}

/// Whether a resource is where its controller does not work.
pub(super) fn is_elsewhere(object: &Value) -> bool {
    ready_of(object)["reason"] == "LocationMismatch"
}

/// The class of a violation that a simulation reports.
pub fn class_of(violation: &Violation) -> Option<Class> {
    serde_json::from_value(json!(lower(&violation.invariant))).ok()
}

fn lower(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
