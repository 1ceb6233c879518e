//! One reconcile of one resource: the input and the results of its steps.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use kraken_api::Lifecycle;
use kraken_options::Values;
use kraken_runtime::{
    clock,
    mutants::{self, Mutant},
    queue::Requeue,
    watch::ObjectKey,
    work::Slot,
};
use kube::{Resource, ResourceExt};

use crate::{
    Identity,
    context::Context,
    dynamic::Object,
    model::{
        in_place::Inputs,
        intent::{Clock, Intent},
        memory::{LaunchSearch, Memory, RECHECK},
        observation::Target,
        outcome::Outcome,
        recorded::RecordedState,
        status::ReconcileFacts,
        unrecorded,
    },
};

/// How soon a Secret without a required key is read again if the hub may not have read it so.
const READ_AGAIN: Duration = Duration::from_secs(30);

/// What was seen of the remote objects of a resource whose spec cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Which of them exist.
    Known,
    /// Some were not returned, and may exist nevertheless.
    Unconfirmed,
}

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

    /// What is recorded of the remote objects, `intent` being the last launch.
    pub(crate) fn recorded(&self, intent: Option<&Intent>, clock: Clock) -> RecordedState {
        RecordedState::of(&self.object, self.memory, intent, clock, self.context.began())
    }

    /// The time until what a former process did is visible, if it can have known the resource and need not be visible yet.
    pub(crate) fn left_of_predecessor(&self, clock: Clock) -> Option<Duration> {
        unrecorded::time_left(&*self.object, self.context.predecessor_ended_at(), clock)
    }

    /// Whether an observation by id can miss objects, so that one by tag is needed, too.
    pub(crate) fn needs_search(
        &self,
        intent: Option<&Intent>,
        recorded: &RecordedState,
        clock: Clock,
    ) -> bool {
        let unknown = self.unknown_launch(intent, recorded, clock);
        recorded.needs_search() || self.memory.needs_launch_search(unknown)
    }

    /// When the resource is reconciled again after this outcome: before its resync if an observation can show more until then. A
    /// resource that waits for an event only is observed at its resync nevertheless, if it has remote objects.
    pub(crate) fn before_resync(
        &self,
        outcome: &Outcome,
        resync: Requeue,
        interval: Option<Duration>,
    ) -> Requeue {
        let resync = match (self.presence, resync, interval) {
            (Some(Presence::Unconfirmed), ..) => return Requeue::Soon(RECHECK),
            (Some(Presence::Known), Requeue::Never, Some(interval)) => Requeue::Tick(interval),
            (_, resync, _) => resync,
        };
        // An object of a launch that is not on record may exist besides those that are in place.
        if outcome.is_at_rest() && matches!(self.memory.launch.search, LaunchSearch::Missing(..)) {
            return Requeue::Soon(RECHECK);
        }
        if matches!(outcome, Outcome::Waiting(_) | Outcome::Invalid(_)) && self.is_ahead_of_hub {
            return Requeue::After(READ_AGAIN);
        }
        if !matches!(outcome, Outcome::InPlace) || self.context.info().looks_up {
            return resync;
        }
        let predecessor_ended_at = self.context.predecessor_ended_at();
        unrecorded::before_resync(&*self.object, predecessor_ended_at, self.began, self.clock(), resync)
    }

    /// The epoch of the last launch if its result is not on record, or 0 if nothing is on record and a former process may have made
    /// a launch nevertheless. `None` within the visibility window, when it is waited for in any case.
    pub(crate) fn unknown_launch(
        &self,
        intent: Option<&Intent>,
        recorded: &RecordedState,
        clock: Clock,
    ) -> Option<i64> {
        // The journal knows: see `DynKind::fate`.
        if self.context.info().journaled {
            return None;
        }
        if let Some(intent) = intent {
            let is_unknown = intent.epoch > recorded.epoch && !self.memory.is_refused(intent);
            return (is_unknown && !intent.may_be_invisible(clock)).then_some(intent.epoch);
        }
        let predecessor_ended_at = self.context.predecessor_ended_at();
        let is_unrecorded = recorded.epoch == 0
            && recorded.proven().is_empty()
            && unrecorded::is_possible(&*self.object, predecessor_ended_at)
            && !clock.is_within_window(predecessor_ended_at)
            && !mutants::active(Mutant::NewWhateverAge);
        is_unrecorded.then_some(0)
    }
}
