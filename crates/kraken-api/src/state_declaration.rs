//! StateDeclaration: the public state of a resource, from which others take values.

use kraken_options::Path;
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
    category = "kraken-internal",
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

    /// What is not published because it comes from a Secret, so that whoever refers to it is told. Default: none. Example:
    /// `[{path: instances.ImageId, field: imageID}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub withheld: Vec<Withheld>,
}

/// A part of a state that is not published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// Its path, dotted, through the elements of lists; `*` for all of the data, empty for the main id. Example:
    /// `instances.ImageId`.
    #[schemars(length(max = 1024))]
    pub path: String,
    /// The field of the spec that comes from a Secret. Example: `imageID`.
    #[schemars(length(min = 1, max = 1024))]
    pub field: String,
}

impl Withheld {
    /// Whether it is the reason why a reference finds nothing: `path` is that of the reference, empty for the main id.
    pub fn explains(&self, path: &str) -> bool {
        if self.path.is_empty() || path.is_empty() {
            return self.path == path;
        }
        let Ok(path) = path.parse::<Path>() else { return false };
        let Some(names) = path.segments() else { return self.path == "*" };
        // Positions in lists are passed through, as in `path`.
        let is_index = |name: &&str| name.bytes().all(|byte| byte.is_ascii_digit());
        let names: Vec<&str> = names.into_iter().filter(|name| !is_index(name)).collect();
        let own: Vec<&str> = self.path.split('.').collect();
        self.path == "*" || own.len() <= names.len() && names.iter().zip(&own).all(|(a, b)| a == b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_below_or_at_a_withheld_path_is_explained() {
        let of = |path: &str| Withheld { path: path.into(), field: "imageID".into() };
        let image = of("instances.ImageId");
        for path in
            ["instances.0.ImageId", "instances.ImageId", "instances[1].ImageId.x", "instances[\"0\"].ImageId"]
        {
            assert!(image.explains(path), "{path}");
        }
        for path in [
            "",
            "instances",
            "instances.0.ImageIds",
            "instances.0.SubnetId",
            "a..b",
            "$.instances[0].ImageId",
        ] {
            assert!(!image.explains(path), "{path}");
        }
        assert!(of("").explains("") && !of("").explains("a"));
        assert!(of("*").explains("a.b") && of("*").explains("$.a[*]") && !of("*").explains(""));
    }
}
