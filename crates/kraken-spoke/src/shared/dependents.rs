//! Reads whether a dependent is in place with the values of its references, whichever spoke manages it. Client required.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{DependencyRequest, INTENT_ANNOTATION, ResourceStatus};
use kraken_runtime::{hash::HashMap, watch::RawObject};
use kube::{
    Api, Client, ResourceExt,
    core::{ApiResource, GroupVersionKind},
    discovery::pinned_kind,
};
use parking_lot::Mutex;

use crate::model::in_place::{References, references_digest};

/// The kinds of dependents, by their API version and name, as the API server returns them. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct DependentKinds {
    known: Arc<Mutex<HashMap<(String, String), ApiResource>>>,
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
        Ok(found.filter(|found| {
            found.metadata.uid.as_deref() == Some(&*owner.uid)
                && found.annotations().contains_key(INTENT_ANNOTATION)
        }))
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
