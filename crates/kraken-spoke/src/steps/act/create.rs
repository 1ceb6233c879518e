//! Creates missing objects, after the ledger is persisted. Client required.

use std::sync::Arc;

use kraken_api::reasons::Reason;
use kraken_kind::{Launch, dynamic::Calls};
use kraken_model::{
    ids::{listed, union, without},
    launch_plan::{LaunchPlan, LaunchState, is_same, parameters_hash, plan_launch},
    ledger::Ledger,
    memory::Memory,
    observation::Observation,
    outcome::{Outcome, refused},
    policy::{launch_excess, launch_limit::confirmed_at, unknown_creation},
    secrecy, unrecorded,
};
use kraken_runtime::clock;
use kube::{Resource, core::object::HasStatus};

use crate::{
    actions::{
        event::publish_event,
        operate::operate,
        persist::{persist, write},
    },
    context::Reconcile,
    guarantees,
    steps::{act::launch, connect},
};

/// Creates the objects that `what` describes, unless an earlier launch may have created them. `is_drift` means that they
/// existed before.
pub(super) async fn create(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    what: &str,
    is_drift: bool,
) -> Result<Outcome, Outcome> {
    let epoch = epoch(reconcile, observation, what).await?;
    let launch = Launch { epoch, token: reconcile.identity.token(epoch) };
    guarantees::creates(reconcile, observation, &launch);
    let (identity, current) = (reconcile.identity.clone(), &observation.current);
    let (desired, before) = (observation.target.desired.clone(), current.clone());
    let call = |external: Arc<dyn Calls>| async move {
        external.create(&identity, &launch, &desired, &before).await
    };
    let created = operate(reconcile, Reason::Creating, "creating", call).await;
    let Reconcile { memory, facts, .. } = reconcile;
    let created = match created {
        Ok(created) => created,
        Err(failure) => {
            memory.answered(epoch, Err(failure.class));
            return Err(refused(failure, Reason::Creating));
        }
    };
    let ids = created.ids();
    // Objects that were found by tag count too: from now on they are observed by id. They are the resource's as long as they have
    // their owner tags, until the status names them.
    // An object that was confirmed as gone does not: the replacement would wait for the same confirmation again.
    let recorded = &observation.recorded;
    let existing = without(&recorded.ids, &observation.shown.gone);
    let all = union(union(current.ids(), &existing), &ids);
    let proven = union(recorded.proven(), &ids);
    memory.owned.found_by_tag = without(&all, &proven);
    memory.answered(epoch, Ok(all));
    facts.created.clone_from(&ids);
    let made = format!("created {}", listed(&ids));
    let (reason, note) = match current.ids().is_empty() {
        _ if is_drift => (Reason::DriftReverted, format!("{made}, because objects were missing: {what}")),
        true => (Reason::Created, made),
        false => (Reason::Scaled, format!("{made}; missing before: {what}")),
    };
    publish_event(reconcile, reason, &note).await;
    let message = format!("created {}; waiting until it is ready", listed(&ids));
    Ok(Outcome::InProgress(Reason::Creating, message))
}

/// The epoch of the launch: that of the last launch if its call must be repeated, or a new one, which is persisted first.
async fn epoch(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    what: &str,
) -> Result<i64, Outcome> {
    let hash = parameters_hash(&observation.target.desired, what);
    let (ledger, confirmed) =
        (observation.target.ledger.as_ref(), confirmed_at(&*reconcile.object, clock::now()));
    let launched_at = reconcile.launched_at(ledger);
    unknown_creation::permits(&observation.fate, launched_at, confirmed, Reason::Creating)?;
    let is_idempotent = is_idempotent(reconcile, observation, &hash);
    if !is_idempotent {
        await_unrecorded(reconcile, observation)?;
    }
    connect::before_launch(reconcile).await?;
    let plan = plan(reconcile, observation, is_idempotent, &hash);
    if !matches!(plan, LaunchPlan::Wait(_)) {
        launch_excess::permits(&*reconcile.context.kind, observation)?;
    }
    match plan {
        LaunchPlan::Wait(why) => Err(Outcome::InProgress(Reason::Creating, why.to_owned())),
        LaunchPlan::Repeat(epoch) => {
            record_call(reconcile, observation).await?;
            Ok(epoch)
        }
        // A new token would create the objects of the old one a second time.
        LaunchPlan::New(_) if !observation.is_searched => {
            reconcile.memory.launch.token_used = None;
            let message = "searching for the objects of an earlier launch".to_owned();
            Err(Outcome::InProgress(Reason::Creating, message))
        }
        LaunchPlan::New(epoch) => {
            let ledger = launch::prepared(reconcile, observation, epoch, hash).await?;
            persist(reconcile, &ledger).await.map_err(Outcome::Kubernetes)?;
            Ok(epoch)
        }
    }
}

/// Records in the ledger where the repeated call is made, if that is not on record, and what it sends because of an edit after the
/// launch was persisted: values of fields that refer to a Secret since then, and a larger number of objects. With the former number,
/// the launch would seem to be complete while some of them are not visible yet. If all of this is on record, nothing is written.
async fn record_call(reconcile: &mut Reconcile<'_>, observation: &Observation<'_>) -> Result<(), Outcome> {
    let Some(before) = &observation.target.ledger else { return Ok(()) };
    let mut ledger = before.clone();
    let fields = &observation.target.secret_fields;
    if !fields.all.is_subset(&secrecy::recorded(reconcile.object.status(), Some(before))) {
        ledger.secret_fields = fields.launched(reconcile.object.meta().generation);
    }
    // The former call may have taken effect instead, so a smaller number is not recorded. An unknown one stays unknown.
    let requested = launch::requested(&*reconcile.context.kind, observation);
    ledger.requested = before.requested.map(|before| before.max(requested));
    // A rebuilt ledger names no place. Without one, a controller that is restarted elsewhere before the status names it would launch
    // again there.
    ledger.location = before.location.clone().or_else(|| observation.location.clone());
    if ledger == *before {
        return Ok(());
    }
    write(reconcile, &ledger).await.map_err(Outcome::Kubernetes)
}

/// Whether a repeated call creates nothing that exists: because of its token, which is that of the last launch, or of the first one if
/// no launch is known; or because of a name. If an object was found without a record of its launch, the next token is the second one.
fn is_idempotent(reconcile: &Reconcile<'_>, observation: &Observation<'_>, hash: &str) -> bool {
    let (info, ledger) = (reconcile.context.info(), observation.target.ledger.as_ref());
    let has_known_token = match ledger {
        Some(ledger) => !ledger.is_rebuilt(),
        None => observation.highest_epoch() == 0,
    };
    info.is_idempotent && has_known_token && (!info.idempotent_by_name || is_same(ledger, hash))
}

/// Waits for the objects of an unrecorded launch of a former process.
fn await_unrecorded(reconcile: &Reconcile<'_>, observation: &Observation<'_>) -> Result<(), Outcome> {
    if observation.target.ledger.is_some() || reconcile.context.info().journaled {
        return Ok(());
    }
    let (object, predecessor_ended_at) = (&*reconcile.object, reconcile.context.predecessor_ended_at());
    let message = "a launch that is not recorded may have been made, by a former controller process or before a backup was restored; \
         searching for its objects";
    match unrecorded::next_search(object, predecessor_ended_at, observation.clock) {
        Some(left) => {
            let message = format!("{message} until the visibility window ends");
            Err(Outcome::NotVisibleYet(Reason::Creating, message, left))
        }
        None if observation.is_launch_hidden => {
            Err(Outcome::InProgress(Reason::Creating, message.to_owned()))
        }
        None => Ok(()),
    }
}

/// Whether a new launch is due, or the last one must be repeated or waited for.
fn plan(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
    is_idempotent: bool,
    hash: &str,
) -> LaunchPlan {
    let ledger = observation.target.ledger.as_ref();
    let seen = match ledger {
        Some(_) => observation.current.epoch(),
        None => observation.highest_epoch(),
    };
    let state = launch_state(ledger, reconcile.memory, observation.recorded.epoch);
    let may_be_hidden =
        observation.is_launch_hidden || ledger.is_some_and(|ledger| observation.clock.may_hide(ledger));
    plan_launch(ledger, seen, state, is_idempotent, hash, may_be_hidden)
}

fn launch_state(ledger: Option<&Ledger>, memory: &Memory, confirmed: i64) -> LaunchState {
    let Some(ledger) = ledger else { return LaunchState::Unknown };
    if memory.launch.spent == Some(ledger.epoch) {
        LaunchState::Spent
    } else if confirmed >= ledger.epoch {
        LaunchState::Confirmed
    } else if memory.is_refused(ledger) {
        LaunchState::Refused
    } else {
        LaunchState::Unknown
    }
}
