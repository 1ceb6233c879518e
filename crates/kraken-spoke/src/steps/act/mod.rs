//! Step 8: publishes the state, and carries out the action, with one side effect per reconcile. Client required.

mod adopt;
mod change;
mod create;
pub(crate) mod declare;
mod hand_over;
mod launch;
mod replace;

use std::{sync::Arc, time::Duration};

use change::Due;
use kraken_api::reasons::Reason;
use kraken_kind::dynamic::Change;
use kraken_model::{
    decide::{Action, Decision, Planned},
    in_place,
    observation::Observation,
    outcome::Outcome,
    policy::approval,
    unchanged::{Unchanged, digest},
};

use crate::{context::Reconcile, steps::gather};

/// The least delay between two observations of an object that waits for its dependents. It grows with the time that has passed.
const LEAST: Duration = Duration::from_secs(1);
/// The greatest.
const MOST: Duration = Duration::from_mins(1);

/// Carries out the action of step 7.
pub(crate) async fn act(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    action: Action,
) -> Result<Outcome, Outcome> {
    match action {
        Action::Adopt(candidate) => Box::pin(adopt::claim(reconcile, observation, candidate)).await,
        Action::Publish(outcome) => {
            let declared = declare::declare(reconcile, observation, &Decision::InPlace);
            let unpublished = Box::pin(declared).await?;
            Ok(unpublished.map_or(outcome, Outcome::Kubernetes))
        }
        Action::Apply(decision) => apply(reconcile, observation, decision).await,
    }
}

/// Publishes the state, and carries out the decision once it is approved.
async fn apply(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    decision: Decision<Change>,
) -> Result<Outcome, Outcome> {
    let unpublished = Box::pin(declare::declare(reconcile, observation, &decision)).await?;
    let fixed: Option<&[_]> = match &decision {
        Decision::InPlace => Some(&[]),
        Decision::Immutable(fields) => Some(fields),
        _ => None,
    };
    if let Some(outcome) = fixed.and_then(|fixed| change::unseen(reconcile, observation, fixed)) {
        return Ok(outcome);
    }
    let outgoing = replace::not_requested(reconcile, observation);
    approval::permits(&reconcile.object, &decision, &observation.target.desired, &outgoing)?;
    if let Some(outgoing) = replace::due_outgoing(reconcile, observation, &decision)? {
        return Box::pin(replace::delete_outgoing(reconcile, observation, outgoing, unpublished)).await;
    }
    note_disruption(reconcile, observation, &decision);
    prepare(reconcile, observation, &decision);
    rest(observation, &decision)?;
    let outcome = Box::pin(carry_out(reconcile, observation, decision)).await?;
    let Outcome::InPlace = outcome else { return Ok(outcome) };
    if let Some(error) = unpublished {
        return Ok(Outcome::Kubernetes(error));
    }
    gather::settle(reconcile).await?;
    remember(reconcile, observation);
    Ok(Outcome::InPlace)
}

/// Ends the reconcile if nothing is to be done now, and an object may become visible that the next resync would not find.
fn rest(observation: &Observation<'_>, decision: &Decision<Change>) -> Result<(), Outcome> {
    let is_final = matches!(decision, Decision::InPlace | Decision::Immutable(_) | Decision::Report(_));
    observation.awaited.as_ref().filter(|_| is_final).map_or(Ok(()), |what| {
        Err(Outcome::InProgress(Reason::Creating, format!("waiting for {what} to become visible")))
    })
}

/// Records whether objects of the resource are stopped for a change: another resource of its group is not disrupted meanwhile.
fn note_disruption(reconcile: &Reconcile<'_>, observation: &Observation<'_>, decision: &Decision<Change>) {
    let Reconcile { context, identity, .. } = reconcile;
    if !context.info().disrupts {
        return;
    }
    if context.first_window().is_some() {
        context.disruptions.observed(&identity.uid);
    }
    let (group, member) = change::disruption_group(reconcile);
    let is_up = matches!(decision, Decision::InPlace | Decision::Immutable(_) | Decision::Report(_));
    if !context.kind.disrupted(&observation.current).0.is_empty() {
        context.disruptions.going_on(&group, member);
    } else if is_up {
        context.disruptions.ended(&group, &identity.uid);
    }
}

/// Records what the next reconcile must know of the action, even if the action fails.
fn prepare(reconcile: &mut Reconcile<'_>, observation: &Observation<'_>, decision: &Decision<Change>) {
    let Reconcile { identity, memory, facts, .. } = reconcile;
    let target = observation.target;
    if !matches!(decision, Decision::Change(..) | Decision::Resume(..)) {
        memory.changes.changed.clear();
    }
    if target.is_edited
        && matches!(decision, Decision::Create(_) | Decision::Change(..) | Decision::Replace(_))
    {
        // From here on the record of what was in place is void, even if the edit is reverted before it is complete.
        memory.changes.edit_under_way = true;
    }
    if matches!(decision, Decision::Create(_) | Decision::Replace(_)) {
        memory.changes.unseen.clear();
    }
    if matches!(decision, Decision::Create(_)) && observation.current.ids().is_empty() {
        memory.changes.at_creation = Some(in_place::at_creation(&identity.uid, &target.at_creation));
    }
    facts.edit_under_way = memory.changes.edit_under_way;
}

async fn carry_out(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    decision: Decision<Change>,
) -> Result<Outcome, Outcome> {
    let is_drift = !observation.target.is_edited;
    let changes = match decision {
        Decision::InPlace => return Ok(Outcome::InPlace),
        Decision::Settle(what) => return Ok(settle(reconcile, observation, what)),
        Decision::Immutable(fields) => return Ok(Outcome::Immutable(fields)),
        Decision::Report(fields) => return Ok(Outcome::Drifted(fields)),
        Decision::Replace(fields) => return replace::begin(reconcile, observation, &fields).await,
        Decision::Create(what) => return create::create(reconcile, observation, &what, is_drift).await,
        Decision::Change(changes) => {
            hand_over::take_over(reconcile, observation).await?;
            Due { changes, is_drift }
        }
        Decision::Resume(field, change) => {
            let changes = vec![Planned { field, change, is_disruptive: false }];
            Due { changes, is_drift: false }
        }
    };
    Ok(change::change(reconcile, observation, changes).await)
}

/// An operation of the provider ends soon by itself, unless it waits for dependents, which use what is published of a pending object:
/// that may take hours, and is observed ever less often.
fn settle(reconcile: &Reconcile<'_>, observation: &Observation<'_>, what: String) -> Outcome {
    let pending = reconcile.context.kind.pending_state(&observation.target.desired, &observation.current);
    if pending.is_none() {
        return Outcome::InProgress(Reason::Creating, what);
    }
    let age = reconcile.memory.retries.in_progress.map(|progress| progress.age()).unwrap_or_default();
    Outcome::NotVisibleYet(Reason::Creating, what, age.clamp(LEAST, MOST))
}

/// Records a reconcile that found everything in place, so that a resync reads no Secret while nothing changes.
fn remember(reconcile: &mut Reconcile<'_>, observation: &Observation<'_>) {
    let Reconcile { context, object, memory, facts, .. } = reconcile;
    let target = observation.target;
    let is_whole = observation.outgoing.is_none() && !observation.is_deep;
    if is_whole && target.has_secrets {
        memory.unchanged = Some(Arc::new(Unchanged {
            generation: object.metadata.generation,
            inputs: target.in_place.inputs.clone(),
            observed: digest(context.digest_key, &observation.current),
            is_shallow: !context.kind.needs_deep_observation(&target.desired),
            facts: facts.clone(),
        }));
    }
}
