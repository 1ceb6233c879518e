//! A local cluster with a real node, on which the controllers run as pods.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kraken_testing::assets::Assets;
use kraken_testing::node::{self, NodeCluster, kubectl, requirements};
use kraken_testing::{moto, paths, suite};

use crate::{image, ui};

/// The timeout for the rollout of a Deployment, on a busy machine.
const ROLLED_OUT_WITHIN: &str = "--timeout=180s";
/// The Secret with the credentials of the AWS spokes.
const CREDENTIALS: &str = "kraken-aws-credentials";

/// Builds and installs the requirements, which are cached, and builds the images.
pub(crate) async fn prepare() -> Result<()> {
    requirements::check()?;
    ui::step("control plane binaries (built from source the first time, then cached)", Assets::ensure())
        .await?;
    ui::step(
        "kubelet, kube-proxy, kube-scheduler and kubectl (built from source the first time, then cached)",
        node::ensure(),
    )
    .await?;
    ui::step("moto, the AWS mock (installed from PyPI the first time, then cached)", moto::install()).await?;
    image::make_for_tests().await?;
    let tools = images()?.join("kraken-tools.tar");
    node::write_tools(&tools)
}

/// Starts a cluster with the images of [`prepare`] and those in other folders.
pub(crate) async fn start(others: &[PathBuf]) -> Result<NodeCluster> {
    let mut archives = Vec::new();
    for folder in [images()?].iter().chain(others) {
        let files = fs::read_dir(folder).with_context(|| format!("no images in {}", folder.display()))?;
        let paths = files.filter_map(|entry| Some(entry.ok()?.path()));
        archives.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "tar")));
    }
    archives.sort();
    ui::step(
        "starting etcd, kube-apiserver, kube-controller-manager, moto, and a node with containerd, kubelet and kube-proxy",
        NodeCluster::start(&archives),
    )
    .await
}

/// Installs `config/default` with credentials for `aws_endpoint`, and waits until every controller is ready.
pub(crate) async fn install(kubeconfig: &Path, aws_endpoint: &str) -> Result<()> {
    let config = paths::workspace_root()?.join("config");
    apply(kubeconfig, aws_endpoint, &config.join("namespace"), &config.join("default")).await
}

/// The same with other Kustomize folders: one with the namespace, and one with all objects.
pub(crate) async fn apply(
    kubeconfig: &Path,
    aws_endpoint: &str,
    namespace: &Path,
    everything: &Path,
) -> Result<()> {
    let root = paths::workspace_root()?;
    let shown = everything.strip_prefix(&root).unwrap_or(everything).display().to_string();
    let (namespace, all) = (namespace.display().to_string(), everything.display().to_string());
    ui::step(&format!("kubectl apply --server-side -k {shown}"), async {
        kubectl(kubeconfig, &["apply", "--server-side", "-k", &namespace]).await?;
        credentials(kubeconfig, aws_endpoint).await?;
        kubectl(kubeconfig, &["apply", "--server-side", "-k", &all]).await
    })
    .await?;
    rolled_out(kubeconfig).await
}

/// Creates the Secret that `config/aws-credentials` generates, with an endpoint.
pub(crate) async fn credentials(kubeconfig: &Path, aws_endpoint: &str) -> Result<()> {
    let literals = moto::environment(aws_endpoint)
        .into_iter()
        .map(|(name, value)| format!("--from-literal={name}={value}"));
    let mut arguments: Vec<String> =
        ["-n", suite::NAMESPACE, "create", "secret", "generic", CREDENTIALS].map(str::to_owned).to_vec();
    arguments.extend(literals);
    kubectl(kubeconfig, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).await.map(drop)
}

/// Waits until every controller's Deployment is rolled out.
pub(crate) async fn rolled_out(kubeconfig: &Path) -> Result<()> {
    for controller in paths::controllers()? {
        rolled_out_one(kubeconfig, &controller).await?;
    }
    Ok(())
}

/// Waits until the Deployment of one controller is rolled out.
pub(crate) async fn rolled_out_one(kubeconfig: &Path, controller: &str) -> Result<()> {
    let deployment = format!("deployment/kraken-{controller}");
    let arguments = ["-n", suite::NAMESPACE, "rollout", "status", &deployment, ROLLED_OUT_WITHIN];
    match ui::step(&format!("waiting for {deployment}"), kubectl(kubeconfig, &arguments)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.context(state(kubeconfig).await)),
    }
}

/// The pods and events of the controllers' namespace, for an error message.
async fn state(kubeconfig: &Path) -> String {
    let mut text = String::new();
    for arguments in [["get", "pods", "-o", "wide"], ["get", "events", "--sort-by", ".lastTimestamp"]] {
        let all: Vec<&str> = ["-n", suite::NAMESPACE].into_iter().chain(arguments).collect();
        text.push_str(&kubectl(kubeconfig, &all).await.unwrap_or_else(|error| format!("{error:#}")));
    }
    text
}

fn images() -> Result<PathBuf> {
    image::folder_for_tests()
}
