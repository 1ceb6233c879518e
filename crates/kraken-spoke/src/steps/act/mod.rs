//! Step 8: publishes the state, and carries out the decision, with one side effect per reconcile. Client required.

mod change;
mod create;
pub(crate) mod declare;
mod guard;
mod hand_over;
mod replace;

use std::sync::Arc;

use kraken_api::{Approval, reasons::Reason};

use crate::{
    context::Reconcile,
    dynamic::Change,
    model::{
        decide::{Decision, Planned},
        in_place,
        launch_plan::parameters_hash,
        observation::Observation,
        outcome::Outcome,
        plan::Proposal,
        unchanged::{Unchanged, digest},
    },
    steps::gather,
};
use change::Due;

/// Publishes the state, and carries out the decision once it is approved.
pub(crate) async fn act(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    decision: Decision<Change>,
) -> Result<Outcome, Outcome> {
    Box::pin(declare::declare(reconcile, observation, &decision)).await?;
    let fixed: Option<&[_]> = match &decision {
        Decision::InPlace => Some(&[]),
        Decision::Immutable(fields) => Some(fields),
        _ => None,
    };
    if let Some(outcome) = fixed.and_then(|fixed| change::unseen(reconcile, observation, fixed)) {
        return Err(outcome);
    }
    approve(reconcile, observation, &decision)?;
    // A disruption is completed first: no object stays stopped while another one waits for its deletion.
    if !matches!(decision, Decision::Resume(..)) {
        let is_up = matches!(decision, Decision::InPlace);
        Box::pin(replace::delete_outgoing(reconcile, observation, is_up)).await?;
    }
    note_disruption(reconcile, observation, &decision);
    prepare(reconcile, observation, &decision);
    rest(observation, &decision)?;
    let outcome = Box::pin(carry_out(reconcile, observation, decision)).await?;
    let Outcome::InPlace = outcome else { return Ok(outcome) };
    if let Some(error) = reconcile.unpublished.take() {
        return Ok(Outcome::Kubernetes(error));
    }
    gather::settle(reconcile).await?;
    remember(reconcile, observation);
    Ok(Outcome::InPlace)
}

/// Ends the reconcile if a person must approve the action and has not done so. During a replacement, the action includes
/// the deletion of the replaced objects, also if nothing else is to be done: the replacement may have begun before approvals were
/// required, or lead to another desired state than the approved one.
fn approve(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
    decision: &Decision<Change>,
) -> Result<(), Outcome> {
    if reconcile.lifecycle().approval != Approval::Manual {
        return Ok(());
    }
    let target = parameters_hash(&observation.target.desired, "");
    let proposal = Proposal::of(decision, &target);
    let outgoing = replace::not_requested(reconcile, observation);
    let is_due = replace::is_due(reconcile.lifecycle(), matches!(decision, Decision::InPlace));
    // What the lifecycle protects is not deleted, approved or not.
    let is_next = is_due && !reconcile.lifecycle().protect && !matches!(decision, Decision::Resume(..));
    let proposal = if !outgoing.is_empty() && (proposal.is_some() || is_next) {
        Some(Proposal::of_replacement(&outgoing, decision, &target))
    } else {
        proposal
    };
    proposal.map_or(Ok(()), |proposal| proposal.approved(&*reconcile.object))
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
    let (group, name) = change::disruption_group(reconcile);
    let is_up = matches!(decision, Decision::InPlace | Decision::Immutable(_) | Decision::Report(_));
    if !context.kind.disrupted(&observation.current).0.is_empty() {
        context.disruptions.going_on(&group, &identity.uid, &name);
    } else if is_up {
        context.disruptions.ended(&group, &identity.uid);
    }
}

/// Records what the next reconcile must know of the action, even if the action fails.
fn prepare(reconcile: &mut Reconcile<'_>, observation: &Observation<'_>, decision: &Decision<Change>) {
    let Reconcile { context, identity, memory, facts, .. } = reconcile;
    let target = observation.target;
    if !matches!(decision, Decision::Change(..) | Decision::Resume(..)) {
        memory.changed.clear();
    }
    if target.is_edited
        && matches!(decision, Decision::Create(_) | Decision::Change(..) | Decision::Replace(_))
    {
        // From here on the record of what was in place is void, even if the edit is reverted before it is complete.
        memory.edit_under_way = true;
    }
    if matches!(decision, Decision::Create(_) | Decision::Replace(_)) {
        memory.unseen.clear();
    }
    if matches!(decision, Decision::Create(_)) && context.kind.ids(&observation.current).is_empty() {
        memory.at_creation = Some(in_place::at_creation(&identity.uid, &target.at_creation));
    }
    facts.edit_under_way = memory.edit_under_way;
}

async fn carry_out(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    decision: Decision<Change>,
) -> Result<Outcome, Outcome> {
    let is_drift = !observation.target.is_edited;
    let changes = match decision {
        Decision::InPlace => return Ok(Outcome::InPlace),
        Decision::Settle(what) => return Ok(Outcome::InProgress(Reason::Creating, what)),
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

/// Records a reconcile that found everything in place, so that a resync reads no Secret while nothing changes.
fn remember(reconcile: &mut Reconcile<'_>, observation: &Observation<'_>) {
    let Reconcile { context, object, memory, facts, .. } = reconcile;
    let target = observation.target;
    let is_whole = observation.outgoing.is_none() && !observation.is_deep;
    if is_whole && target.has_secrets {
        memory.unchanged = Some(Arc::new(Unchanged {
            generation: object.metadata.generation,
            inputs: target.inputs.clone(),
            observed: digest(context.digest_key, &observation.current),
            is_shallow: !context.kind.needs_deep_observation(&target.desired),
            facts: facts.clone(),
        }));
    }
}
