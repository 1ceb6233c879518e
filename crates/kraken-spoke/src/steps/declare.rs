//! Step 5: publish the state, if its content changed. Client required.

use kraken_api::{
    CONTENT_HASH_ANNOTATION, HasLifecycle, OWNER_KIND_LABEL, StateDeclaration, StateDeclarationSpec,
};
use kraken_runtime::{
    patch::{ApiError, apply},
    watch::ObjectKey,
};
use kube::{Api, Resource, ResourceExt, core::object::HasSpec};
use serde_json::{Value, json};

use crate::{
    External,
    context::{Context, Sight, owner_reference, place},
    secrecy::Secrecy,
    share::shared,
};

/// Whether there is a state of this very resource.
pub(crate) fn is_declared<E: External>(context: &Context<E>, object: &E::Kind) -> bool {
    declared_hash(context, object).is_some()
}

/// The digest of the state that is there, if it is this very resource's and not that of an earlier one of its name.
fn declared_hash<E: External>(context: &Context<E>, object: &E::Kind) -> Option<String> {
    let (namespace, name) = place(object);
    let state = context.states.get(&ObjectKey::new(&namespace, &context.owned_name(&name)))?;
    let owner = object.uid();
    let is_own = state.owner_references().iter().any(|reference| Some(&reference.uid) == owner.as_ref());
    is_own.then(|| state.annotations().get(CONTENT_HASH_ANNOTATION).cloned().unwrap_or_default())
}

/// Applies the StateDeclaration with a state that holds no secret. The annotation with its digest tells, without its body, that no write is due.
pub(crate) async fn declare<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    sight: &Sight<'_, E>,
    state: Value,
    secrecy: &Secrecy,
) -> Result<(), ApiError> {
    let data = shared(state, object.spec().lifecycle().share.as_ref());
    let main = E::ids(&sight.observed).into_iter().next();
    let has_main = main.is_some();
    let id = secrecy.published_id(main);
    let withheld = secrecy.withheld(has_main && id.is_none());
    let spec = StateDeclarationSpec { data, id, withheld };
    let hash = spec.content_hash();
    let (namespace, name) = place(object);
    let key = ObjectKey::new(&namespace, &context.owned_name(&name));
    if declared_hash(context, object).as_ref() == Some(&hash) {
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
        "spec": spec,
    });
    let api: Api<StateDeclaration> = Api::namespaced(context.shell.client.clone(), &namespace);
    apply(&api, context.shell.name, &key.name, &state).await.map(drop)
}
