//! VPC networking in moto, with the real binary of the VPC controller.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
};

use anyhow::Result;
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};

/// The resources, by kind and name; references have no path.
const NETWORK: &[(&str, &str, &str)] = &[
    (
        "VPC",
        "main",
        "cidrBlock: {value: 10.20.0.0/16}, enableDNSHostnames: {value: true}, \
         secondaryCIDRBlocks: {value: [10.21.0.0/16]}, tags: {Team: net}",
    ),
    ("Subnet", "a", "vpcID: VPC, cidrBlock: {value: 10.20.1.0/24}, mapPublicIPOnLaunch: {value: true}"),
    ("Subnet", "b", "vpcID: VPC, cidrBlock: {value: 10.20.2.0/24}, availabilityZone: {value: us-east-1b}"),
    ("InternetGateway", "main", "vpcID: VPC"),
    (
        "SecurityGroup",
        "web",
        "vpcID: VPC, ingress: [\
         {protocol: {value: tcp}, fromPort: {value: 443}, cidrBlocks: {value: [0.0.0.0/0]}, description: {value: HTTPS}}, \
         {protocol: {value: -1}, securityGroupIDs: {value: [self]}}], egress: []",
    ),
    (
        "SecurityGroup",
        "db",
        "vpcID: VPC, groupName: {value: db}, ingress: [{protocol: {value: tcp}, fromPort: {value: 5432}, \
         securityGroupIDs: {value: [{valueFrom: {krakenResource: {kind: securitygroup, name: web}}}]}}]",
    ),
    (
        "RouteTable",
        "public",
        "vpcID: VPC, routes: [{destinationCIDRBlock: {value: 0.0.0.0/0}, \
         gatewayID: {valueFrom: {krakenResource: {kind: internet-gateway, name: main}}}}], \
         subnetIDs: {value: [{valueFrom: {krakenResource: {kind: subnet, name: a}}}, \
         {valueFrom: {krakenResource: {kind: Subnet, name: b}}}]}",
    ),
];

const VPC: &str = "{valueFrom: {krakenResource: {kind: vpc, name: main}}}";

pub(crate) fn resource(kind: &str, name: &str, spec: &str) -> String {
    let spec = spec.replace("vpcID: VPC", &format!("vpcID: {VPC}"));
    format!(
        "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: {kind}, metadata: {{name: {name}}}, \
         spec: {{{spec}, lifecycle: {{resyncInterval: 1s}}}}}}"
    )
}

/// In an order that differs in each run: the seed is the name of the namespace.
fn shuffled(seed: &str) -> Vec<&'static (&'static str, &'static str, &'static str)> {
    let mut all: Vec<_> = NETWORK.iter().collect();
    all.sort_by_key(|(kind, name, _)| {
        let mut hasher = DefaultHasher::new();
        (seed, kind, name).hash(&mut hasher);
        hasher.finish()
    });
    all
}

async fn network(test_env: &TestEnv) -> Result<()> {
    let all: Vec<String> =
        shuffled(&test_env.ns.name).iter().map(|(kind, name, spec)| resource(kind, name, spec)).collect();
    test_env.apply(&all.join("\n---\n")).await?;
    for (kind, name, _) in NETWORK {
        test_env.ready(kind, name).await?;
    }
    Ok(())
}

pub(crate) async fn id(test_env: &TestEnv, kind: &str, name: &str) -> Result<String> {
    let object = test_env.ready(kind, name).await?;
    Ok(object["status"]["externalIds"][0].as_str().unwrap_or_default().to_owned())
}

pub(crate) fn has(list: &Value, wanted: impl Fn(&Value) -> bool) -> bool {
    list.as_array().into_iter().flatten().any(wanted)
}

/// The number of deletions that the cloud rejected because of dependent objects.
async fn refused_deletions(test_env: &TestEnv) -> Result<usize> {
    let mut refused = 0;
    for controller in test_env.env.suite.controllers().filter(|c| c.name() == "aws-vpc") {
        let metrics = controller.metrics().await?;
        let is_refusal = |line: &&str| {
            line.contains("cloud_calls") && line.contains("operation=\"Delete") && line.contains("not_yet")
        };
        refused += metrics.lines().filter(is_refusal).count();
    }
    Ok(refused)
}

#[tokio::test]
async fn a_network_is_created_in_any_order_corrected_and_deleted_at_once() -> Result<()> {
    let test_env = TestEnv::new().await?;
    network(&test_env).await?;

    let vpc = id(&test_env, "VPC", "main").await?;
    let state = test_env.get("StateDeclaration", "vpc.aws.main").await?;
    assert_eq!(state["spec"]["id"], json!(vpc));
    assert_eq!(state["spec"]["data"]["vpc"]["CidrBlock"], "10.20.0.0/16");
    let blocks = &state["spec"]["data"]["vpc"]["CidrBlockAssociationSet"];
    assert!(has(blocks, |block| block["CidrBlock"] == "10.21.0.0/16"), "{blocks}");
    let subnets = test_env.in_cloud("DescribeSubnets", "subnetSet").await?;
    assert!(subnets.len() == 2 && subnets.iter().all(|subnet| subnet["vpcId"] == json!(vpc)), "{subnets:?}");
    let hostnames = [("VpcId", vpc.as_str()), ("Attribute", "enableDnsHostnames")];
    let hostnames = test_env.env.moto.ec2("DescribeVpcAttribute", &hostnames).await?;
    assert_eq!(hostnames["enableDnsHostnames"]["value"], "true");
    for (action, list, count) in [
        ("DescribeVpcs", "vpcSet", 1),
        ("DescribeInternetGateways", "internetGatewaySet", 1),
        ("DescribeSecurityGroups", "securityGroupInfo", 2),
        ("DescribeRouteTables", "routeTableSet", 1),
    ] {
        assert_eq!(test_env.in_cloud(action, list).await?.len(), count, "{action}");
    }
    let web = id(&test_env, "SecurityGroup", "web").await?;
    let groups = test_env.in_cloud("DescribeSecurityGroups", "securityGroupInfo").await?;
    let group = groups.iter().find(|group| group["groupId"] == json!(web)).cloned().unwrap_or_default();
    assert!(matches_the_spec(&group, &web) && group["ipPermissionsEgress"] == "", "{group}");
    assert!(group["groupName"].as_str().is_some_and(|name| name.starts_with("kraken-")), "{group}");

    out_of_band_changes_are_reverted(&test_env, &vpc, &web).await?;

    for (kind, name, _) in shuffled(&format!("{} again", test_env.ns.name)) {
        test_env.delete(kind, name).await?;
    }
    for (kind, name, _) in NETWORK {
        test_env.gone(kind, name).await?;
    }
    for (action, list) in [
        ("DescribeVpcs", "vpcSet"),
        ("DescribeSubnets", "subnetSet"),
        ("DescribeInternetGateways", "internetGatewaySet"),
        ("DescribeSecurityGroups", "securityGroupInfo"),
        ("DescribeRouteTables", "routeTableSet"),
    ] {
        assert_eq!(test_env.in_cloud(action, list).await?, [Value::Null; 0], "{action}");
    }
    assert_eq!(refused_deletions(&test_env).await?, 0);

    waits_for_an_unmanaged_object(&test_env).await
}

/// Allows only HTTPS from everywhere, and all traffic between members.
fn matches_the_spec(group: &Value, id: &str) -> bool {
    let rules = &group["ipPermissions"];
    rules.as_array().is_some_and(|rules| rules.len() == 2)
        && has(rules, |rule| {
            rule["fromPort"] == "443" && has(&rule["ipRanges"], |range| range["description"] == "HTTPS")
        })
        && has(rules, |rule| {
            rule["ipProtocol"] == "-1" && has(&rule["groups"], |group| group["groupId"] == *id)
        })
}

/// Out-of-band changes are reverted.
async fn out_of_band_changes_are_reverted(test_env: &TestEnv, vpc: &str, web: &str) -> Result<()> {
    let moto = &test_env.env.moto;
    let gateway = id(test_env, "InternetGateway", "main").await?;
    let table = id(test_env, "RouteTable", "public").await?;

    let ssh = [
        ("GroupId", web),
        ("IpPermissions.1.IpProtocol", "tcp"),
        ("IpPermissions.1.FromPort", "22"),
        ("IpPermissions.1.ToPort", "22"),
        ("IpPermissions.1.IpRanges.1.CidrIp", "0.0.0.0/0"),
        // moto finds a rule about a group only with its description.
        ("IpPermissions.2.IpProtocol", "tcp"),
        ("IpPermissions.2.FromPort", "23"),
        ("IpPermissions.2.ToPort", "23"),
        ("IpPermissions.2.Groups.1.GroupId", web),
        ("IpPermissions.2.Groups.1.Description", "for the audit"),
    ];
    moto.ec2("AuthorizeSecurityGroupIngress", &ssh).await?;
    moto.ec2("DeleteRoute", &[("RouteTableId", &table), ("DestinationCidrBlock", "0.0.0.0/0")]).await?;
    let stray = [
        ("RouteTableId", table.as_str()),
        ("DestinationCidrBlock", "192.168.0.0/16"),
        ("GatewayId", &gateway),
    ];
    moto.ec2("CreateRoute", &stray).await?;
    moto.ec2("DetachInternetGateway", &[("InternetGatewayId", &gateway), ("VpcId", vpc)]).await?;
    moto.ec2("CreateTags", &[("ResourceId.1", vpc), ("Tag.1.Key", "Team"), ("Tag.1.Value", "shop")]).await?;

    test_env
        .until_cloud("DescribeSecurityGroups", "securityGroupInfo", |groups| {
            groups.iter().any(|group| group["groupId"] == *web && matches_the_spec(group, web))
        })
        .await?;
    test_env
        .until_cloud("DescribeRouteTables", "routeTableSet", |tables| {
            let routes = &tables[0]["routeSet"];
            has(routes, |route| route["destinationCidrBlock"] == "0.0.0.0/0")
                && !has(routes, |route| route["destinationCidrBlock"] == "192.168.0.0/16")
        })
        .await?;
    test_env
        .until_cloud("DescribeInternetGateways", "internetGatewaySet", |gateways| {
            has(&gateways[0]["attachmentSet"], |attachment| attachment["vpcId"] == *vpc)
        })
        .await?;
    test_env
        .until_cloud("DescribeVpcs", "vpcSet", |vpcs| {
            has(&vpcs[0]["tagSet"], |tag| tag["key"] == "Team" && tag["value"] == "net")
        })
        .await?;

    let associations =
        test_env.in_cloud("DescribeRouteTables", "routeTableSet").await?[0]["associationSet"].clone();
    let association = associations[0]["routeTableAssociationId"].as_str().unwrap_or_default();
    moto.ec2("DisassociateRouteTable", &[("AssociationId", association)]).await?;
    test_env
        .until_cloud("DescribeRouteTables", "routeTableSet", |tables| {
            tables[0]["associationSet"].as_array().is_some_and(|all| all.len() == 2)
        })
        .await?;
    Ok(())
}

/// A VPC with an unmanaged subnet is deleted after the subnet, and names it until then.
async fn waits_for_an_unmanaged_object(test_env: &TestEnv) -> Result<()> {
    test_env.apply(&resource("VPC", "shared", "cidrBlock: {value: 10.30.0.0/16}")).await?;
    let vpc = id(test_env, "VPC", "shared").await?;
    let made = [("VpcId", vpc.as_str()), ("CidrBlock", "10.30.1.0/24")];
    let subnet = test_env.env.moto.ec2("CreateSubnet", &made).await?["subnet"]["subnetId"].clone();
    test_env.delete("VPC", "shared").await?;
    let object = test_env
        .until("VPC", "shared", |object| {
            condition(object, "Ready")["message"].as_str().is_some_and(|m| m.contains("DependencyViolation"))
        })
        .await?;
    assert_eq!(condition(&object, "Ready")["reason"], "Deleting");
    let subnet = subnet.as_str().unwrap_or_default();
    let message = condition(&object, "Ready")["message"].as_str().unwrap_or_default();
    assert!(message.contains(subnet), "{message}");
    test_env.env.moto.ec2("DeleteSubnet", &[("SubnetId", subnet)]).await?;
    test_env.gone("VPC", "shared").await
}

#[tokio::test]
async fn problems_are_reported_by_kraken_or_aws() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let refusal = test_env.refused(&resource("VPC", "main", "cidrBlock: {value: 10.0.0.1/16}")).await?;
    assert!(refusal.contains("spec.cidrBlock.value") && refusal.contains("host bits"), "{refusal}");
    test_env.apply(&resource("VPC", "main", "cidrBlock: {value: 10.0.0.0/16}")).await?;
    test_env.ready("VPC", "main").await?;

    for (name, spec, words) in [
        ("outside", "vpcID: VPC, cidrBlock: {value: 10.1.0.0/24}", "InvalidSubnet.Range"),
        (
            "nowhere",
            "vpcID: VPC, cidrBlock: {value: 10.0.8.0/24}, availabilityZone: {value: us-east-1x}",
            "us-east-1x",
        ),
    ] {
        test_env.apply(&resource("Subnet", name, spec)).await?;
        let message = test_env.not_ready("Subnet", name, "CloudRefused").await?;
        assert!(message.contains(words), "{message}");
    }
    test_env.apply(&resource("Subnet", "a", "vpcID: VPC, cidrBlock: {value: 10.0.1.0/24}")).await?;
    test_env.ready("Subnet", "a").await?;
    test_env.apply(&resource("Subnet", "overlapping", "vpcID: VPC, cidrBlock: {value: 10.0.0.0/20}")).await?;
    let message = test_env.not_ready("Subnet", "overlapping", "ValueInUse").await?;
    assert!(message.contains("InvalidSubnet.Conflict"), "{message}");

    let group = "vpcID: VPC, groupName: {value: web}, egress: []";
    test_env.apply(&resource("SecurityGroup", "first", group)).await?;
    test_env.ready("SecurityGroup", "first").await?;
    test_env.apply(&resource("SecurityGroup", "second", group)).await?;
    let message = test_env.not_ready("SecurityGroup", "second", "ValueInUse").await?;
    assert!(message.contains("InvalidGroup.Duplicate"), "{message}");

    let rule = "vpcID: VPC, ingress: [{protocol: {value: tcp}, fromPort: {value: 65536}, cidrBlocks: {value: [0.0.0.0/0]}}]";
    let refusal = test_env.refused(&resource("SecurityGroup", "ports", rule)).await?;
    assert!(refusal.contains("spec.ingress[0].fromPort.value"), "{refusal}");

    test_env.patch("VPC", "main", json!({"spec": {"cidrBlock": {"value": "10.9.0.0/16"}}})).await?;
    let message = test_env.not_ready("VPC", "main", "ImmutableField").await?;
    assert!(message.contains("spec.cidrBlock: observed 10.0.0.0/16"), "{message}");
    Ok(())
}

#[tokio::test]
async fn an_existing_vpc_is_adopted_and_released() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let made = test_env.env.moto.ec2("CreateVpc", &[("CidrBlock", "10.40.0.0/16")]).await?;
    let vpc = made["vpc"]["vpcId"].as_str().unwrap_or_default().to_owned();
    let adopting = format!(
        "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {{name: old}}, \
         spec: {{cidrBlock: {{value: 10.40.0.0/16}}, lifecycle: {{adopt: {{id: {vpc}}}}}}}}}"
    );
    test_env.apply(&adopting).await?;
    assert_eq!(id(&test_env, "VPC", "old").await?, vpc);
    test_env.delete("VPC", "old").await?;
    test_env.gone("VPC", "old").await?;
    assert!(test_env.in_cloud("DescribeVpcs", "vpcSet").await?.is_empty());
    let left = test_env.env.moto.ec2("DescribeVpcs", &[("VpcId.1", &vpc)]).await?;
    assert!(has(&left["vpcSet"], |left| left["vpcId"] == *vpc), "{left}");
    Ok(())
}

/// The permissions of a group in a state, with the peer groups.
fn peers(state: &Value, field: &str) -> Vec<String> {
    let permissions = state["spec"]["data"]["securityGroup"][field].as_array().into_iter().flatten();
    let pairs = permissions.flat_map(|one| one["UserIdGroupPairs"].as_array().cloned().unwrap_or_default());
    pairs.filter_map(|pair| pair["GroupId"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn two_security_groups_that_name_each_other_are_created_and_deleted_together() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let group = |name: &str, direction: &str, peer: &str| {
        let rule = format!(
            "{{protocol: {{value: tcp}}, fromPort: {{value: 8080}}, \
             securityGroupIDs: {{value: [{{valueFrom: {{ref: SecurityGroup/{peer}}}}}]}}}}"
        );
        resource("SecurityGroup", name, &format!("vpcID: VPC, {direction}: [{rule}]"))
    };
    let (front, back) = (group("front", "egress", "back"), group("back", "ingress", "front"));
    let vpc = resource("VPC", "main", "cidrBlock: {value: 10.41.0.0/16}");
    test_env.apply(&[vpc, front.clone(), back].join("\n---\n")).await?;
    let (front_id, back_id) =
        (id(&test_env, "SecurityGroup", "front").await?, id(&test_env, "SecurityGroup", "back").await?);
    for (name, field, peer) in
        [("front", "IpPermissionsEgress", &back_id), ("back", "IpPermissions", &front_id)]
    {
        let state = test_env.get("StateDeclaration", &format!("securitygroup.aws.{name}")).await?;
        assert_eq!(peers(&state, field), [peer.as_str()], "{name}");
    }
    // The review of a stored pair refuses nothing.
    test_env.apply(&front).await?;
    for name in ["front", "back"] {
        test_env.delete("SecurityGroup", name).await?;
    }
    for name in ["front", "back"] {
        test_env.gone("SecurityGroup", name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_block_from_two_keys_is_one_rule_and_a_withdrawn_one_is_closed() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let offices = "{apiVersion: v1, kind: ConfigMap, metadata: {name: offices}, data: {berlin: 203.0.113.0/24, vienna: 203.0.113.0/24}}";
    let from = |key: &str| format!("{{valueFrom: {{configMap: {{name: offices, key: {key}}}}}}}");
    let rule = format!(
        "{{protocol: {{value: tcp}}, fromPort: {{value: 22}}, cidrBlocks: {{value: [{}, {}]}}}}",
        from("berlin"),
        from("vienna")
    );
    let vpc = resource("VPC", "main", "cidrBlock: {value: 10.43.0.0/16}");
    let group = resource("SecurityGroup", "ssh", &format!("vpcID: VPC, ingress: [{rule}]"));
    test_env.apply(&[offices.to_owned(), vpc, group].join("\n---\n")).await?;
    let blocks = async |wanted: &[&str]| {
        let shows = |state: &Value| {
            let ranges = &state["spec"]["data"]["securityGroup"]["IpPermissions"][0]["IpRanges"];
            let mut all: Vec<&str> = ranges
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|range| range["CidrIp"].as_str())
                .collect();
            all.sort_unstable();
            all == wanted
        };
        test_env.until("StateDeclaration", "securitygroup.aws.ssh", shows).await?;
        test_env.ready("SecurityGroup", "ssh").await
    };
    blocks(&["203.0.113.0/24"]).await?;
    test_env.patch("ConfigMap", "offices", json!({"data": {"vienna": "198.51.100.0/24"}})).await?;
    blocks(&["198.51.100.0/24", "203.0.113.0/24"]).await?;
    test_env.patch("ConfigMap", "offices", json!({"data": {"vienna": "203.0.113.0/24"}})).await?;
    blocks(&["203.0.113.0/24"]).await.map(drop)
}

/// The new resources are applied before the former ones are deleted, as Flux and Argo CD do.
#[tokio::test]
async fn resources_that_are_renamed_in_git_get_what_the_former_ones_had() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(&resource("VPC", "main", "cidrBlock: {value: 10.83.0.0/16}")).await?;
    let kinds = [
        ("SecurityGroup", "vpcID: VPC, groupName: {value: web}, egress: []"),
        ("Subnet", "vpcID: VPC, cidrBlock: {value: 10.83.1.0/24}"),
    ];
    for (kind, spec) in kinds {
        test_env.apply(&resource(kind, "former", spec)).await?;
    }
    for (kind, _) in kinds {
        test_env.ready(kind, "former").await?;
    }
    for (kind, spec) in kinds {
        test_env.apply(&resource(kind, "renamed", spec)).await?;
    }
    for (kind, _) in kinds {
        let message = test_env.not_ready(kind, "renamed", "ValueInUse").await?;
        let holder = format!("{kind}/{}/former", test_env.ns.name);
        assert!(message.contains(&holder), "{message}");
        let object = test_env.get(kind, "renamed").await?;
        let stalled = &condition(&object, "Stalled")["status"];
        assert_ne!(stalled, "True", "Flux and Argo CD would not prune the former one: {object}");
    }
    for (kind, _) in kinds {
        test_env.delete(kind, "former").await?;
    }
    for (kind, _) in kinds {
        test_env.ready(kind, "renamed").await?;
        test_env.gone(kind, "former").await?;
    }
    Ok(())
}
