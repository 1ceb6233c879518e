//! The form in which a controller publishes a StateDeclaration. Its annotations show, without its body, who wrote which content.
//! Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{
    CONTENT_HASH_ANNOTATION, OWNER_KIND_LABEL, PUBLISHED_GENERATION_ANNOTATION, StateDeclaration,
    StateDeclarationSpec,
};
use kube::{Resource, api::ObjectMeta};
use serde_json::{Value, json};

/// The StateDeclaration to apply. `kind` is the owner's, as [`kraken_api::names::owner_kind`] has it; `hash` is the digest of the
/// content, and `generation` the one that the object will have.
pub fn document(
    name: &str,
    kind: &str,
    owner: &OwnerReference,
    (spec, hash): (&StateDeclarationSpec, &str),
    generation: i64,
) -> Value {
    json!({
        "apiVersion": StateDeclaration::api_version(&()),
        "kind": StateDeclaration::kind(&()),
        "metadata": {
            "name": name,
            "labels": {OWNER_KIND_LABEL: kind},
            "annotations": {
                CONTENT_HASH_ANNOTATION: hash,
                PUBLISHED_GENERATION_ANNOTATION: generation.to_string(),
            },
            "ownerReferences": [owner],
        },
        "spec": spec,
    })
}

/// Whether the annotations show that the latest generation was written by its controller.
pub fn is_as_published(meta: &ObjectMeta) -> bool {
    let annotation = |name| meta.annotations.as_ref().and_then(|all| all.get(name));
    let published = annotation(PUBLISHED_GENERATION_ANNOTATION).and_then(|text| text.parse().ok());
    annotation(CONTENT_HASH_ANNOTATION).is_some()
        && published.is_some()
        && published == meta.generation
        && meta.owner_references.iter().flatten().any(|owner| owner.controller == Some(true))
}

/// Whether its controller wrote this content in the latest generation.
pub fn has_content(meta: &ObjectMeta, hash: &str) -> bool {
    let digest = meta.annotations.as_ref().and_then(|all| all.get(CONTENT_HASH_ANNOTATION));
    is_as_published(meta) && digest.is_some_and(|digest| digest == hash)
}

/// Whether the state is owned by the resource with this UID, and not by an earlier one of its name.
pub fn is_of(meta: &ObjectMeta, owner: &str) -> bool {
    meta.owner_references.iter().flatten().any(|reference| reference.uid == owner)
}

/// Whether the resource with this UID published this content, and no client edited it since.
pub fn is_published(meta: &ObjectMeta, hash: &str, owner: &str) -> bool {
    has_content(meta, hash) && is_of(meta, owner)
}

/// The generation that a write of this content will have, if the object is `shown`; `last` is a later generation that the
/// writer knows of.
pub fn expected_generation(shown: Option<&ObjectMeta>, last: Option<i64>, hash: &str) -> i64 {
    let Some(latest) = shown.and_then(|meta| meta.generation).max(last) else { return 1 };
    // If only the metadata was edited, the content is unchanged, and so is the generation.
    if shown.is_some_and(|meta| has_content(meta, hash)) { latest } else { latest + 1 }
}
