//! The RBAC manifests of a controller: its own rules and those of the runtime.

use k8s_openapi::{
    api::{
        core::v1::{Secret, ServiceAccount},
        rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kraken_api::{DOMAIN, HUB_NAME, SYSTEM_NAMESPACE};
use kraken_webhook::manifests;
use serde::Serialize;

use crate::{cluster::IDENTIFYING_NAMESPACE, program::Program};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// A rule about resources: API groups (`""` is the core group), plural names, verbs.
pub fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(owned(groups)),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

/// The manifests of a controller's service account and RBAC rules, as YAML documents:
///
/// - ServiceAccount `NAME`, and for its lease and [`Program::namespace_rules`] Role and RoleBinding `NAME`, all in
///   `kraken-system`;
/// - the Secrets of [`Program::secrets`], empty;
/// - ClusterRole and ClusterRoleBinding `NAME`: [`Program::rules`] and the rules of the runtime;
/// - ClusterRole and ClusterRoleBinding `NAME-hub`, if [`Program::hub_rules`] has rules: the hub's rights to the kinds.
///
/// # Errors
/// If serialization fails.
pub fn yaml<P: Program>() -> Result<String, serde_saphyr::ser::Error> {
    let mut out = vec![
        document(&ServiceAccount {
            metadata: own_metadata::<P>(P::NAME, true),
            ..ServiceAccount::default()
        })?,
        document(&ClusterRole {
            metadata: own_metadata::<P>(P::NAME, false),
            rules: Some([P::rules(), shell_rules(), of_webhooks::<P>(manifests::cluster_rules)].concat()),
            ..ClusterRole::default()
        })?,
        document(&cluster_binding::<P>(P::NAME, P::NAME))?,
        document(&Role {
            metadata: own_metadata::<P>(P::NAME, true),
            rules: Some(
                [
                    lease_rules(P::NAME),
                    P::namespace_rules(),
                    secret_rules(P::secrets()),
                    of_webhooks::<P>(manifests::namespace_rules),
                ]
                .concat(),
            ),
        })?,
        document(&RoleBinding {
            metadata: own_metadata::<P>(P::NAME, true),
            role_ref: role("Role", P::NAME),
            subjects: Some(vec![account(P::NAME)]),
        })?,
    ];
    for name in P::secrets() {
        out.push(document(&Secret {
            metadata: own_metadata::<P>(name, true),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        })?);
    }
    let for_hub = P::hub_rules();
    if !for_hub.is_empty() {
        // Bound here and not aggregated into a role of the hub's: Kubernetes creates such a role again when it is deleted together
        // with those that it collects.
        let name = format!("{}-hub", P::NAME);
        let metadata = own_metadata::<P>(&name, false);
        out.push(document(&ClusterRole { metadata, rules: Some(for_hub), ..ClusterRole::default() })?);
        out.push(document(&cluster_binding::<P>(&name, HUB_NAME))?);
    }
    Ok(out.concat())
}

/// The cluster-wide permissions of the runtime.
fn shell_rules() -> Vec<PolicyRule> {
    let cluster_id = rule(&[""], &["namespaces"], &["get"]);
    let core = format!("core.{DOMAIN}");
    vec![
        rule(&["events.k8s.io"], &["events"], &["create", "patch"]),
        // No request has this verb: the admission policies use it to identify controllers.
        rule(&[&core], &["statedeclarations"], &["publish"]),
        PolicyRule { resource_names: Some(owned(&[IDENTIFYING_NAMESPACE])), ..cluster_id },
    ]
}

/// The permissions for the lease. A creation cannot be limited by name, because the API server does not know it yet.
fn lease_rules(name: &str) -> Vec<PolicyRule> {
    const GROUP: &[&str] = &["coordination.k8s.io"];
    vec![
        rule(GROUP, &["leases"], &["create"]),
        PolicyRule { resource_names: Some(owned(&[name])), ..rule(GROUP, &["leases"], &["get", "update"]) },
    ]
}

/// The permissions for the Secrets with data of a controller.
fn secret_rules(names: &[&str]) -> Vec<PolicyRule> {
    if names.is_empty() {
        return Vec::new();
    }
    vec![PolicyRule { resource_names: Some(owned(names)), ..rule(&[""], &["secrets"], &["get", "update"]) }]
}

/// The permissions for the webhooks' certificate, if there are webhooks.
fn of_webhooks<P: Program>(rules: fn(&str) -> Vec<PolicyRule>) -> Vec<PolicyRule> {
    if P::webhooks().is_empty() { Vec::new() } else { rules(P::NAME) }
}

/// One object as a YAML document that begins with `---`.
pub(crate) fn document(object: &impl Serialize) -> Result<String, serde_saphyr::ser::Error> {
    Ok(format!("---\n{}", serde_saphyr::to_string(object)?))
}

fn own_metadata<P: Program>(name: &str, namespaced: bool) -> ObjectMeta {
    let labels = [("app.kubernetes.io/name", P::NAME), ("app.kubernetes.io/part-of", "kraken")];
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespaced.then(|| SYSTEM_NAMESPACE.to_owned()),
        labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        ..ObjectMeta::default()
    }
}

/// Binds the ClusterRole of this name to a controller's account.
fn cluster_binding<P: Program>(name: &str, controller: &str) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: own_metadata::<P>(name, false),
        role_ref: role("ClusterRole", name),
        subjects: Some(vec![account(controller)]),
    }
}

fn role(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: RBAC_GROUP.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

fn account(name: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(SYSTEM_NAMESPACE.to_owned()),
        ..Subject::default()
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::program::fixtures::Spoke;

    fn objects<P: Program>() -> Vec<Value> {
        serde_saphyr::from_multiple(&yaml::<P>().unwrap()).unwrap()
    }

    fn names<P: Program>() -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        objects::<P>().iter().map(|o| text(&o["kind"]) + " " + &text(&o["metadata"]["name"])).collect()
    }

    fn find<P: Program>(kind: &str, name: &str) -> Value {
        let found = objects::<P>().into_iter().find(|o| o["kind"] == kind && o["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    #[test]
    fn a_spoke_has_a_service_account_its_roles_and_a_role_for_the_hub() {
        assert_eq!(
            names::<Spoke>(),
            [
                "ServiceAccount kraken-test",
                "ClusterRole kraken-test",
                "ClusterRoleBinding kraken-test",
                "Role kraken-test",
                "RoleBinding kraken-test",
                "ClusterRole kraken-test-hub",
                "ClusterRoleBinding kraken-test-hub",
            ]
        );
        let for_hub = find::<Spoke>("ClusterRole", "kraken-test-hub");
        assert_eq!(for_hub["rules"][0]["verbs"], json!(["get"]));
        let binding = find::<Spoke>("ClusterRoleBinding", "kraken-test-hub");
        assert_eq!(binding["roleRef"]["name"], "kraken-test-hub");
        assert_eq!(binding["subjects"][0]["name"], "kraken-hub");
    }

    #[test]
    fn no_role_aggregates_others() {
        let all = [objects::<Spoke>(), objects::<crate::program::fixtures::Hub>()].concat();
        assert!(all.iter().all(|object| object.get("aggregationRule").is_none()), "{all:?}");
    }

    #[test]
    fn the_runtime_can_write_events_and_read_one_namespace_only() {
        let rules = find::<Spoke>("ClusterRole", "kraken-test")["rules"].clone();
        assert!(rules.as_array().unwrap().contains(&json!(
            {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
        )));
        assert!(rules.as_array().unwrap().contains(&json!(
            {"apiGroups": [""], "resourceNames": ["kube-system"], "resources": ["namespaces"], "verbs": ["get"]}
        )));
    }

    #[test]
    fn only_its_own_lease_can_be_changed_and_only_in_the_system_namespace() {
        let role = find::<Spoke>("Role", "kraken-test");
        assert_eq!(role["metadata"]["namespace"], "kraken-system");
        assert_eq!(role["rules"][0]["verbs"], json!(["create"]));
        assert_eq!(role["rules"][1]["resourceNames"], json!(["kraken-test"]));
        assert_eq!(role["rules"][1]["verbs"], json!(["get", "update"]));
        let subject = &find::<Spoke>("RoleBinding", "kraken-test")["subjects"][0];
        assert_eq!(subject["namespace"], "kraken-system");
    }
}
