//! What hangs on an instance: addresses, keys and volumes, each in its own order.

use anyhow::Result;
use kraken_tests::World;
use serde_json::{Value, json};

use crate::network::{has, id, resource};

/// What hangs on an instance, and the way out of a private subnet.
const MORE: &[(&str, &str, &str)] = &[
    ("VPC", "main", "cidrBlock: {value: 10.50.0.0/16}"),
    ("Subnet", "a", "vpcID: VPC, cidrBlock: {value: 10.50.1.0/24}, availabilityZone: {value: us-east-1a}"),
    ("InternetGateway", "main", "vpcID: VPC"),
    ("ElasticIP", "nat", "tags: {Team: net}"),
    ("ElasticIP", "web", "instanceID: {valueFrom: {krakenResource: {kind: ec2instance, name: web}}}"),
    (
        "NATGateway",
        "a",
        "subnetID: {valueFrom: {krakenResource: {kind: subnet, name: a}}}, \
         allocationID: {valueFrom: {krakenResource: {kind: elastic-ip, name: nat}}}",
    ),
    (
        "RouteTable",
        "private",
        "vpcID: VPC, routes: [{destinationCIDRBlock: {value: 0.0.0.0/0}, \
         natGatewayID: {valueFrom: {krakenResource: {kind: nat-gateway, name: a}}}}]",
    ),
    (
        "KeyPair",
        "ops",
        "publicKey: {value: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM ops\"}",
    ),
    (
        "EC2Instance",
        "web",
        "imageID: {value: ami-12c6146b}, instanceType: {value: t2.nano}, minCount: {value: 1}, maxCount: {value: 1}, \
         keyName: {valueFrom: {krakenResource: {kind: keypair, name: ops}}}, \
         subnetID: {valueFrom: {krakenResource: {kind: subnet, name: a}}}",
    ),
    (
        "Volume",
        "data",
        "availabilityZone: {valueFrom: {krakenResource: {kind: subnet, name: a, path: subnet.AvailabilityZone}}}, \
         sizeGiB: {value: 10}, type: {value: gp3}, device: {value: /dev/sdf}, \
         instanceID: {valueFrom: {krakenResource: {kind: ec2instance, name: web}}}",
    ),
];

#[tokio::test]
async fn what_hangs_on_an_instance_comes_up_heals_and_goes() -> Result<()> {
    let world = World::new().await?;
    let all: Vec<String> = MORE.iter().map(|(kind, name, spec)| resource(kind, name, spec)).collect();
    world.apply(&all.join("\n---\n")).await?;
    for (kind, name, _) in MORE {
        world.ready(kind, name).await?;
    }
    let instance = id(&world, "EC2Instance", "web").await?;
    assert_eq!(world.alive("web").await?.len(), 1);
    let key = world.get("StateDeclaration", "keypair.aws.ops").await?["spec"]["id"].clone();
    assert!(key.as_str().is_some_and(|name| name.starts_with("kraken-")), "{key}");
    let state = world.get("StateDeclaration", "ec2instance.aws.web").await?;
    assert_eq!(state["spec"]["data"]["instances"][0]["KeyName"], key);

    let volume = id(&world, "Volume", "data").await?;
    let moto = &world.env.moto;
    moto.ec2("DetachVolume", &[("VolumeId", &volume), ("InstanceId", &instance), ("Device", "/dev/sdf")])
        .await?;
    let addresses = world.in_cloud("DescribeAddresses", "addressesSet").await?;
    let used = addresses.iter().find(|address| address["instanceId"] == json!(instance));
    let association = used.and_then(|address| address["associationId"].as_str()).unwrap_or_default();
    moto.ec2("DisassociateAddress", &[("AssociationId", association)]).await?;
    world
        .until_cloud("DescribeVolumes", "volumeSet", |volumes| {
            volumes.iter().any(|volume| {
                has(&volume["attachmentSet"], |attachment| attachment["instanceId"] == json!(instance))
                    && volume["volumeId"] != ""
            })
        })
        .await?;
    world
        .until_cloud("DescribeAddresses", "addressesSet", |addresses| {
            addresses.iter().any(|address| address["instanceId"] == json!(instance))
        })
        .await?;
    world.patch("Volume", "data", json!({"spec": {"sizeGiB": {"value": 20}}})).await?;
    world
        .until_cloud("DescribeVolumes", "volumeSet", |volumes| {
            volumes.iter().any(|volume| volume["size"] == "20")
        })
        .await?;

    let second = "instanceID: {valueFrom: {krakenResource: {kind: ec2instance, name: web}}}";
    world.apply(&resource("ElasticIP", "second", second)).await?;
    let message = world.not_ready("ElasticIP", "second", "CloudRefused").await?;
    assert!(message.contains("has the address eipalloc-") && message.contains("/web already"), "{message}");
    world.delete("ElasticIP", "second").await?;
    for (kind, name, _) in MORE {
        world.delete(kind, name).await?;
    }
    for (kind, name, _) in MORE {
        world.gone(kind, name).await?;
    }
    for (action, list) in [
        ("DescribeVpcs", "vpcSet"),
        ("DescribeAddresses", "addressesSet"),
        ("DescribeKeyPairs", "keySet"),
        ("DescribeVolumes", "volumeSet"),
    ] {
        assert_eq!(world.in_cloud(action, list).await?, [Value::Null; 0], "{action}");
    }
    Ok(())
}
