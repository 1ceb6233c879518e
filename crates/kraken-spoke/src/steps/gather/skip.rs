//! Skips a resource that is paused, and the resync of one that refers to Secrets and is unchanged: no Secret is
//! read if the desired and the observed state are the same as when everything was last in place. Client required.
//!
//! The result of a reconcile depends on the desired state (the generation, the values of references, the versions of
//! Secrets) and on the observed state. If both equal those of an earlier reconcile that found everything in place, the
//! result is the same, and the values of Secrets, which are needed to compare and to repair, are not needed.

use kraken_api::DependencyRequest;
use kraken_model::{
    ledger,
    outcome::Outcome,
    policy::paused,
    request, spec,
    status::ReconcileFacts,
    unchanged::{Unchanged, digest},
};
use kraken_options::{Dependencies, SecretData, Values};
use kraken_runtime::queue::Lane;
use kube::{Resource, core::object::HasStatus};

use crate::{actions::location, context::Reconcile, shared::secrets};

/// The references of a resource; `None` if it is unchanged. Ends the reconcile of one that is paused.
pub(super) async fn skip(reconcile: &mut Reconcile<'_>) -> Result<Option<Dependencies>, Outcome> {
    paused::permits(reconcile.lifecycle())?;
    let dependencies = spec::dependencies(&*reconcile.context.kind, reconcile.object.spec());
    if !dependencies.is_empty() {
        reconcile.facts.followed = reconcile.context.followed();
    }
    if !dependencies.secrets.is_empty() && is_unchanged(reconcile, &dependencies).await.is_some() {
        return Ok(None);
    }
    reconcile.memory.unchanged = None;
    Ok(Some(dependencies))
}

/// Whether everything is in place according to a comparison that reads no Secret; `None` if that is not known.
async fn is_unchanged(reconcile: &mut Reconcile<'_>, dependencies: &Dependencies) -> Option<()> {
    let before = reconcile.memory.unchanged.clone()?;
    if !is_resync(reconcile, &before)? {
        return None;
    }
    let values = versions(&*super::answer(reconcile, dependencies)?, dependencies)?;
    if reconcile.inputs(&values).inputs != before.inputs {
        return None;
    }
    let ledger = ledger::of(&reconcile.object);
    location::here(reconcile, ledger.as_ref()).await.ok()?;
    let clock = reconcile.clock();
    let recorded = reconcile.recorded(ledger.as_ref(), clock);
    if reconcile.needs_search(ledger.as_ref(), &recorded, clock) {
        return None;
    }
    // A failure is reported by the full reconcile.
    let observed = reconcile.observe(&recorded, false, false).await.ok()?;
    if digest(reconcile.context.digest_key, &observed) != before.observed {
        return None;
    }
    reconcile.context.link.vanished.present(&reconcile.key());
    let followed = reconcile.facts.followed.clone();
    reconcile.facts = ReconcileFacts { followed, ..before.facts.clone() };
    Some(())
}

/// Whether this is a resync of what was recorded. An edit, a deletion and a requested reconcile use the edit lane, and
/// everything is reconciled in full.
fn is_resync(reconcile: &mut Reconcile<'_>, before: &Unchanged) -> Option<bool> {
    let Reconcile { context, object, identity, memory, slot, .. } = reconcile;
    let status = object.status()?;
    let is_resync = slot.lane() == Lane::Resync && !memory.is_busy();
    let is_deep = !before.is_shallow && memory.deep.is_due(context.deep_interval, &identity.uid);
    let is_as_reported = object.meta().generation == before.generation
        && status.in_place.as_ref().is_some_and(|in_place| in_place.inputs == before.inputs);
    Some(is_resync && !is_deep && is_as_reported)
}

/// The values of the hub's response, with the versions of Secrets instead of their data; `None` if the hub does not
/// know one.
fn versions(answer: &DependencyRequest, dependencies: &Dependencies) -> Option<Values> {
    let status = answer.status.as_ref().filter(|status| status.unmet.is_empty())?;
    let mut values = request::values_of(&status.dependent_values);
    for key in &dependencies.secrets {
        let keys = status.dependent_values.from_secrets.get(&key.name)?;
        let version = secrets::version(keys)?;
        values.secrets.insert(key.name.clone(), SecretData { version, ..SecretData::default() });
    }
    Some(values)
}
