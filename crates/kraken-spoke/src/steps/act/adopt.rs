//! Adoption: the resource takes ownership of an existing remote object, by setting its tags. Client required.

use kraken_api::reasons::Reason;
use kraken_kind::{Candidate, FailureClass, dynamic::Observed};
use kraken_model::{
    launch_plan::parameters_hash,
    ledger::Ledger,
    memory::Claimed,
    observation::Observation,
    outcome::{Outcome, refused},
    policy::adoption,
};
use kube::Resource;
use tokio::time::Instant;

use crate::{
    actions::{event::publish_event, persist::write},
    context::Reconcile,
    guarantees,
};

/// Takes ownership of the object.
pub(super) async fn claim(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    candidate: Candidate<Observed>,
) -> Result<Outcome, Outcome> {
    let (context, id) = (reconcile.context.clone(), candidate.id);
    let before = observation.target.ledger.as_ref();
    let epoch = before.map_or(1, |ledger| ledger.epoch);
    let hash = parameters_hash(&id, "adopt");
    let mut ledger =
        Ledger { adopts: true, ..Ledger::next(before, epoch, kraken_runtime::clock::now(), hash) };
    ledger.requested = Some(1);
    // What a resource of this cluster created is not adopted but taken back: its deletion deletes it.
    let is_taken_back = candidate.created_by.as_ref() == Some(&reconcile.identity.cluster);
    (ledger.adopted, ledger.taken_back) =
        if is_taken_back { (vec![], vec![id.clone()]) } else { (vec![id.clone()], vec![]) };
    ledger.location = observation.location.clone().or(ledger.location);
    // Changes in place may follow before the status is written.
    ledger.secret_fields = observation.target.secret_fields.launched(reconcile.object.meta().generation);
    // If two resources adopt the same object, the second must observe the new owner.
    let Some(claimed) = context.claim(&id, reconcile.key(), &reconcile.identity) else {
        return Err(adoption::in_progress(&id));
    };
    if let Err(error) = write(reconcile, &ledger).await {
        claimed.release();
        return Err(Outcome::Kubernetes(error));
    }
    guarantees::claims(reconcile, &id);
    let result = context.link.external.claim(&reconcile.identity, epoch, &candidate.observed).await;
    let (ids, is_confirmed) = (vec![id.clone()], result.is_ok());
    reconcile.memory.owned.claimed = Some(Claimed { ids, at: Instant::now(), times: 0, is_confirmed });
    if let Err(failure) = result {
        if failure.class == FailureClass::Terminal {
            claimed.release();
        }
        return Err(refused(failure, Reason::Creating));
    }
    // From now on the object is observed by its id and not adopted again, also while its tags are not visible yet.
    reconcile.memory.owned.created = Some((epoch, vec![id.clone()]));
    let note = if is_taken_back {
        format!(
            "took back {id}, which a resource of this cluster created and released: the deletion of this one deletes it"
        )
    } else {
        let kept = reconcile.lifecycle().deletion.is_none();
        let kept = if kept {
            "; it is kept in the cloud when this resource is deleted, unless spec.lifecycle.deletion is Delete"
        } else {
            ""
        };
        format!("adopted {id}{kept}")
    };
    publish_event(reconcile, Reason::Adopted, &note).await;
    Ok(Outcome::Changed(note))
}
