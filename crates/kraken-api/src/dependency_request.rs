//! DependencyRequest: the references of one resource, written by its spoke and answered by the hub.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_options::{Dependencies, Dependency, JsonType, KeyRef, ResourceRef};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reasons::DependencyReason;

/// The references of one resource to others.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "DependencyRequest",
    namespaced,
    status = "DependencyRequestStatus",
    selectable = ".spec.spoke",
    selectable = ".spec.keepSecrets",
    shortname = "depreq",
    category = "kraken-internal",
    doc = "The references of one resource to others. Internal: written by spokes, answered by the hub."
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.spoke) || !has(oldSelf.spoke)", "message": "spoke cannot be removed"},
]))]
pub struct DependencyRequestSpec {
    /// The spoke that wrote the request and finds it by this field, which cannot be changed: its component's full name, at most 63
    /// characters. Default: none, in a request of a version that did not have the field; its spoke sets it. Example: `kraken-aws-vpc`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 63), extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "cannot be changed"},
    ]))]
    pub spoke: String,

    /// References to keys of ConfigMaps, at most 1,024.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub config_map_dependencies: Vec<KeyDependency>,

    /// References to keys of Secrets, at most 1,024. The hub answers with the Secret's identity and version, never with
    /// a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub secret_dependencies: Vec<KeyDependency>,

    /// References to values in the state of other resources, at most 1,024.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub kraken_resource_dependencies: Vec<ResourceDependency>,

    /// The resources that the remote objects of the owner still use, because an edit that removed the reference is not in place yet, at
    /// most 1,024. They are not resolved, and are deleted after the owner like those above. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub in_place_dependencies: Vec<InPlaceDependency>,

    /// Whether the Secrets of this request are kept from deletion, by a finalizer, as long as it exists. Such a request is about an
    /// account in use, is not answered, and refers to Secrets only. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_secrets: bool,
}

impl DependencyRequest {
    /// Whether the remote objects of the owner may use the resource that it refers to: one of another namespace only if the hub permits
    /// the reference, or did.
    pub fn may_use(&self, reference: &ResourceRef) -> bool {
        if reference.namespace.is_none() || reference.namespace == self.metadata.namespace {
            return true;
        }
        let Some(status) = &self.status else { return false };
        let name = reference.full_name();
        let values = status.dependent_values.from_kraken_resources.get(&reference.kind);
        let is_permitted = |unmet: &Unmet| {
            (&unmet.kind, &*unmet.name) == (&reference.kind, &*name)
                && (unmet.withdrawn || unmet.reason != DependencyReason::RefNotPermitted.as_str())
        };
        values.is_some_and(|names| names.contains_key(&*name)) || status.unmet.iter().any(is_permitted)
    }
}

/// A key of a ConfigMap or Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyDependency {
    /// The name of the object. Example: `sizes`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in the data of the object. Example: `small`.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Whether the resource is created without the value, and only then waits for it: such a reference closes no cycle. Default:
    /// `false`. Example: `true`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

/// A value in the state of another resource, or its main id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceDependency {
    /// The kind, in lower case without hyphens, followed by a dot and the group if the reference names one. Example:
    /// `ec2instance` or `vpc.aws`.
    #[schemars(length(min = 1, max = 317))]
    pub kind: String,
    /// The name. Example: `a`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The namespace, as the reference names it. Default: that of the request. Example: `platform`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The path of the value in the state. Default: none, which refers to the main id of the resource. Example:
    /// `instances.0.InstanceType`.
    #[schemars(length(max = 1024))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The JSON type of the field with the reference. Default: `any`.
    #[serde(rename = "type", default = "any_type")]
    #[schemars(schema_with = "json_type_schema")]
    pub json_type: JsonType,
    /// Whether the resource is created without the value, and only then waits for it, as a security group does for the groups
    /// in its rules: such a reference closes no cycle. Default: `false`. Example: `true`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

impl ResourceDependency {
    /// The reference.
    pub fn reference(&self) -> ResourceRef {
        ResourceRef {
            kind: self.kind.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            path: self.path.clone(),
        }
    }
}

/// A resource that is still in use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InPlaceDependency {
    /// The kind, as in `krakenResourceDependencies`. Example: `vpc.aws`.
    #[schemars(length(min = 1, max = 317))]
    pub kind: String,
    /// The name. Example: `a`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The namespace. Default: that of the request. Example: `platform`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

fn any_type() -> JsonType {
    JsonType::Any
}

fn json_type_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "enum": ["string", "integer", "number", "boolean", "array", "object", "any"],
    })
}

/// The hub's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyRequestStatus {
    /// The condition `Ready`: true if every dependency has a value.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::conditions_schema")]
    pub conditions: Vec<Condition>,

    /// The generation of the spec that this answer is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The resolved values.
    #[serde(default)]
    pub dependent_values: DependentValues,

    /// The dependencies without a value, each with a reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<Unmet>,
}

/// The resolved values, by type of source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
// Without `atomic`, server-side apply stores an object that becomes empty as null.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct DependentValues {
    /// Values from ConfigMaps, by ConfigMap name and key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub from_config_maps: BTreeMap<String, BTreeMap<String, String>>,

    /// Versions of Secrets, by Secret name and key. The spoke reads the value itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub from_secrets: BTreeMap<String, BTreeMap<String, SecretVersion>>,

    /// Values from states, by kind, name (`namespace:name` if the reference has a namespace) and path. The path is empty for a main
    /// id. Example: `{vpc: {main: {"": vpc-0abc}}}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::crd::any_object")]
    pub from_kraken_resources: BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>>,
}

/// One version of a Secret, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretVersion {
    /// The Secret's UID.
    pub uid: String,
    /// The Secret's resourceVersion.
    pub resource_version: String,
    /// A digest of the value with a random key that only the hub has, and before a dot, a digest of that key. It says whether the
    /// value changed, also when the Secret was relabeled or recreated. Empty if the hub has no such key. Example:
    /// `5f2a91c0.8d3e4b7a90c1f2e35d6a7b8c9d0e1f2a`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

/// A dependency without a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unmet {
    /// `ConfigMap`, `Secret`, or the kind of a resource.
    pub kind: String,
    /// The name of the object or resource, `namespace:name` if the reference has a namespace.
    pub name: String,
    /// The key or the path; empty for a main id.
    pub entry: String,
    /// The reason why there is no value. Example: `ConfigMapNotFound`.
    pub reason: String,
    /// A human-readable message with details of the reason.
    pub message: String,
    /// Whether a grant for the reference was withdrawn, so that what was made with the value may still use the resource, whose
    /// deletion waits. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

impl Unmet {
    /// A dependency without a value, with its cause.
    pub fn new(dependency: &Dependency, reason: DependencyReason, message: impl Into<String>) -> Self {
        let (kind, name, entry) = match dependency {
            Dependency::ConfigMap(key) => ("ConfigMap", key.name.as_str().into(), &key.key),
            Dependency::Secret(key) => ("Secret", key.name.as_str().into(), &key.key),
            Dependency::Resource(resource) => (resource.kind.as_str(), resource.full_name(), &resource.path),
        };
        Self {
            kind: kind.to_owned(),
            name: name.into_owned(),
            entry: entry.clone(),
            reason: reason.as_str().to_owned(),
            message: message.into(),
            withdrawn: false,
        }
    }

    /// The dependency.
    pub fn dependency(&self) -> Dependency {
        let key = || KeyRef { name: self.name.clone(), key: self.entry.clone() };
        match self.kind.as_str() {
            "ConfigMap" => Dependency::ConfigMap(key()),
            "Secret" => Dependency::Secret(key()),
            kind => Dependency::Resource(ResourceRef::of(kind, &self.name, &self.entry)),
        }
    }
}

impl From<&Dependencies> for DependencyRequestSpec {
    fn from(dependencies: &Dependencies) -> Self {
        let follows = |dependency| dependencies.follows.contains(&dependency);
        let keys = |set: &std::collections::BTreeSet<KeyRef>, of: fn(KeyRef) -> Dependency| {
            let key = |k: &KeyRef| KeyDependency {
                name: k.name.clone(),
                key: k.key.clone(),
                follows: follows(of(k.clone())),
            };
            set.iter().map(key).collect()
        };
        Self {
            config_map_dependencies: keys(&dependencies.config_maps, Dependency::ConfigMap),
            secret_dependencies: keys(&dependencies.secrets, Dependency::Secret),
            kraken_resource_dependencies: dependencies
                .resources
                .iter()
                .map(|(resource, json_type)| ResourceDependency {
                    kind: resource.kind.clone(),
                    name: resource.name.clone(),
                    namespace: resource.namespace.clone(),
                    path: resource.path.clone(),
                    json_type: *json_type,
                    follows: follows(Dependency::Resource(resource.clone())),
                })
                .collect(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_id() -> ResourceRef {
        ResourceRef::of("vpc", "main", "")
    }

    #[test]
    fn a_main_id_is_requested_without_a_path() {
        let mut dependencies = Dependencies::default();
        dependencies.add(Dependency::Resource(main_id()), JsonType::String);
        let spec = DependencyRequestSpec::from(&dependencies);
        let written = serde_json::json!({
            "krakenResourceDependencies": [{"kind": "vpc", "name": "main", "type": "string"}],
        });
        assert_eq!(serde_json::to_value(&spec).ok(), Some(written.clone()));
        assert_eq!(serde_json::from_value::<DependencyRequestSpec>(written).ok(), Some(spec));
    }

    #[test]
    fn an_unmet_main_id_matches_its_dependency() {
        let reason = DependencyReason::PathNotFound;
        for reference in [main_id(), ResourceRef::of("vpc", "platform:main", "")] {
            let dependency = Dependency::Resource(reference);
            assert_eq!(Unmet::new(&dependency, reason, "").dependency(), dependency);
        }
    }
}
