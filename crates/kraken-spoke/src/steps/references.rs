//! The finalizer of DependencyRequests: who refers to whom is known until what the referring resource has in the cloud is
//! gone. Client required.
//!
//! When a namespace is deleted, Kubernetes deletes everything in it in no order. Without their finalizer the requests would
//! be the first to go, and a VPC would be deleted from under an instance that is protected.

use kraken_api::{DependencyRequest, REFERENCES_FINALIZER};
use kraken_runtime::{
    mutants::{self, Mutant},
    patch::{ApiError, json_patch, within},
    watch::ObjectKey,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, ObjectMeta, Preconditions},
};
use serde_json::json;

use crate::{External, context::Context};

/// What a request is held by.
pub(crate) fn finalizers() -> &'static [&'static str] {
    if mutants::active(Mutant::RequestNotHeld) { &[] } else { &[REFERENCES_FINALIZER] }
}

/// Whether the request stays until its spoke lets it go. One that is on its way out cannot be held any more.
pub(crate) fn is_held(request: &DependencyRequest) -> bool {
    mutants::active(Mutant::RequestNotHeld)
        || request.meta().deletion_timestamp.is_some()
        || has_finalizer(request.meta())
}

pub(super) fn has_finalizer(meta: &ObjectMeta) -> bool {
    meta.finalizers.iter().flatten().any(|finalizer| finalizer == REFERENCES_FINALIZER)
}

/// Lets a request go when Kubernetes collects it, or at once if that was asked for already.
pub(crate) async fn release(
    api: &Api<DependencyRequest>,
    manager: &str,
    request: &DependencyRequest,
) -> Result<(), ApiError> {
    if !has_finalizer(request.meta()) {
        return Ok(());
    }
    let before = request.finalizers();
    let after: Vec<&String> = before.iter().filter(|finalizer| *finalizer != REFERENCES_FINALIZER).collect();
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": request.meta().uid},
        {"op": "test", "path": "/metadata/finalizers", "value": before},
        {"op": "replace", "path": "/metadata/finalizers", "value": after},
    ]);
    match json_patch(api, manager, &request.name_any(), operations).await {
        Err(error) if error.is_not_found() => Ok(()),
        released => released.map(drop),
    }
}

/// Deletes a request that nobody needs any more.
pub(crate) async fn drop_request(
    api: &Api<DependencyRequest>,
    manager: &str,
    request: &DependencyRequest,
) -> Result<(), ApiError> {
    release(api, manager, request).await?;
    if request.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    let preconditions = Preconditions { uid: request.uid(), resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match within("delete the DependencyRequest", api.delete(&request.name_any(), &params)).await {
        Err(error) if error.is_not_found() => Ok(()),
        deleted => deleted.map(drop),
    }
}

/// Deletes the request of a resource whose remote objects are gone, so that those it refers to may be deleted. The garbage
/// collector would do so too, as one of thousands of objects and by a few calls a second.
pub(crate) async fn release_of<E: External>(context: &Context<E>, owner: &ObjectKey) -> Result<(), ApiError> {
    let key = ObjectKey::new(&owner.namespace, &context.owned_name(&owner.name));
    let Some(request) = context.requests.get(&key) else { return Ok(()) };
    let api: Api<DependencyRequest> = Api::namespaced(context.shell.client.clone(), &owner.namespace);
    drop_request(&api, context.shell.name, &request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(finalizers: &[&str]) -> DependencyRequest {
        let mut request = DependencyRequest::new("gadget-a", Default::default());
        request.metadata.finalizers = Some(finalizers.iter().map(|f| (*f).to_owned()).collect());
        request
    }

    #[test]
    fn a_request_is_held_by_its_finalizer_alone() {
        assert!(!is_held(&request(&["other"])));
        assert!(is_held(&request(&["other", REFERENCES_FINALIZER])));
    }
}
