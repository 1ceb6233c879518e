//! Step 7: decides on the next action, and withholds the recreation of objects that vanished. Client required only by [`follow`] and
//! [`adopt`].

mod adopt;
mod follow;

use kraken_api::{conditions, reasons::Reason};
use kraken_runtime::coverage;
use kube::core::object::HasStatus;

use crate::{
    context::Reconcile,
    dynamic::Change,
    model::{
        breaker::confirmed_at,
        coverage as names,
        decide::{self, Decision},
        ids::listed,
        observation::Observation,
        outcome::Outcome,
    },
    shared::vanished::{CONFIRMED_FOR, Recreation, message},
};

/// The next action, if there is one now. An adoption that is due is made here, because it ends the reconcile.
pub(crate) async fn decide(
    reconcile: &mut Reconcile<'_>,
    observation: &mut Observation<'_>,
) -> Result<Decision<Change>, Outcome> {
    let decision = decided(reconcile, observation)?;
    let decision = follow::follow(reconcile, observation, decision).await?;
    adopt::adopt(reconcile, observation).await?;
    Ok(decision)
}

/// The next action according to the comparison. No client required.
fn decided(
    reconcile: &mut Reconcile<'_>,
    observation: &mut Observation<'_>,
) -> Result<Decision<Change>, Outcome> {
    let comparison = std::mem::take(&mut observation.comparison);
    let is_missing = comparison.missing.is_some();
    let mut decision = decide::decide(comparison, reconcile.lifecycle(), observation.target.is_edited);
    if let Decision::Report(fields) = &mut decision {
        let missing = fields.iter_mut().filter(|field| field.path.is_empty());
        missing.for_each(|field| reconcile.context.info().missing_path.clone_into(&mut field.path));
    }
    coverage::note(names::DECISION, names::decision(&decision));
    let withheld = withheld(reconcile, observation, is_missing);
    if let (Decision::Create(_), Some(outcome)) = (&decision, withheld) {
        return Err(outcome);
    }
    if !observation.vanishing.is_empty() {
        let ids = listed(&observation.vanishing);
        let message = format!("{ids} is not found; waiting to confirm that it is deleted");
        return Err(Outcome::InProgress(Reason::Updating, message));
    }
    reconcile.memory.forget_ids(&observation.shown.gone);
    reconcile.facts.of(&observation.shown.present(), observation.adopted.clone());
    Ok(decision)
}

/// Why the vanished objects are not recreated now, if many objects of the kind vanished at once.
fn withheld(reconcile: &Reconcile<'_>, observation: &Observation<'_>, is_missing: bool) -> Option<Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    let (key, shown) = (reconcile.key(), &observation.shown);
    if shown.lost.is_empty() || !is_missing {
        if !shown.live.is_empty() {
            context.vanished.present(&key);
        }
        return None;
    }
    let now = kraken_runtime::clock::now();
    let confirmed = confirmed_at(&**object, now);
    if confirmed.is_some_and(|at| at.duration_until(now).unsigned_abs() < CONFIRMED_FOR) {
        context.vanished.forget(&key);
        return None;
    }
    let ready = object.status().and_then(|status| conditions::get(&status.conditions, conditions::READY));
    let was_held = ready.is_some_and(|ready| ready.reason == Reason::RecreationHeld.as_str());
    match context.vanished.lost(&key, was_held, context.objects.len()) {
        Recreation::Allowed => None,
        Recreation::Wait => {
            let message = format!("{} vanished; checking for losses of other resources", listed(&shown.lost));
            Some(Outcome::InProgress(Reason::Creating, message))
        }
        Recreation::Held(lost, all) => Some(Outcome::Held(message(&shown.lost, lost, all))),
    }
}
