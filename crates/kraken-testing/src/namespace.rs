//! A namespace for each test, so that tests can share a control plane.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};

/// A namespace for one test. It exists until the control plane is stopped; [`TestNamespace::delete`] deletes it
/// earlier.
#[derive(Clone)]
pub struct TestNamespace {
    /// Its name.
    pub name: String,
    /// The client that created it.
    pub client: Client,
}

impl std::fmt::Debug for TestNamespace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("TestNamespace").field(&self.name).finish()
    }
}

/// Creates a namespace with a unique name.
///
/// # Errors
/// When the API server rejects it.
pub async fn namespace(client: &Client) -> Result<TestNamespace> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let name = format!("test-{}-{nanos:x}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let namespace = Namespace {
        metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
        ..Namespace::default()
    };
    Api::<Namespace>::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
        .with_context(|| format!("cannot create namespace {name}"))?;
    Ok(TestNamespace { name, client: client.clone() })
}

impl TestNamespace {
    /// Requests its deletion. Kubernetes responds before the objects in it are deleted.
    ///
    /// # Errors
    /// When the API server rejects it.
    pub async fn delete(&self) -> Result<()> {
        Api::<Namespace>::all(self.client.clone())
            .delete(&self.name, &DeleteParams::default())
            .await
            .with_context(|| format!("cannot delete namespace {}", self.name))?;
        Ok(())
    }

    /// An API of a namespaced kind in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }
}
