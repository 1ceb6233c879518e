//! A controller that the node takes resources from: evicted, or out of memory.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::site::{Site, pods, rolled_out, system, until};

const CONTROLLER: &str = "kraken-aws-vpc";

fn vpc(name: &str) -> String {
    format!(
        "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: VPC\nmetadata: {{name: {name}}}\n\
         spec: {{cidrBlock: {{value: 10.8.0.0/16}}, tags: {{Name: {name}}}}}\n"
    )
}

/// Sets the memory that the controller may use; the old pod goes first, so that it does not do the new one's work.
async fn limit(memory: &str) -> Result<()> {
    let patch = json!({"spec": {
        "strategy": {"type": "Recreate", "rollingUpdate": null},
        "template": {"spec": {"containers": [{
            "name": "controller",
            "resources": {"limits": {"memory": memory}, "requests": {"memory": "1Mi"}},
        }]}},
    }});
    system(&["patch", "deployment", CONTROLLER, "-p", &patch.to_string()]).await.map(drop)
}

/// How the container of a pod ended the last time.
fn ended(pod: &Value) -> &Value {
    let status = &pod["status"]["containerStatuses"][0];
    let now = &status["state"]["terminated"];
    if now.is_null() { &status["lastState"]["terminated"] } else { now }
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn a_controller_out_of_memory_loses_nothing_and_goes_on_when_it_has_enough() -> Result<()> {
    let site = Site::new("memory").await?;
    site.apply(&vpc("before")).await?;
    site.ready(&["vpc/before"]).await?;
    limit(TOO_LITTLE).await?;
    let killed = async || pods(CONTROLLER).await;
    let seen = until("a pod out of memory", killed, |pods| {
        pods.iter().any(|pod| ended(pod)["exitCode"] == 137 || ended(pod)["reason"] == "OOMKilled")
    })
    .await?;
    println!("ended as {}", ended(seen.first().context("no pod")?));
    site.apply(&vpc("meanwhile")).await?;
    limit("512Mi").await?;
    rolled_out(CONTROLLER).await?;
    site.ready(&["vpc/before", "vpc/meanwhile"]).await?;
    assert_eq!(site.in_cloud("DescribeVpcs", "vpcSet").await?.len(), 2);
    site.end().await
}

/// Less than a controller has in use after its start.
const TOO_LITTLE: &str = "8Mi";
