//! GitOps tools for tests: Flux's kustomize-controller, and the interpreter of Argo CD's health scripts. Both are built
//! once from the Go module in `gitops/`.

mod artifacts;
mod health;

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::cluster::ControlPlane;
use crate::gitops::artifacts::Artifacts;
use crate::go::{Ensure as _, Module, Program};
use crate::manifests;
use crate::process::{Process, Spec};

pub use health::{Health, health};

const MODULE: Module = Module {
    name: "gitops",
    go_mod: include_str!("../../gitops/go.mod"),
    go_sum: include_str!("../../gitops/go.sum"),
    tools: include_str!("../../gitops/tools.go"),
    files: &[("health/main.go", include_str!("../../gitops/health/main.go"))],
};
const KUSTOMIZE_CONTROLLER: Program = Program {
    name: "kustomize-controller",
    package: "github.com/fluxcd/kustomize-controller",
    version_of: "github.com/fluxcd/kustomize-controller",
    takes: "about 5 minutes",
    without_go: "",
};
const HEALTH: Program = Program {
    name: "health",
    package: "./health",
    version_of: "github.com/yuin/gopher-lua",
    takes: "a few seconds",
    without_go: "",
};
pub(crate) const PROGRAMS: [(&Module, &Program); 2] = [(&MODULE, &KUSTOMIZE_CONTROLLER), (&MODULE, &HEALTH)];

/// The kinds of Flux's source-controller that kustomize-controller watches.
const SOURCES: [(&str, &str); 3] =
    [("GitRepository", "gitrepositories"), ("OCIRepository", "ocirepositories"), ("Bucket", "buckets")];

/// Flux's kustomize-controller on a control plane, with sources that are served from memory.
pub struct Flux {
    client: Client,
    artifacts: Artifacts,
    process: Process,
}

impl std::fmt::Debug for Flux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flux").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Flux {
    /// Builds it if necessary, installs its CRDs and starts it with all permissions.
    ///
    /// # Errors
    /// When Go is absent, or a part does not start.
    pub async fn start(control_plane: &ControlPlane) -> Result<Self> {
        let program = MODULE.ensure(&KUSTOMIZE_CONTROLLER).await?;
        let client = control_plane.client().await?;
        let sources = MODULE.sources(KUSTOMIZE_CONTROLLER.version_of).await?;
        let mut crds = manifests::read(&sources.join("config/crd/bases"))?;
        for (kind, plural) in SOURCES {
            crds.extend(manifests::parse(kind, &source_crd(kind, plural).to_string())?);
        }
        manifests::apply(&client, &crds, "default").await?;
        let kubeconfig = control_plane.admin_kubeconfig().display().to_string();
        let env = [("KUBECONFIG", kubeconfig), ("RUNTIME_NAMESPACE", "default".to_owned())];
        let spec = Spec::new("kustomize-controller", program, control_plane.folder())
            .args(["--metrics-addr=0", "--health-addr=0", "--enable-leader-election=false"])
            .envs(env.map(|(name, value)| (name.to_owned(), value)));
        Ok(Self { client, artifacts: Artifacts::serve()?, process: Process::spawn(&spec)? })
    }

    /// Makes the files of a folder the newest revision of a GitRepository, which is created if it does not exist, as
    /// source-controller would after a commit.
    ///
    /// # Errors
    /// When the folder cannot be read or the API server rejects it.
    pub async fn publish(&self, namespace: &str, name: &str, folder: &Path) -> Result<()> {
        let archive = archive(folder).await?;
        let artifact = self.artifacts.add(&format!("{namespace}-{name}"), archive);
        let api = self.api(namespace, "source.toolkit.fluxcd.io", "GitRepository");
        let apply = PatchParams::apply("source-controller").force();
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": name}, "spec": {"url": "https://example.com/repository", "interval": "1h"},
        });
        api.patch(name, &apply, &Patch::Apply(&object)).await?;
        let status = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": name},
            "status": {"artifact": artifact},
        });
        api.patch_status(name, &apply, &Patch::Apply(&status)).await?;
        Ok(())
    }

    /// The API of Kustomizations.
    pub fn kustomizations(&self, namespace: &str) -> Api<DynamicObject> {
        self.api(namespace, "kustomize.toolkit.fluxcd.io", "Kustomization")
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        self.process.log_tail()
    }

    fn api(&self, namespace: &str, group: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }
}

/// A CRD of a source: kustomize-controller reads only the artifact in its status.
fn source_crd(kind: &str, plural: &str) -> Value {
    let group = "source.toolkit.fluxcd.io";
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// A folder as source-controller packs it.
async fn archive(folder: &Path) -> Result<Vec<u8>> {
    let mut command = Command::new("tar");
    command.arg("-czf").arg("-").arg("-C").arg(folder).arg(".").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.context("cannot run `tar`")?;
    ensure!(output.status.success(), "`tar` failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}
