//! A spoke of gadgets inside the test's process, which can be ended at any moment and restarted.

use std::sync::{Arc, Weak};

use anyhow::{Context as _, Result};
use clap::Parser;
use k8s_openapi::{
    api::{core::v1::Namespace, rbac::v1::ClusterRole},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kraken_kind::{FromContext, api::crd, dynamic::Served};
use kraken_runtime::{Manager, RunArgs, rbac::rule};
use kraken_spoke::{LoopArgs, controller::Kinds};
use kraken_testing::{Environment, manifests};
use kube::{Api, Client, Config};
use tokio::sync::Mutex;

use crate::{
    TestEnv,
    toy::{Cloud, Gadget, Gadgets},
};

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: RunArgs,
    #[command(flatten)]
    common: LoopArgs,
}

/// A running spoke of gadgets. Dropping it is a crash: nothing is finished or released.
#[derive(Debug)]
pub struct InProcess {
    runtime: Option<tokio::runtime::Runtime>,
}

impl InProcess {
    /// A spoke that is not running.
    pub fn stopped() -> Self {
        Self { runtime: None }
    }

    /// Starts it for one namespace, with no in-memory records, as after a crash.
    ///
    /// # Errors
    /// If the control plane does not respond.
    pub async fn start(test_env: &TestEnv, cloud: &Cloud) -> Result<Self> {
        Self::with(test_env, cloud, &[]).await
    }

    /// The same with more flags.
    ///
    /// # Errors
    /// When the control plane does not answer, or a flag is unknown.
    pub async fn with(test_env: &TestEnv, cloud: &Cloud, flags: &[&str]) -> Result<Self> {
        Self::with_proxy(test_env, cloud, flags, None).await
    }

    /// The same through a proxy before the API server, which listens at this address.
    ///
    /// # Errors
    /// As [`InProcess::with`].
    pub async fn with_proxy(
        test_env: &TestEnv,
        cloud: &Cloud,
        flags: &[&str],
        proxy: Option<&str>,
    ) -> Result<Self> {
        install(test_env).await?;
        let usual = ["gadgets", "--namespaces", &test_env.ns.name, "--resync-interval", "0"];
        let Cli { args, common } = Cli::try_parse_from(usual.iter().chain(flags))?;
        let kube_system = Api::<Namespace>::all(test_env.client()).get("kube-system").await?;
        let cluster = kube_system.metadata.uid.context("kube-system has no UID")?;
        // A separate runtime, which ends all its tasks at once.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let served: Served = (Gadgets::kind(), Arc::new(Gadgets::from_context(cloud)));
        let env = test_env.env.clone();
        let proxy = proxy.map(str::parse).transpose()?;
        runtime.spawn(async move {
            let client = match proxy {
                Some(address) => Client::try_from(Config::new(address))?,
                None => env.control_plane.client().await?,
            };
            drop(env); // it ends with its tests, whether or not this spoke was stopped
            let manager = Manager::detached("kraken-gadgets", client, args, cluster);
            Kinds::new(manager, common).run(vec![served]).await
        });
        Ok(Self { runtime: Some(runtime) })
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The CRD of gadgets, and the hub's permission to read them, once per environment.
async fn install(test_env: &TestEnv) -> Result<()> {
    // By environment, because each has its own control plane.
    static DONE: Mutex<Vec<Weak<Environment>>> = Mutex::const_new(vec![]);
    let (mut done, environment) = (DONE.lock().await, Arc::downgrade(&test_env.env));
    if done.iter().any(|one| one.ptr_eq(&environment)) {
        return Ok(());
    }
    let role = ClusterRole {
        metadata: ObjectMeta { name: Some("gadgets-hub".to_owned()), ..ObjectMeta::default() },
        rules: Some(vec![rule(&["testing.kraken-iac.eoinfennessy.com"], &["gadgets"], &["get"])]),
        ..ClusterRole::default()
    };
    let mut crd = serde_json::to_value(crd::spoke_kind::<Gadget>())?;
    // As if an older CRD were installed: the API server accepts passwords that do not decode.
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["password"] =
        serde_json::json!({"x-kubernetes-preserve-unknown-fields": true});
    let binding = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "gadgets-hub"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gadgets-hub"},
        "subjects": [{"kind": "ServiceAccount", "name": "kraken-hub", "namespace": "kraken-system"}],
    });
    let yaml = [crd.to_string(), serde_json::to_string(&role)?, binding.to_string()].join("\n---\n");
    let documents = manifests::parse("the gadgets' manifests", &yaml)?;
    manifests::apply(&test_env.client(), &documents, &test_env.ns.name).await?;
    done.push(environment);
    Ok(())
}
