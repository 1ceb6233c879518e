//! Persists the ledger before the provider call is made. Client required.

use std::sync::Arc;

use kraken_api::{FINALIZER, LEDGER_ANNOTATION, ResourceStatus};
use kraken_kind::dynamic::Object;
use kraken_model::{
    ledger::{self, Ledger, annotation, sealed},
    policy::undecoded,
    recorded::has_finalizer,
};
use kraken_runtime::{
    patch::{ApiError, Version, json_patch, replace_status, set_finalizer},
    watch::RawObject,
};
use kube::{
    Resource,
    core::{Status, object::HasStatus},
};
use serde_json::json;

use crate::context::{Reconcile, place};

/// Persists the ledger of a launch.
pub(crate) async fn persist(reconcile: &mut Reconcile<'_>, ledger: &Ledger) -> Result<(), ApiError> {
    write(reconcile, ledger).await?;
    // No call was made under this epoch yet.
    reconcile.memory.launch.refused = Some(ledger.epoch);
    Ok(())
}

/// Writes the finalizer, if it is missing, and then the ledger. Each write fails if another client, including another replica, wrote
/// meanwhile. After a crash in between, the resource has a finalizer, and nothing was launched.
pub(crate) async fn write(reconcile: &mut Reconcile<'_>, ledger: &Ledger) -> Result<(), ApiError> {
    let object = hold(reconcile).await?;
    let identity = &reconcile.identity;
    let ledger =
        sealed(Ledger { uid: identity.uid.clone(), resource: identity.owner.clone(), ..ledger.clone() });
    let before = object.status().cloned().unwrap_or_default();
    let status = ResourceStatus { ledger: Some(ledger.clone()), ..before };
    let written = write_status(reconcile, &object, &status).await?;
    if ledger::of(&written).is_none_or(|stored| stored.epoch != ledger.epoch) {
        return Err(not_stored(&reconcile.context.info().resource.plural));
    }
    reconcile.memory.launch.ledger = Some(ledger);
    forget_annotation(reconcile).await
}

/// The API server drops fields that a CRD does not have.
fn not_stored(plural: &str) -> ApiError {
    let message =
        format!("the CRD of {plural} has no field status.ledger; apply the CRDs of this version of Kraken");
    let status = Status::failure(&message, "OutdatedCRD").with_code(500);
    ApiError { verb: "save the ledger", source: Box::new(kube::Error::Api(Box::new(status))) }
}

/// Writes the whole status, regardless of other field owners: a condition that another manager's field keeps alive would fail the schema
/// forever. The UID protects a later object of the same name, the version of `object` what others wrote meanwhile.
pub(crate) async fn write_status(
    reconcile: &mut Reconcile<'_>,
    object: &Object,
    status: &ResourceStatus,
) -> Result<Arc<Object>, ApiError> {
    let Reconcile { context, memory, .. } = &mut *reconcile;
    let (namespace, name) = place(object);
    let (api, version) = (context.api(&namespace), Version::of(object));
    memory.copies.reporting(object);
    let written = replace_status(&api, context.manager.name, &name, &version, json!(status)).await?;
    let written = note_written(reconcile, &written);
    reconcile.memory.copies.reported(&written);
    Ok(written)
}

/// The resource with the finalizer.
async fn hold(reconcile: &mut Reconcile<'_>) -> Result<Arc<Object>, ApiError> {
    let object = reconcile.object.clone();
    if has_finalizer(&*object) {
        return Ok(object);
    }
    let (api, manager) = (reconcile.context.api(&place(&*object).0), reconcile.context.manager.name);
    let written = set_finalizer(&api, manager, object.meta(), FINALIZER, true).await?;
    Ok(note_written(reconcile, &written))
}

/// Removes the annotation in which an earlier version kept the ledger, once it is in the status.
async fn forget_annotation(reconcile: &mut Reconcile<'_>) -> Result<(), ApiError> {
    let object = reconcile.memory.copies.newest(reconcile.object.clone());
    if annotation(&object).is_none() {
        return Ok(());
    }
    let (namespace, name) = place(&*object);
    let path = format!("/metadata/annotations/{}", LEDGER_ANNOTATION.replace('/', "~1"));
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": object.meta().uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": object.meta().resource_version},
        {"op": "remove", "path": path},
    ]);
    let (api, manager) = (reconcile.context.api(&namespace), reconcile.context.manager.name);
    let written = json_patch(&api, manager, &name, operations).await?;
    note_written(reconcile, &written);
    Ok(())
}

/// Remembers the response to a write of the resource: its watch may lag behind.
fn note_written(reconcile: &mut Reconcile<'_>, written: &RawObject) -> Arc<Object> {
    let written = Arc::new(undecoded::read(&*reconcile.context.kind, written));
    reconcile.memory.copies.latest = Some(written.clone());
    written
}
