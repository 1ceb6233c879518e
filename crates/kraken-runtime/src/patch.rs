//! Writes to Kubernetes: server-side apply, and JSON patches with a precondition.

use std::fmt::Debug;

use kube::{
    Api, Resource,
    api::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::errors::one_line;

/// What a conditional patch is called in errors.
const JSON_PATCH: &str = "patch";
/// What a write of a status is called in errors.
const WRITE_STATUS: &str = "write the status";

/// What the API server gives as a cause when it refuses to create anything in a namespace that is being deleted.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// A request to the API server that did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb}: {}", sentence(source.as_ref()))]
pub struct ApiError {
    /// What was tried.
    pub verb: &'static str,
    /// What the API server said, or why there was no answer.
    #[source]
    pub source: Box<kube::Error>,
}

impl ApiError {
    fn status(&self) -> Option<u16> {
        match self.source.as_ref() {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        }
    }

    /// Somebody else wrote first, or a `test` of a JSON patch did not hold.
    pub fn is_conflict(&self) -> bool {
        // The API server answers a failed `test` operation with 422, as it does what breaks a schema; only then it names
        // the fields.
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

    /// The namespace is being deleted: Kubernetes creates nothing in it any more.
    pub fn is_namespace_terminating(&self) -> bool {
        is_namespace_terminating(&self.source)
    }

    /// There is no such object (any more).
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// The object is larger than Kubernetes takes, or breaks its schema.
    pub fn is_invalid(&self) -> bool {
        matches!(self.status(), Some(400 | 413 | 422))
    }
}

fn is_namespace_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403 && causes.into_iter().any(|cause| cause.reason == NAMESPACE_TERMINATING)
}

/// What went wrong, for people.
fn sentence(error: &kube::Error) -> String {
    if is_namespace_terminating(error) {
        return "the namespace is being deleted, and Kubernetes creates nothing in it any more".to_owned();
    }
    one_line(error)
}

/// Says what a request was for, should it fail. Its deadline is the client's own.
///
/// # Errors
/// When the request fails or has no answer in time.
pub async fn within<T>(
    verb: &'static str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ApiError> {
    request.await.map_err(|source| ApiError { verb, source: Box::new(source) })
}

/// Server-side apply: this manager's fields become what `object` says.
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

/// Which object, and in which version, a write is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Version {
    /// That of an object as it was read.
    pub fn of(object: &impl Resource) -> Self {
        let meta = object.meta();
        Self { uid: meta.uid.clone(), resource_version: meta.resource_version.clone() }
    }
}

/// Replaces the status, whole and by one write, if the object is still the one of this version. Fields that others own in
/// the status go too: by server-side apply, what somebody else owns of a list's item would stay behind without the item's
/// required fields, and every later write would be refused.
///
/// # Errors
/// As [`within`]; [`ApiError::is_conflict`] when the object was written meanwhile.
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

/// A JSON patch: all operations or none. Begin it with `test` operations to make it conditional.
///
/// # Errors
/// As [`within`]; [`ApiError::is_conflict`] when a `test` did not hold.
pub async fn json_patch<K>(api: &Api<K>, manager: &str, name: &str, operations: Value) -> Result<K, ApiError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let operations = operations_of(operations)?;
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    within(JSON_PATCH, api.patch(name, &params, &Patch::<()>::Json(operations))).await
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
    fn a_refusal_in_a_namespace_that_is_being_deleted_is_a_sentence_for_people() {
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
            "failed to apply: the namespace is being deleted, and Kubernetes creates nothing in it any more"
        );
    }
}
