//! The schemas of specs, from the installed CRDs. Client required.

use std::{sync::Arc, time::Duration};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kraken_api::FOLLOWS_ANNOTATION;
use kraken_runtime::{hash::HashMap, patch::within};
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The time after which a schema is read again.
const FRESH: Duration = Duration::from_mins(1);
/// The maximum number of cached schemas, more than there are kinds.
const MAX_KEPT: usize = 256;

type Schema = Option<Arc<SpecSchema>>;

/// What the CRD of a kind says about its spec.
pub(super) struct SpecSchema {
    /// The schema of the spec.
    pub(super) spec: JSONSchemaProps,
    /// The fields that are set after the creation.
    pub(super) follows: Vec<String>,
}

/// The cached schemas.
pub(super) struct Schemas {
    client: Client,
    read: Mutex<HashMap<String, (Instant, Schema)>>,
}

impl Schemas {
    pub(super) fn new(client: Client) -> Self {
        Self { client, read: Mutex::default() }
    }

    /// The schema of the spec of a kind; `None` if it cannot be read.
    pub(super) async fn of(&self, plural: &str, group: &str) -> Schema {
        let name = format!("{plural}.{group}");
        if let Some((at, schema)) = self.read.lock().get(&name)
            && at.elapsed() < FRESH
        {
            return schema.clone();
        }
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let schema = match within("read a CRD", api.get(&name)).await {
            Ok(crd) => spec_of(crd),
            Err(error) => {
                tracing::debug!(%error, crd = name, "failed to read the types of a kind's fields");
                None
            }
        };
        let mut read = self.read.lock();
        if read.len() >= MAX_KEPT {
            read.clear();
        }
        read.insert(name, (Instant::now(), schema.clone()));
        schema
    }
}

fn spec_of(crd: CustomResourceDefinition) -> Schema {
    let annotation =
        crd.metadata.annotations.as_ref().and_then(|annotations| annotations.get(FOLLOWS_ANNOTATION));
    let follows = annotation.map(|names| names.split(',').map(str::to_owned).collect()).unwrap_or_default();
    let version = crd.spec.versions.into_iter().find(|version| version.storage)?;
    let spec = version.schema?.open_api_v3_schema?.properties?.remove("spec")?;
    Some(Arc::new(SpecSchema { spec, follows }))
}
