//! Step 4: carry out a decision, one side effect per run. Client required.

use jiff::Timestamp;
use kraken_api::{FieldDiff, reasons::Reason};
use kraken_runtime::events::EventType;
use kube::Resource;

use crate::{
    External, Launch,
    context::{Context, Sight},
    decide::Decision,
    intent::{Fate, Intent, LaunchPlan, parameters_hash, plan_launch},
    memory::Memory,
    outcome::{Outcome, listed},
    steps::{observe::union, persist::persist},
};

/// Carries it out. `drifted` says that the difference came from outside and not from an edit.
pub(crate) async fn act<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    sight: &Sight<'_, E>,
    decision: Decision<E::Change>,
    drifted: bool,
) -> Outcome {
    match decision {
        Decision::InPlace => Outcome::InPlace,
        Decision::Settle(what) => Outcome::InProgress(Reason::Creating, what),
        Decision::Immutable(fields) => Outcome::Immutable(fields),
        Decision::Report(fields) => Outcome::Drifted(fields),
        Decision::Replace(fields) => begin_replacement(context, object, memory, sight, &fields).await,
        Decision::Create(what) => {
            let outcome = create(context, object, memory, sight, &what).await;
            if drifted && matches!(outcome, Outcome::InProgress(..)) {
                reverted(context, object, &format!("created what was gone: {what}")).await;
            }
            outcome
        }
        Decision::Change(fields, change) => {
            let Some(field) = fields.into_iter().next() else { return Outcome::InPlace };
            let what = format!("spec.{}: {} becomes {}", field.path, field.have, field.want);
            match context.external.update(&sight.identity, &change, sight.desired, &sight.observed).await {
                Ok(()) => {
                    if drifted {
                        reverted(context, object, &what).await;
                    }
                    changed(memory, field.path, what)
                }
                Err(failure) => Outcome::Failed(failure),
            }
        }
    }
}

/// A cloud may accept a change and never show it. Then the loop slows down instead of asking a hundred times a second.
fn changed<K>(memory: &mut Memory<K>, path: String, what: String) -> Outcome {
    const TRIES: u32 = 5;
    let times = match &memory.changed {
        Some((before, times)) if *before == path => times + 1,
        _ => 1,
    };
    memory.changed = Some((path, times));
    if times < TRIES {
        return Outcome::Changed(what);
    }
    Outcome::Unheeded(format!("{what}: the cloud accepted this {times} times and still shows the old value"))
}

async fn reverted<E: External>(context: &Context<E>, object: &E::Kind, what: &str) {
    let reason = Reason::DriftReverted.as_str();
    context.shell.events.publish(&object.object_ref(&()), EventType::Normal, reason, "Heal", what).await;
}

async fn create<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    sight: &Sight<'_, E>,
    what: &str,
) -> Outcome {
    let intent = Intent::of(object);
    let hash = parameters_hash(sight.desired, what);
    let seen = E::epoch(&sight.observed).max(if intent.is_none() { sight.known.epoch } else { 0 });
    let fate = fate(intent.as_ref(), memory, sight.known.epoch);
    let clock = memory.clock(context.visibility_window);
    let epoch = match plan_launch(intent.as_ref(), seen, fate, E::IS_IDEMPOTENT, &hash, clock) {
        LaunchPlan::Wait(why) => return Outcome::InProgress(Reason::Creating, why.to_owned()),
        LaunchPlan::Repeat(epoch) => epoch,
        LaunchPlan::New(epoch) => {
            // A replacement goes on until what is replaced is gone, however many launches it takes.
            let replaces = sight.replacing;
            let intent = Intent { epoch, at: clock.now, hash, replaces, adopts: false };
            if let Err(error) = persist(context, object, memory, &intent).await {
                return Outcome::Kubernetes(error);
            }
            // Nothing was asked of the cloud under this epoch yet.
            memory.refused = Some(epoch);
            epoch
        }
    };
    let launch = Launch { epoch, token: sight.identity.token(epoch) };
    match context.external.create(&sight.identity, &launch, sight.desired, &sight.observed).await {
        Ok(created) => {
            let ids = E::ids(&created);
            let message = format!("created {}, which is not up yet", listed(&ids));
            // What was found by tag counts too: from now on it is looked up by id.
            let all = union(union(E::ids(&sight.observed), &sight.known.ids), &ids);
            memory.answered(epoch, Ok(all));
            Outcome::InProgress(Reason::Creating, message)
        }
        Err(failure) => {
            memory.answered(epoch, Err(failure.class));
            Outcome::Failed(failure)
        }
    }
}

/// Persists that what is there is to be replaced. What follows is decided anew from that, also after a crash.
async fn begin_replacement<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    sight: &Sight<'_, E>,
    fields: &[FieldDiff],
) -> Outcome {
    let nothing = E::Observed::default();
    let missing = E::compare(sight.desired, &nothing).missing.unwrap_or_default();
    let last = Intent::of(object)
        .map_or(0, |intent| intent.epoch)
        .max(sight.known.epoch)
        .max(E::epoch(&sight.observed));
    let hash = parameters_hash(sight.desired, &missing);
    let intent = Intent { epoch: last + 1, at: Timestamp::now(), hash, replaces: true, adopts: false };
    match persist(context, object, memory, &intent).await {
        Ok(()) => {
            // Nothing was asked of the cloud under this epoch yet.
            memory.refused = Some(intent.epoch);
            let paths: Vec<String> = fields.iter().map(|field| format!("spec.{}", field.path)).collect();
            Outcome::InProgress(Reason::Replacing, format!("replacing, to change {}", paths.join(", ")))
        }
        Err(error) => Outcome::Kubernetes(error),
    }
}

fn fate<K>(intent: Option<&Intent>, memory: &Memory<K>, confirmed: i64) -> Fate {
    let Some(intent) = intent else { return Fate::Unknown };
    if memory.spent == Some(intent.epoch) {
        Fate::Spent
    } else if confirmed >= intent.epoch {
        Fate::Confirmed
    } else if memory.refused == Some(intent.epoch) {
        Fate::Refused
    } else {
        Fate::Unknown
    }
}
