//! The StateDeclarations of resources that were deleted with `--cascade=orphan`: they have no owner, so that the garbage collector
//! leaves them, and no resource publishes them any more. Client required.

use kraken_api::StateDeclaration;
use kraken_runtime::{
    patch::{ApiError, within},
    watch::ObjectKey,
};
use kube::{
    Api, Resource,
    api::{DeleteParams, Preconditions},
};

use crate::context::Context;

/// Deletes the state of this resource, which does not exist, if it has no owner. Returns `false` if the resource exists: its watch may
/// lag.
pub(crate) async fn drop_ownerless(context: &Context, owner: &ObjectKey) -> Result<bool, ApiError> {
    let key = context.owned_key(owner);
    let Some(state) = context.states.get(&key) else { return Ok(true) };
    let meta = state.meta();
    let has_owner = meta.owner_references.iter().flatten().any(|owner| owner.controller == Some(true));
    if has_owner || meta.deletion_timestamp.is_some() {
        return Ok(true);
    }
    let api = context.api(&owner.namespace);
    if within("read the resource", api.get_metadata_opt(&owner.name)).await?.is_some() {
        return Ok(false);
    }
    let api: Api<StateDeclaration> = Api::namespaced(context.manager.client.clone(), &key.namespace);
    let preconditions = Preconditions { uid: meta.uid.clone(), resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match within("delete the state", api.delete(&key.name, &params)).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(true),
        Err(error) => Err(error),
    }
}
