//! A controller whose container exceeds its memory limit.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::site::{Site, pods, rolled_out, system, until};

const CONTROLLER: &str = "kraken-aws-vpc";
/// Enough for a controller to start, and not for the cache of [`RESOURCES`] resources.
const TOO_LITTLE: &str = "8Mi";
/// A controller keeps about 40 KiB for each.
const RESOURCES: usize = 300;

fn vpc(name: &str) -> String {
    format!(
        "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: VPC\nmetadata: {{name: {name}}}\n\
         spec: {{cidrBlock: {{value: 10.8.0.0/16}}, tags: {{Name: {name}}}}}\n---\n"
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

/// The last termination of a pod's container; null if there was none.
fn last_termination(pod: &Value) -> &Value {
    let status = &pod["status"]["containerStatuses"][0];
    let current = &status["state"]["terminated"];
    if current.is_null() { &status["lastState"]["terminated"] } else { current }
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn a_controller_out_of_memory_loses_nothing_and_continues_when_it_has_enough() -> Result<()> {
    let site = Site::new("memory").await?;
    let before: String = (0..RESOURCES).map(|number| vpc(&format!("before-{number}"))).collect();
    site.apply(&before).await?;
    site.ready(&["vpc", "--all"]).await?;
    limit(TOO_LITTLE).await?;
    let terminations = async || {
        let pods = pods(CONTROLLER).await?;
        Ok(pods.iter().map(|pod| last_termination(pod).clone()).collect::<Vec<_>>())
    };
    let seen = until("a container out of memory", terminations, |terminations| {
        terminations.iter().any(|last| last["exitCode"] == 137 || last["reason"] == "OOMKilled")
    })
    .await?;
    println!("terminated: {}", seen.first().context("no pod")?);
    site.apply(&vpc("meanwhile")).await?;
    limit("512Mi").await?;
    rolled_out(CONTROLLER).await?;
    site.ready(&["vpc", "--all"]).await?;
    assert_eq!(site.in_cloud("DescribeVpcs", "vpcSet").await?.len(), RESOURCES + 1);
    site.end().await
}
