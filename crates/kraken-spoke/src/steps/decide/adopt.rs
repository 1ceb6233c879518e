//! The object to adopt. Client required.
//!
//! No object is changed before it is certain that exactly one object matches, that no other resource owns it, and, if
//! it would have to be changed, that a person has approved the plan.

use kraken_api::Adopt;
use kraken_kind::{
    Candidate, Comparison, Fate, Identity,
    dynamic::{Change, Observed},
};
use kraken_model::{
    decide::remove_ignored,
    observation::{Observation, Target},
    outcome::Outcome,
    policy::{adoption, approval},
};
use kraken_runtime::patch::within;

use crate::context::{Reconcile, place};

/// The object to adopt, if the resource must adopt and has neither adopted nor created an object yet.
pub(super) async fn candidate(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
) -> Result<Option<Candidate<Observed>>, Outcome> {
    match &reconcile.lifecycle().adopt {
        Some(wanted) if is_due(observation) => approved(reconcile, observation, wanted).await.map(Some),
        Some(Adopt::Id(wanted)) => {
            adoption::permits_id(&wanted.id, &observation.adopted, &observation.shown.live).map(|()| None)
        }
        _ => Ok(None),
    }
}

/// Whether an object is to be adopted instead of created.
pub(super) fn is_due(observation: &Observation<'_>) -> bool {
    let highest = observation.highest_epoch();
    let ledger = observation.target.ledger.as_ref();
    // Of a launch that nothing can find, a person may have found the object.
    let is_unknown = matches!(observation.fate, Fate::Unknown(_));
    let is_open =
        ledger.map_or(highest == 0, |ledger| (ledger.adopts || is_unknown) && highest < ledger.epoch);
    is_open && observation.current.ids().is_empty()
}

/// The object to adopt, if a person has approved every consequence.
async fn approved(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
    wanted: &Adopt,
) -> Result<Candidate<Observed>, Outcome> {
    let target = observation.target;
    let (candidate, comparison) = found(reconcile, target, wanted).await?;
    let missing_path = reconcile.context.info().missing_path;
    approval::permits_adoption(&reconcile.object, &candidate.id, comparison, &target.desired, missing_path)?;
    Ok(candidate)
}

/// The only object that matches, and how it differs from the target.
pub(crate) async fn found(
    reconcile: &Reconcile<'_>,
    target: &Target,
    wanted: &Adopt,
) -> Result<(Candidate<Observed>, Comparison<Change>), Outcome> {
    let Reconcile { context, identity, .. } = reconcile;
    let found = context.link.external.find(wanted).await.map_err(Outcome::Failed)?;
    let mut candidate = adoption::only(&*context.kind, found, wanted)?;
    if let Some(owner) = candidate.owner.as_ref().filter(|owner| owner.uid != identity.uid)
        && !is_former(reconcile, owner).await?
    {
        return Err(adoption::owned_by(&candidate.id, owner, &identity.cluster));
    }
    let examined = context.link.external.examine(identity, &target.desired, &candidate.observed).await;
    candidate.observed = examined.map_err(Outcome::Failed)?;
    let comparison = context.kind.compare(&target.desired, &candidate.observed);
    let missing_path = Some(context.info().missing_path);
    Ok((candidate, remove_ignored(target.secrecy.mask(comparison), &target.ignored, missing_path)))
}

/// Whether the owner in the tags is a resource of this cluster, namespace and kind that does not exist any more. What another
/// namespace left behind is not for this one, and whether its resources exist neither.
async fn is_former(reconcile: &Reconcile<'_>, owner: &Identity) -> Result<bool, Outcome> {
    let Reconcile { context, identity, .. } = reconcile;
    let Some((kind, key)) = owner.resource() else { return Ok(false) };
    let own = place(&*reconcile.object).0;
    if owner.cluster != identity.cluster || kind != context.info().name || *key.namespace != *own {
        return Ok(false);
    }
    let api = context.api(&key.namespace);
    match within("read the owner of an object", api.get_metadata_opt(&key.name)).await {
        Ok(found) => Ok(found.is_none_or(|found| found.metadata.uid.as_ref() != Some(&owner.uid))),
        // The controller may have no access to that namespace.
        Err(error) if error.is_forbidden() => Ok(false),
        Err(error) => Err(Outcome::Kubernetes(error)),
    }
}
