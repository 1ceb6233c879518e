//! The state that the server's thread and the test share.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

use super::answer::Answer;
use super::cloud::Cloud;
use super::dispatch::carry_out;
use super::failure::{FailureMode, FailurePoint};
use super::form::Form;
use super::journal::{Call, CallDecision, Outcome, Phase};
use super::model::Instance as Stored;
use super::options::SimulatorOptions;
use super::public::public;
use super::record::{Instance, InstanceRecord};
use super::refusal::Refusal;
use super::script::Script;
use super::store::CloudObject as _;
use super::throttle::Throttle;
use super::touched::Touched;

type Hook = Arc<dyn Fn(Phase, &Call) -> CallDecision + Send + Sync>;

pub(super) struct Shared {
    state: Mutex<State>,
    /// Separate from the state, because a hook uses the state.
    hook: Mutex<Option<Hook>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) cloud: Cloud,
    pub(super) journal: Vec<Call>,
    pub(super) script: Script,
    /// The names, descriptions and tags in calls over HTTP or in the process.
    pub(super) public: BTreeSet<String>,
    throttle: Throttle,
    arrived: u64,
}

impl Shared {
    pub(super) fn new(options: SimulatorOptions) -> Self {
        let state = State {
            cloud: Cloud::new(options),
            journal: vec![],
            script: Script::default(),
            public: BTreeSet::new(),
            throttle: Throttle::default(),
            arrived: 0,
        };
        Self { state: Mutex::new(state), hook: Mutex::new(None) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_hook(&self, hook: Option<Hook>) {
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = hook;
    }

    /// Whether the call continues.
    pub(super) fn proceeds(&self, phase: Phase, call: &Call) -> bool {
        let hook = self.hook.lock().unwrap_or_else(PoisonError::into_inner).clone();
        hook.is_none_or(|hook| hook(phase, call) == CallDecision::Continue)
    }
}

impl State {
    /// Records the arrival of a call; returns it with its scripted fault.
    pub(super) fn arrive(
        &mut self,
        form: &Form,
        out_of_band: bool,
    ) -> (Call, Option<(FailurePoint, FailureMode)>) {
        self.arrived += 1;
        let action = form.get("Action").unwrap_or_default();
        let fault = if out_of_band { None } else { self.script.take(action) };
        if !out_of_band {
            self.public.extend(public(form).map(str::to_owned));
        }
        (Call::arrived(self.arrived, action, form, out_of_band), fault)
    }

    /// Executes a call and records it in the journal.
    pub(super) fn carry_out(&mut self, call: &mut Call, form: &Form) -> Result<Answer, Refusal> {
        let now = Instant::now();
        self.cloud.tick(now);
        self.cloud.call = call.number;
        self.cloud.touched = Touched::default();
        let limits = &self.cloud.options.limits;
        let admitted = call.out_of_band || self.throttle.admits(limits, &call.action, now);
        let result = if admitted {
            let reads = call.action.starts_with("Describe") && !call.out_of_band;
            self.cloud.seen(reads, |cloud| carry_out(cloud, &call.action, form))
        } else {
            Err(Refusal::throttled(call.service))
        };
        call.changes = self.cloud.changes();
        match &result {
            Ok(answer) => {
                call.outcome = Outcome::Done;
                call.ids.clone_from(&answer.ids);
            }
            Err(refusal) => call.outcome = Outcome::Refused(refusal.code.clone()),
        }
        self.journal.push(call.clone());
        result
    }

    /// Records a call that was not executed.
    pub(super) fn note(&mut self, call: &mut Call, outcome: Outcome) {
        call.lost = outcome == Outcome::NotReached;
        call.outcome = outcome;
        self.journal.push(call.clone());
    }

    /// Records that a call's response did not reach its caller.
    pub(super) fn note_lost(&mut self, number: u64) {
        if let Some(call) = self.journal.iter_mut().rev().find(|call| call.number == number) {
            call.lost = true;
        }
    }

    pub(super) fn records(&mut self, now: Instant) -> Vec<InstanceRecord> {
        self.cloud.tick(now);
        let cloud = &self.cloud;
        let record = |one: &Stored| {
            let object = Stored::object(one.number);
            InstanceRecord {
                instance: Instance {
                    id: one.id.clone(),
                    state: one.state(now).name().to_owned(),
                    instance_type: one.settings.instance_type.clone(),
                    image_id: one.settings.image.clone(),
                    subnet_id: one.settings.subnet.clone(),
                    tags: cloud.registry.latest_tags(object),
                },
                token: one.token.clone(),
                launched_by: cloud.registry.entry(object).map_or(0, |entry| entry.made_by),
                ended_by: one.ended_by,
                protected: one.settings.protected,
                vanished: !cloud.registry.is_present(object),
            }
        };
        cloud.store.instances.values().map(record).collect()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}
