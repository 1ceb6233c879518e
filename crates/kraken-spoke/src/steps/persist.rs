//! Writes down what is about to be asked of the cloud, before it is asked. Client required.

use kraken_api::{FINALIZER, INTENT_ANNOTATION};
use kraken_runtime::{
    mutants::{self, Mutant},
    patch::{ApiError, within},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    External,
    context::{Context, place},
    intent::Intent,
    memory::Memory,
    steps::observe::has_finalizer,
};

/// Persists the intent of a launch.
pub(crate) async fn persist<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    intent: &Intent,
) -> Result<(), ApiError> {
    write(context, object, memory, intent).await?;
    // Nothing was asked of the cloud under this epoch yet.
    memory.refused = Some(intent.epoch);
    Ok(())
}

/// Writes the intent and the finalizer in one patch that fails if anybody, another replica included, wrote meanwhile.
pub(crate) async fn write<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    memory: &mut Memory<E::Kind>,
    intent: &Intent,
) -> Result<(), ApiError> {
    let (namespace, name) = place(object);
    let mut finalizers = object.finalizers().to_vec();
    if !has_finalizer(object) {
        finalizers.push(FINALIZER.to_owned());
    }
    let text = serde_json::to_string(intent).unwrap_or_default();
    let patch = json!({"metadata": {
        "uid": object.meta().uid,
        "resourceVersion": object.meta().resource_version.as_ref().filter(|_| !mutants::active(Mutant::NoResourceVersion)),
        "finalizers": finalizers,
        "annotations": {INTENT_ANNOTATION: text},
    }});
    let api: Api<E::Kind> = Api::namespaced(context.shell.client.clone(), &namespace);
    let params = PatchParams { field_manager: Some(context.shell.name.to_owned()), ..PatchParams::default() };
    let persisted = within("persist the intent", api.patch(&name, &params, &Patch::Merge(patch))).await?;
    memory.latest = Some(persisted.into());
    memory.intent = Some(intent.clone());
    Ok(())
}
