//! The StateDeclarations that this process wrote.

use std::sync::Arc;

use kraken_api::{CONTENT_HASH_ANNOTATION, StateDeclaration};
use kraken_kind::state::{is_as_published, is_published};
use kraken_runtime::{
    hash::HashMap,
    watch::{Change, ObjectKey, version},
};
use kube::{Resource, ResourceExt, api::ObjectMeta, core::PartialObjectMeta};
use parking_lot::Mutex;

/// What this process wrote of each state. It can be lost at any time: the annotations contain the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    written: Arc<Mutex<HashMap<ObjectKey, Written>>>,
}

/// A state as the API server accepted it from this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The UID of the resource that owns it.
    pub(crate) owner: String,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<u128>,
    pub(crate) generation: Option<i64>,
    pub(crate) hash: String,
}

impl Published {
    pub(crate) fn get(&self, key: &ObjectKey, owner: &str) -> Option<Written> {
        self.written.lock().get(key).filter(|written| written.owner == owner).cloned()
    }

    pub(crate) fn note(&self, key: ObjectKey, written: Written) {
        self.written.lock().insert(key, written);
    }

    /// Forgets a deleted state.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.written.lock().remove(key);
    }

    /// Whether its owner must reconcile a state: it was deleted, or is not as its spoke wrote it.
    pub(crate) fn needs_reconcile(&self, change: &Change<PartialObjectMeta<StateDeclaration>>) -> bool {
        match change {
            Change::Applied(now, before) => {
                let hash = |state: &PartialObjectMeta<StateDeclaration>| {
                    state.annotations().get(CONTENT_HASH_ANNOTATION).cloned()
                };
                // A new digest in the same generation is at best a repair by this controller; an extra reconcile costs
                // little.
                let same_content = before.as_ref().is_some_and(|before| {
                    before.meta().generation == now.meta().generation && hash(before) != hash(now)
                });
                let is_due = same_content || !is_as_published(now.meta());
                // After a restored backup, an older state may be as it was once published.
                let is_restored =
                    before.as_ref().is_some_and(|before| version(now.meta()) < version(before.meta()));
                if is_restored {
                    self.forget(&ObjectKey::of(now.meta()));
                }
                is_due || is_restored
            }
            Change::Listed(state) => {
                let key = ObjectKey::of(state.meta());
                let mut written = self.written.lock();
                let is_lost =
                    written.get(&key).is_some_and(|written| version(state.meta()) < written.version);
                if is_lost {
                    written.remove(&key);
                }
                is_lost
            }
            Change::Deleted(state) => {
                let key = ObjectKey::of(state.meta());
                let mut written = self.written.lock();
                if written.get(&key).is_some_and(|written| written.uid == state.meta().uid) {
                    written.remove(&key);
                }
                true
            }
            Change::Invalid(..) => true,
        }
    }
}

/// Whether the API server has this content from this controller, according to the watch and the last write.
pub(crate) fn is_current(
    shown: Option<&ObjectMeta>,
    written: Option<&Written>,
    hash: &str,
    owner: &str,
) -> bool {
    match (shown, written) {
        (None, None) => false,
        // The watch has not caught up with this controller's own write.
        (None, Some(written)) => written.hash == hash,
        (Some(meta), Some(written)) if version(meta) <= written.version => written.hash == hash,
        (Some(meta), written) => {
            let is_our_generation = written
                .is_none_or(|written| written.uid != meta.uid || written.generation == meta.generation);
            is_published(meta, hash, owner) && is_our_generation
        }
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use kraken_api::PUBLISHED_GENERATION_ANNOTATION;
    use kraken_kind::state::expected_generation;

    use super::*;

    fn shown(version: &str, generation: i64, published: &str, hash: &str) -> ObjectMeta {
        let annotations = [(CONTENT_HASH_ANNOTATION, hash), (PUBLISHED_GENERATION_ANNOTATION, published)];
        ObjectMeta {
            uid: Some("s".into()),
            resource_version: Some(version.into()),
            generation: Some(generation),
            annotations: Some(annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            owner_references: Some(vec![OwnerReference {
                controller: Some(true),
                uid: "o".into(),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        }
    }

    fn written(version: u128, generation: i64, hash: &str) -> Written {
        Written {
            owner: "o".into(),
            uid: Some("s".into()),
            version: Some(version),
            generation: Some(generation),
            hash: hash.into(),
        }
    }

    #[test]
    fn unchanged_state_needs_no_write_before_and_after_a_restart() {
        let meta = shown("10", 1, "1", "h");
        assert!(is_current(Some(&meta), Some(&written(10, 1, "h")), "h", "o"));
        assert!(is_current(Some(&meta), None, "h", "o"));
        assert!(!is_current(Some(&meta), None, "other", "o"));
        assert!(!is_current(None, None, "h", "o"));
    }

    #[test]
    fn manual_edit_is_reverted_although_the_digest_matches() {
        let edited = shown("11", 2, "1", "h");
        assert!(!is_current(Some(&edited), Some(&written(10, 1, "h")), "h", "o"));
        assert!(!is_current(Some(&edited), None, "h", "o"), "after a restart too");
        let forged = shown("11", 2, "2", "h");
        assert!(!is_current(Some(&forged), Some(&written(10, 1, "h")), "h", "o"));
        assert_eq!(expected_generation(Some(&edited), None, "h"), 3);
    }

    #[test]
    fn removed_annotation_or_owner_reference_is_restored() {
        let mut bare = shown("11", 1, "1", "h");
        bare.annotations = None;
        assert!(!is_current(Some(&bare), Some(&written(10, 1, "h")), "h", "o"));
        let mut orphaned = shown("11", 1, "1", "h");
        orphaned.owner_references = None;
        assert!(!is_current(Some(&orphaned), None, "h", "o"));
        assert!(!is_current(Some(&orphaned), Some(&written(10, 1, "h")), "h", "o"));
        assert!(!is_current(Some(&shown("11", 1, "1", "h")), None, "h", "of an earlier resource"));
    }

    #[test]
    fn state_that_a_restored_backup_set_back_is_published_again() {
        type State = PartialObjectMeta<StateDeclaration>;
        let key = ObjectKey::new("", "");
        let state = |version: &str, generation: i64, hash: &str| {
            let published = generation.to_string();
            let metadata = shown(version, generation, &published, hash);
            Arc::new(State { types: None, metadata, _phantom: PhantomData })
        };
        let published = Published::default();
        let now_and_before = Change::Applied(state("9", 1, "old"), Some(state("10", 2, "h")));
        published.note(key.clone(), written(10, 2, "h"));
        assert!(published.needs_reconcile(&now_and_before));
        assert_eq!(published.get(&key, "o"), None);
        published.note(key.clone(), written(10, 2, "h"));
        assert!(!published.needs_reconcile(&Change::Listed(state("10", 2, "h"))), "the list has the write");
        assert!(published.get(&key, "o").is_some());
        assert!(
            published.needs_reconcile(&Change::Listed(state("9", 1, "old"))),
            "the watch never returned the write"
        );
        assert_eq!(published.get(&key, "o"), None);
        assert!(!published.needs_reconcile(&Change::Listed(state("9", 1, "old"))));
    }

    #[test]
    fn watch_that_lags_behind_a_write_causes_no_second_write() {
        assert!(is_current(None, Some(&written(10, 1, "h")), "h", "o"));
        assert!(is_current(Some(&shown("9", 1, "1", "old")), Some(&written(10, 2, "h")), "h", "o"));
        assert!(!is_current(Some(&shown("9", 1, "1", "old")), Some(&written(10, 2, "h")), "newer", "o"));
        assert_eq!(expected_generation(Some(&shown("9", 1, "1", "old")), Some(2), "newer"), 3);
        assert_eq!(expected_generation(None, None, "h"), 1);
    }
}
