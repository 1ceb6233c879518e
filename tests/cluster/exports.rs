//! ConfigExports: values of resources as ConfigMaps and Secrets that a pod can mount.

use anyhow::Result;
use kraken_tests::World;
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
async fn a_config_map_follows_its_values_as_they_appear_change_and_disappear() -> Result<()> {
    let world = World::new().await?;
    let entries = format!("{}, {}", fact("text", "a.text"), fact("list", "a.list"));
    world.apply(&export("e", "ConfigMap", "out", &entries)).await?;
    world.not_ready("ConfigExport", "e", "WaitingForValues").await?;
    world.apply(&facts("{a: {text: hello, list: [1, 2]}}")).await?;
    world.ready("ConfigExport", "e").await?;
    assert_eq!(world.get("ConfigMap", "out").await?["data"], json!({"text": "hello", "list": "[1,2]"}));

    world
        .patch("StateDeclaration", "static-facts", json!({"spec": {"data": {"a": {"text": "changed"}}}}))
        .await?;
    world.until("ConfigMap", "out", |map| map["data"]["text"] == "changed").await?;
    // A key that leaves the spec leaves the target.
    world.apply(&export("e", "ConfigMap", "out", &fact("text", "a.text"))).await?;
    world.until("ConfigMap", "out", |map| map["data"] == json!({"text": "changed"})).await?;
    // Edited or deleted by hand, it is mended.
    world.patch("ConfigMap", "out", json!({"data": {"text": "by hand", "more": "x"}})).await?;
    world.until("ConfigMap", "out", |map| map["data"] == json!({"text": "changed"})).await?;
    world.delete("ConfigMap", "out").await?;
    world.until("ConfigMap", "out", |map| map["data"] == json!({"text": "changed"})).await?;
    // All entries or nothing.
    world.patch("StateDeclaration", "static-facts", json!({"spec": {"data": {"a": {"text": null}}}})).await?;
    world.gone("ConfigMap", "out").await?;
    world.not_ready("ConfigExport", "e", "WaitingForValues").await?;
    Ok(())
}

#[tokio::test]
async fn another_target_replaces_the_one_before_and_goes_with_the_export() -> Result<()> {
    let world = World::new().await?;
    world.apply(&facts("{a: {text: hello}}")).await?;
    world.apply(&export("e", "ConfigMap", "one", &fact("text", "a.text"))).await?;
    world.ready("ConfigExport", "e").await?;
    world.apply(&export("e", "Secret", "two", &fact("text", "a.text"))).await?;
    world.ready("ConfigExport", "e").await?;
    world.gone("ConfigMap", "one").await?;
    assert_eq!(world.get("Secret", "two").await?["data"]["text"], "aGVsbG8=");
    world.delete("ConfigExport", "e").await?;
    world.gone("Secret", "two").await
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_never_touched() -> Result<()> {
    let world = World::new().await?;
    world.apply(&facts("{a: {text: hello}}")).await?;
    world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {text: mine}}").await?;
    world.apply(&export("e", "ConfigMap", "theirs", &fact("text", "a.text"))).await?;
    let message = world.not_ready("ConfigExport", "e", "TargetNotOwned").await?;
    assert!(message.contains("theirs"), "{message}");
    world.delete("ConfigExport", "e").await?;
    world.gone("ConfigExport", "e").await?;
    assert_eq!(world.get("ConfigMap", "theirs").await?["data"], json!({"text": "mine"}));
    Ok(())
}

#[tokio::test]
async fn a_secret_value_goes_into_secrets_only() -> Result<()> {
    let world = World::new().await?;
    world
        .apply("{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {password: canary-sesame}}")
        .await?;
    let template = r#"{key: url, valueFrom: {templateString: "db://user:{{ .Secret.db.password }}@host"}}"#;
    world.apply(&export("wrong", "ConfigMap", "leak", template)).await?;
    let message = world.not_ready("ConfigExport", "wrong", "InvalidSpec").await?;
    assert!(message.contains("entries[0]") && message.contains("Secret"), "{message}");
    assert!(world.get("ConfigMap", "leak").await?.is_null());
    world.apply(&export("right", "Secret", "kept", template)).await?;
    world.ready("ConfigExport", "right").await?;
    assert_eq!(world.get("Secret", "kept").await?["data"]["url"], "ZGI6Ly91c2VyOmNhbmFyeS1zZXNhbWVAaG9zdA==");
    world.patch("Secret", "db", json!({"stringData": {"password": "canary-changed"}})).await?;
    world.until("Secret", "kept", |s| s["data"]["url"] == "ZGI6Ly91c2VyOmNhbmFyeS1jaGFuZ2VkQGhvc3Q=").await?;
    Ok(())
}
