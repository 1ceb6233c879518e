//! The in-memory records of the resources of one kind.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use kraken_kind::dynamic::Object;
use kraken_model::memory::Memory;
use kraken_runtime::{
    clock,
    hash::{HashMap, HashSet},
    watch::{ObjectKey, version},
};
use kube::Resource;
use parking_lot::Mutex;

/// The number of resources that are gone without a completed deletion and remembered. Beyond this number, a resource that reappears is
/// assumed to come from a backup.
const MOST_FORGOTTEN: usize = 10_000;

/// The in-memory records of all resources of one kind.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    of: Mutex<HashMap<ObjectKey, (String, Memory)>>,
    /// The resources that a restored backup has set back since their last reconcile.
    restored: Mutex<HashSet<ObjectKey>>,
    /// The resources that the next reconcile searches by tag for.
    to_search: Mutex<HashSet<ObjectKey>>,
    /// The resources in a reconcile, which has their record.
    taken: Mutex<HashSet<ObjectKey>>,
    /// The newest last version of the resources that were deleted.
    deleted: Mutex<Option<u128>>,
    /// The UIDs of the resources with remote objects that were gone without a completed deletion: a restored backup can bring them
    /// back.
    forgotten: Mutex<HashSet<String>>,
    /// How many there were since the start.
    losses: AtomicU64,
    /// When one of them was last brought back.
    restored_at: Mutex<Option<Timestamp>>,
}

impl Memories {
    /// Takes the record of this resource. If a reconcile does not put it back, it is lost, which is safe. The record of
    /// an earlier object of the same name (another UID) is dropped.
    pub(crate) fn take(&self, key: &ObjectKey, uid: &str) -> Memory {
        self.taken.lock().insert(key.clone());
        let known = self.of.lock().remove(key);
        let mut memory = match known {
            Some((of, memory)) if of == uid => memory,
            Some((of, former)) => {
                self.gone(of, &former);
                Memory::default()
            }
            None => Memory::default(),
        };
        if self.restored.lock().remove(key) {
            memory.copies.latest = None;
        }
        memory.tag_search.is_first |= self.to_search.lock().remove(key);
        if self.forgotten.lock().remove(uid) {
            memory.tag_search.is_first = true;
            *self.restored_at.lock() = Some(clock::now());
        }
        memory
    }

    /// Records that a backup was restored: the watch returned an older version of a resource, or a list without its
    /// last write. The copy of that write may be newer than every version of the watch, and the backup may be older than a
    /// launch. It is recorded here, because the resource may be in a reconcile.
    pub(crate) fn restored(&self, key: ObjectKey) {
        self.search(key.clone());
        self.restored.lock().insert(key);
    }

    /// When a restored backup last brought a forgotten resource back: this process may have launched it before.
    pub(crate) fn restored_at(&self) -> Option<Timestamp> {
        *self.restored_at.lock()
    }

    /// How many resources with remote objects were gone without a completed deletion. Each may be applied again, with another UID.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }

    /// Records that the resource may have objects that are on no record of it: its next reconcile searches by tag.
    pub(crate) fn search(&self, key: ObjectKey) {
        self.to_search.lock().insert(key);
    }

    /// Records that the watch returned the deletion of a resource with this last version.
    pub(crate) fn deleted(&self, last: &impl Resource) {
        let mut deleted = self.deleted.lock();
        *deleted = (*deleted).max(version(last.meta()));
    }

    /// Whether a restored backup brings a resource back that the watch did not know: it is not newer than one that was deleted
    /// since, so it would have been known then, unless it was deleted itself.
    pub(crate) fn is_brought_back(&self, added: &impl Resource) -> bool {
        version(added.meta()).is_some_and(|version| Some(version) <= *self.deleted.lock())
    }

    /// The UID of the resource of which there is a record.
    pub(crate) fn uid(&self, key: &ObjectKey) -> Option<String> {
        self.of.lock().get(key).map(|(uid, _)| uid.clone())
    }

    /// Keeps it for the next reconcile.
    pub(crate) fn put(&self, key: ObjectKey, uid: String, memory: Memory) {
        self.taken.lock().remove(&key);
        self.of.lock().insert(key, (uid, memory));
    }

    /// Forgets a deleted resource. The UID of one of which there was a record: this process did not complete its deletion.
    pub(crate) fn forget(&self, key: &ObjectKey) -> Option<String> {
        self.restored.lock().remove(key);
        self.to_search.lock().remove(key);
        self.taken.lock().remove(key);
        let known = self.of.lock().remove(key);
        let (uid, memory) = known?;
        self.gone(uid.clone(), &memory);
        Some(uid)
    }

    /// Forgets a resource whose deletion ended with this record. If it was not `held` by the finalizer, a client removed that, and
    /// the deletion was not completed.
    pub(crate) fn removed(&self, key: &ObjectKey, uid: String, memory: &Memory, held: bool) {
        if !held {
            self.gone(uid, memory);
        }
        self.forget(key);
    }

    /// Records that a resource is gone, or will be, without a completed deletion: its remote objects may exist, if this process
    /// [knows any](Memory::knows_no_ids).
    fn gone(&self, uid: String, memory: &Memory) {
        if memory.knows_no_ids() {
            return;
        }
        self.losses.fetch_add(1, Ordering::Relaxed);
        let mut forgotten = self.forgotten.lock();
        if forgotten.len() >= MOST_FORGOTTEN {
            forgotten.clear();
            *self.restored_at.lock() = Some(clock::now());
        }
        forgotten.insert(uid);
    }

    /// Drops the copy of the last write when the watch returns it: without a resync, the next reconcile may never come.
    pub(crate) fn watched(&self, key: &ObjectKey, shown: &impl Resource) {
        if let Some((uid, memory)) = self.of.lock().get_mut(key)
            && shown.meta().uid.as_ref() == Some(uid)
        {
            memory.copies.drop_copy_until(version(shown.meta()));
        }
    }

    /// Whether a write of the resource is missing in a new list with this version: the copy of the last write is newer,
    /// or may be, because the resource is in a reconcile. Or there is no record although it is being deleted: the last write removed
    /// the finalizer.
    pub(crate) fn is_lost(&self, key: &ObjectKey, listed: &impl Resource) -> bool {
        let is_newer = |copy: &Object| version(listed.meta()) < version(copy.meta());
        let copy =
            self.of.lock().get(key).map(|(_, memory)| memory.copies.latest.as_deref().is_some_and(is_newer));
        let is_deleted = listed.meta().deletion_timestamp.is_some();
        copy.unwrap_or_else(|| is_deleted || self.taken.lock().contains(key))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kraken_kind::dynamic::Object;
    use kraken_model::{
        memory::{Copies, Owned},
        policy::undecoded::Undecoded,
    };
    use kube::api::ObjectMeta;

    use super::*;

    /// An object with this UID and version.
    fn object(uid: &str, version: &str) -> Arc<Object> {
        let (uid, version) = (Some(uid.into()), Some(version.into()));
        let metadata = ObjectMeta { uid, resource_version: version, ..ObjectMeta::default() };
        Arc::new(Object::new(metadata, Undecoded::default(), None))
    }

    #[test]
    fn new_object_of_the_same_name_starts_without_memory() {
        let memory = Memory {
            copies: Copies { latest: Some(object("old", "100")), ..Copies::default() },
            ..Memory::default()
        };
        assert_eq!(memory.copies.newest(object("new", "1")).metadata.uid.as_deref(), Some("new"));
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        memories.put(key.clone(), "old".into(), memory);
        assert!(memories.take(&key, "new").copies.latest.is_none());
    }

    #[test]
    fn copy_is_dropped_at_the_next_reconcile_after_the_watch_returned_an_older_version() {
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        let put = || {
            let memory = Memory {
                copies: Copies { latest: Some(object("u", "9")), ..Copies::default() },
                ..Memory::default()
            };
            memories.put(key.clone(), "u".into(), memory);
        };
        put();
        assert!(memories.take(&key, "u").copies.latest.is_some());
        memories.restored(key.clone());
        put(); // the end of the reconcile during which the backup was restored
        let memory = memories.take(&key, "u");
        assert!(memory.copies.latest.is_none() && memory.tag_search.is_first);
        put();
        let memory = memories.take(&key, "u");
        assert!(memory.copies.latest.is_some() && !memory.tag_search.is_first, "a later write");
    }

    #[test]
    fn resource_that_is_not_newer_than_a_deleted_one_is_brought_back() {
        let memories = Memories::default();
        assert!(!memories.is_brought_back(&*object("u", "9")), "the first list");
        memories.deleted(&*object("u", "9"));
        memories.deleted(&*object("v", "3"));
        let is_brought_back =
            ["8", "9", "10"].map(|version| memories.is_brought_back(&*object("u", version)));
        assert_eq!(is_brought_back, [true, true, false]);
    }

    #[test]
    fn resource_that_was_gone_without_a_completed_deletion_may_have_unknown_launches() {
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        let launched = || Memory {
            owned: Owned { created: Some((1, vec!["vpc-1".into()])), ..Owned::default() },
            ..Memory::default()
        };
        memories.put(key.clone(), "u".into(), launched());
        memories.take(&key, "u");
        memories.forget(&key);
        assert!(!memories.take(&key, "u").tag_search.is_first, "its deletion was completed");
        memories.put(key.clone(), "u".into(), Memory::default());
        memories.forget(&key);
        assert!(!memories.take(&key, "u").tag_search.is_first, "it had no remote objects");
        assert_eq!(memories.losses(), 0);
        memories.put(key.clone(), "u".into(), launched());
        assert!(memories.forget(&key).is_some());
        assert_eq!(memories.losses(), 1);
        assert!(!memories.take(&key, "v").tag_search.is_first, "another resource of the same name");
        assert_eq!(memories.restored_at(), None);
        assert!(memories.take(&key, "u").tag_search.is_first);
        assert!(memories.restored_at().is_some());
        memories.put(key.clone(), "u".into(), launched());
        memories.take(&key, "v");
        assert!(memories.take(&key, "u").tag_search.is_first, "it was replaced by another of the same name");
    }

    #[test]
    fn number_of_forgotten_resources_is_limited() {
        let memories = Memories::default();
        let launched = Memory {
            owned: Owned { created: Some((1, vec!["vpc-1".into()])), ..Owned::default() },
            ..Memory::default()
        };
        (0..MOST_FORGOTTEN).for_each(|number| memories.gone(number.to_string(), &launched));
        assert_eq!(memories.restored_at(), None);
        memories.gone("u".to_owned(), &launched);
        assert_eq!((memories.forgotten.lock().len(), memories.restored_at().is_some()), (1, true));
    }

    #[test]
    fn copy_is_dropped_when_the_watch_returns_the_write() {
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        let memory = Memory {
            copies: Copies { latest: Some(object("u", "9")), ..Copies::default() },
            ..Memory::default()
        };
        memories.put(key.clone(), "u".into(), memory);
        let is_kept =
            || memories.of.lock().get(&key).is_some_and(|(_, memory)| memory.copies.latest.is_some());
        memories.watched(&key, &*object("u", "8"));
        memories.watched(&key, &*object("v", "9"));
        assert!(is_kept(), "an older version, and another object of the same name");
        memories.watched(&key, &*object("u", "9"));
        assert!(!is_kept());
    }

    #[test]
    fn copy_that_a_later_list_does_not_have_is_lost() {
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        let put = || {
            let memory = Memory {
                copies: Copies { latest: Some(object("u", "9")), ..Copies::default() },
                ..Memory::default()
            };
            memories.put(key.clone(), "u".into(), memory);
        };
        assert!(!memories.is_lost(&key, &*object("u", "7")), "never reconciled");
        put();
        assert!(!memories.is_lost(&key, &*object("u", "9")), "the list has the write");
        assert!(memories.is_lost(&key, &*object("u", "7")));
        assert!(memories.take(&key, "u").copies.latest.is_some());
        assert!(memories.is_lost(&key, &*object("u", "9")), "it is in a reconcile, which may write");
        memories.forget(&key);
        assert!(!memories.is_lost(&key, &*object("u", "7")));
        let mut deleted = Arc::unwrap_or_clone(object("u", "7"));
        deleted.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert!(memories.is_lost(&key, &deleted), "its finalizer was removed");
    }
}
