//! Replacement of remote objects because of a field that cannot be changed in place, if `lifecycle.replace` allows it.
//! Client required.
//!
//! The replacement is persisted as a ledger with the epoch from which objects are new. Each further step is decided
//! from the observed objects, so after a crash at any point the replacement continues.

use kraken_api::{FieldDiff, Replace, reasons::Reason};
use kraken_kind::dynamic::{Change, Observed};
use kraken_model::{
    decide::Decision,
    ids::{listed, union, without},
    launch_plan::parameters_hash,
    ledger::Ledger,
    observation::Observation,
    outcome::{Outcome, refused},
    policy::{protection, replacement},
    recorded::{EARLIER_LAUNCH, is_outstanding},
};
use kraken_runtime::patch::ApiError;

use crate::{
    actions::{event::publish_event, operate, persist::persist},
    context::Reconcile,
    guarantees,
    steps::act::{declare, hand_over::await_dependents, launch},
};

/// Persists that the existing objects are to be replaced. The next steps are decided from that record, also after a
/// crash. During a replacement, the objects that it launched are outgoing too: dependents may use them, and keep them until the
/// next ones are published.
pub(super) async fn begin(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    fields: &[FieldDiff],
) -> Result<Outcome, Outcome> {
    let (kind, desired) = (&reconcile.context.kind, &observation.target.desired);
    let missing = kind.compare(desired, &Observed::default()).missing.unwrap_or_default();
    let ledger = observation.target.ledger.as_ref();
    // Otherwise an object of that launch would remain beside the original objects, which the replacement names, and the new ones.
    if is_outstanding(ledger, observation.recorded.epoch, reconcile.memory, observation.clock) {
        let message = format!("waiting for {EARLIER_LAUNCH} to become visible");
        return Ok(Outcome::InProgress(Reason::Replacing, message));
    }
    let last = ledger.map_or(0, |ledger| ledger.epoch).max(observation.highest_epoch());
    let requested = Some(kind.max_objects(desired));
    let is_unpublished = is_unpublished(reconcile, observation).await.map_err(Outcome::Kubernetes)?;
    let hash = parameters_hash(desired, &missing);
    let ledger = launch::prepared(reconcile, observation, last + 1, hash).await?;
    let outgoing = union(observation.shown.live.clone(), &observation.shown.unseen);
    let ledger = Ledger { replaced_before: Some(ledger.epoch), outgoing, requested, ..ledger };
    persist(reconcile, &ledger).await.map_err(Outcome::Kubernetes)?;
    if is_unpublished {
        // If this fails, they are deleted with the other outgoing objects.
        let _ = delete_or_release(reconcile, observation, &observation.current).await;
    }
    let paths: Vec<String> = fields.iter().map(|field| format!("spec.{}", field.path)).collect();
    Ok(Outcome::InProgress(Reason::Replacing, format!("replacing, to change {}", paths.join(", "))))
}

/// Whether the current objects are the result of a replacement that was never published: the published state is that of the outgoing
/// ones. No dependent can use them, so they need not outlive their successors.
async fn is_unpublished(reconcile: &Reconcile<'_>, observation: &Observation<'_>) -> Result<bool, ApiError> {
    let Some(outgoing) = &observation.outgoing else { return Ok(false) };
    let published = declare::stored(reconcile).await?.and_then(|state| state.id);
    Ok(published.is_some_and(|id| outgoing.ids().contains(&id)))
}

/// The outgoing objects of a replacement whose deletion this process has not requested yet.
pub(super) fn not_requested(reconcile: &Reconcile<'_>, observation: &Observation<'_>) -> Vec<String> {
    let ids = observation.outgoing.as_ref().map(Observed::ids).unwrap_or_default();
    without(&ids, &reconcile.memory.absent.deleted_ids)
}

/// The outgoing objects of a replacement if they are deleted next: the replacement is in place, or they are deleted first.
pub(super) fn due_outgoing<'o>(
    reconcile: &Reconcile<'_>,
    observation: &'o Observation<'_>,
    decision: &Decision<Change>,
) -> Result<Option<&'o Observed>, Outcome> {
    let is_up = matches!(decision, Decision::InPlace);
    // A disruption is completed first: no object stays stopped while another one waits for its deletion.
    let is_due = !matches!(decision, Decision::Resume(..))
        && replacement::is_deletion_due(reconcile.lifecycle(), is_up);
    let outgoing = observation.outgoing.as_ref().filter(|_| is_due);
    if let Some(outgoing) = outgoing {
        protection::permits_deletion_of_replaced(reconcile.lifecycle(), &outgoing.ids())?;
    }
    Ok(outgoing)
}

/// Deletes the outgoing objects. Unless they are to be deleted first, they are kept until their replacement is published and the
/// dependents use it; `unpublished` is why it is not.
pub(super) async fn delete_outgoing(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    outgoing: &Observed,
    unpublished: Option<ApiError>,
) -> Result<Outcome, Outcome> {
    if reconcile.lifecycle().replace != Replace::DeleteFirst {
        unpublished.map_or(Ok(()), |error| Err(Outcome::Kubernetes(error)))?;
        await_dependents(reconcile, observation, outgoing).await?;
    }
    delete_or_release(reconcile, observation, outgoing).await
}

/// Requests the deletion of the replaced objects, and releases those that are to be kept.
async fn delete_or_release(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    replaced: &Observed,
) -> Result<Outcome, Outcome> {
    let object = reconcile.object.clone();
    let (context, policy) = (&reconcile.context, observation.policy(object.lifecycle()));
    let kept: Vec<String> = replaced.ids().into_iter().filter(|id| policy.keeps(id)).collect();
    let (to_keep, to_delete) = replaced.select(&kept);
    let ids = to_delete.ids();
    if !ids.is_empty() {
        guarantees::deletes(reconcile, policy, &ids);
        return delete(reconcile, &to_delete, &ids).await;
    }
    if kept.is_empty() {
        let message = "waiting for the provider to finish the deletion of the replaced objects".to_owned();
        return Ok(Outcome::InProgress(Reason::Replacing, message));
    }
    guarantees::releases(policy, &kept);
    if let Err(failure) = context.link.external.release(&reconcile.identity, &to_keep).await {
        return Err(refused(failure, Reason::Replacing));
    }
    reconcile.memory.released(&kept);
    let note = format!("released {}, which is replaced: it is kept without Kraken's tags", listed(&kept));
    publish_event(reconcile, Reason::Released, &note).await;
    Ok(Outcome::InProgress(Reason::Replacing, note))
}

async fn delete(
    reconcile: &mut Reconcile<'_>,
    replaced: &Observed,
    ids: &[String],
) -> Result<Outcome, Outcome> {
    let what = format!("deleting {}, which is replaced", listed(ids));
    let requested = operate::delete(reconcile, Reason::Replacing, &what, replaced).await?;
    let memory = &mut *reconcile.memory;
    let is_first = requested.iter().any(|id| !memory.absent.deleted_ids.contains(id));
    memory.deleting(&requested);
    if is_first {
        let note = format!("requested the deletion of {}, which is replaced", listed(&requested));
        publish_event(reconcile, Reason::Replaced, &note).await;
    }
    Ok(Outcome::InProgress(Reason::Replacing, what))
}
