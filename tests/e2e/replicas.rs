//! Two replicas of each controller, of which one leads: takeover, a leader without network, and evictions.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kraken_testing::paths;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::site::{NODE, Site, cluster, name, pods, rolled_out, system, system_json, until};

const VPC: &str = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: VPC
metadata: {name: NAME}
spec: {cidrBlock: {value: 10.7.0.0/16}, tags: {Name: NAME}}
";
/// A lease is valid for 15 seconds after its last renewal.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(40);

/// Installs an overlay, or the default.
async fn install(overlay: &str) -> Result<()> {
    let folder = paths::workspace_root()?.join("config").join(overlay).display().to_string();
    cluster(&["apply", "--server-side", "--force-conflicts", "-k", &folder]).await?;
    for controller in paths::controllers()? {
        rolled_out(&format!("kraken-{controller}")).await?;
    }
    Ok(())
}

/// Two replicas and a budget for each controller.
async fn two() -> Result<()> {
    install("overlays/high-availability").await
}

async fn one() -> Result<()> {
    system(&["delete", "poddisruptionbudget", "--all"]).await?;
    install("default").await
}

/// The name of the leader's pod.
async fn leader(controller: &str) -> Result<String> {
    let lease = system_json(&["get", "lease", controller]).await?;
    let holder = lease["spec"]["holderIdentity"].as_str().context("the lease has no holder")?.to_owned();
    // The holder is the name of the pod and a number. A released lease has no holder.
    let (pod, _) = holder.rsplit_once('-').context("the lease has no holder")?;
    Ok(pod.to_owned())
}

/// Waits until an existing pod is the leader: after a rollout the lease names an old pod until it expires.
async fn leading(controller: &str) -> Result<String> {
    let existing_leader = async || {
        let leader = leader(controller).await?;
        let is_there = pods(controller).await?.iter().any(|pod| name(pod) == leader && is_ready(pod));
        if is_there { Ok(leader) } else { bail!("the pod {leader} does not exist") }
    };
    until("an existing leader", existing_leader, |_| true).await
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn a_standby_replaces_a_killed_leader_and_creates_nothing_twice() -> Result<()> {
    let site = Site::new("leaders").await?;
    two().await?;
    let mut worst = Duration::ZERO;
    for (round, controller) in ["kraken-aws-vpc", "kraken-hub", "kraken-aws-vpc"].into_iter().enumerate() {
        let before = leading(controller).await?;
        let vpc = format!("round-{round}");
        let started = Instant::now();
        // The process is killed during the reconcile of the new resource.
        site.apply(&VPC.replace("NAME", &vpc)).await?;
        system(&["delete", "pod", &before, "--grace-period=0", "--force"]).await?;
        let after = until("the new leader", async || leader(controller).await, |now| *now != before).await?;
        worst = worst.max(started.elapsed());
        site.ready(&[&format!("vpc/{vpc}")]).await?;
        let running = pods(controller).await?;
        assert!(running.iter().any(|pod| name(pod) == after), "the leader {after} is not a pod");
    }
    println!("a standby led after at most {:.1} s", worst.as_secs_f64());
    assert!(worst < TAKEN_OVER_WITHIN, "{worst:?}");
    assert_eq!(site.in_cloud("DescribeVpcs", "vpcSet").await?.len(), 3);
    one().await?;
    site.end().await
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn a_leader_without_network_is_replaced_and_stops_reconciling() -> Result<()> {
    let Ok(node) = std::env::var(NODE) else {
        println!("NOT RUN: dropping the packets of a pod requires the local node");
        return Ok(());
    };
    let site = Site::new("network").await?;
    two().await?;
    let controller = "kraken-aws-vpc";
    let before = leading(controller).await?;
    let all = pods(controller).await?;
    let leading = all.iter().find(|pod| name(pod) == before).context("the leader is not a pod")?;
    let address = leading["status"]["podIP"].as_str().context("the pod has no address")?;
    drop_packets(&node, "-I", address).await?;
    let started = Instant::now();
    site.apply(&VPC.replace("NAME", "meanwhile")).await?;
    let after = until("the new leader", async || leader(controller).await, |now| *now != before).await;
    println!("a standby led after {:.1} s", started.elapsed().as_secs_f64());
    let ready = site.ready(&["vpc/meanwhile"]).await;
    // An edit that the old leader has not seen: it must not revert it after the outage.
    let tag = r#"{"spec":{"tags":{"Name":"edited"}}}"#;
    let edited = site.kubectl(&["patch", "vpc", "meanwhile", "--type=merge", "-p", tag]).await;
    drop_packets(&node, "-D", address).await?;
    after?;
    ready?;
    edited?;
    until(
        "every replica",
        async || pods(controller).await,
        |pods| pods.len() == 2 && pods.iter().all(is_ready),
    )
    .await?;
    site.ready(&["vpc/meanwhile"]).await?;
    let vpcs = site.in_cloud("DescribeVpcs", "vpcSet").await?;
    assert_eq!(vpcs.len(), 1, "{vpcs:?}");
    assert!(vpcs[0]["tagSet"].to_string().contains("edited"), "{vpcs:?}");
    one().await?;
    site.end().await
}

fn is_ready(pod: &Value) -> bool {
    pod["status"]["containerStatuses"][0]["ready"] == json!(true)
}

/// Inserts (`-I`) or deletes (`-D`) the rules that drop all packets of a pod, except those of its node.
async fn drop_packets(node: &str, action: &str, address: &str) -> Result<()> {
    for direction in ["-s", "-d"] {
        let mut command = Command::new("nsenter");
        command.args([
            "--target", node, "--net", "iptables", action, "FORWARD", direction, address, "-j", "DROP",
        ]);
        let output = command.output().await.context("cannot run nsenter")?;
        if !output.status.success() {
            bail!("iptables failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    Ok(())
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn the_last_replica_of_a_budget_is_not_evicted() -> Result<()> {
    two().await?;
    let budget = async || system_json(&["get", "poddisruptionbudget", "kraken-hub"]).await;
    until("the budget", budget, |budget| budget["status"]["disruptionsAllowed"] == json!(1)).await?;
    let hubs = pods("kraken-hub").await?;
    let (first, second) = (name(&hubs[0]), name(&hubs[1]));
    evict(first).await?;
    let refused = evict(second).await;
    let message = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
    assert!(message.contains("disruption budget"), "{message}");
    rolled_out("kraken-hub").await?;
    one().await
}

async fn evict(pod: &str) -> Result<()> {
    let metadata = json!({"name": pod, "namespace": "kraken-system"});
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata});
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), eviction.to_string())?;
    let url = format!("/api/v1/namespaces/kraken-system/pods/{pod}/eviction");
    system(&["create", "--raw", &url, "-f", &file.path().display().to_string()]).await.map(drop)
}
