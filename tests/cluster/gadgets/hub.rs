//! Conditions of resources while the hub is stopped.

use std::time::Duration;

use anyhow::Result;
use kraken_testing::{SuiteOptions, suite::NAMESPACE};
use kraken_tests::{InProcess, TestEnv, test_env::condition, toy::Cloud};
use serde_json::json;

use super::{Setting, small};

#[tokio::test]
async fn a_stopped_hub_is_reported_once_on_resources_with_references() -> Result<()> {
    // A separate hub, which can be killed without affecting other tests.
    let hub = SuiteOptions { only: Some(vec!["hub".to_owned()]), ..SuiteOptions::default() };
    let test_env = TestEnv::with(hub.with_env("hub", "KRAKEN_LEASE_DURATION", "3s")).await?;
    let cloud = Cloud::default();
    let spoke = InProcess::with(&test_env, &cloud, &["--lease-namespace", NAMESPACE]).await?;
    let s = Setting { test_env, cloud, spoke };
    let sizes = |size: u8| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: sizes}}, data: {{small: \"{size}\"}}}}")
    };
    s.test_env.apply(&sizes(2)).await?;
    let size = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    let owner = s.ready("a", &size).await?;
    s.ready("without-references", &small()).await?;

    s.test_env.env.suite.controller("hub")?.kill().await?;
    s.test_env.apply(&sizes(5)).await?;
    let says_so =
        |object: &serde_json::Value| condition(object, "DependenciesResolved")["reason"] == "HubNotRunning";
    let a = s.test_env.until("Gadget", "a", says_so).await?;
    let resolved = condition(&a, "DependenciesResolved");
    assert_eq!(resolved["status"], "Unknown");
    let message = resolved["message"].as_str().unwrap_or_default();
    assert!(message.contains("Deployment kraken-hub in namespace kraken-system"), "{message}");
    assert_eq!(condition(&a, "Ready")["status"], "True", "the resource is still in place");
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(
        s.test_env.get("Gadget", "a").await?["metadata"]["resourceVersion"],
        a["metadata"]["resourceVersion"]
    );
    let other = s.test_env.get("Gadget", "without-references").await?;
    assert_eq!(condition(&other, "DependenciesResolved")["status"], "True");
    assert!(s.test_env.events_of("a").await?.iter().all(|(_, note)| !note.contains("hub")));

    s.test_env.env.suite.controller("hub")?.start().await?;
    s.test_env
        .until("Gadget", "a", |object| condition(object, "DependenciesResolved")["status"] == "True")
        .await?;
    s.test_env
        .until("StateDeclaration", "gadget.testing.a", |state| state["spec"]["data"]["gadget"]["Size"] == 5)
        .await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 5);
    Ok(())
}

/// The names of a Secret's version, for the waits of a test: only what a changed label changes.
fn resource_version(object: &serde_json::Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    version.parse().unwrap_or_default()
}

#[tokio::test]
async fn a_relabeled_or_recreated_secret_does_not_turn_drift_into_an_edit() -> Result<()> {
    let hub = SuiteOptions { only: Some(vec!["hub".to_owned()]), ..SuiteOptions::default() };
    let test_env = TestEnv::with(hub).await?;
    let cloud = Cloud::default();
    let spoke = InProcess::with(&test_env, &cloud, &[]).await?;
    let mut s = Setting { test_env, cloud, spoke };
    let (first, second) = (s.test_env.secret_value("first"), s.test_env.secret_value("second"));
    let secret = |value: &str| {
        format!("{{apiVersion: v1, kind: Secret, metadata: {{name: words}}, stringData: {{k: {value}}}}}")
    };
    s.test_env.apply(&secret(&first)).await?;
    let lifecycle = json!({"drift": "Report", "resyncInterval": "1s"});
    let password = json!({"valueFrom": {"secret": {"name": "words", "key": "k"}}});
    let spec = json!({"size": {"value": 3}, "password": password, "lifecycle": lifecycle});
    let owner = s.ready("a", &spec).await?;
    let id = s.cloud.alive(&owner)[0].id.clone();
    s.cloud.tamper(&id, |object| object.size = 9);
    let is_drifted = |object: &serde_json::Value| condition(object, "Drifted")["status"] == "True";
    s.test_env.until("Gadget", "a", is_drifted).await?;

    // What Kraken does after each of these must not be an edit.
    for step in ["label", "recreate", "label and restart of both"] {
        if step == "recreate" {
            s.test_env.delete("Secret", "words").await?;
            s.test_env.apply(&secret(&first)).await?;
        } else {
            let before = resource_version(&s.test_env.get("Secret", "words").await?);
            let labels = json!({"metadata": {"labels": {"touched": step.len().to_string()}}});
            s.test_env.patch("Secret", "words", labels).await?;
            assert!(resource_version(&s.test_env.get("Secret", "words").await?) > before);
        }
        s.test_env.env.suite.controller("hub")?.restart().await?;
        if step == "label and restart of both" {
            s = s.crash_and_restart().await?;
        }
        // A value that the hub passes on proves that it has answered again.
        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: at{0}}}, data: {{k: \"1\"}}}}",
            step.len()
        );
        s.test_env.apply(&map).await?;
        let size =
            json!({"size": {"valueFrom": {"configMap": {"name": format!("at{}", step.len()), "key": "k"}}}});
        let other = s.ready(&format!("b{}", step.len()), &size).await?;
        assert_eq!(s.cloud.alive(&other).len(), 1);
        s.called("describe", s.calls("describe") + 3).await;
        assert_eq!((s.cloud.alive(&owner)[0].size, s.calls("resize")), (9, 0), "{step}");
    }
    s.test_env.until("Gadget", "a", is_drifted).await?;

    // Another value is an edit.
    s.test_env.patch("Secret", "words", json!({"stringData": {"k": second}})).await?;
    s.called("resize", 1).await;
    assert_eq!(s.cloud.alive(&owner)[0].size, 3);
    Ok(())
}
