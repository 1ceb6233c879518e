//! Step 5: publishes the state, if its content changed or another client edited it. Client required.
//!
//! Only the metadata of StateDeclarations is watched. The digest of the content and the generation that this controller
//! wrote are annotations, and are also kept in memory: any other generation is an edit by another client, and is
//! reverted by a forced apply.

use std::sync::Arc;

use kraken_runtime::hash::HashMap;

use kraken_api::{CONTENT_HASH_ANNOTATION, StateDeclaration, StateDeclarationSpec};
use kraken_runtime::{
    patch::{ApiError, apply},
    watch::{Change, ObjectKey, version},
};
use kube::{Api, Resource, ResourceExt, api::ObjectMeta, core::PartialObjectMeta};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    context::{Context, Observation, owner_reference, place},
    dynamic::Object,
    secrecy::Secrecy,
    share::shared,
    state::{document, expected_generation, is_as_published, is_of, is_published},
};

/// The store of Kubernetes accepts objects of up to 1.5 MiB, including their metadata.
const TOO_LARGE: usize = 1_400_000;

/// What this process wrote of each state. It can be lost at any time: the annotations contain the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    written: Arc<Mutex<HashMap<ObjectKey, Written>>>,
}

/// A state as the API server accepted it from this process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    /// The UID of the resource that owns it.
    owner: String,
    uid: Option<String>,
    version: Option<u128>,
    generation: Option<i64>,
    hash: String,
}

impl Published {
    fn get(&self, key: &ObjectKey, owner: &str) -> Option<Written> {
        self.written.lock().get(key).filter(|written| written.owner == owner).cloned()
    }

    fn note(&self, key: ObjectKey, written: Written) {
        self.written.lock().insert(key, written);
    }

    /// Forgets a deleted state.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.written.lock().remove(key);
    }

    /// Whether its owner must reconcile a state: it was deleted, or is not as its spoke wrote it.
    pub(crate) fn is_disturbed(&self, change: &Change<PartialObjectMeta<StateDeclaration>>) -> bool {
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
                same_content || !is_as_published(now.meta())
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
fn is_current(shown: Option<&ObjectMeta>, written: Option<&Written>, hash: &str, owner: &str) -> bool {
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

/// Whether a state of this resource exists.
pub(crate) fn is_declared(context: &Context, object: &Object) -> bool {
    let (namespace, name) = place(object);
    let key = ObjectKey::new(&namespace, &context.owned_name(&name));
    let owner = object.uid().unwrap_or_default();
    context.states.get(&key).is_some_and(|state| is_of(&state.metadata, &owner))
        || context.published.get(&key, &owner).is_some()
}

/// Applies the StateDeclaration with a state that contains no secret. Its annotations show, without its body, whether a
/// write is due.
pub(crate) async fn declare(
    context: &Context,
    object: &Object,
    sight: &Observation<'_>,
    state: Value,
    secrecy: &Secrecy,
) -> Result<(), ApiError> {
    let data = shared(state, object.lifecycle().share.as_ref());
    let main = context.kind.ids(&sight.observed).into_iter().next();
    let has_main = main.is_some();
    let id = secrecy.published_id(main);
    let withheld = secrecy.withheld(has_main && id.is_none());
    let spec = StateDeclarationSpec { data, id, withheld };
    let hash = spec.content_hash();
    let (namespace, name) = place(object);
    let key = ObjectKey::new(&namespace, &context.owned_name(&name));
    let owner = object.uid().unwrap_or_default();
    let (shown, written) = (context.states.get(&key), context.published.get(&key, &owner));
    let shown = shown.as_ref().map(|state| &state.metadata);
    if is_current(shown, written.as_ref(), &hash, &owner) {
        return Ok(());
    }
    let size = json!(spec).to_string().len();
    let known = written.as_ref().and_then(|written| written.generation);
    let mut generation = expected_generation(shown, known, &hash);
    // Twice if the stored object differs from the one in the watch: then the generation is another one.
    for _ in 0..2 {
        let owner_reference = owner_reference(context, object);
        let state = document(&key.name, &context.info().key, &owner_reference, (&spec, &hash), generation);
        let api: Api<StateDeclaration> = Api::namespaced(context.manager.client.clone(), &namespace);
        let applied = apply(&api, context.manager.name, &key.name, &state).await;
        let meta = applied.map_err(|error| explained(error, size))?.metadata;
        let is_expected = meta.generation == Some(generation);
        generation = meta.generation.unwrap_or(generation);
        let written = Written {
            owner: owner.clone(),
            version: version(&meta),
            generation: meta.generation,
            uid: meta.uid,
            hash: hash.clone(),
        };
        context.published.note(key.clone(), written);
        if is_expected {
            break;
        }
    }
    Ok(())
}

/// The API server's own message for a state that is too large names neither the state nor a solution.
fn explained(error: ApiError, size: usize) -> ApiError {
    if size < TOO_LARGE || error.is_conflict() || error.is_namespace_terminating() {
        return error;
    }
    let verb =
        "publish the state, which exceeds the object size limit (reduce it by spec.lifecycle.share.include)";
    ApiError { verb, ..error }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use kraken_api::PUBLISHED_GENERATION_ANNOTATION;

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
    fn watch_that_lags_behind_a_write_causes_no_second_write() {
        assert!(is_current(None, Some(&written(10, 1, "h")), "h", "o"));
        assert!(is_current(Some(&shown("9", 1, "1", "old")), Some(&written(10, 2, "h")), "h", "o"));
        assert!(!is_current(Some(&shown("9", 1, "1", "old")), Some(&written(10, 2, "h")), "newer", "o"));
        assert_eq!(expected_generation(Some(&shown("9", 1, "1", "old")), Some(2), "newer"), 3);
        assert_eq!(expected_generation(None, None, "h"), 1);
    }

    #[test]
    fn error_of_a_too_large_state_states_how_to_reduce_it() {
        let refused = || {
            let status = kube::core::Status::failure("etcdserver: request is too large", "").with_code(500);
            ApiError { verb: "apply", source: Box::new(kube::Error::Api(Box::new(status))) }
        };
        assert!(explained(refused(), 1_500_000).to_string().contains("spec.lifecycle.share.include"));
        assert!(!explained(refused(), 1000).to_string().contains("share"));
    }
}
