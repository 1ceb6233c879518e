//! ConfigExport: exports values of resources to a ConfigMap or a Secret that a pod can mount.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_options::{Dependencies, Opt, Resolved, Resolver, Text, Values};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The values to export, and the target.
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
// CEL cannot parse templates: the hub validates their references.
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "self.configType == 'Secret' || self.entries.all(e, !has(e.valueFrom) || !has(e.valueFrom.secret))",
        "message": "an entry whose value comes from a Secret requires configType: Secret",
    },
    {
        "rule": "self.configType == 'Secret' || !has(self.secretType)",
        "message": "secretType requires configType: Secret",
    },
    {
        "rule": "!has(self.secretType) || !(self.secretType in ['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token'])",
        "message": "secretType must not be kubernetes.io/service-account-token or bootstrap.kubernetes.io/token: Kubernetes issues or accepts credentials for such Secrets",
    },
    {
        "rule": "!self.rotate || self.configMetadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
        "message": "rotate: true requires a configMetadata.name of at most 63 lower case letters, digits and -, because a volume has the same name",
    },
]))]
pub struct ConfigExportSpec {
    /// The kind of the target: `ConfigMap` or `Secret`. An entry whose value comes from a Secret requires `Secret`. Example:
    /// `ConfigMap`.
    pub config_type: ConfigType,

    /// The type of the Secret, 1 to 253 characters; only with `configType: Secret`. Kubernetes requires certain keys for
    /// some types. The type of a Secret is immutable: on a change, the Secret is deleted and recreated, unless the API server refuses
    /// the new one. `kubernetes.io/service-account-token` and `bootstrap.kubernetes.io/token` are rejected, because Kubernetes issues
    /// or accepts credentials for such Secrets. Default: `Opaque`.
    /// Example: `kubernetes.io/tls`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-zA-Z0-9]([-a-zA-Z0-9_./]*[a-zA-Z0-9])?$"))]
    pub secret_type: Option<String>,

    /// The target object. It is created and owned by this resource: an existing object of another owner is never
    /// changed. Example: `{name: app, labels: {team: web}}`.
    pub config_metadata: ConfigMetadata,

    /// The keys to write, 1 to 256, without duplicates. The target is written only if every entry has a value.
    /// Example: `[{key: vpc-id, valueFrom: {ref: VPC/main}}]`.
    #[schemars(length(min = 1, max = 256))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub entries: Vec<ExportEntry>,

    /// What happens to the target when an entry loses its value: `Delete` deletes it ten seconds later unless the value is
    /// available again; `Keep` leaves it unchanged until every entry has a value again. Default: `Delete`. Example: `Keep`.
    #[serde(default)]
    pub while_waiting: WhileWaiting,

    /// Workloads in the same namespace that are restarted when the content of the target changes, 0 to 8: for programs that
    /// read the values only when they start. The hub sets one annotation of the pod template, and the workload's own update
    /// strategy replaces the pods. A workload that does not exist is skipped. The author of the ConfigExport must be allowed to
    /// patch it. Default: none. Example: `[{kind: Deployment, name: client}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["kind", "name"]))]
    pub restart: Vec<Workload>,

    /// Whether each new content is written to a new, immutable target `<configMetadata.name>-<digest of the content>`, so that
    /// `kubectl rollout undo` restores the values too. Each workload in `restart` has a projected volume named
    /// `configMetadata.name` without sources, as in `volumes: [{name: client, projected: {}}]`: the hub sets its source to the
    /// current target, and no annotation. Default: `false`. Example: `true`.
    #[serde(default)]
    pub rotate: bool,

    /// With `rotate`: how many former targets are kept for rollbacks, 0 to 100. Default: 10, as for a Deployment. Example: `3`.
    #[serde(default = "default_history_limit")]
    #[schemars(range(min = 0, max = 100))]
    pub revision_history_limit: i32,
}

fn default_history_limit() -> i32 {
    10
}

/// A workload that is restarted when the content of the target changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// The kind: `Deployment`, `StatefulSet` or `DaemonSet`. Example: `Deployment`.
    pub kind: WorkloadKind,

    /// The name, 1 to 253 lower case letters, digits, `-` and `.`. Example: `client`.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"))]
    pub name: String,
}

/// The kind of a workload, all of the group `apps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkloadKind {
    /// A Deployment.
    Deployment,
    /// A StatefulSet.
    StatefulSet,
    /// A DaemonSet.
    DaemonSet,
}

/// The types of Secrets for which Kubernetes issues or accepts credentials: whoever may create one can act as a ServiceAccount, or let
/// nodes join.
pub const CREDENTIAL_TYPES: [&str; 2] =
    ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];

/// What happens to the target when an entry loses its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhileWaiting {
    /// It is deleted after ten seconds, unless the value is available again.
    #[default]
    Delete,
    /// It is left unchanged.
    Keep,
}

/// The kind of the target of a ConfigExport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ConfigType {
    /// A ConfigMap, for values that are not secret.
    ConfigMap,
    /// A Secret, of type `Opaque` unless `secretType` is set.
    Secret,
}

/// The name and metadata of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMetadata {
    /// The name, 1 to 253 lower case letters, digits, `-` and `.`. Example: `app`.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"))]
    pub name: String,

    /// The namespace. Default: the namespace of the ConfigExport; any other is rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,

    /// Labels of the target, at most 32, each value 0 to 63 characters. Labels that are set by others are preserved. Of the names
    /// of Kubernetes (`kubernetes.io/` and its subdomains) only `app.kubernetes.io/` is allowed.
    /// Default: only `app.kubernetes.io/managed-by`, which Kraken sets. Example: `{team: web}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    #[schemars(inner(length(max = 63), regex(pattern = "^([a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?)?$")))]
    pub labels: BTreeMap<String, String>,

    /// Annotations of the target, at most 32, at most 64 KiB in total. Annotations that are set by others are preserved; the
    /// domain `kraken-iac.eoinfennessy.com` is reserved for Kraken, and `kubernetes.io` for Kubernetes, which acts on it. Default:
    /// none. Example, for a tool that restarts pods when the target changes: `{reloader.stakater.com/match: "true"}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, String>,
}

/// One key of the target and the source of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExportEntry {
    /// The key, 1 to 253 letters, digits, `-`, `_` or `.`. Example: `vpc-id`.
    pub key: String,

    /// The value, a literal or a reference. A string is written unchanged, any other type as JSON.
    #[serde(flatten)]
    pub value: Opt<Value>,
}

/// Implemented manually, because a derived schema of a flattened enum loses its `oneOf`: the option's schema plus
/// `key`.
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
                    "type": "string", "minLength": 1, "maxLength": 253, "pattern": kraken_options::KEY_PATTERN,
                    "description": "The key to write, 1 to 253 letters, digits, `-`, `_` or `.`. Example: `vpc-id`.",
                }),
            );
            if let Some(value) = properties.get_mut("value").and_then(|value| value.as_object_mut()) {
                let text = "The literal value: a string is written unchanged, any other type as JSON. Example: `t3.micro`";
                value.insert("description".into(), text.into());
            }
        }
        schema.insert("required".into(), serde_json::json!(["key"]));
        // Without `atomic`, server-side apply stores an object that becomes empty as null.
        schema.insert("x-kubernetes-map-type".into(), "atomic".into());
        schema.insert(
            "description".into(),
            "One key to write: `key` with exactly one of `value` and `valueFrom`.".into(),
        );
        schema
    }
}

/// The result of the last reconcile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigExportStatus {
    /// The conditions `Ready` and `DependenciesResolved`. `Ready` is true only after the target was written.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::conditions_schema")]
    pub conditions: Vec<Condition>,

    /// The generation of the spec that this status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The target that was written last, so that it can be deleted when the spec names another. Example:
    /// `ConfigMap/app`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,

    /// With `restart` and without `rotate`: a digest of the content for which the workloads were last restarted. That of a Secret has
    /// a key that only the hub can read, so that no value can be guessed from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,

    /// With `rotate` and `restart`: the target that the workloads were last set to. A workload that was rolled back to another one
    /// later keeps it until the content changes. Example: `ConfigMap/app-5f0c2a9be1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_out_target: Option<String>,

    /// A digest of the values of each resource that the target has, by kind and name. A controller that replaces a remote
    /// object keeps the old one until the targets with its values have those of the new one. Example:
    /// `{loadbalancer/shop: 5f0c2a9be1d34c77}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
}

impl ExportEntry {
    /// What the entry refers to.
    pub fn dependencies(&self) -> Dependencies {
        let Opt::ValueFrom(source) = &self.value else { return Dependencies::default() };
        let values = Values::default();
        let mut resolver = Resolver::new(&values);
        // Only the dependencies are used, not the value. All are texts, so that types never conflict.
        let _: Option<Resolved<Text>> = resolver.take_from("value", source);
        resolver.finish().dependencies
    }
}

/// The values of one resource, by path.
type ByPath = BTreeMap<String, Value>;

/// The value of [`ConfigExportStatus::sources`] of an export with this UID for values by kind, name and path.
pub fn sources(uid: &str, values: &BTreeMap<String, BTreeMap<String, ByPath>>) -> BTreeMap<String, String> {
    let resources =
        values.iter().flat_map(|(kind, names)| names.iter().map(move |(name, paths)| (kind, name, paths)));
    resources.map(|(kind, name, paths)| (source(kind, name), source_digest(uid, paths))).collect()
}

/// The key of a resource in [`ConfigExportStatus::sources`].
pub fn source(kind: &str, name: &str) -> String {
    format!("{kind}/{name}")
}

/// The digest of the values of one resource, keyed with the UID of the export.
pub fn source_digest(uid: &str, values: &ByPath) -> String {
    let mut hash = Sha256::new();
    hash.update(uid);
    for (path, value) in values {
        // Not ambiguous: neither a path nor JSON contains this byte.
        hash.update(format!("\0{path}\0{value}"));
    }
    hex::encode(hash.finalize().get(..8).unwrap_or_default())
}
