//! ConfigExport: values of resources as a ConfigMap or a Secret that a pod can mount.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_options::Opt;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which values go where.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "configexport.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "ConfigExport",
    namespaced,
    status = "ConfigExportStatus",
    shortname = "cfgexp",
    category = "kraken",
    doc = "Writes values of resources, ConfigMaps and Secrets to one ConfigMap or Secret, and keeps it up to date."
)]
#[serde(rename_all = "camelCase")]
pub struct ConfigExportSpec {
    /// What is written: `ConfigMap` or `Secret`. An entry whose value comes from a Secret needs `Secret`.
    pub config_type: ConfigType,

    /// The object to write. It is created, and is this resource's own: one that exists already is never touched.
    pub config_metadata: ConfigMetadata,

    /// The keys to write, 1 to 256 of them. All are written or none: while one has no value, the object does not exist.
    #[schemars(length(min = 1, max = 256))]
    pub entries: Vec<ExportEntry>,
}

/// What a ConfigExport writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ConfigType {
    /// A ConfigMap, for what anybody may read.
    ConfigMap,
    /// A Secret of type Opaque.
    Secret,
}

/// The name of the object to write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMetadata {
    /// Its name, 1 to 253 characters. Example: `app`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Its namespace. Default: the ConfigExport's own; any other is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
}

/// One key of the object and where its value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExportEntry {
    /// The key, 1 to 253 letters, digits, `-`, `_` or `.`. Example: `vpc-id`.
    pub key: String,

    /// The value, given or referenced. Text is written as it is, anything else as JSON.
    #[serde(flatten)]
    pub value: Opt<Value>,
}

/// Written by hand because a flattened enum loses its `oneOf` otherwise: the option's schema plus `key`.
impl JsonSchema for ExportEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ExportEntry".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = <Opt<Value> as JsonSchema>::json_schema(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
            properties.insert(
                "key".into(),
                serde_json::json!({
                    "type": "string", "minLength": 1, "maxLength": 253, "pattern": "^[-._a-zA-Z0-9]+$",
                    "description": "The key to write, 1 to 253 letters, digits, `-`, `_` or `.`. Example: `vpc-id`.",
                }),
            );
        }
        schema.insert("required".into(), serde_json::json!(["key"]));
        schema.insert(
            "description".into(),
            "One key to write: `key` with exactly one of `value` and `valueFrom`.".into(),
        );
        schema
    }
}

/// What the hub last did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigExportStatus {
    /// `Ready` and `DependenciesResolved`. Ready is true only after the write succeeded.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::conditions_schema")]
    pub conditions: Vec<Condition>,

    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The object that was written last, so that it is removed when the spec names another. Example: `ConfigMap/app`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}
