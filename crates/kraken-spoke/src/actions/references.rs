//! The finalizer of DependencyRequests: it keeps the references of a resource on record until the remote objects of
//! that resource are deleted. Client required.
//!
//! When a namespace is deleted, Kubernetes deletes the objects in it in no particular order. Without the finalizer the
//! requests could be deleted first, and a VPC would be deleted although a protected instance depends on it.

use kraken_api::{DependencyRequest, REFERENCES_FINALIZER};
use kraken_model::request::has_finalizer;
use kraken_runtime::{manager::Manager, patch::ApiError};
use kube::{Api, Resource};

use super::{delete, remove_finalizer};

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
