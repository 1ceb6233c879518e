//! Installation with Helm, with the commands of the README.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context as _, Result};
use kraken_testing::node::kubectl;
use kraken_testing::{packaging, paths, suite};

use crate::{node, ui};

pub(super) async fn install(kubeconfig: &Path, aws_endpoint: &str) -> Result<()> {
    let label = "pod-security.kubernetes.io/enforce=restricted";
    kubectl(kubeconfig, &["create", "namespace", suite::NAMESPACE]).await?;
    kubectl(kubeconfig, &["label", "namespace", suite::NAMESPACE, label]).await?;
    node::credentials(kubeconfig, aws_endpoint).await?;
    for (release, chart, values) in releases()? {
        let chart = paths::workspace_root()?.join("charts").join(chart);
        let mut arguments: Vec<&OsStr> = vec!["install".as_ref(), release.as_ref(), chart.as_os_str()];
        arguments.extend(values.iter().map(AsRef::<OsStr>::as_ref));
        ui::step(&format!("helm install {release}"), helm(kubeconfig, &arguments)).await?;
    }
    node::rolled_out(kubeconfig).await
}

/// Installs one component, after the CRDs of the components `so_far`, which include it.
pub(super) async fn install_component(kubeconfig: &Path, component: &str, so_far: &[&str]) -> Result<()> {
    let charts = paths::workspace_root()?.join("charts");
    let crds = charts.join("kraken-crds");
    let mut arguments: Vec<&OsStr> =
        vec!["upgrade".as_ref(), "--install".as_ref(), "kraken-crds".as_ref(), crds.as_os_str()];
    let values: Vec<String> = paths::controllers()?
        .into_iter()
        .map(|name| format!("components.{name}={}", so_far.contains(&name.as_str())))
        .collect();
    for value in &values {
        arguments.extend(["--set", value.as_str()].map(AsRef::<OsStr>::as_ref));
    }
    helm(kubeconfig, &arguments).await?;
    let name = if component == "hub" { "kraken".to_owned() } else { format!("kraken-{component}") };
    let releases = releases()?;
    let release = releases.iter().find(|(release, ..)| *release == name);
    let (release, chart, values) = release.with_context(|| format!("no release for {component}"))?;
    let chart = charts.join(chart);
    let mut arguments: Vec<&OsStr> = vec!["install".as_ref(), release.as_ref(), chart.as_os_str()];
    arguments.extend(values.iter().map(AsRef::<OsStr>::as_ref));
    helm(kubeconfig, &arguments).await.map(drop)
}

/// Uninstalls in reverse order. `helm uninstall` keeps the CustomResourceDefinitions, because deleting them deletes all resources.
pub(super) async fn uninstall(kubeconfig: &Path) -> Result<()> {
    for (release, ..) in releases()?.iter().rev() {
        let arguments = ["uninstall", release, "--wait", "--ignore-not-found"].map(AsRef::<OsStr>::as_ref);
        helm(kubeconfig, &arguments).await?;
    }
    let crds = paths::workspace_root()?.join("crds").display().to_string();
    kubectl(kubeconfig, &["delete", "-k", &crds, "--ignore-not-found", "--timeout=120s"]).await?;
    let namespace = ["delete", "namespace", suite::NAMESPACE, "--ignore-not-found", "--timeout=120s"];
    kubectl(kubeconfig, &namespace).await.map(drop)
}

/// The name, chart and arguments of each release.
fn releases() -> Result<Vec<(String, &'static str, Vec<String>)>> {
    let mut releases = vec![("kraken-crds".to_owned(), "kraken-crds", Vec::new())];
    for controller in paths::controllers()? {
        releases.push(if controller == "hub" {
            ("kraken".to_owned(), "kraken", Vec::new())
        } else {
            let component = vec!["--set".to_owned(), format!("component={controller}")];
            (format!("kraken-{controller}"), "kraken-spoke", component)
        });
    }
    Ok(releases)
}

async fn helm(kubeconfig: &Path, arguments: &[&OsStr]) -> Result<String> {
    let mut all = arguments.to_vec();
    let options = ["--namespace", suite::NAMESPACE, "--kubeconfig"];
    all.extend(options.map(AsRef::<OsStr>::as_ref));
    all.push(kubeconfig.as_os_str());
    packaging::helm(&all).await
}
