//! Finds the control plane's binaries, or builds them once from the Go module in `controlplane/`.
//!
//! Order: `KUBEBUILDER_ASSETS`, the user's cache, a build into that cache.

use std::path::PathBuf;

use anyhow::{Error, Result};
use kraken_programs::control_plane::{APISERVER, CONTROLLER_MANAGER, ETCD, MODULE, check_given, given};

use crate::go::{Ensure as _, Program};

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
    /// When `KUBEBUILDER_ASSETS` is no folder, Go is absent or too old, a build fails, or the cache cannot be written.
    pub async fn ensure() -> Result<Self> {
        Self::check()?;
        Ok(Self {
            etcd: find_or_build(&ETCD).await?,
            kube_apiserver: find_or_build(&APISERVER).await?,
            kube_controller_manager: find_or_build(&CONTROLLER_MANAGER).await?,
        })
    }

    /// Whether the environment is right, before anything is started.
    ///
    /// # Errors
    /// When `KUBEBUILDER_ASSETS` is no folder.
    pub fn check() -> Result<()> {
        check_given().map_err(Error::msg)
    }
}

async fn find_or_build(program: &Program) -> Result<PathBuf> {
    match given(program) {
        Some(path) => Ok(path),
        None => MODULE.ensure(program).await,
    }
}
