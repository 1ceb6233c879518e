//! The schema of a kind's spec.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube::CustomResourceExt;

/// The schema of a spec. Few specs contain paths, so it is derived only when one does: deriving it costs more than a
/// reconcile.
#[derive(Clone)]
pub struct Schema(Arc<LazyLock<JSONSchemaProps, Derive>>);

type Derive = Box<dyn FnOnce() -> JSONSchemaProps + Send>;

impl Schema {
    /// A schema that is derived when it is first needed.
    pub fn new(derive: impl FnOnce() -> JSONSchemaProps + Send + 'static) -> Self {
        let derive: Derive = Box::new(derive);
        Self(Arc::new(LazyLock::new(derive)))
    }

    /// The schema.
    pub(crate) fn get(&self) -> &JSONSchemaProps {
        &self.0
    }

    /// The schema of the spec in a kind's CRD.
    pub fn of<K: CustomResourceExt>() -> Self {
        Self::new(|| {
            let versions = K::crd().spec.versions;
            let schema = versions.into_iter().find_map(|version| version.schema?.open_api_v3_schema);
            schema.and_then(|schema| schema.properties?.remove("spec")).unwrap_or_default()
        })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}
