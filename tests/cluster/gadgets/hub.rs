//! What resources say while the hub does not run.

use std::time::Duration;

use anyhow::Result;
use kraken_testing::{SuiteOptions, suite::NAMESPACE, toy::Cloud};
use kraken_tests::{InProcess, World, world::condition};
use serde_json::json;

use super::{Setting, small};

#[tokio::test]
async fn a_dead_hub_is_said_by_who_has_references_once_and_taken_back_when_it_lives() -> Result<()> {
    // A hub of its own, which can be killed without harm to other tests.
    let hub = SuiteOptions { only: Some(vec!["hub".to_owned()]), ..SuiteOptions::default() };
    let world = World::with(hub.with_env("hub", "KRAKEN_LEASE_DURATION", "3s")).await?;
    let cloud = Cloud::default();
    let spoke = InProcess::with(&world, &cloud, &["--lease-namespace", NAMESPACE]).await?;
    let s = Setting { world, cloud, spoke };
    let sizes = |size: u8| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: sizes}}, data: {{small: \"{size}\"}}}}")
    };
    s.world.apply(&sizes(2)).await?;
    let size = json!({"size": {"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}}});
    let owner = s.ready("a", &size).await?;
    s.ready("without-references", &small()).await?;

    s.world.env.suite.controller("hub")?.kill().await?;
    s.world.apply(&sizes(5)).await?;
    let says_so =
        |object: &serde_json::Value| condition(object, "DependenciesResolved")["reason"] == "HubNotRunning";
    let a = s.world.until("Gadget", "a", says_so).await?;
    let resolved = condition(&a, "DependenciesResolved");
    assert_eq!(resolved["status"], "Unknown");
    let message = resolved["message"].as_str().unwrap_or_default();
    assert!(message.contains("Deployment kraken-hub in namespace kraken-system"), "{message}");
    assert_eq!(condition(&a, "Ready")["status"], "True", "what is in place still is");
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(
        s.world.get("Gadget", "a").await?["metadata"]["resourceVersion"],
        a["metadata"]["resourceVersion"]
    );
    let other = s.world.get("Gadget", "without-references").await?;
    assert_eq!(condition(&other, "DependenciesResolved")["status"], "True");
    assert!(s.world.events_of("a").await?.iter().all(|(_, note)| !note.contains("hub")));

    s.world.env.suite.controller("hub")?.start().await?;
    s.world
        .until("Gadget", "a", |object| condition(object, "DependenciesResolved")["status"] == "True")
        .await?;
    s.world
        .until("StateDeclaration", "gadget.testing.a", |state| state["spec"]["data"]["gadget"]["Size"] == 5)
        .await?;
    assert_eq!(s.cloud.alive(&owner)[0].size, 5);
    Ok(())
}
