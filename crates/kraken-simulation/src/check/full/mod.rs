//! All checks, as the checker of a simulation.

mod checker;
mod durations;
mod teardown;
mod unreported;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kraken_runtime::coverage::{self, Reached};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use super::remote::suffix;
use super::{Checks, Class, RemoteObjects, logs, ready_of};
use crate::engine::{View, Violation};
use crate::schedule::{Action, ObjectName, Operation, Schedule, Settings};

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
    /// The duration of each fault of the schedule, by its text in the trace; none of one that fails nothing.
    faults: Vec<(String, Option<Duration>)>,
    /// Objects that were created out of band.
    remotes: Vec<String>,
    /// What users restore from manifests, by the text of the operation in the trace.
    restores: BTreeMap<String, ObjectName>,
    leaks: logs::Leaks,
    reached: Arc<Mutex<Reached>>,
    /// Whether all is being deleted.
    is_ending: bool,
    /// The pending objects at a revision of the cluster.
    pending: (u64, Vec<String>),
    /// The status writes that faults failed.
    unreported: unreported::Unreported,
    reported: usize,
}

#[derive(Debug)]
struct Now {
    objects: Arc<[Arc<Value>]>,
    cloud: Arc<RemoteObjects>,
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
            Action::Fault(fault) => Some((fault.to_string(), durations::lasts(fault))),
            Action::Operation(_) => None,
        });
        let remotes = schedule.steps.iter().filter_map(|step| match &step.action {
            Action::Operation(Operation::CreateRemote { name, .. }) => Some(name.clone()),
            _ => None,
        });
        let restores = schedule.steps.iter().filter_map(|step| match &step.action {
            Action::Operation(operation @ Operation::RestoreManifests { object, .. }) => {
                Some((operation.to_string(), object.clone()))
            }
            _ => None,
        });
        Self {
            checks: None,
            now: Arc::default(),
            settings: schedule.settings.clone(),
            faults: faults.collect(),
            remotes: remotes.collect(),
            restores: restores.collect(),
            leaks: logs::Leaks::default(),
            reached: Arc::default(),
            is_ending: false,
            pending: (0, vec![]),
            unreported: unreported::Unreported::default(),
            reported: 0,
        }
    }

    /// The coverage of the controllers after the run.
    pub fn reached(&self) -> Arc<Mutex<Reached>> {
        self.reached.clone()
    }

    /// The last observed objects of the cluster, as JSON.
    pub fn objects(&self) -> impl Fn() -> String + 'static {
        let now = self.now.clone();
        move || {
            now.lock().objects.iter().fold(String::new(), |text, object| text + &object.to_string() + "\n")
        }
    }

    /// Updates the state for the checks.
    fn take_snapshot(&mut self, view: &View<'_>, with_cloud: bool) {
        let mut now = self.now.lock();
        now.objects = view.api.all_objects().into();
        if with_cloud {
            let mut cloud = RemoteObjects::default();
            for (place, simulator) in view.clouds {
                cloud.add(simulator, &suffix(place));
            }
            now.cloud = Arc::new(cloud);
        }
    }

    /// The checks; at first the thread is set up for them.
    fn checks(&mut self) -> &mut Checks {
        let Self { checks, now, settings, leaks, .. } = self;
        checks.get_or_insert_with(|| {
            coverage::begin();
            let (found, guard) = logs::read();
            *leaks = found;
            READING.set(Some(guard));
            let (objects, cloud) = (now.clone(), now.clone());
            let view = super::LiveState {
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
        let found: Vec<Violation> = checks.violations().iter().map(to_violation).collect();
        let new = found.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = found.len();
        new
    }
}

impl Drop for FullCheck {
    fn drop(&mut self) {
        if self.checks.is_some() {
            *self.reached.lock() = coverage::take();
            READING.set(None);
        }
    }
}

fn to_violation(violation: &super::Finding) -> Violation {
    Violation {
        at: violation.at,
        invariant: format!("{:?}", violation.class),
        message: violation.message.clone(),
    }
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
