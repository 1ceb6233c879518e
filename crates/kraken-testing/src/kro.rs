//! kro's controller for tests, built once from the Go module in `kro/`.

use anyhow::Result;

use crate::cluster::ControlPlane;
use crate::go::{Ensure as _, Module, Program};
use crate::manifests;
use crate::process::{Process, Spec};

const MODULE: Module = Module {
    name: "kro",
    go_mod: include_str!("../kro/go.mod"),
    go_sum: include_str!("../kro/go.sum"),
    tools: include_str!("../kro/tools.go"),
    files: &[],
};
const KRO: Program = Program {
    name: "kro",
    package: "github.com/kubernetes-sigs/kro/cmd/controller",
    version_of: "github.com/kubernetes-sigs/kro",
    takes: "about 2 minutes",
    without_go: "",
};
pub(crate) const PROGRAMS: [(&Module, &Program); 1] = [(&MODULE, &KRO)];

/// kro on a control plane; stopped on drop.
#[derive(Debug)]
pub struct Kro {
    process: Process,
}

impl Kro {
    /// Builds it if necessary, installs its CRDs and starts it with all permissions.
    ///
    /// # Errors
    /// When Go is absent, or a part does not start.
    pub async fn start(control_plane: &ControlPlane) -> Result<Self> {
        let program = MODULE.ensure(&KRO).await?;
        let crds = manifests::read(&MODULE.sources(KRO.version_of).await?.join("helm/crds"))?;
        manifests::apply(&control_plane.client().await?, &crds, "default").await?;
        let kubeconfig = control_plane.admin_kubeconfig().display().to_string();
        let spec = Spec::new("kro", program, control_plane.folder())
            .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .envs([("KUBECONFIG", kubeconfig.as_str())]);
        Ok(Self { process: Process::spawn(&spec)? })
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        self.process.log_tail()
    }
}
