//! ProviderInstall, the API type.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_kind::api::crd::conditions_schema;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A provider of OpenTofu, and those of its resource types that are kinds of this cluster.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "providers.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ProviderInstall",
    plural = "providerinstalls",
    category = "kraken-admin",
    status = "ProviderInstallStatus",
    derive = "PartialEq",
    doc = "A provider of OpenTofu, and those of its resource types that are kinds of this cluster. Its name is the name of the \
           ProviderConfig that resources use which name none. While resources of its kinds exist, it is not deleted."
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInstallSpec {
    /// The program of the provider, in the folder of providers of the controller (`--providers-folder`), up to 256 characters.
    /// Example: `terraform-provider-openstack_v3.4.0`
    #[schemars(
        length(min = 1, max = 256),
        regex(pattern = r"^[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*$")
    )]
    pub path: String,

    /// The SHA-256 of the program, 64 hexadecimal digits in lower case. A program with another one is not started. Example:
    /// `9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`
    #[schemars(length(max = 64), regex(pattern = "^[0-9a-f]{64}$"))]
    pub sha256: String,

    /// The resource types that are kinds, as patterns in which `*` matches any text; 1 to 64 patterns for at most 200 kinds. A type
    /// whose resources exist is not removed. Example: `[openstack_networking_*, openstack_compute_instance_v2]`
    #[schemars(
        length(min = 1, max = 64),
        inner(length(min = 1, max = 128), regex(pattern = r"^[a-z0-9_*-]+$"))
    )]
    pub resources: Vec<String>,

    /// The data sources that are kinds, as patterns like those of `resources`; at most 64. A data source is a look-up: it publishes what
    /// the provider finds. Default: none. Example: `[openstack_images_image_v2]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 128), regex(pattern = r"^[a-z0-9_*-]+$")))]
    pub data_sources: Vec<String>,

    /// Environment variables of the provider, which has no others; at most 64. Do not put credentials here: everybody with `view` can
    /// read them. Default: none. Example: `{HTTPS_PROXY: "http://proxy.example.com:3128"}`
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self.all(name, name.matches('^[A-Za-z_][A-Za-z0-9_]*$') && size(self[name]) <= 4096)",
        "message": "names have letters, digits and _, and values have at most 4096 characters",
    }]))]
    pub environment: BTreeMap<String, String>,

    /// When another program, or another environment, takes over the resources that exist: `IfUnchanged`, only if its plans change none of
    /// them, or `Always`. Its plans are counted in `status.switch` before, while the former program stays in use. Default: `IfUnchanged`
    #[serde(default)]
    pub switch_policy: SwitchPolicy,
}

/// When another program takes over the resources that exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SwitchPolicy {
    /// Only if its plans change no resource.
    #[default]
    IfUnchanged,
    /// After its plans were counted in the status.
    Always,
}

/// A program with its environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramInUse {
    /// The file, as in `spec.path`. Example: `terraform-provider-openstack_v3.4.0`
    pub path: String,
    /// Its SHA-256, as in `spec.sha256`. Example: `9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`
    pub sha256: String,
    /// The environment variables, as in `spec.environment`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// The plans of a program for the resources of the one before it. The resources were compared with the provider's plan, as in a plan of an
/// edit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Switch {
    /// The file of the new program. Example: `terraform-provider-openstack_v3.5.0`
    pub path: String,
    /// Its SHA-256. Example: `60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752`
    pub sha256: String,
    /// The number of resources that stay as they are. Example: `118`
    pub unchanged: i64,
    /// The number of resources that would be changed in place. Example: `2`
    pub changed: i64,
    /// The number of resources whose object would be replaced, deleted or created again. Example: `1`
    pub replaced: i64,
    /// The number of resources that would not be ready: their spec is invalid for the new program, or it cannot make a change that it
    /// finds. Example: `0`
    pub rejected: i64,
    /// The number of resources of which the new program gave no plan. Example: `0`
    pub unknown: i64,
    /// The number of resources without an object to compare: not created yet, paused, or being edited or deleted. Example: `3`
    pub not_compared: i64,
    /// What would happen to which resource; at most 10, the gravest first, each of at most 300 characters. Example:
    /// `[OpenstackNetworkingNetworkV2 shop/web: replaces 3f1c (CreateFirst): mtu 1450 -> 1500]`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub examples: Vec<String>,
}

/// What is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInstallStatus {
    /// The generation of the spec that this status describes. Example: `2`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The version of the plugin protocol: 5 or 6. Example: `5`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<i64>,
    /// The number of kinds. Example: `28`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<i64>,
    /// The number of kinds whose creations are found again after a crash. Example: `9`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<i64>,
    /// The number of kinds of which a person says what exists after a crash during a creation. Example: `19`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<i64>,
    /// The installed resource types and data sources, at most 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub types: Vec<InstalledType>,
    /// The program that manages the resources. It differs from that of the spec until that one may take over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramInUse>,
    /// What the last change of the program does to the resources. Absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Switch>,
    /// `Ready`: whether all kinds are installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}

/// A resource type or a data source that is a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstalledType {
    /// The resource type, or the data source. Example: `openstack_networking_network_v2`
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its kind. Example: `OpenstackNetworkingNetworkV2`
    pub kind: String,
    /// What is known after a crash during a creation. Absent for a data source, which creates nothing. Example: `Marked`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// What is known after a crash during a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Recovery {
    /// The object is found by a marker in its description.
    Marked,
    /// A person says whether it exists (`CreationUnknown`).
    ByHand,
}
