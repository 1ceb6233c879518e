//! The StateDeclarations of resources that are deleted with `--cascade=orphan`: they have no owner, so that the garbage collector
//! leaves them, and no resource publishes them any more. Client required.

use kraken_api::StateDeclaration;
use kraken_runtime::{
    patch::{ApiError, within},
    watch::ObjectKey,
};
use kube::{Api, Resource, ResourceExt, core::PartialObjectMeta};

use super::delete;
use crate::context::{Context, Reconcile};

/// The finalizer by which Kubernetes removes the owner from the dependents of an object, and leaves them.
const ORPHAN: &str = "orphan";

async fn drop_state(context: &Context, state: &PartialObjectMeta<StateDeclaration>) -> Result<(), ApiError> {
    let (client, namespace) = (context.manager.client.clone(), state.namespace().unwrap_or_default());
    delete(&Api::<StateDeclaration>::namespaced(client, &namespace), "delete the state", state).await
}

/// Deletes the state of a resource whose deletion is complete, if it is deleted with `--cascade=orphan`. In every other case, Kubernetes
/// deletes it with the resource.
pub(crate) async fn drop_orphaned(reconcile: &Reconcile<'_>) -> Result<(), ApiError> {
    let Reconcile { context, object, .. } = reconcile;
    let Some(state) = context.states.get(&context.owned_key(&reconcile.key())) else { return Ok(()) };
    let is_orphaned = object.finalizers().iter().any(|finalizer| finalizer == ORPHAN)
        || state.owner_references().is_empty();
    if !is_orphaned {
        return Ok(());
    }
    match drop_state(context, &state).await {
        Err(error) if !error.is_conflict() => Err(error),
        _ => Ok(()),
    }
}

/// Deletes the state of this resource, which does not exist, if it has no owner. Returns `false` if the resource exists: its watch may
/// lag.
pub(crate) async fn drop_ownerless(context: &Context, owner: &ObjectKey) -> Result<bool, ApiError> {
    let Some(state) = context.states.get(&context.owned_key(owner)) else { return Ok(true) };
    let has_owner = state.owner_references().iter().any(|owner| owner.controller == Some(true));
    if has_owner || state.meta().deletion_timestamp.is_some() {
        return Ok(true);
    }
    let api = context.api(&owner.namespace);
    if within("read the resource", api.get_metadata_opt(&owner.name)).await?.is_some() {
        return Ok(false);
    }
    drop_state(context, &state).await.map(|()| true)
}
