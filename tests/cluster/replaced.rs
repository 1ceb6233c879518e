//! Create-first replacement with the real binaries on moto: at most the old and the new objects exist, dependents use the new ones
//! before the old ones are deleted.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kraken_testing::SuiteOptions;
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};

use crate::{
    balancing::moto::targets,
    network::{id, resource},
};

const NEW_IMAGE: &str = "ami-0b301ce3ce3475b4f";

fn is_ready(object: &Value) -> bool {
    let ready = condition(object, "Ready");
    ready["status"] == "True" && ready["observedGeneration"] == object["metadata"]["generation"]
}

#[tokio::test]
async fn a_replacement_with_partial_launches_converges() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let spec = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance",
        "metadata": {"name": "a"},
        "spec": {
            "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t2.nano"},
            "minCount": {"value": 1}, "maxCount": {"value": 2}, "lifecycle": {"replace": "CreateFirst"},
        },
    });
    test_env.apply(&spec.to_string()).await?;
    test_env.ready("EC2Instance", "a").await?;
    test_env.patch("EC2Instance", "a", json!({"spec": {"imageID": {"value": NEW_IMAGE}}})).await?;
    let begin = Instant::now();
    while !is_ready(&test_env.get("EC2Instance", "a").await?) {
        let alive = test_env.alive("a").await?.len();
        assert!(alive <= 4, "{alive} instances where old and new are 4");
        if begin.elapsed() > Duration::from_secs(90) {
            bail!("not replaced: {}", test_env.get("EC2Instance", "a").await?["status"]);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(test_env.alive("a").await?.len(), 2);
    test_env.delete("EC2Instance", "a").await?;
    test_env.gone("EC2Instance", "a").await?;
    assert!(test_env.alive("a").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_vpc_and_its_subnet_that_are_replaced_together_are_each_created_once() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&resource("VPC", "main", "cidrBlock: {value: 10.30.0.0/16}")).await?;
    test_env.apply(&resource("Subnet", "a", "vpcID: VPC, cidrBlock: {value: 10.30.1.0/24}")).await?;
    test_env.ready("VPC", "main").await?;
    test_env.ready("Subnet", "a").await?;
    let edit =
        |cidr: &str| json!({"spec": {"cidrBlock": {"value": cidr}, "lifecycle": {"replace": "CreateFirst"}}});
    test_env.patch("VPC", "main", edit("10.31.0.0/16")).await?;
    test_env.patch("Subnet", "a", edit("10.31.1.0/24")).await?;
    test_env.ready("VPC", "main").await?;
    test_env.ready("Subnet", "a").await?;
    let vpcs = test_env.in_cloud("DescribeVpcs", "vpcSet").await?;
    let subnets = test_env.in_cloud("DescribeSubnets", "subnetSet").await?;
    let cidrs = |list: &[Value]| list.iter().map(|one| one["cidrBlock"].clone()).collect::<Vec<_>>();
    assert_eq!((cidrs(&vpcs), cidrs(&subnets)), (vec![json!("10.31.0.0/16")], vec![json!("10.31.1.0/24")]));
    Ok(())
}

/// The targets of the group, and the instance behind the address.
async fn used(test_env: &TestEnv, arn: &str, allocation: &str) -> Result<(Vec<String>, String)> {
    let targets = targets(test_env, arn).await?;
    let addresses = test_env.in_cloud("DescribeAddresses", "addressesSet").await?;
    let address = addresses.iter().find(|address| address["allocationId"] == allocation);
    let behind =
        address.context("the address is gone")?["instanceId"].as_str().unwrap_or_default().to_owned();
    Ok((targets, behind))
}

/// Until all of them are ready, at each moment: a running instance among the targets, and one behind the address.
async fn watch_the_hand_over(test_env: &TestEnv, arn: &str, allocation: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        // What is registered and associated is read before and after the instances: on a slow machine it may change in between.
        let (targets, behind) = used(test_env, arn, allocation).await?;
        let running: Vec<String> = test_env
            .alive("web")
            .await?
            .into_iter()
            .filter(|instance| instance.state == "running")
            .map(|instance| instance.id)
            .collect();
        let (targets_after, behind_after) = used(test_env, arn, allocation).await?;
        let is_running = |id: &&String| running.contains(id);
        let any_target = targets.iter().chain(&targets_after).any(|id| is_running(&id));
        ensure!(any_target, "{targets:?}, then {targets_after:?}, of {running:?}");
        let any_behind = [&behind, &behind_after].iter().any(is_running);
        ensure!(any_behind, "{behind}, then {behind_after}, of {running:?}");
        let mut are_ready = true;
        for (kind, name) in [("EC2Instance", "web"), ("TargetGroup", "web"), ("ElasticIP", "web")] {
            are_ready &= is_ready(&test_env.get(kind, name).await?);
        }
        if are_ready && targets == running && begin.elapsed() > Duration::from_secs(1) {
            return Ok(());
        }
        ensure!(
            begin.elapsed() < Duration::from_secs(90),
            "{}",
            test_env.get("EC2Instance", "web").await?["status"]
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn targets_and_address_follow_a_replaced_instance_without_a_gap() -> Result<()> {
    // A replacement that waited for the objects of an earlier one to become visible would exceed every limit of this test.
    let suite = SuiteOptions::default().with_env("aws-ec2-instance", "KRAKEN_VISIBILITY_WINDOW", "1h");
    let test_env = TestEnv::with(suite).await?;
    let instance = "imageID: {value: ami-12c6146b}, instanceType: {value: t3.micro}, minCount: {value: 1}, \
        maxCount: {value: 1}, subnetID: {valueFrom: {ref: Subnet/s}}";
    for (kind, name, spec) in [
        ("VPC", "main", "cidrBlock: {value: 10.65.0.0/16}"),
        ("Subnet", "s", "vpcID: VPC, cidrBlock: {value: 10.65.1.0/24}"),
        ("EC2Instance", "web", instance),
        (
            "TargetGroup",
            "web",
            "protocol: {value: HTTP}, port: {value: 80}, vpcID: VPC, \
             targets: {value: [{valueFrom: {ref: EC2Instance/web}}]}",
        ),
        ("ElasticIP", "web", "instanceID: {valueFrom: {ref: EC2Instance/web}}"),
    ] {
        test_env.apply(&resource(kind, name, spec)).await?;
    }
    for (kind, name) in [("EC2Instance", "web"), ("TargetGroup", "web"), ("ElasticIP", "web")] {
        test_env.ready(kind, name).await?;
    }
    let (arn, allocation) =
        (id(&test_env, "TargetGroup", "web").await?, id(&test_env, "ElasticIP", "web").await?);
    let first = id(&test_env, "EC2Instance", "web").await?;
    // The second time it is edited again before the first replacement is complete.
    for images in [&[NEW_IMAGE][..], &["ami-03cf127a", "ami-12c6146b"]] {
        for image in images {
            let edit = json!({"imageID": {"value": image}, "lifecycle": {"replace": "CreateFirst"}});
            test_env.patch("EC2Instance", "web", json!({"spec": edit})).await?;
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        watch_the_hand_over(&test_env, &arn, &allocation).await?;
    }
    assert_ne!(id(&test_env, "EC2Instance", "web").await?, first);
    assert_eq!(test_env.alive("web").await?.len(), 1);
    let deletes_first =
        json!({"spec": {"imageID": {"value": NEW_IMAGE}, "lifecycle": {"replace": "DeleteFirst"}}});
    test_env.patch("EC2Instance", "web", deletes_first).await?;
    test_env.ready("EC2Instance", "web").await?;
    let last = json!(id(&test_env, "EC2Instance", "web").await?);
    let follows = |addresses: &[Value]| {
        addresses.iter().any(|one| one["allocationId"] == *allocation && one["instanceId"] == last)
    };
    test_env.until_cloud("DescribeAddresses", "addressesSet", follows).await?;
    Ok(())
}
