//! Compares the controller's location with that of a resource's remote objects: in another account or region they are
//! not visible, and all of them would be recreated. Client required.

use kraken_api::{Location, ResourceStatus, reasons::Reason};
use kraken_runtime::mutants::{self, Mutant};
use kube::{Resource, core::object::HasStatus};

use crate::{
    context::Reconcile,
    model::{intent::Intent, outcome::Outcome},
};

/// The location of this controller; fails if the resource's objects are in another one.
pub(crate) async fn here(
    reconcile: &Reconcile<'_>,
    intent: Option<&Intent>,
) -> Result<Option<Location>, Outcome> {
    let context = &reconcile.context;
    let there = recorded(&*reconcile.object, intent);
    let here = context.external.location().await.map_err(Outcome::Failed)?;
    if let (Some(rules), Some(here)) = (&context.rules, &here)
        && let Some(why) = rules.location_violation(here)
    {
        return Err(Outcome::Account(Reason::AccountNotReady, why));
    }
    match (there, here) {
        (Some(there), Some(here)) if there != here && !mutants::active(Mutant::LocationIgnored) => {
            Err(Outcome::Elsewhere(there, here))
        }
        (_, here) => Ok(here),
    }
}

/// The location of the first launch, from the status or the intent.
fn recorded<K: Resource + HasStatus<Status = ResourceStatus>>(
    object: &K,
    intent: Option<&Intent>,
) -> Option<Location> {
    let status = object.status().and_then(|status| status.location.clone());
    status.or_else(|| intent.and_then(|intent| intent.location.clone()))
}
