//! The finalizer of DependencyRequests: who refers to whom is known until what the referring resource has in the cloud is
//! gone. Client required.
//!
//! When a namespace is deleted, Kubernetes deletes everything in it in no order. Without their finalizer the requests would
//! be the first to go, and a VPC would be deleted from under an instance that is protected.

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

/// The requests that left the watch with their finalizer on: somebody may have removed the label that the watch selects by. Such
/// a request still exists, and nobody but its spoke takes the finalizer off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unselected(Arc<Mutex<HashSet<ObjectKey>>>);

impl Unselected {
    /// Takes note of a change of a request.
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

/// Whether a request may exist that the watch does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The resource is about to go: it costs a read to know, and nobody would let the request go afterwards.
    Yes,
    /// Only if it left the watch with its finalizer on.
    IfUnselected,
}

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
pub(crate) async fn release_of(
    context: &Context,
    owner: &ObjectKey,
    expected: Expected,
) -> Result<(), ApiError> {
    let key = ObjectKey::new(&owner.namespace, &context.owned_name(&owner.name));
    let api: Api<DependencyRequest> = Api::namespaced(context.shell.client.clone(), &owner.namespace);
    let manager = context.shell.name;
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
        let mut request = DependencyRequest::new("gadget-a", Default::default());
        request.metadata.finalizers = Some(finalizers.iter().map(|f| (*f).to_owned()).collect());
        request
    }

    #[test]
    fn a_request_is_held_by_its_finalizer_alone() {
        assert!(!is_held(&request(&["other"])));
        assert!(is_held(&request(&["other", REFERENCES_FINALIZER])));
    }

    #[test]
    fn a_request_that_left_the_watch_with_its_finalizer_may_still_exist() {
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
