//! Permissions: the aggregated roles of users, and a spoke's access to the hub's lease.

use anyhow::Result;
use k8s_openapi::api::{authorization::v1::SubjectAccessReview, rbac::v1::RoleBinding};
use kraken_tests::TestEnv;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

const NAMESPACE: &str = "kraken-system";
const DOMAIN: &str = "kraken-iac.eoinfennessy.com";

/// Whether this user may do this with an object of this group, resource and name (empty: any).
async fn may(test_env: &TestEnv, user: &str, verb: &str, about: &Value) -> Result<bool> {
    let mut attributes = json!({"namespace": test_env.ns.name, "verb": verb});
    for (key, value) in about.as_object().into_iter().flatten() {
        attributes[key] = value.clone();
    }
    let review = json!({"metadata": {}, "spec": {"user": user, "resourceAttributes": attributes}});
    let review: SubjectAccessReview = serde_json::from_value(review)?;
    let answer = Api::all(test_env.client()).create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[tokio::test]
async fn view_and_edit_roles_include_kraken_resources() -> Result<()> {
    let test_env = TestEnv::new().await?;
    for role in ["view", "edit", "admin"] {
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("{role}-jane")}],
        }))?;
        Api::namespaced(test_env.client(), &test_env.ns.name)
            .create(&PostParams::default(), &binding)
            .await?;
    }
    let of =
        |group: &str, resource: &str| json!({"group": format!("{group}.{DOMAIN}"), "resource": resource});
    let (vpcs, exports) = (of("aws", "vpcs"), of("configexport", "configexports"));
    let (states, requests) = (of("core", "statedeclarations"), of("core", "dependencyrequests"));
    let grants = of("core", "referencegrants");
    let status = json!({"group": format!("aws.{DOMAIN}"), "resource": "vpcs", "subresource": "status"});
    // Aggregation and the authorizer's cache take effect after a delay.
    for _ in 0..300 {
        if may(&test_env, "view-jane", "get", &vpcs).await?
            && may(&test_env, "edit-jane", "create", &vpcs).await?
            && may(&test_env, "admin-jane", "create", &grants).await?
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    for (user, verb, about, wanted) in [
        ("view-jane", "list", &vpcs, true),
        ("view-jane", "watch", &requests, true),
        ("view-jane", "delete", &vpcs, false),
        ("edit-jane", "get", &states, true),
        ("edit-jane", "patch", &vpcs, true),
        ("edit-jane", "delete", &exports, true),
        // A policy limits it to states of their own (`static-*`).
        ("edit-jane", "patch", &states, true),
        ("edit-jane", "create", &requests, false),
        ("edit-jane", "patch", &status, false),
        ("admin-jane", "create", &vpcs, true),
        ("admin-jane", "delete", &requests, false),
        // A grant gives others access, as a RoleBinding does.
        ("view-jane", "get", &grants, true),
        ("edit-jane", "list", &grants, true),
        ("edit-jane", "create", &grants, false),
        ("edit-jane", "patch", &grants, false),
        ("edit-jane", "delete", &grants, false),
        ("admin-jane", "create", &grants, true),
        ("admin-jane", "delete", &grants, true),
        ("nobody", "get", &vpcs, false),
    ] {
        assert_eq!(may(&test_env, user, verb, about).await?, wanted, "{user} {verb} {about}");
    }
    Ok(())
}

#[tokio::test]
async fn a_spoke_may_read_the_hubs_lease_and_no_other() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let user = format!("system:serviceaccount:{NAMESPACE}:kraken-aws-vpc");
    let lease = |name: &str| json!({"group": "coordination.k8s.io", "resource": "leases", "name": name, "namespace": NAMESPACE});
    assert!(may(&test_env, &user, "get", &lease("kraken-hub")).await?);
    assert!(!may(&test_env, &user, "update", &lease("kraken-hub")).await?);
    assert!(!may(&test_env, &user, "get", &lease("kraken-aws-elb")).await?);
    Ok(())
}

/// Groups and resources of the table.
const KRAKEN: [(&str, &str); 12] = [
    ("aws", "vpcs"),
    ("aws", "vpcs/status"),
    ("aws", "vpcs/finalizers"),
    ("aws", "ec2instances"),
    ("aws", "accounts"),
    ("aws", "accounts/status"),
    ("configexport", "configexports"),
    ("configexport", "configexports/status"),
    ("core", "dependencyrequests"),
    ("core", "dependencyrequests/status"),
    ("core", "referencegrants"),
    ("core", "statedeclarations"),
];
const KUBERNETES: [(&str, &str); 12] = [
    ("", "configmaps"),
    ("", "namespaces"),
    ("", "pods"),
    ("", "secrets"),
    ("", "serviceaccounts/token"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
    ("rbac.authorization.k8s.io", "roles"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
];
const VERBS: [&str; 10] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "approve", "publish"];

/// The permissions in a namespace, as the API server reports for the generated manifests. `KRAKEN_UPDATE_GOLDEN=1`
/// writes the file.
#[tokio::test]
async fn the_rights_of_the_personas_are_those_of_the_golden_file() -> Result<()> {
    use std::fmt::Write as _;

    let test_env = TestEnv::new().await?;
    let people = [
        ("viewer", "view"),
        ("editor", "edit"),
        ("administrator", "admin"),
        ("approver", "kraken-approve"),
        ("account-administrator", "kraken-admin"),
    ];
    for (name, role) in people {
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("{name}-kim")}],
        }))?;
        Api::namespaced(test_env.client(), &test_env.ns.name)
            .create(&PostParams::default(), &binding)
            .await?;
    }
    let vpcs = json!({"group": format!("aws.{DOMAIN}"), "resource": "vpcs"});
    for _ in 0..300 {
        if may(&test_env, "administrator-kim", "approve", &vpcs).await?
            && may(&test_env, "viewer-kim", "get", &vpcs).await?
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let mut personas: Vec<_> = people.iter().map(|(name, _)| (*name, format!("{name}-kim"), false)).collect();
    for name in ["kraken-hub", "kraken-aws-vpc", "kraken-aws-account"] {
        personas.push((name, format!("system:serviceaccount:{NAMESPACE}:{name}"), true));
    }
    let mut table = String::new();
    for (name, user, is_controller) in personas {
        writeln!(table, "{name}")?;
        let kraken = KRAKEN.map(|(group, resource)| (format!("{group}.{DOMAIN}"), resource));
        let kubernetes = KUBERNETES.map(|(group, resource)| (group.to_owned(), resource));
        let resources = kraken.into_iter().chain(kubernetes.into_iter().filter(|_| is_controller));
        for (group, resource) in resources {
            let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let about = json!({"group": group, "resource": plural, "subresource": subresource});
            let mut verbs = Vec::new();
            for verb in VERBS {
                if may(&test_env, &user, verb, &about).await? {
                    verbs.push(verb);
                }
            }
            if !verbs.is_empty() {
                writeln!(table, "  {resource}: {}", verbs.join(" "))?;
            }
        }
    }
    let path = kraken_testing::paths::workspace_root()?.join("tests/cluster/rights.txt");
    if std::env::var_os("KRAKEN_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &table)?;
    }
    assert_eq!(table, std::fs::read_to_string(&path)?);
    Ok(())
}
