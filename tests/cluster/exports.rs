//! ConfigExports: values of resources as ConfigMaps and Secrets that a pod can mount.

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use kraken_testing::SuiteOptions;
use kraken_tests::{TestEnv, TestUser};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

pub(crate) fn facts(data: &str) -> String {
    format!(
        "{{apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1, kind: StateDeclaration, metadata: {{name: static-facts}}, spec: {{data: {data}}}}}"
    )
}

pub(crate) fn export(name: &str, kind: &str, target: &str, entries: &str) -> String {
    format!(
        "{{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {{name: {name}}}, \
         spec: {{configType: {kind}, configMetadata: {{name: {target}}}, entries: [{entries}]}}}}"
    )
}

pub(crate) fn fact(key: &str, path: &str) -> String {
    format!("{{key: {key}, valueFrom: {{krakenResource: {{kind: static, name: facts, path: {path}}}}}}}")
}

#[tokio::test]
async fn a_config_map_follows_its_values() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let entries = format!("{}, {}", fact("text", "a.text"), fact("list", "a.list"));
    test_env.apply(&export("e", "ConfigMap", "out", &entries)).await?;
    test_env.not_ready("ConfigExport", "e", "WaitingForValues").await?;
    test_env.apply(&facts("{a: {text: hello, list: [1, 2]}}")).await?;
    test_env.ready("ConfigExport", "e").await?;
    assert_eq!(test_env.get("ConfigMap", "out").await?["data"], json!({"text": "hello", "list": "[1,2]"}));

    test_env
        .patch("StateDeclaration", "static-facts", json!({"spec": {"data": {"a": {"text": "changed"}}}}))
        .await?;
    test_env.until("ConfigMap", "out", |map| map["data"]["text"] == "changed").await?;
    // A key that is removed from the spec is removed from the target.
    test_env.apply(&export("e", "ConfigMap", "out", &fact("text", "a.text"))).await?;
    test_env.until("ConfigMap", "out", |map| map["data"] == json!({"text": "changed"})).await?;
    // Manual edits and deletions are reverted.
    test_env.patch("ConfigMap", "out", json!({"data": {"text": "by hand", "more": "x"}})).await?;
    test_env.until("ConfigMap", "out", |map| map["data"] == json!({"text": "changed"})).await?;
    test_env.delete("ConfigMap", "out").await?;
    test_env.until("ConfigMap", "out", |map| map["data"] == json!({"text": "changed"})).await?;
    // All entries or nothing.
    test_env
        .patch("StateDeclaration", "static-facts", json!({"spec": {"data": {"a": {"text": null}}}}))
        .await?;
    test_env.gone("ConfigMap", "out").await?;
    test_env.not_ready("ConfigExport", "e", "WaitingForValues").await?;
    Ok(())
}

#[tokio::test]
async fn a_changed_target_replaces_the_previous_one_and_is_deleted_with_the_export() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&facts("{a: {text: hello}}")).await?;
    test_env.apply(&export("e", "ConfigMap", "one", &fact("text", "a.text"))).await?;
    test_env.ready("ConfigExport", "e").await?;
    test_env.apply(&export("e", "Secret", "two", &fact("text", "a.text"))).await?;
    test_env.ready("ConfigExport", "e").await?;
    test_env.gone("ConfigMap", "one").await?;
    assert_eq!(test_env.get("Secret", "two").await?["data"]["text"], "aGVsbG8=");
    test_env.delete("ConfigExport", "e").await?;
    test_env.gone("Secret", "two").await
}

#[tokio::test]
async fn foreign_objects_are_never_changed() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&facts("{a: {text: hello}}")).await?;
    test_env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {text: mine}}").await?;
    test_env.apply(&export("e", "ConfigMap", "theirs", &fact("text", "a.text"))).await?;
    let message = test_env.not_ready("ConfigExport", "e", "TargetNotOwned").await?;
    assert!(message.contains("theirs"), "{message}");
    test_env.delete("ConfigExport", "e").await?;
    test_env.gone("ConfigExport", "e").await?;
    assert_eq!(test_env.get("ConfigMap", "theirs").await?["data"], json!({"text": "mine"}));
    Ok(())
}

#[tokio::test]
async fn a_secret_value_is_exported_only_to_secrets() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (first, second) = (test_env.secret_value("first"), test_env.secret_value("second"));
    test_env
        .apply(&format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {first}}}}}"
        ))
        .await?;
    let template = r#"{key: url, valueFrom: {templateString: "db://user:{{ .Secret.db.password }}@host"}}"#;
    test_env.apply(&export("wrong", "ConfigMap", "leak", template)).await?;
    let message = test_env.not_ready("ConfigExport", "wrong", "InvalidSpec").await?;
    assert!(message.contains("entries[0]") && message.contains("Secret"), "{message}");
    assert!(test_env.get("ConfigMap", "leak").await?.is_null());
    test_env.apply(&export("right", "Secret", "kept", template)).await?;
    test_env.ready("ConfigExport", "right").await?;
    let url = |password: &str| json!(ByteString(format!("db://user:{password}@host").into_bytes()));
    assert_eq!(test_env.get("Secret", "kept").await?["data"]["url"], url(&first));
    test_env.patch("Secret", "db", json!({"stringData": {"password": second}})).await?;
    test_env.until("Secret", "kept", |secret| secret["data"]["url"] == url(&second)).await?;
    Ok(())
}

const RESTARTED_FOR: &str = "restarted-for.kraken-iac.eoinfennessy.com/e";

/// A workload without pods, because the control plane has no nodes.
pub(crate) fn workload(kind: &str, name: &str) -> Value {
    let mut workload = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": {"theirs": "x"}},
                "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
            },
        },
    });
    if kind == "StatefulSet" {
        workload["spec"]["serviceName"] = json!(name);
    }
    workload
}

fn restarting(kind: &str, entries: &str, workloads: &str) -> String {
    export("e", kind, "out", entries).replace("entries:", &format!("restart: [{workloads}], entries:"))
}

/// The annotation of a workload's pod template.
fn restarted_for(workload: &Value) -> Option<&str> {
    workload["spec"]["template"]["metadata"]["annotations"][RESTARTED_FOR].as_str()
}

#[tokio::test]
async fn workloads_restart_once_for_each_change_of_the_content() -> Result<()> {
    const KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
    // Its own hub, which is restarted below.
    let suite = SuiteOptions { only: Some(vec!["hub".to_owned()]), ..SuiteOptions::default() };
    let test_env = TestEnv::with(suite).await?;
    for kind in KINDS {
        test_env.apply(&workload(kind, "client").to_string()).await?;
    }
    let listed = KINDS.map(|kind| format!("{{kind: {kind}, name: client}}")).join(", ");
    // A workload that does not exist is skipped.
    let listed = format!("{listed}, {{kind: Deployment, name: later}}");
    test_env.apply(&facts("{a: {text: hello}}")).await?;
    test_env.apply(&restarting("ConfigMap", &fact("text", "a.text"), &listed)).await?;
    test_env.ready("ConfigExport", "e").await?;
    let first = test_env.get("ConfigExport", "e").await?["status"]["contentDigest"].clone();
    assert!(first.is_string(), "{first}");
    for kind in KINDS {
        let workload = test_env.get(kind, "client").await?;
        assert_eq!(restarted_for(&workload), None, "the first content restarts nothing");
    }

    test_env
        .patch("StateDeclaration", "static-facts", json!({"spec": {"data": {"a": {"text": "changed"}}}}))
        .await?;
    let mut generations = vec![];
    for kind in KINDS {
        let workload = test_env.until(kind, "client", |workload| restarted_for(workload).is_some()).await?;
        let template = &workload["spec"]["template"]["metadata"];
        assert_eq!(template["annotations"]["theirs"], "x");
        let managers = workload["metadata"]["managedFields"].as_array().context("managed fields")?;
        let own =
            managers.iter().find(|fields| fields["manager"] == "kraken-restart").context("the manager")?;
        let annotations = json!({"f:annotations": {format!("f:{RESTARTED_FOR}"): {}}});
        assert_eq!(own["fieldsV1"], json!({"f:spec": {"f:template": {"f:metadata": annotations}}}));
        generations.push(workload["metadata"]["generation"].clone());
    }
    let export = test_env
        .until("ConfigExport", "e", |export| export["status"]["contentDigest"].as_str() != first.as_str())
        .await?;
    let workload = test_env.get("Deployment", "client").await?;
    assert_eq!(export["status"]["contentDigest"].as_str(), restarted_for(&workload));
    let note = test_env.event("e", |reason, _| reason == "Restarted").await?;
    assert!(
        note.contains("Deployment client") && !note.contains("later") && note.contains("ConfigMap out"),
        "{note}"
    );

    // A restarted hub, a reverted manual edit and a new label restart nothing.
    test_env.env.suite.controller("hub")?.restart().await?;
    test_env.patch("ConfigMap", "out", json!({"data": {"text": "by hand"}})).await?;
    test_env.until("ConfigMap", "out", |map| map["data"]["text"] == "changed").await?;
    test_env
        .patch("ConfigExport", "e", json!({"spec": {"configMetadata": {"labels": {"team": "web"}}}}))
        .await?;
    test_env.until("ConfigMap", "out", |map| map["metadata"]["labels"]["team"] == "web").await?;
    test_env.ready("ConfigExport", "e").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    for (kind, generation) in KINDS.into_iter().zip(generations) {
        assert_eq!(test_env.get(kind, "client").await?["metadata"]["generation"], generation, "{kind}");
    }
    Ok(())
}

#[tokio::test]
async fn a_restart_does_not_conflict_with_the_owner_of_the_workload() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let manifest = workload("Deployment", "client");
    let apply = async || {
        // Without force: a conflict is an error, as in Flux and Argo CD.
        let params = PatchParams::apply("gitops");
        test_env
            .api("Deployment")
            .patch("client", &params, &Patch::Apply(&manifest))
            .await
            .map(|object| json!(object))
    };
    apply().await?;
    test_env.apply(&facts("{a: {text: hello}}")).await?;
    let listed = "{kind: Deployment, name: client}";
    test_env.apply(&restarting("ConfigMap", &fact("text", "a.text"), listed)).await?;
    test_env.ready("ConfigExport", "e").await?;
    test_env
        .patch("StateDeclaration", "static-facts", json!({"spec": {"data": {"a": {"text": "changed"}}}}))
        .await?;
    let restarted =
        test_env.until("Deployment", "client", |workload| restarted_for(workload).is_some()).await?;
    for _ in 0..3 {
        let applied = apply().await?;
        assert_eq!(applied["metadata"]["generation"], restarted["metadata"]["generation"]);
        assert_eq!(restarted_for(&applied), restarted_for(&restarted));
    }
    Ok(())
}

#[tokio::test]
async fn a_digest_does_not_reveal_a_secret_value() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&workload("Deployment", "client").to_string()).await?;
    let secret = |pin: &str| {
        format!("{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{pin: '{pin}'}}}}")
    };
    test_env.apply(&secret(&test_env.secret_value("1234"))).await?;
    let entry = "{key: pin, valueFrom: {secret: {name: db, key: pin}}}";
    test_env.apply(&restarting("Secret", entry, "{kind: Deployment, name: client}")).await?;
    test_env.ready("ConfigExport", "e").await?;
    test_env.apply(&secret(&test_env.secret_value("4321"))).await?;
    let workload =
        test_env.until("Deployment", "client", |workload| restarted_for(workload).is_some()).await?;
    // The same value in another export has another digest, so values cannot be compared either.
    let other = restarting("Secret", entry, "{kind: Deployment, name: client}")
        .replace("name: e}", "name: f}")
        .replace("name: out}", "name: other}");
    test_env.apply(&other).await?;
    test_env.ready("ConfigExport", "f").await?;
    let digest = &test_env.get("ConfigExport", "f").await?["status"]["contentDigest"];
    assert!(digest.is_string() && digest.as_str() != restarted_for(&workload), "{digest}");
    Ok(())
}

#[tokio::test]
async fn restarting_requires_the_permission_to_patch_the_workload() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let exports = json!({"apiGroups": ["configexport.kraken-iac.eoinfennessy.com"], "resources": ["configexports"], "verbs": ["*"]});
    let deployments = json!({"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["client"], "verbs": ["patch"]});
    let writer = TestUser::new(&test_env, "writer", &json!([exports])).await?;
    let operator = TestUser::new(&test_env, "operator", &json!([exports, deployments])).await?;
    let value = "{key: a, value: x}";
    let one = restarting("ConfigMap", value, "{kind: Deployment, name: client}");
    let refusal = writer.refused(&one).await?;
    assert!(refusal.contains("patch each workload in spec.restart"), "{refusal}");
    writer.apply(&export("e", "ConfigMap", "out", value)).await?;
    operator.apply(&one).await?;
    // A change of the content restarts the workload too.
    let refusal = writer.refused(&one.replace("value: x", "value: y")).await?;
    assert!(refusal.contains("patch each workload in spec.restart"), "{refusal}");
    for workload in ["{kind: Deployment, name: other}", "{kind: StatefulSet, name: client}"] {
        let listed = format!("{{kind: Deployment, name: client}}, {workload}");
        let refusal = operator.refused(&restarting("ConfigMap", value, &listed)).await?;
        assert!(refusal.contains("patch each workload in spec.restart"), "{workload}: {refusal}");
    }
    Ok(())
}

#[tokio::test]
async fn invalid_workloads_are_rejected_with_their_field() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let nine = (0..9)
        .map(|index| format!("{{kind: Deployment, name: client-{index}}}"))
        .collect::<Vec<_>>()
        .join(", ");
    for (workloads, field) in [
        ("{kind: Job, name: client}", "spec.restart[0].kind"),
        ("{kind: Deployment}", "spec.restart[0].name"),
        ("{kind: Deployment, name: Client}", "spec.restart[0].name"),
        ("{kind: Deployment, name: a}, {kind: Deployment, name: a}", "spec.restart[1]"),
        (nine.as_str(), "spec.restart"),
    ] {
        let refusal = test_env.refused(&restarting("ConfigMap", "{key: a, value: x}", workloads)).await?;
        // Server-side apply rejects duplicates before validation, with the key only.
        assert!(refusal.contains(field) || refusal.contains("duplicate"), "{workloads}: {refusal}");
    }
    Ok(())
}
