//! The subset of AdmissionReview v1 for validating webhooks. Separate types, because kube's are behind a feature that
//! would be enabled for all crates.

use k8s_openapi::apimachinery::pkg::{apis::meta::v1::Status, runtime::RawExtension};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Operation;

/// The only supported version.
pub(crate) const API_VERSION: &str = "admission.k8s.io/v1";
/// The kind.
pub(crate) const KIND: &str = "AdmissionReview";

/// The request and the response body.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionReview {
    /// `admission.k8s.io/v1`.
    pub api_version: String,
    /// `AdmissionReview`.
    pub kind: String,
    /// The request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<AdmissionRequest>,
    /// The response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<AdmissionResponse>,
}

/// A group, a version and a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// The API group.
    #[serde(default)]
    pub group: String,
    /// The version.
    #[serde(default)]
    pub version: String,
    /// The kind.
    #[serde(default)]
    pub kind: String,
}

/// A group, a version and a plural name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupVersionResource {
    /// The API group.
    #[serde(default)]
    pub group: String,
    /// The version.
    #[serde(default)]
    pub version: String,
    /// The plural name.
    #[serde(default)]
    pub resource: String,
}

/// The request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionRequest {
    /// The id of the request, which the response repeats.
    pub uid: String,
    /// The kind of the object.
    #[serde(default)]
    pub kind: GroupVersionKind,
    /// The resource of the object.
    #[serde(default)]
    pub resource: GroupVersionResource,
    /// Set for a subresource, which our rules do not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_resource: Option<String>,
    /// The namespace.
    #[serde(default)]
    pub namespace: String,
    /// The name; empty if it will be generated from `generateName`.
    #[serde(default)]
    pub name: String,
    /// The operation.
    pub operation: Operation,
    /// The new object; absent for a deletion.
    #[serde(default)]
    pub object: Option<Value>,
    /// The current object; absent for a creation.
    #[serde(default)]
    pub old_object: Option<Value>,
    /// Whether this is a dry run.
    #[serde(default)]
    pub dry_run: Option<bool>,
    /// The other fields of the request, unused.
    #[serde(default, skip_serializing)]
    pub options: Option<RawExtension>,
}

/// The response.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AdmissionResponse {
    /// The id of the request.
    pub uid: String,
    /// Whether the request is allowed.
    pub allowed: bool,
    /// Why it is rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Warnings for the user, allowed or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl AdmissionReview {
    /// A review that contains only a response.
    pub(crate) fn of(response: AdmissionResponse) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            request: None,
            response: Some(response),
        }
    }
}
