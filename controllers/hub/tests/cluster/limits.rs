//! DependencyRequests with many dependents, large values and deeply nested values.

use std::time::Instant;

use anyhow::Result;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::hub_test::{HubTest, TIMEOUT, message, ready};
use crate::requests::{map_key, state_path};

#[tokio::test]
async fn a_too_deeply_nested_state_is_reported() -> Result<()> {
    let hub = HubTest::new().await?;
    hub.request(
        "a",
        json!({"krakenResourceDependencies": [{"kind": "static", "name": "deep", "path": "x"}]}),
    )
    .await?;
    let (open, close) = ("[".repeat(300), "]".repeat(300));
    let body = format!(
        r#"{{"apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "StateDeclaration",
            "metadata": {{"name": "static-deep"}}, "spec": {{"data": {{"x": {open}1{close}}}}}}}"#
    );
    let url = format!(
        "/apis/core.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/{}/statedeclarations",
        hub.ns.name
    );
    let request =
        http::Request::post(url).header("Content-Type", "application/json").body(body.into_bytes())?;
    hub.client().request_text(request).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "ReadFailed").await?;
    assert_eq!(message(&object), "failed to decode the state of static deep: recursion limit exceeded");
    Ok(())
}

#[tokio::test]
async fn many_dependents_of_one_config_map_share_one_read() -> Result<()> {
    const MANY: usize = 500;
    let hub = HubTest::new().await?;
    hub.map("sizes", json!({"small": "1"})).await?;
    for n in 0..MANY {
        let rest = json!({"spec": map_key("sizes", "small")});
        hub.apply("DependencyRequest", &format!("x-{n}"), rest).await?;
    }
    let all = async |value: &str| -> Result<()> {
        let start = Instant::now();
        loop {
            let list = hub.api("DependencyRequest").list(&ListParams::default()).await?;
            let done = list
                .iter()
                .filter(|o| o.data["status"]["dependentValues"]["fromConfigMaps"]["sizes"]["small"] == value);
            if done.count() == MANY {
                return Ok(());
            }
            assert!(start.elapsed() < TIMEOUT);
        }
    };
    all("1").await?;
    let before = hub.requests("get", "configmaps");
    hub.map("sizes", json!({"small": "2"})).await?;
    all("2").await?;
    // Other tests, which run concurrently, cause a few reads too.
    let reads = hub.requests("get", "configmaps") - before;
    assert!((1..50).contains(&reads), "{reads}");
    Ok(())
}

#[tokio::test]
async fn too_large_values_are_reported() -> Result<()> {
    let hub = HubTest::new().await?;
    let half = "x".repeat(200 * 1024);
    for name in ["a", "b", "c", "d"] {
        hub.map(name, json!({"k": half, "big": "y".repeat(300 * 1024)})).await?;
    }
    let keys: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| json!({"name": name, "key": "k"})).collect();
    hub.request("a", json!({"configMapDependencies": keys})).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "ValueTooLarge").await?;
    assert_eq!(object["status"]["unmet"].as_array().map(Vec::len), Some(1), "{}", ready(&object));
    hub.request("a", map_key("a", "big")).await?;
    let object = hub.reason("DependencyRequest", "gadget.testing.a", "ValueTooLarge").await?;
    assert!(message(&object).contains("307200 bytes"), "{}", message(&object));
    // A value whose managedFields exceed its size: thousands of short keys.
    let many: serde_json::Map<String, Value> = (0..25_000).map(|n| (format!("k{n}"), json!(n))).collect();
    hub.state("b", json!({"x": many})).await?;
    hub.request("c", state_path("b", "x")).await?;
    hub.until("DependencyRequest", "gadget.testing.c", |o| o["status"]["observedGeneration"] == 1).await?;
    Ok(())
}
