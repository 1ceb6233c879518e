//! Adoption. The resource takes ownership of one existing remote object, by setting its tags. Client required.
//!
//! No object is changed before it is certain that exactly one object matches, that no other resource owns it, and, if
//! it would have to be changed, that a person has approved the plan.

use kraken_api::{Adopt, Approval, FieldDiff, Lifecycle, PlanAction, reasons::Reason};
use kraken_runtime::{
    mutants::{self, Mutant},
    patch::within,
};
use kube::Resource;
use tokio::time::Instant;

use crate::{
    Candidate, Comparison, FailureClass, Identity,
    actions::{persist::write, record::record},
    context::{Reconcile, place},
    dynamic::{Change, Desired, DynKind, Observed},
    guarantees,
    model::{
        decide::{MISSING, Remedies, may_replace, remedies, remove_ignored},
        ids::listed,
        intent::Intent,
        launch_plan::parameters_hash,
        memory::Claimed,
        observation::Observation,
        outcome::{Outcome, refused},
        plan::Proposal,
    },
};

/// Adopts the object that the spec names, if the resource must adopt and has neither adopted nor created an object yet.
pub(super) async fn adopt(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
) -> Result<(), Outcome> {
    let object = reconcile.object.clone();
    match &object.lifecycle().adopt {
        Some(wanted) if is_due(&*reconcile.context.kind, observation) => {
            let candidate = candidate(reconcile, observation, wanted).await?;
            Err(claim(reconcile, observation, candidate).await)
        }
        Some(Adopt::Id(wanted)) => another_is_adopted(&wanted.id, observation),
        _ => Ok(()),
    }
}

/// Ends the reconcile if the id in the spec was edited after the adoption: the resource keeps managing what it adopted.
fn another_is_adopted(wanted: &str, observation: &Observation<'_>) -> Result<(), Outcome> {
    let live: Vec<&String> =
        observation.adopted.iter().filter(|id| observation.shown.live.contains(id)).collect();
    if live.is_empty() || live.iter().any(|id| *id == wanted) {
        return Ok(());
    }
    let id = listed(&live.into_iter().cloned().collect::<Vec<_>>());
    Err(Outcome::AdoptionRefused(format!(
        "spec.lifecycle.adopt.id: this resource adopted {id}, and does not change to {wanted}: restore {id}, or create another \
         resource that adopts {wanted}, and delete this one (with lifecycle.deletion Retain, {id} is kept)"
    )))
}

/// Whether an object is to be adopted instead of created.
pub(super) fn is_due(kind: &dyn DynKind, observation: &Observation<'_>) -> bool {
    let highest = observation.highest_epoch(kind);
    let intent = observation.target.intent.as_ref();
    let is_open = intent.map_or(highest == 0, |intent| intent.adopts && highest < intent.epoch);
    is_open && kind.ids(&observation.current).is_empty()
}

/// The object to adopt, if a person has approved every consequence.
async fn candidate(
    reconcile: &Reconcile<'_>,
    observation: &Observation<'_>,
    wanted: &Adopt,
) -> Result<Candidate<Observed>, Outcome> {
    let Reconcile { context, object, identity, .. } = reconcile;
    let (target, lifecycle) = (observation.target, object.lifecycle());
    let found = context.external.find(wanted).await.map_err(Outcome::Failed)?;
    let candidate = only_candidate(&*context.kind, found, wanted).map_err(Outcome::AdoptionRefused)?;
    if let Some(owner) = candidate.owner.as_ref().filter(|owner| owner.uid != identity.uid)
        && !is_former(reconcile, owner).await?
    {
        return Err(Outcome::AdoptionRefused(owned_by(&candidate.id, owner, &identity.cluster)));
    }
    let comparison = context.kind.compare(&target.desired, &candidate.observed);
    let missing_path = Some(context.info().missing_path);
    let comparison = remove_ignored(target.secrecy.mask(comparison), &target.ignored, missing_path);
    let differs = comparison.missing.is_some() || !comparison.differences.is_empty();
    if lifecycle.approval == Approval::Manual || differs {
        let missing_path = context.info().missing_path;
        proposal(&candidate.id, comparison, lifecycle, &target.desired, missing_path).approved(&**object)?;
    }
    Ok(candidate)
}

/// Takes ownership of the object.
async fn claim(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    candidate: Candidate<Observed>,
) -> Outcome {
    let (context, id) = (reconcile.context.clone(), candidate.id);
    let before = observation.target.intent.as_ref();
    let epoch = before.map_or(1, |intent| intent.epoch);
    let hash = parameters_hash(&id, "adopt");
    let mut intent =
        Intent { adopts: true, ..Intent::next(before, epoch, kraken_runtime::clock::now(), hash) };
    intent.requested = Some(1);
    // What a resource of this cluster created is not adopted but taken back: its deletion deletes it.
    let is_taken_back = candidate.created_by.as_ref() == Some(&reconcile.identity.cluster)
        && !mutants::active(Mutant::TakenBackIsKept);
    (intent.adopted, intent.taken_back) =
        if is_taken_back { (vec![], vec![id.clone()]) } else { (vec![id.clone()], vec![]) };
    intent.location = observation.location.clone().or(intent.location);
    // Changes in place may follow before the status is written.
    intent.secret_fields = observation.target.secret_fields.launched(reconcile.object.meta().generation);
    // If two resources adopt the same object, the second must observe the new owner.
    let Some(claimed) = context.claims.take(&id, &reconcile.identity.uid, context.visibility_window) else {
        return Outcome::AdoptionRefused(format!(
            "spec.lifecycle.adopt: {id} is being adopted by another resource: specify another object"
        ));
    };
    if let Err(error) = write(reconcile, &intent).await {
        claimed.release();
        return Outcome::Kubernetes(error);
    }
    guarantees::claims(reconcile, &id);
    let result = context.external.claim(&reconcile.identity, epoch, &candidate.observed).await;
    let (ids, is_confirmed) = (vec![id.clone()], result.is_ok());
    reconcile.memory.claimed = Some(Claimed { ids, at: Instant::now(), times: 0, is_confirmed });
    if let Err(failure) = result {
        if failure.class == FailureClass::Terminal {
            claimed.release();
        }
        return refused(failure, Reason::Creating);
    }
    // From now on the object is observed by its id and not adopted again, also while its tags are not visible yet.
    reconcile.memory.created = Some((epoch, vec![id.clone()]));
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
    record(reconcile, Reason::Adopted, &note).await;
    Outcome::Changed(note)
}

/// Whether the owner in the tags is a resource of this cluster, namespace and kind that does not exist any more. What another
/// namespace left behind is not for this one, and whether its resources exist neither.
async fn is_former(reconcile: &Reconcile<'_>, owner: &Identity) -> Result<bool, Outcome> {
    let Reconcile { context, identity, .. } = reconcile;
    let mut parts = owner.owner.split('/');
    let (kind, namespace, name) = (parts.next(), parts.next(), parts.next());
    let (Some(namespace), Some(name)) = (namespace, name) else { return Ok(false) };
    let own = place(&*reconcile.object).0;
    if owner.cluster != identity.cluster || kind != Some(context.info().name) || namespace != own {
        return Ok(false);
    }
    let api = context.api(namespace);
    match within("read the owner of an object", api.get_metadata_opt(name)).await {
        Ok(found) => Ok(found.is_none_or(|found| found.metadata.uid.as_ref() != Some(&owner.uid))),
        // The controller may have no access to that namespace.
        Err(error) if error.is_forbidden() => Ok(false),
        Err(error) => Err(Outcome::Kubernetes(error)),
    }
}

/// Why an object of another resource is not adopted.
fn owned_by(id: &str, owner: &Identity, cluster: &str) -> String {
    let start =
        format!("spec.lifecycle.adopt: {id} is owned by {} of cluster {}:", owner.owner, owner.cluster);
    let parts: Vec<&str> = owner.owner.split('/').collect();
    match parts.as_slice() {
        [kind, namespace, name] if owner.cluster == cluster => {
            let resource = format!("{} {name} -n {namespace}", kind.to_lowercase());
            format!(
                "{start} delete that resource with lifecycle.deletion Retain first (kubectl patch {resource} --type merge -p \
                 '{{\"spec\":{{\"lifecycle\":{{\"deletion\":\"Retain\"}}}}}}', then kubectl delete {resource}), or specify another \
                 object"
            )
        }
        _ => format!(
            "{start} delete that resource there with lifecycle.deletion Retain first, or specify another object"
        ),
    }
}

/// The one object that matches, or why there is none.
fn only_candidate(
    kind: &dyn DynKind,
    found: Vec<Candidate<Observed>>,
    wanted: &Adopt,
) -> Result<Candidate<Observed>, String> {
    let name = kind.info().name;
    let (mut alive, gone): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|candidate| !kind.ids(&candidate.observed).is_empty());
    if alive.len() > 1 {
        let ids: Vec<String> = alive.into_iter().map(|candidate| candidate.id).collect();
        return Err(format!(
            "spec.lifecycle.adopt: {} objects match {wanted}: {}; specify an id, or tags that match only one",
            ids.len(),
            listed(&ids)
        ));
    }
    alive.pop().ok_or_else(|| match gone.first() {
        Some(candidate) => {
            format!(
                "spec.lifecycle.adopt: {} is already deleted: specify another, or remove adopt to create one",
                candidate.id
            )
        }
        None => format!(
            "spec.lifecycle.adopt: no {name} has {wanted}: check the value and the region, or remove adopt to create one"
        ),
    })
}

/// All fields that would change, and those that cannot, so that the plan shows every consequence of the adoption. No
/// client required.
fn proposal(
    id: &str,
    comparison: Comparison<Change>,
    lifecycle: &Lifecycle,
    desired: &Desired,
    missing_path: &str,
) -> Proposal {
    let missing = comparison.missing.map(|what| FieldDiff::new(missing_path, what, MISSING));
    let Remedies { changes, immutable } = remedies(comparison.differences, lifecycle);
    let changes: Vec<FieldDiff> = changes.into_iter().map(|planned| planned.field).collect();
    let what = match may_replace(lifecycle, true) {
        _ if immutable.is_empty() && changes.is_empty() && missing.is_none() => {
            format!("{id} without changes")
        }
        _ if immutable.is_empty() => id.to_owned(),
        Ok(()) => {
            let each = |(field, _): &(FieldDiff, String)| {
                format!("spec.{} from {} to {}", field.path, field.have, field.want)
            };
            let fields: Vec<String> = immutable.iter().map(each).collect();
            format!("{id}, then replace it to change {}", fields.join("; "))
        }
        Err(_) => {
            let each =
                |(field, _): &(FieldDiff, String)| format!("spec.{} (stays {})", field.path, field.have);
            let fields: Vec<String> = immutable.iter().map(each).collect();
            format!(
                "{id}; cannot change {}, so that Ready stays False until the spec matches",
                fields.join(", ")
            )
        }
    };
    let changes = missing.into_iter().chain(changes).collect();
    Proposal { action: PlanAction::Adopt, what, changes, target: parameters_hash(desired, "") }
}
