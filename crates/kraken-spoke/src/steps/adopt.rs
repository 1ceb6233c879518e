//! Adoption: one thing that exists already becomes the resource's own, by its tags. Client required.
//!
//! Nothing is touched before it is sure that exactly one thing is meant, that nobody owns it, and, where something would
//! have to change, that a person agreed to the plan.

use jiff::Timestamp;
use kraken_api::{Adopt, Approval, FieldDiff, Lifecycle, PlanAction, Replace, reasons::Reason};
use kraken_runtime::events::EventType;
use kube::Resource;

use crate::{
    Comparison, External, Remedy,
    context::{Context, Sight},
    decide::heed,
    external::Candidate,
    intent::{Intent, parameters_hash},
    memory::Memory,
    outcome::{Outcome, listed},
    plan::Proposal,
    secrecy::Secrecy,
    steps::persist::persist,
};

/// Whether the resource is to adopt, and has neither adopted nor created anything yet.
pub(crate) fn is_due<E: External>(intent: Option<&Intent>, sight: &Sight<'_, E>) -> bool {
    let seen = sight.known.epoch.max(E::epoch(&sight.observed));
    let is_open = intent.map_or(seen == 0, |intent| intent.adopts && seen < intent.epoch);
    is_open && E::ids(&sight.observed).is_empty()
}

/// Adopts, or says why not.
pub(crate) async fn adopt<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    sight: &Sight<'_, E>,
    (lifecycle, wanted, secrecy): (&Lifecycle, &Adopt, &Secrecy),
) -> Outcome {
    // One at a time: of two resources that want the same thing, the second must see whose it has become.
    let _turn = context.adopting.lock().await;
    let found = match context.external.find(wanted).await {
        Ok(found) => found,
        Err(failure) => return Outcome::Failed(failure),
    };
    let candidate = match the_one::<E>(found, wanted, &sight.identity.uid) {
        Ok(candidate) => candidate,
        Err(why) => return Outcome::AdoptionRefused(why),
    };
    let id = candidate.id.clone();
    let comparison = secrecy.mask(heed(E::compare(sight.desired, &candidate.observed), lifecycle));
    let proposal = proposal::<E>(&id, &comparison, lifecycle, sight.desired);
    if (lifecycle.approval == Approval::Manual || !proposal.changes.is_empty())
        && let Err(outcome) = proposal.approved(object)
    {
        return outcome;
    }
    let epoch = Intent::of(object).map_or(1, |intent| intent.epoch);
    let hash = parameters_hash(&id, "adopt");
    let intent = Intent { epoch, at: Timestamp::now(), hash, replaces: false, adopts: true };
    if let Err(error) = persist(context, object, memory, &intent).await {
        return Outcome::Kubernetes(error);
    }
    match context.external.claim(&sight.identity, epoch, &candidate.observed).await {
        Ok(()) => {
            let (reference, reason) = (object.object_ref(&()), Reason::Adopted.as_str());
            let note = format!("adopted {id}");
            context.shell.events.publish(&reference, EventType::Normal, reason, "Adopt", &note).await;
            Outcome::Changed(note)
        }
        Err(failure) => Outcome::Failed(failure),
    }
}

/// The one thing that is meant and may be taken, or why there is none.
fn the_one<E: External>(
    found: Vec<Candidate<E::Observed>>,
    wanted: &Adopt,
    uid: &str,
) -> Result<Candidate<E::Observed>, String> {
    let kind = E::Kind::kind(&());
    let (mut alive, gone): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|candidate| !E::ids(&candidate.observed).is_empty());
    if alive.len() > 1 {
        let ids: Vec<String> = alive.into_iter().map(|candidate| candidate.id).collect();
        return Err(format!(
            "spec.lifecycle.adopt: {} match {wanted}: {}; name one by its id, or give tags that only one has",
            ids.len(),
            listed(&ids)
        ));
    }
    let Some(candidate) = alive.pop() else {
        return Err(match gone.first() {
            Some(candidate) => {
                format!(
                    "spec.lifecycle.adopt: {} is deleted already: name another, or remove adopt to create one",
                    candidate.id
                )
            }
            None => format!(
                "spec.lifecycle.adopt: nothing for {kind} has {wanted}: check it, and the region, or remove adopt to create one"
            ),
        });
    };
    match &candidate.owner {
        Some(owner) if owner.uid != uid => Err(format!(
            "spec.lifecycle.adopt: {} belongs to {} of cluster {}: delete that with lifecycle.deletion Retain first, or \
             name another",
            candidate.id, owner.owner, owner.cluster
        )),
        _ => Ok(candidate),
    }
}

/// Everything that would change, so that nobody is surprised by what follows the adoption.
fn proposal<E: External>(
    id: &str,
    comparison: &Comparison<E::Change>,
    lifecycle: &Lifecycle,
    desired: &E::Desired,
) -> Proposal {
    let missing = comparison.missing.as_ref().map(|what| FieldDiff::new("", what, "missing"));
    let differences = comparison.differences.iter();
    let fixed: Vec<&str> = differences
        .clone()
        .filter(|difference| matches!(difference.remedy, Remedy::Immutable(_)))
        .map(|difference| difference.field.path.as_str())
        .collect();
    let what = match (fixed.is_empty(), lifecycle.replace) {
        (true, _) => id.to_owned(),
        (false, Replace::Never) => {
            format!("{id} (spec.{} cannot be changed and stays)", fixed.join(", spec."))
        }
        (false, _) => format!("{id} (and replace it, for the sake of spec.{})", fixed.join(", spec.")),
    };
    let changes = missing.into_iter().chain(differences.map(|difference| difference.field.clone())).collect();
    Proposal { action: PlanAction::Adopt, what, changes, target: parameters_hash(desired, "") }
}
