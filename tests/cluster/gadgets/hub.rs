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
