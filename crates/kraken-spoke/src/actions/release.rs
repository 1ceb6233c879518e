//! Releases the references of a resource that is gone, or whose remote objects are. Client required.

use kraken_api::DependencyRequest;
use kraken_runtime::{
    patch::{ApiError, within},
    watch::ObjectKey,
};
use kube::Api;

use super::references::drop_request;
use crate::context::Context;

/// Deletes the request of a resource whose remote objects are deleted, so that its dependencies may be deleted. The
/// garbage collector would do so too, but as one of thousands of objects and at a few calls per second. A request that the
/// watch does not return is read, because no later reconcile would release it.
pub(crate) async fn release_of(context: &Context, owner: &ObjectKey) -> Result<(), ApiError> {
    let key = context.owned_key(owner);
    let api: Api<DependencyRequest> = Api::namespaced(context.manager.client.clone(), &owner.namespace);
    match context.requests.get(&key) {
        Some(request) => drop_request(&api, context.manager.name, &request).await,
        // The watch may lag behind the reconcile that wrote it.
        None => match within("read the DependencyRequest", api.get_opt(&key.name)).await? {
            Some(request) => drop_request(&api, context.manager.name, &request).await,
            None => Ok(()),
        },
    }
}

/// Deletes the request of a resource that the watch does not return, if there is one. Returns `false` if the resource exists: its watch
/// may lag behind that of the requests, or return a list that lags.
pub(crate) async fn release_of_missing(context: &Context, owner: &ObjectKey) -> Result<bool, ApiError> {
    if !context.requests.contains(&context.owned_key(owner)) {
        return Ok(true);
    }
    let api = context.api(&owner.namespace);
    if within("read the resource", api.get_metadata_opt(&owner.name)).await?.is_some() {
        return Ok(false);
    }
    release_of(context, owner).await?;
    Ok(true)
}
