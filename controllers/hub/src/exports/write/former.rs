//! Step 3 for a target that an earlier export of the same name left behind. Client required.

use kraken_api::ConfigExport;
use kraken_runtime::patch::{ApiError, within};
use kube::{Api, ResourceExt, api::ObjectMeta};
use serde_json::{Value, json};

use super::Writer;
use crate::{
    exports::decide::{Exporter, Observed, is_left_behind, observed},
    store::index::ObjectRef,
};

impl Writer<'_> {
    /// Before a target of an earlier export is taken over, it is certain that this export is the one of this name that exists.
    pub(super) async fn classify(
        &self,
        named: &ObjectRef,
        meta: &ObjectMeta,
        matches: bool,
        immutable: Option<bool>,
    ) -> Result<Observed, ApiError> {
        let (uid, name) = (self.uid(), self.export.name_any());
        let exporter = Exporter { uid: &uid, name: &name };
        if is_left_behind(meta, exporter) {
            let api: Api<ConfigExport> = Api::namespaced(self.client.clone(), &named.key.namespace);
            let current = within("read", api.get_metadata_opt(&name)).await?;
            if current.and_then(|export| export.metadata.uid).as_ref() != Some(&uid) {
                return Ok(Observed::Foreign(format!("belongs to a newer ConfigExport {name}")));
            }
            tracing::info!(target = %named, export = name, "taking over a target that an export of this name left behind");
        }
        Ok(observed(meta, exporter, self.is_recorded(named), matches, immutable))
    }

    /// The operations that set labels, annotations and the owner.
    pub(super) fn metadata_changes(&self, meta: &ObjectMeta) -> Vec<Value> {
        let (uid, name) = (self.uid(), self.export.name_any());
        let mut changes = self.labelling().marked(&uid, &name).changes(meta);
        if is_left_behind(meta, Exporter { uid: &uid, name: &name }) {
            let owners = self.owners(meta);
            changes.push(json!({"op": "add", "path": "/metadata/ownerReferences", "value": owners}));
        }
        changes
    }
}
