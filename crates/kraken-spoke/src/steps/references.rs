//! The finalizer of DependencyRequests: it keeps the references of a resource on record until the remote objects of
//! that resource are deleted. Client required.
//!
//! When a namespace is deleted, Kubernetes deletes the objects in it in no particular order. Without the finalizer the
//! requests could be deleted first, and a VPC would be deleted although a protected instance depends on it.

use std::sync::Arc;

use kraken_api::{DependencyRequest, REFERENCES_FINALIZER};
use kraken_runtime::{
    hash::HashSet,
    mutants::{self, Mutant},
    patch::{ApiError, json_patch, within},
    watch::{Change, ObjectKey},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, ObjectMeta, Preconditions},
};
use parking_lot::Mutex;
use serde_json::json;

use crate::context::Context;

/// The requests that left the watch with their finalizer: a client may have removed the label that the watch selects
/// by. Such a request still exists, and only its spoke removes the finalizer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unselected(Arc<Mutex<HashSet<ObjectKey>>>);

impl Unselected {
    /// Records a change of a request.
    pub(crate) fn note(&self, change: &Change<DependencyRequest>) {
        let key = ObjectKey::of(change.meta());
        match change {
            Change::Deleted(request) if has_finalizer(request.meta()) => drop(self.0.lock().insert(key)),
            _ => self.forget(&key),
        }
    }

    fn contains(&self, key: &ObjectKey) -> bool {
        self.0.lock().contains(key)
    }

    fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// Whether a request may exist that the watch does not return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The resource is about to be removed: an API read is worthwhile, because no later reconcile would release the
    /// request.
    Yes,
    /// Only if the request left the watch with its finalizer.
    IfUnselected,
}

/// The finalizers of a request.
pub(crate) fn finalizers() -> &'static [&'static str] {
    if mutants::active(Mutant::RequestNotHeld) { &[] } else { &[REFERENCES_FINALIZER] }
}

/// Whether the request exists until its spoke releases it. A request that is being deleted can get no finalizer any
/// more.
pub(crate) fn is_held(request: &DependencyRequest) -> bool {
    mutants::active(Mutant::RequestNotHeld)
        || request.meta().deletion_timestamp.is_some()
        || has_finalizer(request.meta())
}

pub(super) fn has_finalizer(meta: &ObjectMeta) -> bool {
    meta.finalizers.iter().flatten().any(|finalizer| finalizer == REFERENCES_FINALIZER)
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
    let preconditions = Preconditions { uid: request.uid(), resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match within("delete the DependencyRequest", api.delete(&request.name_any(), &params)).await {
        Err(error) if error.is_not_found() => Ok(()),
        deleted => deleted.map(drop),
    }
}

/// Deletes the request of a resource whose remote objects are deleted, so that its dependencies may be deleted. The
/// garbage collector would do so too, but as one of thousands of objects and at a few calls per second.
pub(crate) async fn release_of(
    context: &Context,
    owner: &ObjectKey,
    expected: Expected,
) -> Result<(), ApiError> {
    let key = ObjectKey::new(&owner.namespace, &context.owned_name(&owner.name));
    let api: Api<DependencyRequest> = Api::namespaced(context.manager.client.clone(), &owner.namespace);
    let manager = context.manager.name;
    if let Some(request) = context.requests.get(&key) {
        return drop_request(&api, manager, &request).await;
    }
    if expected == Expected::IfUnselected && !context.unselected.contains(&key) {
        return Ok(());
    }
    if let Some(request) = within("read the DependencyRequest", api.get_opt(&key.name)).await? {
        drop_request(&api, manager, &request).await?;
    }
    context.unselected.forget(&key);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(finalizers: &[&str]) -> DependencyRequest {
        let mut request = DependencyRequest::new("gadget-a", kraken_api::DependencyRequestSpec::default());
        request.metadata.finalizers = Some(finalizers.iter().map(|f| (*f).to_owned()).collect());
        request
    }

    #[test]
    fn request_is_held_only_by_its_finalizer() {
        assert!(!is_held(&request(&["other"])));
        assert!(is_held(&request(&["other", REFERENCES_FINALIZER])));
    }

    #[test]
    fn request_that_left_the_watch_with_its_finalizer_may_still_exist() {
        let unselected = Unselected::default();
        let change = |finalizers: &[&str]| {
            let mut request = request(finalizers);
            request.metadata.namespace = Some("ns".to_owned());
            Change::Deleted(Arc::new(request))
        };
        let key = ObjectKey::new("ns", "gadget-a");
        unselected.note(&change(&[]));
        assert!(!unselected.contains(&key));
        unselected.note(&change(&[REFERENCES_FINALIZER]));
        assert!(unselected.contains(&key));
        let Change::Deleted(request) = change(&[REFERENCES_FINALIZER]) else { return };
        unselected.note(&Change::Applied(request, None));
        assert!(!unselected.contains(&key), "it is selected again");
    }
}
