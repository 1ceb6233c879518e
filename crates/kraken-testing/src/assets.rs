//! Finds the control plane's binaries, or builds them once from the Go module in `controlplane/`.
//!
//! Order: `KUBEBUILDER_ASSETS`, the user's cache, a build into that cache.

use std::env;
use std::path::PathBuf;

use anyhow::Result;

use crate::go::{Module, Program};

const MODULE: Module = Module {
    name: "controlplane",
    go_mod: include_str!("../controlplane/go.mod"),
    go_sum: include_str!("../controlplane/go.sum"),
    tools: include_str!("../controlplane/tools.go"),
    files: &[("etcd/main.go", include_str!("../controlplane/etcd/main.go"))],
};
const WITHOUT_GO: &str =
    ", or set KUBEBUILDER_ASSETS to a folder that holds etcd, kube-apiserver and kube-controller-manager";
const ETCD: Program = Program {
    name: "etcd",
    package: "./etcd",
    version_of: "go.etcd.io/etcd/server/v3",
    takes: "about 1 minute",
    without_go: WITHOUT_GO,
};
const APISERVER: Program = Program {
    name: "kube-apiserver",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    version_of: "k8s.io/kubernetes",
    takes: "about 4 minutes",
    without_go: WITHOUT_GO,
};
const CONTROLLER_MANAGER: Program = Program {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    version_of: "k8s.io/kubernetes",
    takes: "about 3 minutes",
    without_go: WITHOUT_GO,
};
#[cfg(test)]
pub(crate) const PROGRAMS: [(&Module, &Program); 3] =
    [(&MODULE, &ETCD), (&MODULE, &APISERVER), (&MODULE, &CONTROLLER_MANAGER)];

/// The three programs of a control plane.
#[derive(Debug, Clone)]
pub struct Assets {
    /// The database of Kubernetes.
    pub etcd: PathBuf,
    /// The API.
    pub kube_apiserver: PathBuf,
    /// Garbage collector, namespaces and service accounts.
    pub kube_controller_manager: PathBuf,
}

impl Assets {
    /// The binaries, which are built first if they do not exist. Reports progress on stderr.
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
    MODULE.ensure(program).await
}
