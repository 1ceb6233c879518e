//! The finalizer of DependencyRequests: it keeps the references of a resource on record until the remote objects of
//! that resource are deleted. Client required.
//!
//! When a namespace is deleted, Kubernetes deletes the objects in it in no particular order. Without the finalizer the
//! requests could be deleted first, and a VPC would be deleted although a protected instance depends on it.

use kraken_api::{DependencyRequest, REFERENCES_FINALIZER};
use kraken_runtime::{
    manager::Manager,
    patch::{ApiError, within},
    watch::ObjectKey,
};
use kube::{Api, Resource};

use super::{delete, remove_finalizer};
use crate::{context::Context, model::request::has_finalizer};

/// Everywhere, or in each of the namespaces of the process.
pub(crate) fn apis(manager: &Manager) -> Vec<Api<DependencyRequest>> {
    let namespaces = manager.args.namespaces.names();
    if namespaces.is_empty() {
        return vec![Api::all(manager.client.clone())];
    }
    namespaces.iter().map(|namespace| Api::namespaced(manager.client.clone(), namespace)).collect()
}

/// Removes the finalizer, so that Kubernetes deletes the request during garbage collection, or at once if its deletion
/// was requested already.
pub(crate) async fn release(
    api: &Api<DependencyRequest>,
    manager: &str,
    request: &DependencyRequest,
) -> Result<(), ApiError> {
    if !has_finalizer(request.meta()) {
        return Ok(());
    }
    match remove_finalizer(api, manager, request, REFERENCES_FINALIZER, &[]).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Deletes a request that is no longer needed.
pub(crate) async fn drop_request(
    api: &Api<DependencyRequest>,
    manager: &str,
    request: &DependencyRequest,
) -> Result<(), ApiError> {
    release(api, manager, request).await?;
    if request.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    delete(api, "delete the DependencyRequest", request).await
}

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
