//! Step 2: connects the reconcile with the account that the resource uses, and takes over what a former resource of its name left there.
//! Client required.

mod take_over;

pub(crate) use take_over::before_launch;

use std::sync::Arc;

use kraken_runtime::watch::ObjectKey;

use crate::{
    account::{AccountKind, Connection},
    context::{Context, Reconcile, place},
    dynamic::DynExternal,
    model::{outcome::Outcome, recorded::has_finalizer},
    policy::{self, paused},
    shared::{
        batch::Batchers,
        connections::Link,
        uses::{NotKept, Uses},
    },
};

/// Connects the reconcile. A resource without remote objects is deleted without an account, and a paused one stays
/// paused.
pub(crate) async fn connect(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    let is_empty = reconcile.is_deleted() && !has_finalizer(&*reconcile.object);
    if !is_empty && let Err(outcome) = open(reconcile).await {
        paused::permits(reconcile.lifecycle())?;
        return Err(outcome);
    }
    reconcile.is_connected = true;
    take_over::take_over(reconcile).await
}

/// Keeps the account from deletion as long as the resource uses it. Nothing new is created with an account that is being deleted.
async fn keep(
    uses: &Uses,
    kind: &AccountKind,
    account: &ObjectKey,
    is_launched: bool,
) -> Result<(), Outcome> {
    match uses.keep(account, is_launched).await {
        Ok(()) => Ok(()),
        Err(NotKept::BeingDeleted) => {
            policy::account::permits_while_deleted(kind, &account.name, is_launched)
        }
        Err(NotKept::Kubernetes(error)) => Err(Outcome::Kubernetes(error)),
    }
}

/// Replaces the context by that of the resource's account, unless it uses the controller's own connection without rules.
pub(crate) async fn open(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    let Some(kind) = context.info().accounts else { return Ok(()) };
    context.connections.expire();
    let namespace = place(&**object).0;
    let connection = context.external.connect(&namespace, object.account()).await?;
    if let Some(Connection { rules, .. }) = &connection
        && let Some(uses) = context.uses.clone()
        && object.metadata.deletion_timestamp.is_none()
    {
        let is_launched = has_finalizer(&**object);
        keep(&uses, &kind, &ObjectKey::new(&namespace, rules.name()), is_launched).await?;
    }
    if let Some(connection) = connection {
        *context = of_account(context, connection);
    }
    Ok(())
}

/// The context of the resource's account, for a look that neither creates nor keeps anything. Its calls write nothing.
pub(crate) async fn look(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    if context.info().accounts.is_some()
        && let Some(connection) = context.external.connect(&place(&**object).0, object.account()).await?
    {
        *context = of_account(context, connection);
    }
    if let Some(external) = context.external.looking() {
        let link = Link { batchers: Batchers::start(&external), external, ..context.link() };
        *context = Arc::new(context.linked(link));
    }
    Ok(())
}

fn of_account(
    context: &Arc<Context>,
    Connection { connected, rules }: Connection<Arc<dyn DynExternal>>,
) -> Arc<Context> {
    let own = context.link();
    let link = match connected {
        Some(connected) => context.connections.link(connected, || own.vanished.with_same_limits()),
        None => own,
    };
    Arc::new(context.with(link, rules))
}
