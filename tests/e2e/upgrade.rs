//! An upgrade from the controllers of another commit to those of this checkout, during edits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use kraken_testing::paths;
use serde_json::{Value, json};

use crate::site::{Site, cluster, name, rolled_out, system, system_json};

/// Half are VPCs, half are instances.
const RESOURCES: usize = 200;
const EDITS: usize = 50;

fn vpc(index: usize, tag: &str) -> Value {
    json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "metadata": {"name": format!("v{index}")},
        "spec": {"cidrBlock": {"value": "10.9.0.0/16"}, "tags": {"Edit": tag}},
    })
}

fn instance(index: usize, tag: &str) -> Value {
    json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance", "metadata": {"name": format!("i{index}")},
        "spec": {
            "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t3.micro"},
            "minCount": {"value": 1}, "maxCount": {"value": 1}, "tags": {"Edit": tag},
        },
    })
}

fn tag(item: &Value) -> &str {
    let tags = item["tagSet"].as_array().into_iter().flatten();
    tags.filter(|tag| tag["key"] == "Edit").find_map(|tag| tag["value"].as_str()).unwrap_or_default()
}

/// The number of items with each value of the tag.
fn counted<'items>(items: impl IntoIterator<Item = &'items Value>) -> BTreeMap<&'items str, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(tag(item)).or_default() += 1;
    }
    counts
}

/// The instance ids in the status of the resources.
async fn recorded(site: &Site) -> Result<BTreeMap<String, String>> {
    let list: Value = serde_json::from_str(&site.kubectl(&["get", "ec2instance", "-o", "json"]).await?)?;
    let items = list["items"].as_array().into_iter().flatten();
    let pairs = items.map(|item| {
        (name(item).to_owned(), item["status"]["externalIds"][0].as_str().unwrap_or("none").to_owned())
    });
    Ok(pairs.collect())
}

#[tokio::test]
#[ignore = "cargo xtask e2e --upgrade-from COMMIT"]
async fn an_upgrade_under_edits_loses_and_repeats_nothing() -> Result<()> {
    let site = Site::new("upgrade").await?;
    let all: Vec<String> = (0..RESOURCES / 2)
        .flat_map(|index| [vpc(index, "none"), instance(index, "none")])
        .map(|object| object.to_string())
        .collect();
    site.apply(&all.join("\n---\n")).await?;
    site.ready(&["kraken", "--all"]).await?;

    let default = paths::workspace_root()?.join("config/default").display().to_string();
    let edits = async {
        let began = Instant::now();
        for edit in 0..EDITS {
            // Each resource once, alternating between the kinds.
            let edited = if edit % 2 == 0 { vpc(edit, "edited") } else { instance(edit, "edited") };
            site.apply(&edited.to_string()).await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::Ok(began..Instant::now())
    };
    let upgrade = async {
        cluster(&["apply", "--server-side", "--force-conflicts", "-k", &default]).await?;
        let applied = Instant::now();
        for controller in paths::controllers()? {
            rolled_out(&format!("kraken-{controller}")).await?;
        }
        anyhow::Ok(applied..Instant::now())
    };
    let (edited, replaced) = tokio::try_join!(edits, upgrade)?;
    assert!(
        edited.start < replaced.start && edited.end > replaced.start,
        "edits from {:?} to {:?} before the Deployments were changed",
        replaced.start.saturating_duration_since(edited.start),
        replaced.start.saturating_duration_since(edited.end)
    );
    for controller in paths::controllers()? {
        let deployment = system_json(&["get", "deployment", &format!("kraken-{controller}")]).await?;
        let image =
            deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
        assert!(!image.ends_with(":previous"), "{image}");
    }
    // The new controllers must have applied the last edits.
    site.ready(&["kraken", "--all"]).await?;

    let expected = BTreeMap::from([("none", RESOURCES / 2 - EDITS / 2), ("edited", EDITS / 2)]);
    let vpcs = site.in_cloud("DescribeVpcs", "vpcSet").await?;
    assert_eq!(counted(&vpcs), expected, "VPCs");
    // Including terminated ones, to detect an instance that was launched twice.
    let instances = site.launched().await?;
    let recorded = recorded(&site).await?;
    let there: BTreeSet<&str> = instances.iter().filter_map(|item| item["instanceId"].as_str()).collect();
    let missing: Vec<_> = recorded.iter().filter(|(_, id)| !there.contains(id.as_str())).collect();
    assert!(missing.is_empty(), "in the status, but not in the cloud with the owner tag: {missing:?}");
    assert_eq!(counted(&instances), expected, "instances");
    for controller in paths::controllers()? {
        let log = system(&["logs", &format!("deployment/kraken-{controller}"), "--tail=-1"]).await?;
        assert!(!log.contains("panicked") && !log.contains("forbidden"), "{controller}: {log}");
    }
    site.end().await
}
