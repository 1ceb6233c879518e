//! The kinds that requests are about.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

/// A kind as requests name it.
#[derive(Clone, Debug)]
pub struct Kind {
    /// `v1`, `coordination.k8s.io/v1`, ...
    pub api_version: String,
    /// `ConfigMap`, ...
    pub name: String,
    /// `configmaps`, ...
    pub plural: String,
    /// Whether there is a status of its own.
    pub status: bool,
    /// Whether it can be scaled.
    pub scale: bool,
    /// The schema, of a custom resource.
    pub schema: Option<Value>,
    /// Its frequency.
    pub weight: usize,
}

impl Kind {
    /// The path of its objects in a namespace; of all, if that is empty.
    pub(super) fn path(&self, namespace: &str) -> String {
        let root = if self.api_version == "v1" { "/api" } else { "/apis" };
        let plural = &self.plural;
        match namespace {
            "" => format!("{root}/{}/{plural}", self.api_version),
            namespace => format!("{root}/{}/namespaces/{namespace}/{plural}", self.api_version),
        }
    }
}

/// The kinds of Kubernetes that Kraken uses in namespaces, and the custom resources.
///
/// # Errors
/// When a definition cannot be written as JSON.
pub fn kinds(crds: &[CustomResourceDefinition]) -> Result<Vec<Kind>, serde_json::Error> {
    let built_in = |api_version: &str, name: &str, plural: &str, weight| Kind {
        api_version: api_version.into(),
        name: name.into(),
        plural: plural.into(),
        status: false,
        scale: false,
        schema: None,
        weight,
    };
    let mut all = vec![
        built_in("v1", "ConfigMap", "configmaps", 24),
        built_in("v1", "Secret", "secrets", 20),
        built_in("coordination.k8s.io/v1", "Lease", "leases", 10),
        built_in("events.k8s.io/v1", "Event", "events", 8),
    ];
    for crd in crds {
        for version in &crd.spec.versions {
            let subresources = version.subresources.as_ref();
            let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
            all.push(Kind {
                api_version: format!("{}/{}", crd.spec.group, version.name),
                name: crd.spec.names.kind.clone(),
                plural: crd.spec.names.plural.clone(),
                status: subresources.is_some_and(|subresources| subresources.status.is_some()),
                scale: subresources.is_some_and(|subresources| subresources.scale.is_some()),
                schema: schema.map(serde_json::to_value).transpose()?,
                weight: match crd.spec.names.kind.as_str() {
                    "DependencyRequest" | "StateDeclaration" => 14,
                    "ConfigExport" | "EC2Instance" => 10,
                    _ => 3,
                },
            });
        }
    }
    Ok(all)
}
