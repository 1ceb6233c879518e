//! `config/components/namespaced` and `config/overlays/namespaced`: an installation whose controllers watch selected namespaces only and have no cluster-wide
//! permissions. ClusterRoles become Roles in each of these namespaces, with the same rules.

use anyhow::{Context as _, Result};
use kraken_testing::suite::NAMESPACE;
use serde_json::{Value, json};

use super::{MARK, one_process};

/// The namespace of the example, which is replaced by those of the installation.
const TEAM: &str = "team-a";
/// Where the cluster's id is read. A get of a namespace is a request in that namespace, so that a Role grants it.
const IDENTIFYING_NAMESPACE: &str = "kube-system";

/// Everything except the ClusterRoles of controllers. The ClusterRoles for users stay: Kubernetes aggregates them, and
/// no binding refers to them.
const COMPONENT: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
# Use it as config/overlays/namespaced does, which has what differs between installations.
resources:
- cluster-id.yaml
patches:
- target:
    kind: ClusterRoleBinding
    labelSelector: app.kubernetes.io/name
  patch: |
    $patch: delete
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata:
      name: any
- target:
    kind: ClusterRole
    labelSelector: app.kubernetes.io/name
  patch: |
    $patch: delete
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata:
      name: any
# Webhooks are configured for the whole cluster. The admission policies hold without them.
- target:
    kind: ValidatingWebhookConfiguration
  patch: |
    $patch: delete
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata:
      name: any
- target:
    kind: Deployment
    labelSelector: app.kubernetes.io/name
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: any
    spec:
      template:
        spec:
          containers:
          - name: controller
            env:
            - name: KRAKEN_WEBHOOK_LISTEN
              value: \"\"
";

/// The installation with the component, and what its owner changes.
const OVERLAY: &str = "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
# Copy this folder; write your namespaces into settings.yaml, separated by commas, and have a copy of the folder team for each.
# Further components can be added to the list.
resources:
- ../../default
- settings.yaml
- team
components:
- ../../components/namespaced
";

/// A controller by its folder, and its RBAC documents.
pub(super) type Rights = (String, Vec<Value>);

/// Files by their names below a folder.
type Named = Vec<(&'static str, String)>;

/// The files of the component, and those of the overlay.
///
/// # Errors
/// When an object cannot be written as YAML.
pub(super) fn files(components: &[Rights]) -> Result<(Named, Named)> {
    let for_hub: Vec<Value> = components
        .iter()
        .flat_map(|(component, documents)| {
            let name = format!("kraken-{component}-hub");
            documents
                .iter()
                .filter(move |role| role["kind"] == "ClusterRole" && role["metadata"]["name"] == name)
        })
        .flat_map(rules)
        .collect();
    let process = format!("kraken-{}", one_process::PROCESS);
    let mut roles = Vec::new();
    for (component, documents) in components {
        let name = format!("kraken-{component}");
        let own =
            documents.iter().find(|role| role["kind"] == "ClusterRole" && role["metadata"]["name"] == *name);
        let own = own.with_context(|| format!("{name} has no ClusterRole"))?;
        let mut kept: Vec<Value> = rules(own).into_iter().filter(is_of_namespaces).collect();
        if component == super::HUB {
            kept.extend(for_hub.clone());
        }
        let role = format!("{name}-resources"); // `name` is the Role of the lease, where the namespace is the controllers' too
        roles.push(object("Role", &role, None, &json!({"rules": kept})));
        let accounts = if one_process::is_shared(component) { vec![&*name, &*process] } else { vec![&*name] };
        roles.push(binding(&role, None, &accounts));
    }
    // The process that some of them may share, too, as above: settings and rights of what is not installed have no effect.
    let programs = components.iter().map(|(component, _)| component.as_str()).chain([one_process::PROCESS]);
    let names: Vec<String> = programs.map(|program| format!("kraken-{program}")).collect();
    let id = json!({"rules": [{
        "apiGroups": [""], "resourceNames": [IDENTIFYING_NAMESPACE], "resources": ["namespaces"], "verbs": ["get"],
    }]});
    let accounts: Vec<&str> = names.iter().map(String::as_str).collect();
    let cluster_id = [
        object("Role", "kraken-cluster-id", Some(IDENTIFYING_NAMESPACE), &id),
        binding("kraken-cluster-id", Some(IDENTIFYING_NAMESPACE), &accounts),
    ];
    // Detecting orphans requires access to all namespaces.
    let data = json!({"data": {"KRAKEN_NAMESPACES": TEAM, "KRAKEN_ORPHAN_INTERVAL": "0"}});
    let settings: Vec<Value> =
        names.iter().map(|name| object("ConfigMap", name, Some(NAMESPACE), &data)).collect();
    let team = format!("{}namespace: {TEAM}\n", super::kustomization(&["roles.yaml".to_owned()]));
    let component =
        vec![(super::KUSTOMIZATION, format!("{MARK}\n{COMPONENT}")), ("cluster-id.yaml", yaml(&cluster_id)?)];
    let overlay = vec![
        (super::KUSTOMIZATION, format!("{MARK}\n{OVERLAY}")),
        ("settings.yaml", yaml(&settings)?),
        ("team/roles.yaml", yaml(&roles)?),
        ("team/kustomization.yaml", team),
    ];
    Ok((component, overlay))
}

fn rules(role: &Value) -> Vec<Value> {
    role["rules"].as_array().cloned().unwrap_or_default()
}

/// Whether a rule is meaningful in a Role: not the cluster's id, not the configuration of webhooks, not CRDs, and not the
/// cluster-wide verb of the admission policies (they identify these service accounts by name).
fn is_of_namespaces(rule: &Value) -> bool {
    let of_cluster = ["namespaces", "validatingwebhookconfigurations", "customresourcedefinitions"];
    let of_cluster = of_cluster.map(|resource| json!([resource]));
    !of_cluster.contains(&rule["resources"]) && rule["verbs"] != json!(["publish"])
}

fn object(kind: &str, name: &str, namespace: Option<&str>, content: &Value) -> Value {
    let api_version = if kind == "ConfigMap" { "v1" } else { "rbac.authorization.k8s.io/v1" };
    let labels = json!({"app.kubernetes.io/part-of": "kraken"});
    let mut object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"labels": labels, "name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = namespace.into();
    }
    for (field, value) in content.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    object
}

fn binding(role: &str, namespace: Option<&str>, accounts: &[&str]) -> Value {
    let subject = |name: &&str| json!({"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE});
    let subjects: Vec<Value> = accounts.iter().map(subject).collect();
    let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role});
    object("RoleBinding", role, namespace, &json!({"roleRef": reference, "subjects": subjects}))
}

fn yaml(objects: &[Value]) -> Result<String> {
    let documents: Result<Vec<String>, _> = objects.iter().map(serde_saphyr::to_string).collect();
    let text = documents.context("failed to write YAML")?.join("---\n");
    Ok(format!("{MARK}\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, rules: &Value) -> Value {
        json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    }

    #[test]
    fn rules_move_to_roles_and_those_that_need_the_cluster_stay_out() {
        let read = json!({"apiGroups": ["a"], "resources": ["vpcs"], "verbs": ["get"]});
        let cluster = [
            json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}),
            json!({"apiGroups": ["core"], "resources": ["statedeclarations"], "verbs": ["publish"]}),
        ];
        let spoke = vec![
            role("kraken-x", &json!([read, cluster[0], cluster[1]])),
            role("kraken-x-hub", &json!([read])),
        ];
        let hub = vec![role("kraken-hub", &json!([cluster[0]]))];
        let (component, overlay) = files(&[("hub".to_owned(), hub), ("x".to_owned(), spoke)]).unwrap();
        let (_, roles) = overlay.iter().find(|(name, _)| *name == "team/roles.yaml").unwrap();
        let roles: Vec<Value> = serde_saphyr::from_multiple(roles).unwrap();
        assert_eq!(roles.iter().filter(|role| role["kind"] == "Role").count(), 2);
        for role in roles.iter().filter(|role| role["kind"] == "Role") {
            assert_eq!(role["rules"], json!([read]), "{role}");
        }
        assert!(
            component
                .iter()
                .chain(&overlay)
                .all(|(name, text)| *name == "kustomization.yaml" || !text.contains("ClusterRole"))
        );
    }
}
