//! Persists the intent before the provider call is made. Client required.

use std::sync::Arc;

use kraken_api::{FINALIZER, INTENT_ANNOTATION};
use kraken_runtime::patch::{ApiError, within};
use kube::{
    Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    context::{Reconcile, place},
    dynamic::Object,
    model::{intent::Intent, recorded::has_finalizer},
};

/// The verb of the write in error messages.
const PERSIST: &str = "save the launch record";

/// Persists the intent of a launch.
pub(crate) async fn persist(reconcile: &mut Reconcile<'_>, intent: &Intent) -> Result<(), ApiError> {
    write(reconcile, intent).await?;
    // No call was made under this epoch yet.
    reconcile.memory.launch.refused = Some(intent.epoch);
    Ok(())
}

/// Writes the intent and the finalizer in one patch that fails if another client, including another replica, wrote
/// meanwhile.
pub(crate) async fn write(reconcile: &mut Reconcile<'_>, intent: &Intent) -> Result<(), ApiError> {
    let Reconcile { context, object, memory, identity, .. } = reconcile;
    let intent = Intent { resource: Some(identity.owner.clone()), ..intent.clone() };
    let (namespace, name) = place(&**object);
    let mut finalizers = object.finalizers().to_vec();
    if !has_finalizer(&**object) {
        finalizers.push(FINALIZER.to_owned());
    }
    let text = intent.text(&object.uid().unwrap_or_default());
    let patch = json!({"metadata": {
        "uid": object.meta().uid,
        "resourceVersion": object.meta().resource_version,
        "finalizers": finalizers,
        "annotations": {INTENT_ANNOTATION: text},
    }});
    let api = context.api(&namespace);
    let params =
        PatchParams { field_manager: Some(context.manager.name.to_owned()), ..PatchParams::default() };
    let persisted = within(PERSIST, api.patch(&name, &params, &Patch::Merge(patch))).await?;
    memory.copies.latest = Some(Arc::new(Object::read(&*context.kind, &persisted)));
    memory.launch.intent = Some(intent);
    Ok(())
}
