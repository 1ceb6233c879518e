//! Where the controller works, and whether what a resource has is there: in another account or region nothing of it can be
//! seen, and everything would be created again. Client required.

use kraken_api::{Location, ResourceStatus, reasons::Reason};
use kraken_runtime::mutants::{self, Mutant};
use kube::{Resource, core::object::HasStatus};

use crate::{context::Context, dynamic::Object, intent::Intent, outcome::Outcome};

/// Where this controller works, unless the resource's objects are elsewhere.
pub(crate) async fn here(
    context: &Context,
    object: &Object,
    intent: Option<&Intent>,
) -> Result<Option<Location>, Outcome> {
    let there = recorded(object, intent);
    let here = context.external.location().await.map_err(Outcome::Failed)?;
    if let (Some(rules), Some(here)) = (&context.rules, &here)
        && let Some(why) = rules.misplaced(here)
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

/// Where the first launch was, as the status or the intent has it.
fn recorded<K: Resource + HasStatus<Status = ResourceStatus>>(
    object: &K,
    intent: Option<&Intent>,
) -> Option<Location> {
    let status = object.status().and_then(|status| status.location.clone());
    status.or_else(|| intent.and_then(|intent| intent.location.clone()))
}
