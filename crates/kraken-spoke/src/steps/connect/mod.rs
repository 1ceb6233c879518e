//! Step 2: connects the reconcile with the account that the resource uses, and takes over what a former resource of its name left there.
//! Client required.

mod take_over;

use std::sync::Arc;

use kraken_api::reasons::Reason;
use kraken_kind::account::Connection;
use kraken_model::{
    outcome::Outcome,
    policy::{self, paused, undecoded},
    recorded::has_finalizer,
};
use kraken_runtime::watch::ObjectKey;

use crate::{
    context::{Context, Reconcile, place},
    shared::connections::Link,
};

pub(crate) use take_over::before_launch;

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

/// Replaces the context by that of the resource's account, unless it uses the controller's own connection without rules.
pub(crate) async fn open(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    let Some(kind) = context.info().accounts else { return Ok(()) };
    if let Some(why) = undecoded::of(object).and_then(|undecoded| undecoded.unknown_account.clone()) {
        return Err(Outcome::Account(Reason::AccountNotFound, why));
    }
    context.connections.expire();
    let namespace = place(&**object).0;
    let connection = context.link.external.connect(&namespace, object.account()).await?;
    if let Some(Connection { rules, .. }) = &connection
        && let Some(uses) = context.uses.clone()
        && object.metadata.deletion_timestamp.is_none()
    {
        // It is not deleted as long as the resource uses it.
        let (account, is_launched) = (ObjectKey::new(&namespace, rules.name()), has_finalizer(&**object));
        if !uses.keep(&account, is_launched).await.map_err(Outcome::Kubernetes)? {
            policy::account::permits_while_deleted(&kind, &account.name, is_launched)?;
        }
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
        && let Some(connection) = context.link.external.connect(&place(&**object).0, object.account()).await?
    {
        *context = of_account(context, connection);
    }
    if let Some(external) = context.link.external.looking() {
        let link = Link::new(external, context.link.vanished.clone());
        *context = Arc::new(Context { link, ..(**context).clone() });
    }
    Ok(())
}

fn of_account(context: &Arc<Context>, Connection { connected, rules }: Connection) -> Arc<Context> {
    let own = &context.link;
    let link = match connected {
        Some(connected) => context.connections.link(connected, || own.vanished.with_same_limits()),
        None => own.clone(),
    };
    Arc::new(Context { link, rules: Some(rules), ..(**context).clone() })
}
