//! ConfigExport: values of resources as a ConfigMap or a Secret that a pod can mount.

use std::collections::BTreeMap;

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
// What a template refers to is beyond CEL: the hub finds that.
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "self.configType == 'Secret' || self.entries.all(e, !has(e.valueFrom) || !has(e.valueFrom.secret))",
        "message": "an entry whose value comes from a Secret needs configType: Secret",
    },
    {
        "rule": "self.configType == 'Secret' || !has(self.secretType)",
        "message": "secretType needs configType: Secret",
    },
]))]
pub struct ConfigExportSpec {
    /// What is written: `ConfigMap` or `Secret`. An entry whose value comes from a Secret needs `Secret`.
    pub config_type: ConfigType,

    /// The type of the Secret, 1 to 253 characters; only with `configType: Secret`. Kubernetes wants certain keys for some
    /// types. A Secret's type cannot be changed: it is deleted and created again. Default: `Opaque`. Example:
    /// `kubernetes.io/tls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub secret_type: Option<String>,

    /// The object to write. It is created, and is this resource's own: one that exists already is never touched.
    pub config_metadata: ConfigMetadata,

    /// The keys to write, 1 to 256 of them, each once. All are written or none: an object that misses one does not come to
    /// be.
    #[schemars(length(min = 1, max = 256))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub entries: Vec<ExportEntry>,

    /// What becomes of the object when an entry loses its value: `Delete` deletes it ten seconds later unless the value is
    /// back by then, `Keep` leaves it as it was until every entry has a value again. Default: `Delete`.
    #[serde(default)]
    pub while_waiting: WhileWaiting,
}

/// What becomes of the object that was written when an entry loses its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhileWaiting {
    /// It is deleted after ten seconds, unless the value is back by then.
    #[default]
    Delete,
    /// It stays as it was.
    Keep,
}

/// What a ConfigExport writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ConfigType {
    /// A ConfigMap, for what anybody may read.
    ConfigMap,
    /// A Secret, of type `Opaque` unless `secretType` says otherwise.
    Secret,
}

/// The name of the object to write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMetadata {
    /// Its name, 1 to 253 lower case letters, digits, `-` and `.`. Example: `app`.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"))]
    pub name: String,

    /// Its namespace. Default: the ConfigExport's own; any other is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,

    /// Labels of the object, at most 32, each value 0 to 63 characters. Labels that others set stay. Default: none besides
    /// `app.kubernetes.io/managed-by`, which is Kraken's own. Example: `{team: web}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub labels: BTreeMap<String, String>,

    /// Annotations of the object, at most 32, all of them at most 64 KiB. Annotations that others set stay; those of the domain
    /// `kraken-iac.eoinfennessy.com` are Kraken's own. Default: none. Example, for a tool that restarts the pods that use the
    /// object whenever it changes: `{reloader.stakater.com/match: "true"}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, String>,
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
        // Merged as schemaless data, an object that becomes empty would be stored as null.
        schema.insert("x-kubernetes-map-type".into(), "atomic".into());
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
