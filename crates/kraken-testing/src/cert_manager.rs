//! cert-manager's own controllers and CA injector for tests, built once from the Go module in `certmanager/`.

use anyhow::Result;

use crate::cluster::ControlPlane;
use crate::go::{Ensure as _, Module, Program};
use crate::manifests::{self, Document};
use crate::process::{Process, Spec};

const MODULE: Module = Module {
    name: "certmanager",
    go_mod: include_str!("../certmanager/go.mod"),
    go_sum: include_str!("../certmanager/go.sum"),
    tools: include_str!("../certmanager/tools.go"),
    files: &[("manager/main.go", include_str!("../certmanager/manager/main.go"))],
};
const CERT_MANAGER: Program = Program {
    name: "cert-manager",
    package: "./manager",
    version_of: "github.com/cert-manager/cert-manager",
    takes: "about 2 minutes",
    without_go: "",
};
pub(crate) const PROGRAMS: [(&Module, &Program); 1] = [(&MODULE, &CERT_MANAGER)];

/// cert-manager on a control plane; stopped on drop.
#[derive(Debug)]
pub struct CertManager {
    process: Process,
}

/// The CRDs of cert-manager.
///
/// # Errors
/// When Go is absent or the module cannot be downloaded.
pub async fn crds() -> Result<Vec<Document>> {
    manifests::read(&MODULE.sources(CERT_MANAGER.version_of).await?.join("deploy/crds"))
}

impl CertManager {
    /// Builds it if necessary, installs its CRDs and starts it with all permissions.
    ///
    /// # Errors
    /// When Go is absent, or a part does not start.
    pub async fn start(control_plane: &ControlPlane) -> Result<Self> {
        let program = MODULE.ensure(&CERT_MANAGER).await?;
        manifests::apply(&control_plane.client().await?, &crds().await?, "default").await?;
        let kubeconfig = control_plane.admin_kubeconfig().display().to_string();
        let spec = Spec::new("cert-manager", program, control_plane.folder())
            .envs([("KUBECONFIG".to_owned(), kubeconfig)]);
        Ok(Self { process: Process::spawn(&spec)? })
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        self.process.log_tail()
    }
}
