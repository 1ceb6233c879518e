//! StateDeclaration: the public state of a resource, from which others take values.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The reserved kind of facts that a person writes by hand: `static-<name>`, referenced as `kind: static`.
pub const STATIC_KIND: &str = "static";

/// The public state of one resource. Written by its controller and named `<kind>-<name>`; a person may write facts
/// from outside as `static-<name>`.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "StateDeclaration",
    namespaced,
    shortname = "state",
    category = "kraken",
    printcolumn(name = "ID", type_ = "string", json_path = ".spec.id"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "The public state of one resource, from which other resources take values by reference."
)]
// Atomic: merged as schemaless data, an object that becomes empty would be stored as null.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct StateDeclarationSpec {
    /// Any JSON, in the provider's own spelling. Never a value from a Secret. Example: `{"instances": [{"InstanceId": "i-0abc"}]}`.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::any_json")]
    pub data: Value,

    /// The resource's main id, as the provider writes it: what a reference without a path takes. Never a value from a
    /// Secret. Default: none, and a reference without a path waits. Example: `vpc-0abc1234def567890`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub id: Option<String>,
}
