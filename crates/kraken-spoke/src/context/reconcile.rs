//! One reconcile of one resource: the input and the results of its steps.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use kraken_api::Lifecycle;
use kraken_kind::{
    Failure, Identity,
    dynamic::{Object, Observed},
};
use kraken_model::{
    in_place::Inputs,
    ledger::{Clock, Ledger},
    memory::{LaunchSearch, Memory},
    observation::Target,
    outcome::{Circumstances, InARow, Presence},
    recorded::RecordedState,
    status::ReconcileFacts,
    unrecorded,
};
use kraken_options::Values;
use kraken_runtime::{clock, watch::ObjectKey, work::Slot};
use kube::{Resource, ResourceExt};

use crate::context::Context;

/// One reconcile: what every step reads and writes.
pub(crate) struct Reconcile<'a> {
    /// The context; the connect step replaces it by that of the resource's account.
    pub context: Arc<Context>,
    /// The newest known copy of the resource; the restore step replaces it by the restored one.
    pub object: Arc<Object>,
    /// The owner of the resource's remote objects.
    pub identity: Identity,
    /// The in-memory record of the resource.
    pub memory: &'a mut Memory,
    /// Its slot in the lane, which the reconcile releases while it waits for a batched read.
    pub slot: &'a mut Slot,
    /// What the status reports in addition to the outcome.
    pub facts: ReconcileFacts,
    /// Whether the connect step has succeeded.
    pub is_connected: bool,
    /// Whether a missing key of a Secret may be one that the hub has not read as missing.
    pub is_ahead_of_hub: bool,
    /// What was seen of remote objects whose spec cannot be applied.
    pub presence: Option<Presence>,
    /// The time from before its observation.
    began: Timestamp,
}

impl<'a> Reconcile<'a> {
    pub(crate) fn new(
        context: Arc<Context>,
        object: Arc<Object>,
        memory: &'a mut Memory,
        slot: &'a mut Slot,
    ) -> Self {
        let identity = context.identity(&ObjectKey::of(object.meta()), object.uid().unwrap_or_default());
        let facts = ReconcileFacts { uid: identity.uid.clone(), ..ReconcileFacts::default() };
        let began = clock::now();
        Self {
            context,
            object,
            identity,
            memory,
            slot,
            facts,
            is_connected: false,
            is_ahead_of_hub: false,
            presence: None,
            began,
        }
    }

    /// The lifecycle options of the resource.
    pub(crate) fn lifecycle(&self) -> &Lifecycle {
        self.object.lifecycle()
    }

    /// Whether the resource is being deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        self.object.meta().deletion_timestamp.is_some()
    }

    /// The key of the resource.
    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::of(self.object.meta())
    }

    /// The digests of the inputs of the desired state: of the values of references, and of what the account adds to the spec.
    pub(crate) fn inputs(&self, values: &Values) -> Inputs {
        let added = self.context.rules.as_ref().map_or("", |rules| rules.digest());
        Inputs::of(&self.identity.uid, values, added)
    }

    /// Remembers what must not be shown of a target.
    pub(crate) fn remember_secrets(&mut self, target: &Target) {
        self.memory.secrets.fields.clone_from(&target.secret_fields.all);
        self.memory.secrets.texts = target.secrecy.secrets().to_vec();
    }

    /// The reference for the age of a launch.
    pub(crate) fn clock(&self) -> Clock {
        self.memory.clock(self.context.visibility_window)
    }

    /// What is recorded of the remote objects, `ledger` being the last launch.
    pub(crate) fn recorded(&self, ledger: Option<&Ledger>, clock: Clock) -> RecordedState {
        RecordedState::of(&self.object, self.memory, ledger, clock, self.context.began())
    }

    /// Observes the recorded remote objects by id and, if `search` is set, also by tag. The slot is released meanwhile.
    ///
    /// # Errors
    /// The failure of the call.
    pub(crate) async fn observe(
        &mut self,
        recorded: &RecordedState,
        search: bool,
        deep: bool,
    ) -> Result<Observed, Failure> {
        let request = recorded.request(&self.identity, search, deep);
        let observed = self.context.observe(self.slot.lane(), request);
        self.slot.release_while(observed).await
    }

    /// The time from which on a person can know what the last launch created. Without a ledger, a former resource of the name made it.
    pub(crate) fn launched_at(&self, ledger: Option<&Ledger>) -> Option<Timestamp> {
        let created = self.object.meta().creation_timestamp.as_ref().map(|created| created.0);
        ledger.map(|ledger| ledger.at).or(created)
    }

    /// The time until what a former process did is visible, if it can have known the resource and need not be visible yet.
    pub(crate) fn left_of_predecessor(&self, clock: Clock) -> Option<Duration> {
        unrecorded::time_left(&*self.object, self.context.predecessor_ended_at(), clock)
    }

    /// Whether an observation by id can miss objects, so that one by tag is needed, too.
    pub(crate) fn needs_search(
        &self,
        ledger: Option<&Ledger>,
        recorded: &RecordedState,
        clock: Clock,
    ) -> bool {
        let unknown = self.unknown_launch(ledger, recorded, clock);
        recorded.needs_search() || self.memory.needs_launch_search(unknown)
    }

    /// What the next reconcile depends on besides the outcome of this one.
    pub(crate) fn circumstances(&self, in_a_row: InARow) -> Circumstances {
        let context = &self.context;
        let hidden_change = || {
            let ended = context.predecessor_ended_at();
            unrecorded::hidden_change(&*self.object, ended, self.began, self.clock())
        };
        Circumstances {
            resync: match self.lifecycle().resync_interval.as_ref().map(kraken_api::Interval::duration) {
                Some(Ok(own)) => own,
                // An invalid interval is reported as a problem of the spec.
                Some(Err(_)) | None => context.manager.args.resync(),
            },
            in_a_row,
            next_search: self.memory.tag_search.unrecorded.left(),
            presence: self.presence,
            is_launch_hidden: matches!(self.memory.launch.search, LaunchSearch::Missing(..)),
            is_ahead_of_hub: self.is_ahead_of_hub,
            hidden_change: if context.info().looks_up { None } else { hidden_change() },
        }
    }

    /// The epoch of the last launch if its result is not on record, or 0 if nothing is on record and a former process may have made
    /// a launch nevertheless. `None` within the visibility window, when it is waited for in any case.
    pub(crate) fn unknown_launch(
        &self,
        ledger: Option<&Ledger>,
        recorded: &RecordedState,
        clock: Clock,
    ) -> Option<i64> {
        // The journal knows: see `Observed::fate`.
        if self.context.info().journaled {
            return None;
        }
        if let Some(ledger) = ledger {
            let is_unknown = ledger.epoch > recorded.epoch && !self.memory.is_refused(ledger);
            return (is_unknown && !clock.may_hide(ledger)).then_some(ledger.epoch);
        }
        let predecessor_ended_at = self.context.predecessor_ended_at();
        let is_unrecorded = recorded.epoch == 0
            && recorded.proven().is_empty()
            && unrecorded::is_possible(&*self.object, predecessor_ended_at)
            && !clock.is_within_window(predecessor_ended_at);
        is_unrecorded.then_some(0)
    }
}
