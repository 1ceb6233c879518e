//! A controller inside the test's process to which kinds are added, and from which they are removed, while it runs.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Parser;
use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_kind::dynamic::{Calls, Kind};
use kraken_runtime::{Manager, RunArgs};
use kraken_spoke::{LoopArgs, controller::Kinds};
use kraken_testing::manifests;
use kube::{Api, Client, core::ApiResource, runtime::conditions};

use crate::TestEnv;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: RunArgs,
    #[command(flatten)]
    common: LoopArgs,
}

/// A running controller. Dropping it is a crash: nothing is finished.
#[derive(Debug)]
pub struct KindsController {
    runtime: Option<tokio::runtime::Runtime>,
    manager: Manager,
    kinds: Kinds,
}

impl KindsController {
    /// Starts it for one namespace, without any kind.
    ///
    /// # Errors
    /// If the control plane does not respond.
    pub async fn start(test_env: &TestEnv) -> Result<Self> {
        let flags =
            ["kinds", "--namespaces", &test_env.ns.name, "--resync-interval", "0", "--concurrency", "1"];
        let Cli { args, common } = Cli::try_parse_from(flags)?;
        let kube_system = Api::<Namespace>::all(test_env.client()).get("kube-system").await?;
        let cluster = kube_system.metadata.uid.context("kube-system has no UID")?;
        // A separate runtime, which ends all its tasks at once.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let env = test_env.env.clone();
        let client = runtime.spawn(async move { env.control_plane.client().await }).await??;
        let _inside = runtime.enter();
        let manager = Manager::detached("kraken-kinds", client, args, cluster);
        let kinds = Kinds::new(manager.clone(), common);
        Ok(Self { runtime: Some(runtime), manager: manager.clone(), kinds })
    }

    /// The client and the field manager, for the calls of a kind.
    pub fn client(&self) -> (Client, &'static str) {
        (self.manager.client.clone(), self.manager.name)
    }

    /// Installs the CRD of this kind and adds the kind.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn add(
        &self,
        test_env: &TestEnv,
        crd: &CustomResourceDefinition,
        kind: Arc<dyn Kind>,
        external: Arc<dyn Calls>,
    ) -> Result<()> {
        let name = crd.metadata.name.clone().unwrap_or_default();
        let role = hub_role(&kind.info().resource);
        let yaml = format!("{}\n---\n{role}", serde_json::to_string(&crd)?);
        let documents = manifests::parse("the CRD of a kind", &yaml)?;
        manifests::apply(&test_env.client(), &documents, &test_env.ns.name).await?;
        let served = conditions::is_crd_established();
        kube::runtime::wait::await_condition(Api::all(test_env.client()), &name, served).await?;
        if let Some(runtime) = &self.runtime {
            let _inside = runtime.enter();
            self.kinds.add(vec![(kind, external)]);
        }
        Ok(())
    }

    /// Removes the kind with this key. Its CRD and its objects remain.
    pub async fn remove(&self, key: &str) {
        self.kinds.remove(key).await;
    }

    /// What `/readyz` and `/healthz` would report.
    pub fn problems(&self) -> Vec<String> {
        let now = tokio::time::Instant::now();
        [self.manager.health.not_ready(now), self.manager.health.faults(now)].concat()
    }

    /// The metrics in the text format.
    pub fn metrics(&self) -> String {
        self.manager.metrics.encode()
    }
}

impl Drop for KindsController {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The hub's permission to read objects of the kind.
fn hub_role(resource: &ApiResource) -> String {
    let ApiResource { group, plural, .. } = resource;
    let name = format!("{plural}-hub");
    let role = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [{"apiGroups": [group], "resources": [plural], "verbs": ["get"]}],
    });
    let binding = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "kraken-hub", "namespace": "kraken-system"}],
    });
    format!("{role}\n---\n{binding}")
}
