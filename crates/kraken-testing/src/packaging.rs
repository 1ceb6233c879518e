//! Renders the installation manifests: `kustomize build` and `helm template`, by programs that are built once from the Go
//! module in `packaging/`.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::process::Command;

use crate::go::{Ensure as _, Module, Program};
use crate::manifests::{self, Document};

const MODULE: Module = Module {
    name: "packaging",
    go_mod: include_str!("../packaging/go.mod"),
    go_sum: include_str!("../packaging/go.sum"),
    tools: include_str!("../packaging/tools.go"),
    files: &[],
};
const HELM: Program = Program {
    name: "helm",
    package: "helm.sh/helm/v3/cmd/helm",
    version_of: "helm.sh/helm/v3",
    takes: "about 2 minutes",
    without_go: "",
};
const KUSTOMIZE: Program = Program {
    name: "kustomize",
    package: "sigs.k8s.io/kustomize/kustomize/v5",
    version_of: "sigs.k8s.io/kustomize/kustomize/v5",
    takes: "a few seconds",
    without_go: "",
};
pub(crate) const PROGRAMS: [(&Module, &Program); 2] = [(&MODULE, &HELM), (&MODULE, &KUSTOMIZE)];

/// The Kubernetes version that charts are rendered for: a chart rejects unsupported older versions.
const KUBERNETES: &str = "1.35.0";

/// The objects of `kustomize build`.
///
/// # Errors
/// When it fails, with its output.
pub async fn kustomize(folder: &Path) -> Result<Vec<Document>> {
    let text = kustomize_text(folder).await?;
    manifests::parse(&format!("kustomize build {}", folder.display()), &text)
}

/// The output of `kustomize build`.
///
/// # Errors
/// When it fails, with its output.
pub async fn kustomize_text(folder: &Path) -> Result<String> {
    let program = MODULE.ensure(&KUSTOMIZE).await?;
    output(&program, &["build".as_ref(), folder.as_os_str()]).await
}

/// The objects of `helm template` in a namespace with these `--set` values.
///
/// # Errors
/// When it fails, with its output.
pub async fn helm_template(chart: &Path, namespace: &str, set: &[&str]) -> Result<Vec<Document>> {
    let mut arguments: Vec<&OsStr> = vec!["template".as_ref(), "kraken".as_ref(), chart.as_os_str()];
    arguments.extend(["--kube-version", KUBERNETES, "--namespace", namespace].map(AsRef::<OsStr>::as_ref));
    for value in set {
        arguments.extend(["--set", value].map(AsRef::<OsStr>::as_ref));
    }
    let text = helm(&arguments).await?;
    manifests::parse(&format!("helm template {}", chart.display()), &text)
}

/// The bytes that helm would store in the Secret of a release: chart and manifests, compressed, in base64.
///
/// # Errors
/// When the chart cannot be rendered.
pub async fn release_size(kubeconfig: &Path, chart: &Path, set: &[&str]) -> Result<usize> {
    let mut arguments: Vec<&OsStr> = vec!["install".as_ref(), "kraken".as_ref(), chart.as_os_str()];
    arguments.extend(
        ["--dry-run=client", "--take-ownership", "--output=json", "--kubeconfig"].map(AsRef::<OsStr>::as_ref),
    );
    arguments.push(kubeconfig.as_os_str());
    for value in set {
        arguments.extend(["--set", value].map(AsRef::<OsStr>::as_ref));
    }
    let release = helm(&arguments).await?;
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(release.as_bytes()).context("cannot compress the release")?;
    let packed = packer.finish().context("cannot compress the release")?;
    Ok(packed.len().div_ceil(3) * 4)
}

/// Builds helm, if it is not in the cache.
///
/// # Errors
/// When Go is absent or the build fails.
pub async fn ensure_helm() -> Result<()> {
    MODULE.ensure(&HELM).await.map(drop)
}

/// The output of helm with these arguments.
///
/// # Errors
/// When it fails, with its output.
pub async fn helm(arguments: &[&OsStr]) -> Result<String> {
    output(&MODULE.ensure(&HELM).await?, arguments).await
}

async fn output(program: &PathBuf, arguments: &[&OsStr]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.with_context(|| format!("cannot run {}", program.display()))?;
    if !output.status.success() {
        bail!(
            "`{:?}` failed ({}):\n{}",
            command.as_std(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    String::from_utf8(output.stdout).context("the output is not text")
}
