//! AdmissionReview v1, as far as validating needs it. Own types: kube's are behind a feature that all crates would share.

use k8s_openapi::apimachinery::pkg::{apis::meta::v1::Status, runtime::RawExtension};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Operation;

/// The only version that is spoken.
pub(crate) const API_VERSION: &str = "admission.k8s.io/v1";
/// The kind.
pub(crate) const KIND: &str = "AdmissionReview";

/// What the API server sends, and what it gets back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionReview {
    /// `admission.k8s.io/v1`.
    pub api_version: String,
    /// `AdmissionReview`.
    pub kind: String,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<AdmissionRequest>,
    /// The answer.
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

/// The question.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionRequest {
    /// Names the question; the answer repeats it.
    pub uid: String,
    /// The kind of the object.
    #[serde(default)]
    pub kind: GroupVersionKind,
    /// The resource of the object.
    #[serde(default)]
    pub resource: GroupVersionResource,
    /// Set for a subresource, which no rule of ours names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_resource: Option<String>,
    /// Its namespace.
    #[serde(default)]
    pub namespace: String,
    /// Its name; empty if `generateName` is still to become one.
    #[serde(default)]
    pub name: String,
    /// What is done.
    pub operation: Operation,
    /// As it shall be; absent for a deletion.
    #[serde(default)]
    pub object: Option<Value>,
    /// As it is; absent for a creation.
    #[serde(default)]
    pub old_object: Option<Value>,
    /// Whether nothing will be stored.
    #[serde(default)]
    pub dry_run: Option<bool>,
    /// What else the API server says of the request, unread.
    #[serde(default, skip_serializing)]
    pub options: Option<RawExtension>,
}

/// The answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AdmissionResponse {
    /// That of the question.
    pub uid: String,
    /// Whether the request may go on.
    pub allowed: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Shown to the user, whatever the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl AdmissionReview {
    /// A review with nothing but an answer.
    pub(crate) fn of(response: AdmissionResponse) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            request: None,
            response: Some(response),
        }
    }
}
