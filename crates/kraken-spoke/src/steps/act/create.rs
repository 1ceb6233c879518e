//! Creates missing objects, after the intent is persisted. Client required.

use kraken_api::reasons::Reason;
use kraken_runtime::mutants::{self, Mutant};
use kube::{Resource, core::object::HasStatus};

use crate::{
    Launch,
    actions::{
        persist::{persist, write},
        record::record,
    },
    context::Reconcile,
    model::{
        ids::{listed, union},
        intent::{Intent, LaunchPlan, LaunchState, is_same, parameters_hash, plan_launch},
        memory::Memory,
        observation::Observation,
        outcome::{Outcome, refused},
        secrecy,
    },
    steps::act::guard,
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
    let Reconcile { context, memory, identity, .. } = reconcile;
    let launch = Launch { epoch, token: identity.token(epoch) };
    let (desired, current) = (&observation.target.desired, &observation.current);
    let created = match context.external.create(identity, &launch, desired, current).await {
        Ok(created) => created,
        Err(failure) => {
            memory.answered(epoch, Err(failure.class));
            return Err(refused(failure, Reason::Creating));
        }
    };
    let ids = context.kind.ids(&created);
    // Objects that were found by tag count too: from now on they are observed by id.
    let all = union(union(context.kind.ids(current), &observation.recorded.ids), &ids);
    memory.answered(epoch, Ok(all));
    let made = format!("created {}", listed(&ids));
    let (reason, note) = match context.kind.ids(current).is_empty() {
        _ if is_drift => (Reason::DriftReverted, format!("{made}, because objects were missing: {what}")),
        true => (Reason::Created, made),
        false => (Reason::Scaled, format!("{made}: {what}")),
    };
    record(reconcile, reason, &note).await;
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
    let plan = plan(reconcile, observation, &hash);
    if !matches!(plan, LaunchPlan::Wait(_)) {
        guard::check(&*reconcile.context.kind, observation)?;
    }
    match plan {
        LaunchPlan::Wait(why) => Err(Outcome::InProgress(Reason::Creating, why.to_owned())),
        LaunchPlan::Repeat(epoch) => {
            record_secret_fields(reconcile, observation).await?;
            Ok(epoch)
        }
        // A new token would create the objects of the old one a second time.
        LaunchPlan::New(_) if !observation.is_searched => {
            reconcile.memory.token_used = None;
            let message = "searching for the objects of an earlier launch".to_owned();
            Err(Outcome::InProgress(Reason::Creating, message))
        }
        LaunchPlan::New(epoch) => {
            let intent = guard::new_launch(reconcile, observation, epoch, hash).await?;
            if !mutants::active(Mutant::SkipIntent) {
                persist(reconcile, &intent).await.map_err(Outcome::Kubernetes)?;
            }
            Ok(epoch)
        }
    }
}

/// Adds fields to the intent that refer to a Secret since an edit after the launch was persisted: the repeated call has their
/// values. Without such an edit, nothing is written.
async fn record_secret_fields(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
) -> Result<(), Outcome> {
    let (fields, intent) = (&observation.target.secret_fields, observation.target.intent.as_ref());
    let is_recorded = fields.all.is_subset(&secrecy::recorded(reconcile.object.status(), intent));
    let Some(intent) = intent.filter(|_| !is_recorded) else { return Ok(()) };
    let secret_fields = fields.launched(reconcile.object.meta().generation);
    let intent = Intent { secret_fields, ..intent.clone() };
    write(reconcile, &intent).await.map_err(Outcome::Kubernetes)
}

/// Whether a new launch is due, or the last one must be repeated or waited for.
fn plan(reconcile: &Reconcile<'_>, observation: &Observation<'_>, hash: &str) -> LaunchPlan {
    let (kind, info) = (&reconcile.context.kind, reconcile.context.info());
    let (intent, recorded) = (observation.target.intent.as_ref(), observation.recorded.epoch);
    let highest = kind.epoch(&observation.current).max(if intent.is_none() { recorded } else { 0 });
    let state = launch_state(intent, reconcile.memory, recorded);
    let is_idempotent = info.is_idempotent && (!info.idempotent_by_name || is_same(intent, hash));
    plan_launch(intent, highest, state, is_idempotent, hash, reconcile.clock())
}

fn launch_state<K>(intent: Option<&Intent>, memory: &Memory<K>, confirmed: i64) -> LaunchState {
    let Some(intent) = intent else { return LaunchState::Unknown };
    if memory.spent == Some(intent.epoch) {
        LaunchState::Spent
    } else if confirmed >= intent.epoch {
        LaunchState::Confirmed
    } else if memory.refused == Some(intent.epoch) {
        LaunchState::Refused
    } else {
        LaunchState::Unknown
    }
}
