//! Targets of ConfigExports that are replaced, restored or left behind.

use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kraken_tests::{TestEnv, test_env::condition};
use kube::{
    Api,
    api::{DeleteParams, PropagationPolicy},
};
use serde_json::{Value, json};

use crate::exports::export;

const SOURCES: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: src}, data: {user: app, color: red}}
---
{apiVersion: v1, kind: Secret, metadata: {name: src}, stringData: {password: PASSWORD}}
";

fn login(secret_type: &str) -> String {
    let entries = "{key: username, valueFrom: {configMap: {name: src, key: user}}}, \
                   {key: password, valueFrom: {secret: {name: src, key: password}}}";
    export("login", "Secret", "login", entries)
        .replace("configType: Secret", &format!("configType: Secret, whileWaiting: Keep{secret_type}"))
}

/// A Secret that the API server refuses, because its value is no JSON.
fn docker_config(target: &str) -> String {
    login(", secretType: kubernetes.io/dockerconfigjson")
        .replace("key: username", "key: .dockerconfigjson")
        .replace("configMetadata: {name: login}", &format!("configMetadata: {{name: {target}}}"))
}

fn colors(target: &str) -> String {
    export("colors", "ConfigMap", target, "{key: color, valueFrom: {configMap: {name: src, key: color}}}")
}

async fn test_env() -> Result<TestEnv> {
    let test_env = TestEnv::new().await?;
    let password = test_env.secret_value("correct-horse");
    test_env.apply(&SOURCES.replace("PASSWORD", &password)).await?;
    Ok(test_env)
}

#[tokio::test]
async fn a_secret_is_not_deleted_before_its_successor_is_accepted() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&login("")).await?;
    test_env.ready("ConfigExport", "login").await?;
    let of_others =
        json!({"metadata": {"labels": {"team": "other"}, "annotations": {"example.com/owner": "ops"}}});
    test_env.patch("Secret", "login", of_others).await?;
    test_env.apply(&login(", secretType: kubernetes.io/basic-auth")).await?;
    test_env.ready("ConfigExport", "login").await?;
    let replaced = test_env.get("Secret", "login").await?;
    let has_those_of_others = |secret: &Value| {
        let meta = &secret["metadata"];
        meta["labels"]["team"] == "other" && meta["annotations"]["example.com/owner"] == "ops"
    };
    assert_eq!(replaced["type"], "kubernetes.io/basic-auth");
    assert!(has_those_of_others(&replaced), "{}", replaced["metadata"]);

    // It has not the keys that this type requires.
    test_env.apply(&login(", secretType: kubernetes.io/tls")).await?;
    let why = test_env.not_ready("ConfigExport", "login", "InvalidSpec").await?;
    assert!(why.contains("requires entries with the keys tls.crt and tls.key"), "{why}");
    // Only the API server knows that its value is no JSON.
    test_env.apply(&docker_config("login")).await?;
    let why = test_env.not_ready("ConfigExport", "login", "WriteFailed").await?;
    assert!(why.contains("failed to replace Secret login") && why.contains(".dockerconfigjson"), "{why}");
    let kept = test_env.get("Secret", "login").await?;
    assert_eq!(kept["metadata"]["uid"], replaced["metadata"]["uid"], "pods may mount it");

    test_env.apply(&login(", secretType: kubernetes.io/basic-auth")).await?;
    test_env.ready("ConfigExport", "login").await?;
    let kept = test_env.get("Secret", "login").await?;
    assert_eq!(kept["metadata"]["uid"], replaced["metadata"]["uid"]);
    Ok(())
}

/// An admission policy of the namespace that accepts no Secret of the type for passwords, and its binding.
async fn forbid_passwords(test_env: &TestEnv) -> Result<String> {
    let (ns, name) = (&test_env.ns.name, format!("no-passwords-{}", test_env.ns.name));
    let secrets = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE", "UPDATE"]});
    let policy = json!({
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}}, "resourceRules": [secrets],
        },
        "validations": [{
            "expression": "object.type != 'kubernetes.io/basic-auth'", "message": "this team has no passwords",
        }],
    });
    let binding = json!({"policyName": name, "validationActions": ["Deny"]});
    for (kind, spec) in [("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)]
    {
        let version = "admissionregistration.k8s.io/v1";
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec});
        test_env.apply(&object.to_string()).await?;
    }
    let probe = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "probe"}, "type": "kubernetes.io/basic-auth",
        "stringData": {"password": test_env.secret_value("probe")},
    });
    // A policy takes effect after a delay.
    for _ in 0..600 {
        match test_env.apply(&probe.to_string()).await {
            Err(error) if format!("{error:#}").contains("this team has no passwords") => return Ok(name),
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    bail!("the policy is not in force")
}

#[tokio::test]
async fn a_secret_is_kept_while_an_admission_policy_refuses_its_successor() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&login("")).await?;
    test_env.ready("ConfigExport", "login").await?;
    let before = test_env.get("Secret", "login").await?;
    let policy = forbid_passwords(&test_env).await?;
    test_env.apply(&login(", secretType: kubernetes.io/basic-auth")).await?;
    let why = test_env.not_ready("ConfigExport", "login", "WriteFailed").await?;
    assert!(why.contains("this team has no passwords"), "{why}");
    let kept = test_env.get("Secret", "login").await?;
    assert_eq!(kept["metadata"]["uid"], before["metadata"]["uid"], "pods may mount it");
    assert_eq!((&kept["type"], &kept["data"]), (&json!("Opaque"), &before["data"]));

    let policies: Api<ValidatingAdmissionPolicyBinding> = Api::all(test_env.client());
    policies.delete(&policy, &DeleteParams::default()).await?;
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(test_env.client());
    policies.delete(&policy, &DeleteParams::default()).await?;
    test_env.until("Secret", "login", |secret| secret["type"] == "kubernetes.io/basic-auth").await?;
    test_env.ready("ConfigExport", "login").await.map(drop)
}

#[tokio::test]
async fn a_target_is_kept_while_the_one_of_another_name_is_refused() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&login("")).await?;
    test_env.ready("ConfigExport", "login").await?;
    let renamed = docker_config("next");
    test_env.apply(&renamed).await?;
    test_env.not_ready("ConfigExport", "login", "WriteFailed").await?;
    assert!(!test_env.get("Secret", "login").await?.is_null());
    test_env.apply(&renamed.replace("kubernetes.io/dockerconfigjson", "Opaque")).await?;
    test_env.ready("ConfigExport", "login").await?;
    test_env.gone("Secret", "login").await
}

#[tokio::test]
async fn a_target_is_kept_while_the_new_name_is_that_of_another_object() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&colors("colors")).await?;
    test_env.ready("ConfigExport", "colors").await?;
    test_env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}, data: {a: b}}").await?;
    test_env.apply(&colors("taken")).await?;
    test_env.not_ready("ConfigExport", "colors", "TargetNotOwned").await?;
    assert!(!test_env.get("ConfigMap", "colors").await?.is_null(), "pods mount it");
    assert_eq!(test_env.get("ConfigMap", "taken").await?["data"], json!({"a": "b"}));
    // Another controller's object is no reason either.
    let uid = test_env.get("ConfigMap", "src").await?["metadata"]["uid"].clone();
    let owner =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "src", "uid": uid, "controller": true});
    let of_app = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "ownerReferences": [owner]}});
    test_env.apply(&of_app.to_string()).await?;
    test_env.apply(&colors("app")).await?;
    let is_refused = |export: &Value| {
        condition(export, "Ready")["message"]
            .as_str()
            .is_some_and(|why| why.contains("belongs to ConfigMap src"))
    };
    test_env.until("ConfigExport", "colors", is_refused).await?;
    assert!(!test_env.get("ConfigMap", "colors").await?.is_null(), "pods mount it");
    test_env.apply(&colors("free")).await?;
    test_env.ready("ConfigExport", "colors").await?;
    test_env.gone("ConfigMap", "colors").await
}

#[tokio::test]
async fn a_target_that_somebody_made_immutable_follows_its_values() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&colors("colors")).await?;
    test_env.ready("ConfigExport", "colors").await?;
    let immutable = json!({"immutable": true, "metadata": {
        "labels": {"team": "other"}, "annotations": {"example.com/owner": "ops"},
    }});
    test_env.patch("ConfigMap", "colors", immutable).await?;
    let made = test_env.get("ConfigMap", "colors").await?;
    // Only its content is immutable.
    let labels = json!({"spec": {"configMetadata": {"labels": {"tier": "front"}}}});
    test_env.patch("ConfigExport", "colors", labels).await?;
    let labelled =
        test_env.until("ConfigMap", "colors", |map| map["metadata"]["labels"]["tier"] == "front").await?;
    assert_eq!(labelled["metadata"]["uid"], made["metadata"]["uid"], "it is not replaced");
    test_env.patch("ConfigMap", "src", json!({"data": {"color": "blue"}})).await?;
    let replaced = test_env.until("ConfigMap", "colors", |map| map["data"]["color"] == "blue").await?;
    let meta = &replaced["metadata"];
    assert_eq!(
        (&meta["labels"]["team"], &meta["annotations"]["example.com/owner"]),
        (&json!("other"), &json!("ops"))
    );
    test_env.ready("ConfigExport", "colors").await.map(drop)
}

#[tokio::test]
async fn a_target_that_was_left_behind_is_taken_over() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&colors("colors")).await?;
    test_env.ready("ConfigExport", "colors").await?;
    // As a restore from a backup does: labels and annotations, and no owner.
    let target = test_env.get("ConfigMap", "colors").await?;
    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    test_env.api("ConfigExport").delete("colors", &orphan).await?;
    test_env.gone("ConfigExport", "colors").await?;
    let left = test_env.get("ConfigMap", "colors").await?;
    assert_eq!(left["metadata"]["uid"], target["metadata"]["uid"]);
    assert!(left["metadata"]["ownerReferences"].is_null(), "{}", left["metadata"]);
    test_env.apply(&colors("colors")).await?;
    let export = test_env.ready("ConfigExport", "colors").await?;
    let taken = test_env.get("ConfigMap", "colors").await?;
    assert_eq!(taken["metadata"]["uid"], target["metadata"]["uid"], "never deleted");
    assert_eq!(taken["metadata"]["ownerReferences"][0]["uid"], export["metadata"]["uid"]);
    test_env.patch("ConfigMap", "src", json!({"data": {"color": "blue"}})).await?;
    test_env.until("ConfigMap", "colors", |map| map["data"]["color"] == "blue").await.map(drop)
}

#[tokio::test]
async fn an_object_of_others_is_handed_over_by_one_command() -> Result<()> {
    let test_env = test_env().await?;
    test_env
        .apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {color: mine}}")
        .await?;
    test_env.apply(&colors("theirs")).await?;
    let message = test_env.not_ready("ConfigExport", "colors", "TargetNotOwned").await?;
    let command = message.split_once("kubectl annotate ").map(|(_, command)| command).unwrap_or_default();
    assert!(command.starts_with("configmap theirs -n "), "{message}");
    let (name, value) =
        command.rsplit_once(' ').and_then(|(_, mark)| mark.split_once('=')).unwrap_or_default();
    assert_eq!(test_env.get("ConfigMap", "theirs").await?["data"]["color"], "mine");
    test_env.patch("ConfigMap", "theirs", json!({"metadata": {"annotations": {name: value}}})).await?;
    test_env.ready("ConfigExport", "colors").await?;
    assert_eq!(test_env.get("ConfigMap", "theirs").await?["data"]["color"], "red");
    Ok(())
}

#[tokio::test]
async fn a_secret_with_credentials_of_kubernetes_is_never_written() -> Result<()> {
    let test_env = test_env().await?;
    for refused in ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"] {
        let refusal = test_env.refused(&login(&format!(", secretType: {refused}"))).await?;
        assert!(refusal.contains("secretType must not be"), "{refusal}");
    }
    let account = "configMetadata: {name: login, annotations: {kubernetes.io/service-account.name: default}}";
    let annotated = login("").replace("configMetadata: {name: login}", account);
    let refusal = test_env.refused(&annotated).await;
    // Without the webhook, it is a condition.
    if let Ok(refusal) = refusal {
        assert!(refusal.contains("reserved for Kubernetes"), "{refusal}");
    } else {
        let why = test_env.not_ready("ConfigExport", "login", "InvalidSpec").await?;
        assert!(why.contains("reserved for Kubernetes"), "{why}");
    }
    assert!(test_env.get("Secret", "login").await?.is_null());
    assert!(condition(&test_env.get("ConfigExport", "login").await?, "Ready")["status"] != "True");
    Ok(())
}
