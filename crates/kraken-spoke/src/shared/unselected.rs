//! The DependencyRequests that exist although the watch does not return them.

use std::sync::Arc;

use kraken_api::DependencyRequest;
use kraken_runtime::{
    hash::HashSet,
    watch::{Change, ObjectKey},
};
use kube::Resource;
use parking_lot::Mutex;

use crate::model::request::has_finalizer;

/// The requests that left the watch with their finalizer, those that had no label when the process started, and those of
/// resources that were deleted otherwise than by a reconcile: a client may have removed the label that the watch selects by.
/// Such a request still exists, and only its spoke removes the finalizer.
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

    /// Records a request that may exist.
    pub(crate) fn insert(&self, key: ObjectKey) {
        self.0.lock().insert(key);
    }

    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.0.lock().contains(key)
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use kraken_api::REFERENCES_FINALIZER;

    use super::*;
    use crate::model::request::tests::request;

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
