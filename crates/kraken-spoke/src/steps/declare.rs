//! Step 5: publish the state, if its content changed. Client required.

use kraken_api::{CONTENT_HASH_ANNOTATION, OWNER_KIND_LABEL, StateDeclaration};
use kraken_options::Scrubber;
use kraken_runtime::{
    patch::{ApiError, apply},
    watch::ObjectKey,
};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{
    External,
    context::{Context, Sight, owner_reference, place},
};

/// Applies the StateDeclaration. The annotation with its digest tells, without its body, that no write is due.
pub(crate) async fn declare<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    sight: &Sight<'_, E>,
    scrubber: &Scrubber,
) -> Result<(), ApiError> {
    let data = scrubber.scrub_json(E::state(sight.desired, &sight.observed));
    let hash = hex::encode(&Sha256::digest(data.to_string())[..16]);
    let (namespace, name) = place(object);
    let key = ObjectKey::new(&namespace, &context.owned_name(&name));
    let owner = object.uid();
    let is_current = context.states.get(&key).is_some_and(|state| {
        state.annotations().get(CONTENT_HASH_ANNOTATION) == Some(&hash)
            && state.owner_references().iter().any(|reference| Some(&reference.uid) == owner.as_ref())
    });
    if is_current {
        return Ok(());
    }
    let state = json!({
        "apiVersion": StateDeclaration::api_version(&()),
        "kind": StateDeclaration::kind(&()),
        "metadata": {
            "name": &*key.name,
            "labels": {OWNER_KIND_LABEL: context.kind_key},
            "annotations": {CONTENT_HASH_ANNOTATION: hash},
            "ownerReferences": [owner_reference(object)],
        },
        "spec": {"data": data},
    });
    let api: Api<StateDeclaration> = Api::namespaced(context.shell.client.clone(), &namespace);
    apply(&api, context.shell.name, &key.name, &state).await.map(drop)
}
