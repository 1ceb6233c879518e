//! The objects of one kind, and their changes.

use std::sync::Arc;

use kube::{Resource, api::ObjectMeta};
use parking_lot::RwLock;

use super::{ObjectKey, RawObject, stored::Stored};
use crate::hash::HashMap;

/// The objects of one kind that the watch last observed. Clones share the same store.
#[derive(Debug)]
pub struct Store<K> {
    pub(super) objects: Arc<RwLock<HashMap<ObjectKey, Stored<K>>>>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone() }
    }
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self { objects: Arc::new(RwLock::new(HashMap::default())) }
    }
}

impl<K> Store<K> {
    /// The object, if the watch has returned it.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.objects.read().get(key).map(|stored| stored.open(key))
    }

    /// Whether the watch has returned the object.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.objects.read().contains_key(key)
    }

    /// All objects, in no particular order.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.objects.read().iter().map(|(key, stored)| stored.open(key)).collect()
    }

    /// Calls `visit` with each object of a watch of [`Watches::decoded`](super::Watches::decoded), without decoding it.
    pub fn visit_raw(&self, mut visit: impl FnMut(&RawObject)) {
        self.objects.read().values().filter_map(Stored::raw).for_each(&mut visit);
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.read().len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A change that a watch observed.
#[derive(Debug)]
pub enum Change<K> {
    /// An object was created or changed; the second value is the previous object, if known.
    Applied(Arc<K>, Option<Arc<K>>),
    /// A new list has a known object in the known version. If this process wrote a newer version before, a backup of the
    /// API server was restored before the watch returned that version, which no other event reveals.
    Listed(Arc<K>),
    /// An object was deleted.
    Deleted(Arc<K>),
    /// An object cannot be decoded: its metadata and the cause. It is reported again when such an object is deleted.
    Invalid(Box<ObjectMeta>, String),
}

impl<K: Resource> Change<K> {
    /// The metadata of the object concerned.
    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Applied(object, _) | Self::Listed(object) | Self::Deleted(object) => object.meta(),
            Self::Invalid(meta, _) => meta,
        }
    }
}

/// The version of an object; a newer version is greater. Kubernetes guarantees since 1.35, and has always provided, that
/// resourceVersions of one kind are increasing integers. `None` if the object has none.
pub fn version(meta: &ObjectMeta) -> Option<u128> {
    meta.resource_version.as_deref()?.parse().ok()
}
