//! Programs of a node, built once from the Go module in `node/`. They have the control plane's version.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

use crate::go::{Ensure as _, Module, Program};

const MODULE: Module = Module {
    name: "node",
    go_mod: include_str!("../../node/go.mod"),
    go_sum: include_str!("../../node/go.sum"),
    tools: include_str!("../../node/tools.go"),
    files: &[],
};
const KUBELET: Program = program("kubelet", "k8s.io/kubernetes/cmd/kubelet", "about 3 minutes");
const SCHEDULER: Program =
    program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", "about 1 minute");
const PROXY: Program = program("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy", "about 1 minute");
const KUBECTL: Program = program("kubectl", "k8s.io/kubernetes/cmd/kubectl", "about 1 minute");
#[cfg(test)]
pub(crate) const PROGRAMS: [(&Module, &Program); 4] =
    [(&MODULE, &KUBELET), (&MODULE, &SCHEDULER), (&MODULE, &PROXY), (&MODULE, &KUBECTL)];

const fn program(name: &'static str, package: &'static str, takes: &'static str) -> Program {
    Program { name, package, version_of: "k8s.io/kubernetes", takes, without_go: "" }
}

/// The paths of the programs.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    pub(super) kubelet: PathBuf,
    pub(super) scheduler: PathBuf,
    pub(super) proxy: PathBuf,
}

/// Builds the programs of a node, and `kubectl`, if they are not in the cache.
///
/// # Errors
/// When Go is absent or a build fails.
pub async fn ensure() -> Result<()> {
    MODULE.ensure(&KUBECTL).await?;
    programs().await.map(drop)
}

pub(super) async fn programs() -> Result<Programs> {
    Ok(Programs {
        kubelet: MODULE.ensure(&KUBELET).await?,
        scheduler: MODULE.ensure(&SCHEDULER).await?,
        proxy: MODULE.ensure(&PROXY).await?,
    })
}

/// The path of `kubectl`, which is built first if it is not in the cache.
///
/// # Errors
/// When Go is absent or the build fails.
pub async fn kubectl_program() -> Result<PathBuf> {
    MODULE.ensure(&KUBECTL).await
}

/// The output of `kubectl` with these arguments.
///
/// # Errors
/// When it fails, with its output.
pub async fn kubectl(kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(kubectl_program().await?);
    command.args(arguments).env("KUBECONFIG", kubeconfig).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.context("cannot run kubectl")?;
    if !output.status.success() {
        bail!("`kubectl {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("the output of kubectl is not text")
}
