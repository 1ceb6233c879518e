//! Step 2: connects the reconcile with the account that the resource uses. Client required, by kinds with accounts.

use std::sync::Arc;

use crate::{
    account::Connection,
    context::{Reconcile, place},
    model::{outcome::Outcome, recorded::has_finalizer},
};

/// Connects the reconcile. A resource without remote objects is deleted without an account, and a paused one stays
/// paused.
pub(crate) async fn connect(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    let is_empty = reconcile.is_deleted() && !has_finalizer(&*reconcile.object);
    if !is_empty && let Err(outcome) = open(reconcile).await {
        return Err(if reconcile.lifecycle().paused { Outcome::Paused } else { outcome });
    }
    reconcile.is_connected = true;
    Ok(())
}

/// Replaces the context by that of the resource's account, unless it uses the controller's own connection without rules.
pub(crate) async fn open(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    if context.info().accounts.is_none() {
        return Ok(());
    }
    context.connections.expire();
    let namespace = place(&**object).0;
    let connection = context.external.connect(&namespace, object.account()).await?;
    if let Some(Connection { connected, rules }) = connection {
        let own = context.link();
        let link = match connected {
            Some(connected) => context.connections.link(connected, || own.vanished.with_same_limits()),
            None => own,
        };
        *context = Arc::new(context.with(link, rules));
    }
    Ok(())
}
