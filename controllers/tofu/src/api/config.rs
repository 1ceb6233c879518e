//! ProviderConfig, the API type.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_kind::{
    api::crd::conditions_schema,
    options::{SecretSource, any_json},
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A configuration of a provider, for the resources of this namespace that use it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "providers.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ProviderConfig",
    plural = "providerconfigs",
    category = "kraken",
    category = "kraken-admin",
    namespaced,
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    doc = "A configuration of an OpenTofu provider: the credentials and the endpoint for the resources of this namespace that name it \
           in spec.providerConfig, or that name none, if its own name is that of the ProviderInstall."
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigSpec {
    /// The name of the ProviderInstall. Example: `openstack`
    #[schemars(length(min = 1, max = 253))]
    pub provider: String,

    /// The options of the provider, by the names in its documentation, at most 100. Default: none. Example: `{auth_url: {value:
    /// "https://cloud.example.com:5000/v3"}, password: {valueFrom: {secret: {name: cloud, key: password}}}}`
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100))]
    pub config: BTreeMap<String, ConfigValue>,

    /// The options that say where its objects are, at most 16. If a value of them changes, existing resources wait, because their
    /// objects are not there. Default: those of `auth_url`, `endpoint`, `host`, `url`, `region`, `project`, `project_id`, `tenant_id`,
    /// `tenant_name`, `subscription_id`, `account_id`, `organization` and `owner` that are literals. Example: `[auth_url, region]`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 128)))]
    pub location: Option<Vec<String>>,
}

/// The value of an option: a literal, or a key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigValue {
    /// A literal: a text, a number, a boolean, a list, a map, or a block as the provider's documentation describes it. Do not put
    /// credentials here: everybody with `view` can read them. Example: `https://cloud.example.com:5000/v3`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_json")]
    pub value: Option<Json>,

    /// A source instead of a literal. It is read when a resource is reconciled, so that a rotated credential is used from the next
    /// reconcile. Example: `{secret: {name: cloud, key: password}}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<SecretSource>,
}

/// The result of the last check of a ProviderConfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigStatus {
    /// The generation of the spec that this status describes. Example: `2`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where its objects are, from the options in `spec.location`. Example: `region=RegionOne`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// `Ready`: whether the provider accepts this configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}
