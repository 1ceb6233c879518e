//! Step 7: decides on the next action, and withholds the recreation of objects that vanished. Client required only to find the object
//! to adopt.

pub(crate) mod adopt;
mod follow;

use kraken_api::{conditions, reasons::Reason};
use kraken_kind::{Comparison, dynamic::Change};
use kraken_model::{
    coverage as names,
    decide::{self, Action, Decision},
    ids::listed,
    observation::Observation,
    outcome::Outcome,
    policy::{launch_limit::confirmed_at, mass_loss},
};
use kraken_runtime::coverage;
use kube::core::object::HasStatus;

use crate::context::Reconcile;

/// The next action, if there is one now.
pub(crate) async fn decide(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    comparison: Comparison<Change>,
) -> Result<Action, Outcome> {
    let decision = decided(reconcile, observation, comparison)?;
    let action = follow::follow(reconcile, observation, decision)?;
    if matches!(action, Action::Publish(_)) {
        return Ok(action);
    }
    Ok(adopt::candidate(reconcile, observation).await?.map_or(action, Action::Adopt))
}

/// The next action according to the comparison. No client required.
fn decided(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    comparison: Comparison<Change>,
) -> Result<Decision<Change>, Outcome> {
    let is_missing = comparison.missing.is_some();
    let mut decision = decide::decide(comparison, reconcile.lifecycle(), observation.target.is_edited);
    if let Decision::Report(fields) = &mut decision {
        let missing = fields.iter_mut().filter(|field| field.path.is_empty());
        missing.for_each(|field| reconcile.context.info().missing_path.clone_into(&mut field.path));
    }
    coverage::note(names::DECISION, (&decision).into());
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
            context.link.vanished.present(&key);
        }
        return None;
    }
    let now = kraken_runtime::clock::now();
    if mass_loss::is_confirmed(confirmed_at(&**object, now), now) {
        context.link.vanished.forget(&key);
        return None;
    }
    let ready = object.status().and_then(|status| conditions::get(&status.conditions, conditions::READY));
    let was_held = ready.is_some_and(|ready| ready.reason == Reason::RecreationHeld.as_str());
    let recreation = context.link.vanished.lost(&key, was_held, context.objects.len());
    mass_loss::permits(recreation, &shown.lost).err()
}
