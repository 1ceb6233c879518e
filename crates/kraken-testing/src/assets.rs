//! Finds the control plane's binaries, or builds them once from the Go module in `controlplane/`.
//!
//! Order: `KUBEBUILDER_ASSETS`, the user's cache, a build into that cache. The module is embedded here, so
//! that the built tools work from any folder.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{env, fs, io};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::{cache, progress};

const GO_MOD: &str = include_str!("../controlplane/go.mod");
const GO_SUM: &str = include_str!("../controlplane/go.sum");
const TOOLS_GO: &str = include_str!("../controlplane/tools.go");
const ETCD_MAIN_GO: &str = include_str!("../controlplane/etcd/main.go");

/// The three programs of a control plane.
#[derive(Debug, Clone)]
pub struct Assets {
    /// Kubernetes' store.
    pub etcd: PathBuf,
    /// The API.
    pub kube_apiserver: PathBuf,
    /// Garbage collector, namespaces and service accounts.
    pub kube_controller_manager: PathBuf,
}

struct Program {
    name: &'static str,
    package: &'static str,
    takes: &'static str,
}

const ETCD: Program = Program { name: "etcd", package: "./etcd", takes: "about 1 minute" };
const APISERVER: Program = Program {
    name: "kube-apiserver",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    takes: "about 4 minutes",
};
const CONTROLLER_MANAGER: Program = Program {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    takes: "about 3 minutes",
};

impl Assets {
    /// The binaries, built first if they are nowhere yet. Says on stderr what it does when that takes long.
    ///
    /// # Errors
    /// When Go is absent or too old, a build fails, or the cache cannot be written.
    pub async fn ensure() -> Result<Self> {
        Ok(Self {
            etcd: find_or_build(&ETCD).await?,
            kube_apiserver: find_or_build(&APISERVER).await?,
            kube_controller_manager: find_or_build(&CONTROLLER_MANAGER).await?,
        })
    }
}

async fn find_or_build(program: &Program) -> Result<PathBuf> {
    if let Some(given) = env::var_os("KUBEBUILDER_ASSETS") {
        // Such folders often lack kube-controller-manager: that one is then built.
        let path = PathBuf::from(given).join(program.name);
        if path.is_file() {
            return Ok(path);
        }
    }
    let folder = cache::root()?.join("controlplane").join(module_hash());
    let path = folder.join(program.name);
    if path.is_file() {
        return Ok(path);
    }
    let _lock = cache::lock(&folder).await?;
    if path.is_file() {
        return Ok(path); // built by the process that held the lock
    }
    let version = module_version(program)?;
    let what = format!("building {} {version} from source, {}, once", program.name, program.takes);
    progress::step(&what, build(program, version, &path)).await?;
    Ok(path)
}

async fn build(program: &Program, version: &str, target: &Path) -> Result<()> {
    let module = write_module()?;
    let unfinished = target.with_extension(format!("{}.tmp", std::process::id()));
    // Without the version, clients cannot parse what the server says about itself.
    let flags = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
    let mut command = Command::new("go");
    command
        .current_dir(module.path())
        .args(["build", "-trimpath", "-ldflags", &flags, "-o"])
        .arg(&unfinished)
        .arg(program.package)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = match command.output().await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "`go` was not found, and {} has to be built once: install Go {} or newer (https://go.dev/dl) and put \
             it on PATH, or set KUBEBUILDER_ASSETS to a folder that holds etcd, kube-apiserver and \
             kube-controller-manager",
            program.name,
            go_version()
        ),
        result => result.context("cannot run `go`")?,
    };
    if !output.status.success() {
        let _ = fs::remove_file(&unfinished);
        bail!(
            "`go build {}` failed ({}). Modules come from your GOPROXY; check that it can be reached. It said:\n{}",
            program.package,
            output.status,
            tail(&String::from_utf8_lossy(&output.stderr))
        );
    }
    fs::rename(&unfinished, target).with_context(|| format!("cannot write {}", target.display()))
}

fn write_module() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    fs::create_dir(folder.path().join("etcd"))
        .and_then(|()| write("go.mod", GO_MOD))
        .and_then(|()| write("go.sum", GO_SUM))
        .and_then(|()| write("tools.go", TOOLS_GO))
        .and_then(|()| write("etcd/main.go", ETCD_MAIN_GO))
        .with_context(|| format!("cannot write the Go module to {}", folder.path().display()))?;
    Ok(folder)
}

/// Changes whenever a version does, so that an old cache is never taken for a new one.
fn module_hash() -> String {
    let mut hash = Sha256::new();
    for part in [GO_MOD, GO_SUM, ETCD_MAIN_GO] {
        hash.update(part);
    }
    hex::encode(hash.finalize())[..12].to_owned()
}

fn module_version(program: &Program) -> Result<&'static str> {
    let module =
        if program.package == ETCD.package { "go.etcd.io/etcd/server/v3" } else { "k8s.io/kubernetes" };
    required_version(GO_MOD, module)
        .with_context(|| format!("crates/kraken-testing/controlplane/go.mod does not require {module}"))
}

fn required_version<'text>(go_mod: &'text str, module: &str) -> Option<&'text str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        (words.next() == Some(module)).then(|| words.next()).flatten()
    })
}

fn go_version() -> &'static str {
    GO_MOD.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.25")
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_go_mod() {
        assert!(module_version(&APISERVER).unwrap().starts_with("v1."));
        assert!(module_version(&ETCD).unwrap().starts_with("v3."));
        assert_eq!(required_version("require a/b v1.2.3\n", "a/b"), Some("v1.2.3"));
        assert_eq!(required_version("require (\n\ta/b v1.2.3 // indirect\n)\n", "a/b"), Some("v1.2.3"));
        assert_eq!(required_version("replace a/b => a/c v1\n", "a/b"), None);
    }

    #[test]
    fn the_cache_folder_is_named_by_twelve_hex_digits() {
        assert_eq!(module_hash().len(), 12);
    }
}
