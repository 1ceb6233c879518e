//! From a document to the API of its kind, by discovery.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, Scope, pinned_kind};

use super::{Document, served::POLL};

/// Cached discovery results, per kind.
#[derive(Debug, Default)]
pub struct Kinds {
    found: HashMap<GroupVersionKind, (ApiResource, ApiCapabilities)>,
    /// How long to wait for a kind to be served.
    pub(super) timeout: Duration,
}

impl Kinds {
    /// The kinds of these documents, for callers that apply many at once.
    ///
    /// # Errors
    /// When the API server does not serve one.
    pub async fn of(client: &Client, documents: &[Document]) -> Result<Self> {
        let mut kinds = Self::default();
        for document in documents {
            kinds.add(client, document).await?;
        }
        Ok(kinds)
    }

    /// An API of a document's kind in its namespace (or `namespace`, if it names none).
    ///
    /// # Errors
    /// When the kind is not among the requested ones.
    pub fn known(&self, client: &Client, document: &Document, namespace: &str) -> Result<Api<DynamicObject>> {
        let (resource, capabilities) =
            self.found.get(&document.gvk).with_context(|| format!("{} is not served", document.gvk.kind))?;
        Ok(match capabilities.scope {
            Scope::Cluster => Api::all_with(client.clone(), resource),
            Scope::Namespaced => {
                let namespace = document.namespace.as_deref().unwrap_or(namespace);
                Api::namespaced_with(client.clone(), namespace, resource)
            }
        })
    }

    async fn add(&mut self, client: &Client, document: &Document) -> Result<()> {
        if !self.found.contains_key(&document.gvk) {
            let found = discover(client, document, self.timeout).await?;
            self.found.insert(document.gvk.clone(), found);
        }
        Ok(())
    }

    pub(super) async fn api(
        &mut self,
        client: &Client,
        document: &Document,
        namespace: &str,
    ) -> Result<Api<DynamicObject>> {
        self.add(client, document).await?;
        self.known(client, document, namespace)
    }
}

async fn discover(
    client: &Client,
    document: &Document,
    timeout: Duration,
) -> Result<(ApiResource, ApiCapabilities)> {
    let deadline = Instant::now() + timeout;
    loop {
        match pinned_kind(client, &document.gvk).await {
            Ok(found) => return Ok(found),
            Err(problem) if Instant::now() >= deadline => {
                return Err(problem).with_context(|| {
                    format!(
                        "the cluster serves no {} of {} ({}); is its CRD installed?",
                        document.gvk.kind,
                        document.gvk.api_version(),
                        document.source
                    )
                });
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}
