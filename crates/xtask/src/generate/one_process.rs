//! The component `one-process`: all controllers of a provider in one Deployment. What else they need is as it was, except whom their roles
//! are bound to and which pods their Services select.

use super::{MARK, deploy};

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
# List it before other components, which change its Deployment. If some of the controllers are not installed, set KRAKEN_CONTROLLERS to
# those that are: in a ConfigMap {name} in the namespace of the controllers.
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
    name: {controllers}(-resources)? # those of an installation for selected namespaces
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

/// Those of the controllers that share the process.
pub(super) fn shared(controllers: &[String]) -> Vec<String> {
    let provider = PROCESS.trim_end_matches("all");
    controllers.iter().filter(|controller| controller.starts_with(provider)).cloned().collect()
}

/// The service account and the Deployment, and the component.
pub(super) fn files(controllers: &[String]) -> (String, String) {
    let name = format!("kraken-{PROCESS}");
    let shared = shared(controllers);
    let deployment = deploy::of_process(PROCESS);
    let deployment = format!("{deployment}---\n{}", SERVICE_ACCOUNT.replace("{name}", &name));
    let component = COMPONENT.replace("{controllers}", &format!("kraken-({})", shared.join("|")));
    (deployment, format!("{MARK}\n{}", component.replace("{name}", &name)))
}
