//! Writes to Kubernetes: server-side apply, and JSON patches with a precondition.

use std::fmt::Debug;

use kube::{
    Api, Resource,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::errors::one_line;

/// The name of a conditional patch in errors.
const JSON_PATCH: &str = "patch";
/// The name of a status write in errors.
const WRITE_STATUS: &str = "write the status";

/// The cause in the error of the API server for a creation in a namespace that is being deleted.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// A failed request to the API server.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb}: {}", sentence(source.as_ref()))]
pub struct ApiError {
    /// The attempted action.
    pub verb: &'static str,
    /// The error of the API server, or why there was no response.
    #[source]
    pub source: Box<kube::Error>,
}

impl ApiError {
    /// The HTTP status of the response; `None` without a response.
    pub fn status(&self) -> Option<u16> {
        match self.source.as_ref() {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        }
    }

    /// A conflict: the object was changed, or a `test` of a JSON patch failed.
    pub fn is_conflict(&self) -> bool {
        // The API server responds with 422 to a failed `test` operation and to a schema violation; only the latter names
        // fields.
        let is_failed_test = || match self.source.as_ref() {
            kube::Error::Api(status)
                if status.code == 422 && [JSON_PATCH, WRITE_STATUS].contains(&self.verb) =>
            {
                status.details.as_ref().is_none_or(|details| details.causes.is_empty())
            }
            _ => false,
        };
        self.status() == Some(409) || is_failed_test()
    }

    /// The namespace is being deleted: Kubernetes creates no objects in it.
    pub fn is_namespace_terminating(&self) -> bool {
        is_namespace_terminating(&self.source)
    }

    /// The object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// The controller's role does not permit the request.
    pub fn is_forbidden(&self) -> bool {
        self.status() == Some(403)
    }

    /// The object exceeds the size limit of Kubernetes, or violates its schema.
    pub fn is_invalid(&self) -> bool {
        matches!(self.status(), Some(400 | 413 | 422))
    }
}

fn is_namespace_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403 && causes.into_iter().any(|cause| cause.reason == NAMESPACE_TERMINATING)
}

/// The error message for users.
fn sentence(error: &kube::Error) -> String {
    if is_namespace_terminating(error) {
        return "the namespace is being deleted, and Kubernetes creates no objects in it".to_owned();
    }
    one_line(error)
}

/// Adds the attempted action to the error of a request. The deadline is the client's.
///
/// # Errors
/// If the request fails or has no response in time.
pub async fn within<T>(
    verb: &'static str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ApiError> {
    request.await.map_err(|source| ApiError { verb, source: Box::new(source) })
}

/// Tries whether objects can be created in the namespace of this API. `probe` is never stored.
///
/// # Errors
/// If the namespace is being deleted. Any other error is about the probe and not about the namespace.
pub async fn try_namespace<K>(api: &Api<K>, verb: &'static str, probe: &K) -> Result<(), ApiError>
where
    K: Clone + DeserializeOwned + Serialize + Debug,
{
    let params = PostParams { dry_run: true, ..PostParams::default() };
    match within(verb, api.create(&params, probe)).await {
        Err(error) if error.is_namespace_terminating() => Err(error),
        _ => Ok(()),
    }
}

/// Server-side apply of `object` with this field manager.
///
/// # Errors
/// As [`within`].
pub async fn apply<K>(
    api: &Api<K>,
    manager: &str,
    name: &str,
    object: &(impl Serialize + Debug),
) -> Result<K, ApiError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let params = PatchParams::apply(manager).force();
    within("apply", api.patch(name, &params, &Patch::Apply(object))).await
}

/// Server-side apply of the status.
///
/// # Errors
/// As [`within`].
pub async fn apply_status<K>(api: &Api<K>, manager: &str, name: &str, object: &Value) -> Result<K, ApiError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let params = PatchParams::apply(manager).force();
    within(WRITE_STATUS, api.patch_status(name, &params, &Patch::Apply(object))).await
}

/// The object and version that a write is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Version {
    /// The version of an object that was read.
    pub fn of(object: &impl Resource) -> Self {
        let meta = object.meta();
        Self { uid: meta.uid.clone(), resource_version: meta.resource_version.clone() }
    }
}

/// Replaces the whole status in one write, if the object still has this version. Fields of other managers in the status
/// are removed too: with server-side apply, fields of another manager in a list item would remain without the item's
/// required fields, and every later write would be rejected.
///
/// # Errors
/// As [`within`]; [`ApiError::is_conflict`] if the object was changed in the meantime.
pub async fn replace_status<K>(
    api: &Api<K>,
    manager: &str,
    name: &str,
    version: &Version,
    status: Value,
) -> Result<K, ApiError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": version.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": version.resource_version},
        {"op": "add", "path": "/status", "value": status},
    ]);
    let operations = operations_of(operations)?;
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    within(WRITE_STATUS, api.patch_status(name, &params, &Patch::<()>::Json(operations))).await
}

/// A JSON patch: all operations or none. It is conditional if it begins with `test` operations.
///
/// # Errors
/// As [`within`]; [`ApiError::is_conflict`] if a `test` failed.
pub async fn json_patch<K>(api: &Api<K>, manager: &str, name: &str, operations: Value) -> Result<K, ApiError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let operations = operations_of(operations)?;
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    within(JSON_PATCH, api.patch(name, &params, &Patch::<()>::Json(operations))).await
}

/// Adds a finalizer to an object, or removes it, if the object still has the version of this metadata.
///
/// # Errors
/// As [`json_patch()`].
pub async fn set_finalizer<K>(
    api: &Api<K>,
    manager: &str,
    meta: &ObjectMeta,
    finalizer: &str,
    is_present: bool,
) -> Result<K, ApiError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut finalizers = meta.finalizers.clone().unwrap_or_default();
    finalizers.retain(|other| other != finalizer);
    if is_present {
        finalizers.push(finalizer.to_owned());
    }
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": meta.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
        {"op": "add", "path": "/metadata/finalizers", "value": finalizers},
    ]);
    json_patch(api, manager, meta.name.as_deref().unwrap_or_default(), operations).await
}

fn operations_of(operations: Value) -> Result<json_patch::Patch, ApiError> {
    serde_json::from_value(operations)
        .map_err(|e| ApiError { verb: JSON_PATCH, source: Box::new(kube::Error::SerdeError(e)) })
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_in_a_terminating_namespace_has_a_clear_message() {
        let status: Status = serde_json::from_value(json!({
            "status": "Failure", "code": 403, "reason": "Forbidden",
            "message": "dependencyrequests \"a\" is forbidden: unable to create new content in namespace x because it is being terminated",
            "details": {"causes": [{"reason": "NamespaceTerminating", "message": "namespace x is being terminated", "field": "metadata.namespace"}]},
        }))
        .unwrap();
        let error = ApiError { verb: "apply", source: Box::new(kube::Error::Api(Box::new(status))) };
        assert!(error.is_namespace_terminating());
        assert_eq!(
            error.to_string(),
            "failed to apply: the namespace is being deleted, and Kubernetes creates no objects in it"
        );
    }
}
