//! The CRDs of a ProviderInstall, and the resources of its kinds. Client required.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_kind::runtime::{
    Manager,
    patch::{ApiError, apply, within},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams},
    core::ApiResource,
    runtime::{conditions, wait::Condition as _},
};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::lost::FieldPath;

/// The label with the name of the ProviderInstall.
const INSTALL: &str = "providers.kraken-iac.eoinfennessy.com/install";
/// The annotation with a digest of the CRD: one that is in place is not written again.
const DIGEST: &str = "providers.kraken-iac.eoinfennessy.com/digest";
/// The requests in flight at the same time: of a hundred CRDs, one by one would take a minute.
const AT_ONCE: usize = 8;
/// The most resources that a message names.
const NAMED: u32 = 5;

/// CRDs by their name.
pub(crate) type Crds = BTreeMap<String, CustomResourceDefinition>;

pub(crate) fn name(crd: &CustomResourceDefinition) -> String {
    crd.metadata.name.clone().unwrap_or_default()
}

/// The name of the ProviderInstall of a CRD.
pub(crate) fn install_of(crd: &CustomResourceDefinition) -> Option<&str> {
    crd.labels().get(INSTALL).map(String::as_str)
}

fn api(manager: &Manager) -> Api<CustomResourceDefinition> {
    Api::all(manager.client.clone())
}

/// All CRDs of ProviderInstalls.
pub(crate) async fn existing(manager: &Manager) -> Result<Crds, ApiError> {
    let params = ListParams::default().labels(INSTALL);
    let all = within("list the CRDs of providers", api(manager).list(&params)).await?;
    Ok(all.into_iter().map(|crd| (name(&crd), crd)).collect())
}

/// A CRD of this ProviderInstall, as it is written.
pub(crate) fn labelled(mut crd: CustomResourceDefinition, install: &str) -> CustomResourceDefinition {
    let digest = hex::encode(Sha256::digest(serde_json::to_vec(&crd).unwrap_or_default()));
    let part_of = ("app.kubernetes.io/part-of".to_owned(), "kraken".to_owned());
    crd.labels_mut().extend([part_of, (INSTALL.to_owned(), install.to_owned())]);
    crd.annotations_mut().insert(DIGEST.to_owned(), digest[..32].to_owned());
    crd
}

/// Writes those of these CRDs that are not in place, and returns whether there were any.
pub(crate) async fn write(
    manager: &Manager,
    wanted: Vec<CustomResourceDefinition>,
    existing: &Crds,
) -> Result<bool, ApiError> {
    let is_in_place = |crd: &CustomResourceDefinition| {
        let same = |found: &CustomResourceDefinition| {
            found.annotations().get(DIGEST) == crd.annotations().get(DIGEST)
        };
        existing.get(&name(crd)).is_some_and(same)
    };
    let missing: Vec<_> = wanted.into_iter().filter(|crd| !is_in_place(crd)).collect();
    let is_any_missing = !missing.is_empty();
    let write = |crd: CustomResourceDefinition| {
        let api = api(manager);
        async move { apply(&api, manager.name, &name(&crd), &crd).await.map(drop) }
    };
    stream::iter(missing).map(write).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(is_any_missing)
}

/// How many of these CRDs the API server does not serve yet.
pub(crate) fn unserved(wanted: &BTreeSet<String>, existing: &Crds) -> usize {
    let is_served = |name: &&String| conditions::is_crd_established().matches_object(existing.get(*name));
    wanted.iter().filter(|name| !is_served(name)).count()
}

/// Deletes a CRD, and with it all its resources: it must have none.
pub(crate) async fn delete(manager: &Manager, crd: &CustomResourceDefinition) -> Result<(), ApiError> {
    if crd.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    match within("delete a CRD of a provider", api(manager).delete(&name(crd), &DeleteParams::default()))
        .await
    {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Resources of a kind.
fn resources(manager: &Manager, crd: &CustomResourceDefinition) -> Api<DynamicObject> {
    let version = crd.spec.versions.first().map_or("", |version| version.name.as_str());
    let resource = ApiResource {
        group: crd.spec.group.clone(),
        version: version.to_owned(),
        api_version: format!("{}/{version}", crd.spec.group),
        kind: crd.spec.names.kind.clone(),
        plural: crd.spec.names.plural.clone(),
    };
    Api::all_with(manager.client.clone(), &resource)
}

/// Why this kind cannot be removed: the first of its resources. `None` if it has none.
pub(crate) async fn in_use(
    manager: &Manager,
    crd: &CustomResourceDefinition,
) -> Result<Option<String>, ApiError> {
    let params = ListParams::default().limit(NAMED);
    let found = within("list the resources of a kind", resources(manager, crd).list_metadata(&params)).await;
    let found = match found {
        // It is not served yet, or not any more.
        Err(error) if error.is_not_found() => return Ok(None),
        found => found?,
    };
    let more =
        if found.metadata.continue_.as_deref().is_some_and(|next| !next.is_empty()) { ", ..." } else { "" };
    let names: Vec<String> = found
        .iter()
        .map(|object| format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any()))
        .collect();
    let kind = &crd.spec.names.kind;
    Ok((!names.is_empty()).then(|| format!("{kind} ({}{more})", names.join(", "))))
}

/// The fields among these that resources of the kind have, each with one of them.
pub(crate) async fn using(
    manager: &Manager,
    crd: &CustomResourceDefinition,
    lost: &[FieldPath],
) -> Result<Vec<String>, ApiError> {
    let (mut used, mut params) = (BTreeMap::new(), ListParams::default().limit(500));
    while !lost.is_empty() {
        let page = within("list the resources of a kind", resources(manager, crd).list(&params)).await;
        let page = match page {
            Err(error) if error.is_not_found() => break,
            page => page?,
        };
        for object in &page {
            let json: Json = serde_json::to_value(object).unwrap_or_default();
            for field in lost.iter().filter(|field| field.is_in(&json)) {
                let name = format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any());
                used.entry(field.to_string()).or_insert(name);
            }
        }
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => params.continue_token = Some(next),
            None => break,
        }
    }
    let kind = &crd.spec.names.kind;
    Ok(used.into_iter().map(|(field, name)| format!("{kind} {name} has {field}")).collect())
}
