//! ConfigExports: values of resources as ConfigMaps and Secrets that a pod can mount.

use anyhow::Result;
use kraken_tests::TestEnv;
use serde_json::json;

fn facts(data: &str) -> String {
    format!(
        "{{apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1, kind: StateDeclaration, metadata: {{name: static-facts}}, spec: {{data: {data}}}}}"
    )
}

fn export(name: &str, kind: &str, target: &str, entries: &str) -> String {
    format!(
        "{{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {{name: {name}}}, \
         spec: {{configType: {kind}, configMetadata: {{name: {target}}}, entries: [{entries}]}}}}"
    )
}

fn fact(key: &str, path: &str) -> String {
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
    // A key that leaves the spec leaves the target.
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
    test_env
        .apply("{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {password: canary-sesame}}")
        .await?;
    let template = r#"{key: url, valueFrom: {templateString: "db://user:{{ .Secret.db.password }}@host"}}"#;
    test_env.apply(&export("wrong", "ConfigMap", "leak", template)).await?;
    let message = test_env.not_ready("ConfigExport", "wrong", "InvalidSpec").await?;
    assert!(message.contains("entries[0]") && message.contains("Secret"), "{message}");
    assert!(test_env.get("ConfigMap", "leak").await?.is_null());
    test_env.apply(&export("right", "Secret", "kept", template)).await?;
    test_env.ready("ConfigExport", "right").await?;
    assert_eq!(
        test_env.get("Secret", "kept").await?["data"]["url"],
        "ZGI6Ly91c2VyOmNhbmFyeS1zZXNhbWVAaG9zdA=="
    );
    test_env.patch("Secret", "db", json!({"stringData": {"password": "canary-changed"}})).await?;
    test_env
        .until("Secret", "kept", |s| s["data"]["url"] == "ZGI6Ly91c2VyOmNhbmFyeS1jaGFuZ2VkQGhvc3Q=")
        .await?;
    Ok(())
}
