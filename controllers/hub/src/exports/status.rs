//! The last step: writes the status. Client required.

use kraken_api::{ConfigExport, ConfigExportStatus};
use kraken_runtime::{
    patch::{ApiError, apply_status},
    watch::ObjectKey,
};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use crate::{
    exports::report::{self, Next, Outcome},
    store::index::Dependent,
    store::settled::Progress,
    watch::cluster_state::ClusterState,
};

/// Writes the status of an outcome and of the progress in this process, unless it is up to date, and publishes its event.
pub(super) async fn write(
    cluster: &ClusterState,
    export: &ConfigExport,
    outcome: &Outcome,
    progress: Progress,
) -> Result<(), ApiError> {
    let dependent = Dependent::Export(ObjectKey::of(export.meta()));
    let (status, notice) = match report::next(export, outcome, progress, kraken_runtime::clock::now()) {
        Next::Write(status, notice) => (status, notice),
        // The stored status is correct, but the last sent status differs, and its event would not trigger a reconcile.
        Next::Nothing if cluster.router.written.is_uncertain(&dependent, export.status.as_ref()) => {
            (Box::new(report::own(export)), None)
        }
        Next::Nothing => return Ok(()),
    };
    let version = export.resource_version();
    if cluster.router.written.is_current(&dependent, &status, version.as_deref()) {
        return Ok(());
    }
    cluster.router.written.sending(&dependent, &status);
    match apply(cluster, export, &status).await {
        Ok(object) => {
            cluster.router.written.note(dependent, &status, version, object.resource_version());
        }
        // The deletion has an event; a conflict has none.
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    }
    if let Some(notice) = notice {
        let object = export.object_ref(&());
        cluster
            .manager
            .events
            .publish(&object, notice.type_.into(), notice.reason, "Export", &notice.note)
            .await;
    }
    Ok(())
}

async fn apply(
    cluster: &ClusterState,
    export: &ConfigExport,
    status: &ConfigExportStatus,
) -> Result<ConfigExport, ApiError> {
    let api: Api<ConfigExport> =
        Api::namespaced(cluster.manager.client.clone(), &export.namespace().unwrap_or_default());
    let name = export.name_any();
    let object = json!({
        "apiVersion": ConfigExport::api_version(&()),
        "kind": ConfigExport::kind(&()),
        "metadata": {"name": name, "uid": export.metadata.uid},
        "status": status,
    });
    apply_status(&api, cluster.manager.name, &name, &object).await
}
