//! Compares the location in which calls are made with that of a resource's remote objects. Client required.

use kraken_api::Location;
use kraken_model::{
    ledger::Ledger,
    outcome::Outcome,
    policy::{account, location},
};
use kube::core::object::HasStatus;

use crate::context::Reconcile;

/// The location in which calls are made; fails if the resource's objects are in another one.
pub(crate) async fn here(
    reconcile: &Reconcile<'_>,
    ledger: Option<&Ledger>,
) -> Result<Option<Location>, Outcome> {
    let (context, status) = (&reconcile.context, reconcile.object.status());
    let there = status.and_then(|status| status.location.as_ref());
    let there = there.or_else(|| ledger.and_then(|ledger| ledger.location.as_ref()));
    // That of a former resource of the name, if this one came with its status: its objects are where it created them.
    let stored = status.and_then(|status| status.ledger.as_ref());
    let there = there.or_else(|| stored.and_then(|ledger| ledger.location.as_ref()));
    let here = context.link.external.location().await.map_err(Outcome::Failed)?;
    let rules = context.rules.as_deref();
    account::permits_location(rules, here.as_ref())?;
    location::permits(there, here.as_ref(), rules, context.info().accounts)?;
    Ok(here)
}
