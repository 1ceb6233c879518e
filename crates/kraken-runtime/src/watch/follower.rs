//! Applies the events of one watch to a store, and reports each change.

use std::sync::Arc;

use kube::{Resource, api::ObjectMeta, runtime::watcher};
use parking_lot::RwLock;

use super::{
    key::ObjectKey,
    store::{Change, Store},
    stored::Stored,
};
use crate::hash::{HashMap, HashSet};

/// An object that a watch delivered, with its stored form; or its metadata, and why it does not decode.
pub(super) type Opened<K> = Result<(Arc<K>, Stored<K>), (Box<ObjectMeta>, String)>;

/// Applies the events of one watch to a store that watches of other namespaces may share.
pub(super) struct Follower<K> {
    objects: Arc<RwLock<HashMap<ObjectKey, Stored<K>>>>,
    /// The keys that this watch added, so that a new list reveals deletions.
    mine: HashSet<ObjectKey>,
    /// The keys of the current list, if one is being read.
    listed: Option<HashSet<ObjectKey>>,
}

impl<K> Follower<K> {
    pub(super) fn of(store: &Store<K>) -> Self {
        Self { objects: store.objects.clone(), mine: HashSet::default(), listed: None }
    }

    /// Whether the watch has returned this object and it still exists, whether or not it decodes.
    pub(super) fn knows(&self, key: &ObjectKey) -> bool {
        self.mine.contains(key)
    }
}

impl<K: Resource> Follower<K> {
    pub(super) fn follow<W>(
        &mut self,
        event: watcher::Event<W>,
        open: impl Fn(W) -> Opened<K>,
        seen: &impl Fn(Change<K>),
    ) {
        match event {
            watcher::Event::Init => self.listed = Some(HashSet::default()),
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => match open(object) {
                Ok((object, stored)) => self.applied(object, stored, seen),
                Err((meta, error)) => self.invalid(meta, error, seen),
            },
            watcher::Event::Delete(object) => match open(object) {
                Ok((object, _)) => drop(self.gone(&ObjectKey::of(object.meta()), seen)),
                Err((meta, error)) => {
                    if !self.gone(&ObjectKey::of(&meta), seen) {
                        // It was never decoded, so there is no stored form.
                        seen(Change::Invalid(meta, error));
                    }
                }
            },
            watcher::Event::InitDone => {
                if let Some(listed) = self.listed.take() {
                    let gone: Vec<_> = self.mine.difference(&listed).cloned().collect();
                    for key in gone {
                        self.gone(&key, seen);
                    }
                }
            }
        }
    }

    fn applied(&mut self, object: Arc<K>, stored: Stored<K>, seen: &impl Fn(Change<K>)) {
        let key = ObjectKey::of(object.meta());
        let before = self.objects.write().insert(key.clone(), stored);
        let before = before.map(|stored| stored.open(&key));
        self.note(key);
        if before.as_ref().is_some_and(|b| b.meta().resource_version == object.meta().resource_version) {
            if self.listed.is_some() {
                seen(Change::Listed(object));
            }
            return;
        }
        seen(Change::Applied(object, before));
    }

    /// The store keeps the last decoded form of the object.
    fn invalid(&mut self, meta: Box<ObjectMeta>, error: String, seen: &impl Fn(Change<K>)) {
        self.note(ObjectKey::of(&meta));
        seen(Change::Invalid(meta, error));
    }

    /// Deletes an object. Returns whether the store had it.
    pub(super) fn gone(&mut self, key: &ObjectKey, seen: &impl Fn(Change<K>)) -> bool {
        self.mine.remove(key);
        let before = self.objects.write().remove(key);
        let was_known = before.is_some();
        if let Some(stored) = before {
            seen(Change::Deleted(stored.open(key)));
        }
        was_known
    }

    fn note(&mut self, key: ObjectKey) {
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        self.mine.insert(key);
    }
}
