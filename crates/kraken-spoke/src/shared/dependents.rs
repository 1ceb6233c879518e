//! Reads whether a dependent is in place with the values of its references, whichever spoke manages it. Client required.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{ConfigExport, ConfigExportSpec, ConfigExportStatus, DependencyRequest, ResourceStatus};
use kraken_model::{
    hand_over::Export,
    in_place::{References, references_digest},
    recorded::has_finalizer,
};
use kraken_runtime::{
    hash::HashMap,
    patch::{ApiError, within},
    watch::RawObject,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, ObjectMeta},
    core::{ApiResource, GroupVersionKind},
    discovery::pinned_kind,
};
use parking_lot::Mutex;

/// The kinds of dependents, by their API version and name, as the API server returns them. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct DependentKinds {
    known: Arc<Mutex<HashMap<(String, String), ApiResource>>>,
}

/// The ConfigExports of a namespace; none if this controller has no permission to read them, or if they are not installed.
pub(crate) async fn exports(client: &Client, namespace: &str) -> Result<Vec<Export>, ApiError> {
    let resource = ApiResource::erase::<ConfigExport>(&());
    let api: Api<RawObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let list = match within("list the ConfigExports", api.list(&ListParams::default())).await {
        Ok(list) => list,
        Err(error) if error.is_not_found() || error.is_forbidden() => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let decoded = list.items.into_iter().filter_map(|export| {
        // One that does not decode exports nothing.
        let spec: Option<ConfigExportSpec> = RawObject::decode(export.spec.as_deref()).ok()?;
        let status: Option<ConfigExportStatus> = RawObject::decode(export.status.as_deref()).ok()?;
        let ObjectMeta { name, uid, generation, deletion_timestamp, .. } = export.metadata;
        let (name, uid) = (name?, uid?);
        let status = status.unwrap_or_default();
        deletion_timestamp.is_none().then_some(Export { name, uid, generation, spec: spec?, status })
    });
    Ok(decoded.collect())
}

/// The resource that a request is of. One whose owner reference was removed is not known: it is not waited for.
pub(crate) fn owner(request: &DependencyRequest) -> Option<&OwnerReference> {
    request.owner_references().iter().find(|owner| owner.controller == Some(true))
}

impl DependentKinds {
    /// Whether the resource is in place with exactly these values of its references. It is also true if it has no remote object,
    /// and false if that cannot be read: its kind may be one that this controller has no permission for.
    pub(crate) async fn is_in_place(
        &self,
        client: &Client,
        namespace: &str,
        owner: &OwnerReference,
        answer: &References,
    ) -> bool {
        let Ok(found) = self.launched(client, namespace, owner).await else { return false };
        found.is_none_or(|found| {
            let status: Result<Option<ResourceStatus>, _> = RawObject::decode(found.status.as_deref());
            let in_place = status.ok().flatten().and_then(|status| status.in_place);
            in_place.is_some_and(|in_place| in_place.references == references_digest(&owner.uid, answer))
        })
    }

    /// Whether the resource has no remote object. It is false if that cannot be read.
    pub(crate) async fn has_nothing(&self, client: &Client, namespace: &str, owner: &OwnerReference) -> bool {
        self.launched(client, namespace, owner).await.is_ok_and(|found| found.is_none())
    }

    /// The resource, if it exists and may have remote objects.
    async fn launched(
        &self,
        client: &Client,
        namespace: &str,
        owner: &OwnerReference,
    ) -> Result<Option<RawObject>, kube::Error> {
        let resource = self.resource(client, owner).await?;
        let api: Api<RawObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let found = api.get_opt(&owner.name).await?;
        Ok(found.filter(|found| found.metadata.uid.as_deref() == Some(&*owner.uid) && has_finalizer(found)))
    }

    async fn resource(&self, client: &Client, owner: &OwnerReference) -> Result<ApiResource, kube::Error> {
        let key = (owner.api_version.clone(), owner.kind.clone());
        if let Some(known) = self.known.lock().get(&key) {
            return Ok(known.clone());
        }
        let (group, version) = owner.api_version.split_once('/').unwrap_or(("", &owner.api_version));
        let kind = GroupVersionKind::gvk(group, version, &owner.kind);
        let (resource, _) = pinned_kind(client, &kind).await?;
        self.known.lock().insert(key, resource.clone());
        Ok(resource)
    }
}
