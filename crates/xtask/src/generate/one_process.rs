//! All controllers of a provider in one Deployment: `config/aws-all` in place of their folders. What else they need is as it was, except
//! whom their roles are bound to and which pods their Services select.
//!
//! It is a folder of resources and none of `config/components`: those change the Deployments that there are, in any order.

use std::path::Path;

use super::{CONFIG, Files, KUSTOMIZATION, MARK, deploy, kustomization};

/// The process, by its folder under `processes/`.
pub(super) const PROCESS: &str = "aws-all";

const SERVICE_ACCOUNT: &str = "apiVersion: v1
kind: ServiceAccount
metadata:
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: kraken
  name: {name}
  namespace: kraken-system
";

const COMPONENT: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
# For a kustomization.yaml with some of the controllers; set KRAKEN_CONTROLLERS to their names, in a ConfigMap {name} in the namespace of the
# controllers.
resources:
- deployment.yaml
patches:
- target:
    kind: Deployment
    name: {controllers}
  patch: |
    $patch: delete
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: any
- target:
    kind: ServiceAccount
    name: {controllers}
  patch: |
    $patch: delete
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      name: any
- target:
    kind: ClusterRoleBinding
    name: {controllers}
  patch: |
    - op: replace
      path: /subjects/0/name
      value: {name}
- target:
    kind: RoleBinding
    name: {controllers}
  patch: |
    - op: replace
      path: /subjects/0/name
      value: {name}
- target:
    kind: Service
    name: {controllers}-webhook
  patch: |
    - op: replace
      path: /spec/selector/app.kubernetes.io~1name
      value: {name}
";

/// Whether a controller can be in the process.
pub(super) fn is_shared(controller: &str) -> bool {
    controller.starts_with(PROCESS.trim_end_matches("all"))
}

/// Those of the controllers that share the process.
pub(super) fn shared(controllers: &[String]) -> Vec<String> {
    controllers.iter().filter(|controller| is_shared(controller)).cloned().collect()
}

/// The folder with all of them, with the component that puts them into one Deployment, and the overlay that installs everything with it.
pub(super) fn files(controllers: &[String]) -> Files {
    let name = format!("kraken-{PROCESS}");
    let shared = shared(controllers);
    let deployment =
        format!("{}---\n{}", deploy::of_process(PROCESS), SERVICE_ACCOUNT.replace("{name}", &name));
    let component = COMPONENT.replace("{controllers}", &format!("kraken-({})", shared.join("|")));
    let folders: Vec<String> = shared.iter().map(|controller| format!("../{controller}")).collect();
    let all = format!("{}components:\n- process\n", kustomization(&folders));
    let others = controllers.iter().filter(|controller| !shared.contains(controller)).map(String::as_str);
    let parts = ["namespace", "users"].into_iter().chain(others).chain([PROCESS]);
    let installed: Vec<String> = parts.map(|part| format!("../../{part}")).collect();
    let folder = Path::new(CONFIG).join(PROCESS);
    Files::from([
        (folder.join(KUSTOMIZATION), all),
        (folder.join("process").join("deployment.yaml"), deployment),
        (
            folder.join("process").join(KUSTOMIZATION),
            format!("{MARK}\n{}", component.replace("{name}", &name)),
        ),
        (Path::new(CONFIG).join("overlays/one-process").join(KUSTOMIZATION), kustomization(&installed)),
    ])
}
