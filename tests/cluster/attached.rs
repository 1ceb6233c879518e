//! Addresses, keys and volumes of an instance, each with its own order.

use anyhow::Result;
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::network::{has, id, resource};

/// Objects attached to an instance, and a NAT gateway.
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
async fn attachments_of_an_instance_are_created_corrected_and_deleted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let all: Vec<String> = MORE.iter().map(|(kind, name, spec)| resource(kind, name, spec)).collect();
    test_env.apply(&all.join("\n---\n")).await?;
    for (kind, name, _) in MORE {
        test_env.ready(kind, name).await?;
    }
    let instance = id(&test_env, "EC2Instance", "web").await?;
    assert_eq!(test_env.alive("web").await?.len(), 1);
    let key = test_env.get("StateDeclaration", "keypair.aws.ops").await?["spec"]["id"].clone();
    assert!(key.as_str().is_some_and(|name| name.starts_with("kraken-")), "{key}");
    let state = test_env.get("StateDeclaration", "ec2instance.aws.web").await?;
    assert_eq!(state["spec"]["data"]["instances"][0]["KeyName"], key);

    let volume = id(&test_env, "Volume", "data").await?;
    let moto = &test_env.env.moto;
    moto.ec2("DetachVolume", &[("VolumeId", &volume), ("InstanceId", &instance), ("Device", "/dev/sdf")])
        .await?;
    let addresses = test_env.in_cloud("DescribeAddresses", "addressesSet").await?;
    let used = addresses.iter().find(|address| address["instanceId"] == json!(instance));
    let association = used.and_then(|address| address["associationId"].as_str()).unwrap_or_default();
    moto.ec2("DisassociateAddress", &[("AssociationId", association)]).await?;
    test_env
        .until_cloud("DescribeVolumes", "volumeSet", |volumes| {
            volumes.iter().any(|volume| {
                has(&volume["attachmentSet"], |attachment| attachment["instanceId"] == json!(instance))
                    && volume["volumeId"] != ""
            })
        })
        .await?;
    test_env
        .until_cloud("DescribeAddresses", "addressesSet", |addresses| {
            addresses.iter().any(|address| address["instanceId"] == json!(instance))
        })
        .await?;
    test_env.patch("Volume", "data", json!({"spec": {"sizeGiB": {"value": 20}}})).await?;
    test_env
        .until_cloud("DescribeVolumes", "volumeSet", |volumes| {
            volumes.iter().any(|volume| volume["size"] == "20")
        })
        .await?;

    let second = "instanceID: {valueFrom: {krakenResource: {kind: ec2instance, name: web}}}";
    test_env.apply(&resource("ElasticIP", "second", second)).await?;
    let message = test_env.not_ready("ElasticIP", "second", "ValueInUse").await?;
    assert!(message.contains("already has the address eipalloc-") && message.contains("/web;"), "{message}");
    test_env.delete("ElasticIP", "second").await?;
    for (kind, name, _) in MORE {
        test_env.delete(kind, name).await?;
    }
    for (kind, name, _) in MORE {
        test_env.gone(kind, name).await?;
    }
    for (action, list) in [
        ("DescribeVpcs", "vpcSet"),
        ("DescribeAddresses", "addressesSet"),
        ("DescribeKeyPairs", "keySet"),
        ("DescribeVolumes", "volumeSet"),
    ] {
        assert_eq!(test_env.in_cloud(action, list).await?, [Value::Null; 0], "{action}");
    }
    Ok(())
}

#[tokio::test]
async fn a_volume_is_replaced_at_the_device_of_the_former_one() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let network: Vec<String> =
        MORE[..2].iter().map(|(kind, name, spec)| resource(kind, name, spec)).collect();
    test_env.apply(&network.join("\n---\n")).await?;
    let instance = "imageID: {value: ami-12c6146b}, instanceType: {value: t2.nano}, minCount: {value: 1}, \
        maxCount: {value: 1}, subnetID: {valueFrom: {ref: Subnet/a}}";
    test_env.apply(&resource("EC2Instance", "web", instance)).await?;
    let (_, _, volume) = MORE.last().copied().unwrap_or_default();
    test_env.apply(&resource("Volume", "data", volume)).await?;
    test_env.ready("Volume", "data").await?;
    let (machine, former) =
        (id(&test_env, "EC2Instance", "web").await?, id(&test_env, "Volume", "data").await?);

    // AWS makes no volume smaller. The new one can be attached only when the former one has left the device.
    let smaller = json!({"sizeGiB": {"value": 5}, "lifecycle": {"replace": "CreateFirst"}});
    test_env.patch("Volume", "data", json!({"spec": smaller})).await?;
    test_env.ready("Volume", "data").await?;
    let next = id(&test_env, "Volume", "data").await?;
    assert_ne!(next, former);
    let mut volumes = test_env.in_cloud("DescribeVolumes", "volumeSet").await?;
    // The instance has a root volume.
    volumes.retain(|volume| has(&volume["tagSet"], |tag| tag["value"].to_string().contains("Volume/")));
    assert_eq!(volumes.len(), 1, "{volumes:?}");
    assert_eq!((&volumes[0]["volumeId"], &volumes[0]["size"]), (&json!(next), &json!("5")));
    let is_at_the_device = |one: &Value| one["instanceId"] == json!(machine) && one["device"] == "/dev/sdf";
    assert!(has(&volumes[0]["attachmentSet"], is_at_the_device), "{volumes:?}");
    let words = format!("detached {former}, which is replaced, from /dev/sdf of {machine}");
    test_env.event("data", |reason, note| reason == "Replaced" && note == words).await?;

    // What is no predecessor keeps its device.
    test_env.apply(&resource("Volume", "second", volume)).await?;
    let message = test_env.not_ready("Volume", "second", "ValueInUse").await?;
    assert!(message.contains(&format!("/dev/sdf of {machine} is in use by {next}")), "{message}");

    // A replacement is cut off by the deletion.
    test_env.patch("Volume", "data", json!({"spec": {"sizeGiB": {"value": 4}}})).await?;
    let all =
        [("Volume", "data"), ("Volume", "second"), ("EC2Instance", "web"), ("Subnet", "a"), ("VPC", "main")];
    for (kind, name) in all {
        test_env.delete(kind, name).await?;
    }
    for (kind, name) in all {
        test_env.gone(kind, name).await?;
    }
    assert_eq!(test_env.in_cloud("DescribeVolumes", "volumeSet").await?, [Value::Null; 0]);
    Ok(())
}
