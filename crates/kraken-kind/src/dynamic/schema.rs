//! The schema of a kind's spec.

use std::{
    any::TypeId,
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube::CustomResourceExt;
use parking_lot::Mutex;

/// The schema of a spec. Few specs contain paths, so it is derived only when one does: deriving it costs more than a
/// reconcile.
#[derive(Clone)]
pub struct Schema(Arc<LazyLock<Arc<JSONSchemaProps>, Derive>>);

type Derive = Box<dyn FnOnce() -> Arc<JSONSchemaProps> + Send>;

/// The schemas that were derived from types: once per process, which in a simulation starts many controllers.
static DERIVED: Mutex<BTreeMap<TypeId, Arc<JSONSchemaProps>>> = Mutex::new(BTreeMap::new());

impl Schema {
    /// A schema that is derived when it is first needed.
    pub fn new(derive: impl FnOnce() -> JSONSchemaProps + Send + 'static) -> Self {
        Self::shared(|| Arc::new(derive()))
    }

    fn shared(derive: impl FnOnce() -> Arc<JSONSchemaProps> + Send + 'static) -> Self {
        let derive: Derive = Box::new(derive);
        Self(Arc::new(LazyLock::new(derive)))
    }

    /// The schema.
    pub fn get(&self) -> &JSONSchemaProps {
        &self.0
    }

    /// The schema of the spec in a kind's CRD.
    pub fn of<K: CustomResourceExt + 'static>() -> Self {
        Self::shared(|| {
            DERIVED.lock().entry(TypeId::of::<K>()).or_insert_with(|| Arc::new(derived::<K>())).clone()
        })
    }
}

fn derived<K: CustomResourceExt>() -> JSONSchemaProps {
    let versions = K::crd().spec.versions;
    let schema = versions.into_iter().find_map(|version| version.schema?.open_api_v3_schema);
    schema.and_then(|schema| schema.properties?.remove("spec")).unwrap_or_default()
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}
