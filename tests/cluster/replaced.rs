//! Create-first replacement with the real binaries on moto: at most the old and the new objects exist, and the old ones are deleted.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};

use crate::network::resource;

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
