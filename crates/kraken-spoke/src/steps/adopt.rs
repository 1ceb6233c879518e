//! Adoption: the resource takes ownership of one existing remote object, by setting its tags. Client required.
//!
//! No object is changed before it is certain that exactly one object matches, that no other resource owns it, and, if
//! it would have to be changed, that a person has approved the plan.

use kraken_api::{Adopt, Approval, FieldDiff, Lifecycle, PlanAction, ResourceStatus, reasons::Reason};
use kraken_runtime::mutants::{self, Mutant};
use tokio::time::Instant;

use crate::{
    Comparison, FailureClass, Ignored,
    context::{Context, Observation},
    decide::{Remedies, heed, may_replace, remedies},
    dynamic::{Change, Desired, DynKind, Object, Observed},
    external::Candidate,
    intent::{Intent, parameters_hash},
    memory::{Claimed, Memory},
    outcome::{Outcome, listed, refused},
    plan::Proposal,
    secrecy::Secrecy,
    steps::{observe::union, persist::write, record::record},
};

/// Whether the resource must adopt, and has neither adopted nor created an object yet.
pub(crate) fn is_due(kind: &dyn DynKind, intent: Option<&Intent>, sight: &Observation<'_>) -> bool {
    let seen = sight.known.epoch.max(kind.epoch(&sight.observed));
    let is_open = intent.map_or(seen == 0, |intent| intent.adopts && seen < intent.epoch);
    is_open && kind.ids(&sight.observed).is_empty()
}

/// The ids that existed before the resource, from the status and the intent.
pub(crate) fn adopted(status: Option<&ResourceStatus>, intent: Option<&Intent>) -> Vec<String> {
    if mutants::active(Mutant::ForgetAdoption) {
        return vec![];
    }
    let of_status = status.map(|status| status.adopted.clone()).unwrap_or_default();
    union(of_status, intent.map(|intent| intent.adopted.as_slice()).unwrap_or_default())
}

/// Adopts the object, or returns why not.
pub(crate) async fn adopt(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Observation<'_>,
    (lifecycle, wanted, secrecy): (&Lifecycle, &Adopt, &Secrecy),
) -> Outcome {
    let found = match context.external.find(wanted).await {
        Ok(found) => found,
        Err(failure) => return Outcome::Failed(failure),
    };
    let candidate = match the_one(&*context.kind, found, wanted, &sight.identity.uid) {
        Ok(candidate) => candidate,
        Err(why) => return Outcome::AdoptionRefused(why),
    };
    let id = candidate.id.clone();
    let ignored = Ignored::new(&lifecycle.ignore_changes);
    let comparison = heed(
        secrecy.mask(context.kind.compare(sight.desired, &candidate.observed)),
        &ignored,
        Some(context.info().missing_path),
    );
    let differs = comparison.missing.is_some() || !comparison.differences.is_empty();
    let proposal = proposal(&id, comparison, lifecycle, sight.desired);
    if (lifecycle.approval == Approval::Manual || differs)
        && let Err(outcome) = proposal.approved(object)
    {
        return outcome;
    }
    let epoch = Intent::of(object).map_or(1, |intent| intent.epoch);
    let hash = parameters_hash(&id, "adopt");
    let before = Intent::of(object);
    let mut intent =
        Intent { adopts: true, ..Intent::next(before.as_ref(), epoch, kraken_runtime::clock::now(), hash) };
    intent.asks = Some(1);
    intent.adopted = vec![id.clone()];
    intent.location = sight.location.clone().or(intent.location);
    // If two resources adopt the same object, the second must observe the new owner.
    if !context.claims.take(&id, &sight.identity.uid, context.visibility_window) {
        return Outcome::AdoptionRefused(format!(
            "spec.lifecycle.adopt: {id} is being adopted by another resource: specify another object"
        ));
    }
    if let Err(error) = write(context, object, memory, &intent).await {
        context.claims.give_back(&id, &sight.identity.uid);
        return Outcome::Kubernetes(error);
    }
    match context.external.claim(&sight.identity, epoch, &candidate.observed).await {
        Ok(()) => {
            // From now on the object is observed by its id and not adopted again, also while its tags are not visible
            // yet.
            memory.created = Some((epoch, vec![id.clone()]));
            memory.claimed = Some(Claimed { ids: vec![id.clone()], at: Instant::now(), times: 0 });
            let note = format!("adopted {id}");
            record(context, object, Reason::Adopted, &note).await;
            Outcome::Changed(note)
        }
        Err(failure) => {
            if failure.class == FailureClass::Terminal {
                context.claims.give_back(&id, &sight.identity.uid);
            }
            refused(failure, Reason::Creating)
        }
    }
}

/// The one object that matches and may be adopted, or why there is none.
fn the_one(
    kind: &dyn DynKind,
    found: Vec<Candidate<Observed>>,
    wanted: &Adopt,
    uid: &str,
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
    let Some(candidate) = alive.pop() else {
        return Err(match gone.first() {
            Some(candidate) => {
                format!(
                    "spec.lifecycle.adopt: {} is already deleted: specify another, or remove adopt to create one",
                    candidate.id
                )
            }
            None => format!(
                "spec.lifecycle.adopt: no {name} has {wanted}: check the value and the region, or remove adopt to create one"
            ),
        });
    };
    match &candidate.owner {
        Some(owner) if owner.uid != uid => Err(format!(
            "spec.lifecycle.adopt: {} is owned by {} of cluster {}: delete that resource with lifecycle.deletion Retain \
             first, or specify another object",
            candidate.id, owner.owner, owner.cluster
        )),
        _ => Ok(candidate),
    }
}

/// All fields that would change, and those that cannot, so that the plan shows every consequence of the adoption. No
/// client required.
fn proposal(id: &str, comparison: Comparison<Change>, lifecycle: &Lifecycle, desired: &Desired) -> Proposal {
    let missing = comparison.missing.map(|what| FieldDiff::new("", what, "missing"));
    let Remedies { changes, immutable, .. } = remedies(comparison.differences, lifecycle);
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
