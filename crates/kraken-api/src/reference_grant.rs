//! ReferenceGrant: the consent of a namespace to references from other namespaces.

#![allow(clippy::duplicated_attributes)] // the columns of one type

use kraken_options::{KIND_PATTERN, NAME_PATTERN, NAMESPACE_PATTERN};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The category of kinds by which the administrators of a namespace share it with others.
pub const GRANT_CATEGORY: &str = "kraken-grant";

/// Lets resources of other namespaces refer to resources of this namespace.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ReferenceGrant",
    namespaced,
    category = "kraken-grant",
    printcolumn(name = "From", type_ = "string", json_path = ".spec.from[*].namespace"),
    printcolumn(name = "To", type_ = "string", json_path = ".spec.to[*].kind"),
    printcolumn(name = "Name", type_ = "string", json_path = ".spec.to[*].name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "Lets resources of other namespaces refer to resources of this namespace. Without a grant, no value leaves a namespace. When it \
           is deleted, the values are withheld, and what was made with them stays as it is."
)]
pub struct ReferenceGrantSpec {
    /// The namespaces whose resources may refer to those in `to`, 1 to 64. Example: `[{namespace: shop}]`.
    #[schemars(length(min = 1, max = 64))]
    pub from: Vec<GrantedNamespace>,

    /// The resources of this namespace to which they may refer, 1 to 64. Example: `[{kind: VPC, name: main}, {kind: Subnet}]`.
    #[schemars(length(min = 1, max = 64))]
    pub to: Vec<GrantedResource>,
}

/// A namespace with references.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantedNamespace {
    /// The name of the namespace. Example: `shop`.
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE_PATTERN))]
    pub namespace: String,
}

/// One resource, or all resources of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "!self.kind.matches('(?i)^(config-?map|secret)$')",
        "message": "must be a kind of Kraken: ConfigMaps and Secrets can be referenced only in their own namespace", "fieldPath": ".kind"},
]))]
pub struct GrantedResource {
    /// The kind, ignoring case and hyphens. With a dot and the API group or its first label, only references that name the group
    /// too are permitted. Example: `VPC` or `VPC.aws`.
    #[schemars(length(min = 1, max = 317), regex(pattern = KIND_PATTERN))]
    pub kind: String,

    /// The name of the resource. Default: none, which permits all resources of the kind. Example: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: Option<String>,
}
