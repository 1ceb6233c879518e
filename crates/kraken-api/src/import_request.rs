//! ImportRequest: the question of a user what exists at the provider, answered by the spoke of one kind.

#![allow(clippy::duplicated_attributes)] // the columns of one type

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The category of the kinds that can be imported.
pub const IMPORTABLE_CATEGORY: &str = "kraken-importable";

/// A request for the remote objects of one kind, as specs that adopt them. Without `within` and `tags`: all of the account and region.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ImportRequest",
    namespaced,
    status = "ImportRequestStatus",
    category = "kraken-import",
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.kind"),
    printcolumn(name = "Location", type_ = "string", json_path = ".status.answer.location"),
    printcolumn(name = "Problem", type_ = "string", json_path = ".status.answer.problem"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A request for the remote objects of one kind, as specs that adopt them. Written by kubectl kraken import, answered once by \
           the spoke of the kind, deleted ten minutes after its creation."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "self == oldSelf", "message": "cannot be changed; create another request"},
    {"rule": "!has(self.within) || !has(self.tags)", "message": "must have at most one of within and tags"},
]))]
pub struct ImportRequestSpec {
    /// The API group of the kind. Example: `aws.kraken-iac.eoinfennessy.com`.
    #[schemars(length(min = 1, max = 253))]
    pub group: String,

    /// The kind. Example: `Subnet`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,

    /// The account whose credentials, region and rules apply, as in the spec of a resource. Default: that of a resource that names
    /// none. Example: `{name: shop}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountName>,

    /// The id of an object that the others are in. Default: none. Example: `vpc-0abc1234def567890`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub within: Option<String>,

    /// Only objects with all of these tags, at most 10. Default: none. Example: `{Team: shop}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 10))]
    pub tags: BTreeMap<String, String>,

    /// Only objects after this id: the `next` of the answer to an earlier request. Default: from the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub after: Option<String>,
}

/// The name of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountName {
    /// The name, in the namespace of the request. Example: `shop`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// The answer of the spoke.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRequestStatus {
    /// The answer; absent until there is one. It is never changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ImportAnswer>,
}

/// What exists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// Written once, as a whole: `managedFields` does not list its parts.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ImportAnswer {
    /// The account and region. Example: `123456789012/us-east-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,

    /// Why there is no answer, if it could not be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,

    /// The objects, ordered by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ImportedObject>,

    /// Objects that resources of this namespace manage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed: Vec<ManagedObject>,

    /// The number of objects that resources of other namespaces or clusters manage, about which nothing else is said.
    #[serde(default)]
    pub elsewhere: u32,

    /// The number of objects that the rules of the account do not allow to be adopted.
    #[serde(default)]
    pub forbidden: u32,

    /// What exists and has no kind. Example: `VPN gateways: vgw-0a1b2c3d`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,

    /// The field of other kinds that contains the id of an object of this kind, if the id is a name that other fields may contain by
    /// chance. Example: `keyName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_by: Option<String>,

    /// The id of the last object, if there are more: for `after` of the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An object that no resource manages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedObject {
    /// The id. Example: `subnet-0abc1234def567890`.
    pub id: String,

    /// Its name at the provider, if it has one. Example: `public-a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// The spec of a resource that adopts the object and changes nothing; absent if there is none. Ids are literals in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::crd::any_object")]
    pub spec: Option<Value>,

    /// What the spec does not contain and why; without a spec, why there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An object that a resource manages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManagedObject {
    /// The id. Example: `vpc-0abc1234def567890`.
    pub id: String,
    /// The name of the resource. Example: `main`.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_one_value_whose_specs_are_any_objects() {
        let crd = serde_json::to_value(ImportRequest::crd()).unwrap();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        let answer = &schema["status"]["properties"]["answer"];
        assert_eq!(answer["x-kubernetes-map-type"], "atomic");
        let spec = &answer["properties"]["objects"]["items"]["properties"]["spec"];
        assert_eq!(spec["x-kubernetes-preserve-unknown-fields"], true);
        assert_eq!(schema["spec"]["x-kubernetes-validations"][0]["rule"], "self == oldSelf");
    }

    #[test]
    fn a_request_says_only_what_it_restricts() {
        let spec = ImportRequestSpec { group: "a.b".into(), kind: "VPC".into(), ..Default::default() };
        assert_eq!(json!(spec), json!({"group": "a.b", "kind": "VPC"}));
    }
}
