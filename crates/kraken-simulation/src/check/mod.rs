//! The invariants after every call and at the end, with any faults.
//!
//! A call is checked against the versions that its controller can have known: [`history`] keeps every version of every
//! object, and determines which of them a process can still be acting on. A call is a violation only if each of these
//! versions forbids it.

mod adoptions;
mod answers;
mod call;
mod cluster;
mod counts;
mod end;
mod finding;
mod full;
mod given;
mod grants;
mod hand_over;
mod history;
mod judge;
mod left;
mod logs;
mod losses;
mod order;
mod permission;
mod places;
mod policy;
mod readable;
mod remote;
mod resources;
mod restarted;
mod restored;
mod subjects;
mod targets;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kraken_simulator::hook::{Answer, Call};
use kraken_testing::canary::Canary;
use serde_json::Value;

pub(crate) use call::{subjects, values};
pub use cluster::FORGED;
pub use finding::{Class, Finding};
pub use full::{FullCheck, class_of};
pub(crate) use grants::permits;
pub use history::CallingProcess;
pub use kraken_testing::canary::MARKER;
pub use remote::{PLACE, RemoteObject, RemoteObjects};
pub(crate) use remote::{UID, remote_kind};

use crate::schedule::{Controller, ObjectName, Settings};
use history::{History, SLACK};

/// The maximum number of recorded violations: further ones are usually consequences.
const KEPT: usize = 20;

/// The Ready condition of an object.
pub(crate) fn ready_of(object: &Value) -> &Value {
    policy::ready(object)
}

/// The state for the checks.
pub struct LiveState {
    /// Every object that the API server has.
    pub objects: Box<dyn Fn() -> Arc<[Arc<Value>]> + Send>,
    /// The cloud as it really is.
    pub cloud: Box<dyn Fn() -> Arc<RemoteObjects> + Send>,
}

impl fmt::Debug for LiveState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LiveState")
    }
}

/// All checks of one simulation.
#[derive(Debug)]
pub struct Checks {
    view: LiveState,
    /// Whether controllers delete orphans.
    removes_orphans: bool,
    /// From how many losses at once nothing is recreated without a confirmation.
    vanished_minimum: usize,
    history: History,
    /// The cloud after the last observed change.
    cloud: Arc<RemoteObjects>,
    /// The resource whose launch created a remote object.
    launched: BTreeMap<String, String>,
    /// The time of out-of-band creations and tag changes of remote objects.
    tampered: BTreeMap<String, Duration>,
    /// The objects to which users gave the owner tags of another resource.
    given: given::Given,
    /// The time after which responses contain changed tags.
    tag_lag: Duration,
    /// How long a replaced object is kept for its dependents.
    replace_timeout: Duration,
    /// Where the last process of each controller that wrote to the cluster works.
    working_at: BTreeMap<Controller, String>,
    /// The objects that a controller released.
    released: BTreeSet<String>,
    /// The last adoption of a remote object.
    adopted: BTreeMap<String, adoptions::Adoption>,
    /// The UID and the epoch of the launch that used an idempotency token first.
    tokens: BTreeMap<String, (String, Option<i64>)>,
    /// The published plans, by UID and hash.
    plans: BTreeMap<(String, String), Value>,
    /// The UIDs of which a deletion was begun.
    deleting: BTreeSet<String>,
    /// The last out-of-band deletion of each resource's objects, by UID.
    losses: BTreeMap<String, losses::Loss>,
    /// The UID of each remote object that was deleted out of band, and when.
    lost: BTreeMap<String, (String, Duration)>,
    /// When users restored what from manifests last.
    restores: BTreeMap<ObjectName, Duration>,
    /// The targets of exports that the hub deleted last.
    deleted_targets: BTreeMap<String, Duration>,
    /// Since when nothing fails, if nothing does.
    calm: Option<Duration>,
    /// Until when something fails.
    disturbed_until: Duration,
    /// The same without the subsequent effects of users' operations.
    faults_until: Duration,
    rest: end::Rest,
    /// The UIDs of resources that must be in place for a controller without a memory, too.
    in_place: BTreeSet<String>,
    /// When all controllers restarted, after everything had settled.
    restarted_at: Option<Duration>,
    canary: Canary,
    violations: Vec<Finding>,
}

impl Checks {
    /// Of controllers with these settings.
    pub fn new(view: LiveState, settings: &Settings) -> Self {
        let cloud = (view.cloud)();
        Self {
            view,
            removes_orphans: settings.remove_orphans,
            vanished_minimum: usize::try_from(settings.vanished_minimum).unwrap_or(usize::MAX),
            history: History::default(),
            cloud,
            launched: BTreeMap::new(),
            tampered: BTreeMap::new(),
            given: given::Given::default(),
            tag_lag: settings.tag_lag,
            replace_timeout: settings.replace_timeout,
            working_at: BTreeMap::new(),
            released: BTreeSet::new(),
            adopted: BTreeMap::new(),
            tokens: BTreeMap::new(),
            plans: BTreeMap::new(),
            deleting: BTreeSet::new(),
            losses: BTreeMap::new(),
            lost: BTreeMap::new(),
            restores: BTreeMap::new(),
            deleted_targets: BTreeMap::new(),
            calm: Some(Duration::ZERO),
            disturbed_until: Duration::ZERO,
            faults_until: Duration::ZERO,
            rest: end::Rest::default(),
            in_place: BTreeSet::new(),
            restarted_at: None,
            canary: Canary::new(),
            violations: vec![],
        }
    }

    /// Something fails until then, as far as a controller may notice.
    pub fn extend_disturbance(&mut self, now: Duration, until: Duration) {
        self.disturbed_until = self.disturbed_until.max(until);
        self.is_at(now);
    }

    /// A fault has effects until then: a controller may act on what was the case before it.
    pub fn extend_faults(&mut self, now: Duration, until: Duration) {
        self.faults_until = self.faults_until.max(until);
        self.extend_disturbance(now, until);
    }

    /// All faults end: only their consequences remain, until then.
    pub fn end_faults(&mut self, now: Duration, until: Duration) {
        self.disturbed_until = self.disturbed_until.min(until);
        self.faults_until = self.faults_until.min(until);
        self.is_at(now);
    }

    fn is_at(&mut self, now: Duration) {
        self.calm = (self.disturbed_until <= now).then_some(self.disturbed_until);
    }

    /// To be called after each request to the API server, when it has taken effect and before anything else happens.
    pub fn after_api(&mut self, now: Duration, by: &CallingProcess, call: &Call, answer: &Answer) {
        self.is_at(now);
        self.history.began(by, now);
        if call.writes {
            self.after_write(now, by, call, answer.status);
        }
    }

    /// To be called after each call to the cloud, when it has taken effect and before anything else happens.
    pub fn after_cloud(&mut self, now: Duration, by: &CallingProcess, call: &Call, answer: &Answer) {
        self.is_at(now);
        self.history.began(by, now);
        if call.writes {
            self.rest.attempt(now, call, answer.status);
            self.check_in_place(now, by, call);
            self.check_leader(now, by, call);
            self.judge(now, by, call, answer.status);
        }
    }

    /// Must be called after each change by Kubernetes' own controllers: an object that they deleted is gone since then, and
    /// not since the next call of another.
    pub fn after_collection(&mut self, now: Duration) {
        self.is_at(now);
        let changes = self.observe(now);
        self.note_out_of_band(now, &changes);
    }

    /// Must be called after each change by others than controllers, in the cluster or in the cloud.
    pub fn after_out_of_band(&mut self, now: Duration) {
        self.after_collection(now);
        let cloud = (self.view.cloud)();
        self.note_losses(now, &cloud);
        for (id, remote) in &cloud.0 {
            let before = self.cloud.0.get(id);
            if before.is_none_or(|before| before.tags != remote.tags) {
                self.tampered.insert(id.clone(), now);
            }
        }
        self.note_given(now, &cloud);
        self.cloud = cloud;
    }

    /// A public text: a log line, a metric.
    pub fn text(&mut self, now: Duration, place: &str, text: &str) {
        if let Some(form) = self.canary.found(text) {
            self.violated(now, Class::Secret, format!("{place} has a Secret's value {form}: {text}"));
        }
    }

    /// A controller ended unexpectedly.
    pub fn panicked(&mut self, now: Duration, what: &str) {
        self.violated(now, Class::Panicked, what.to_owned());
    }

    /// The violations so far.
    pub fn violations(&self) -> &[Finding] {
        &self.violations
    }

    fn violated(&mut self, at: Duration, class: Class, message: String) {
        let is_known = self.violations.iter().any(|known| known.class == class && known.message == message);
        if self.violations.len() < KEPT && !is_known {
            self.violations.push(Finding { class, message, at });
        }
    }
}

#[cfg(test)]
mod tests;
