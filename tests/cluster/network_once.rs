//! Networks on the simulator: whatever is replaced, edited by others or managed from elsewhere, there is never a second one.

use std::time::Duration;

use anyhow::Result;
use kraken_testing::{
    SuiteOptions,
    proxy::{How, When},
    simulator::{Simulator, SimulatorOptions},
};
use kraken_tests::World;
use serde_json::{Value, json};

use crate::network::resource;

/// Short, so that what follows its end is seen: the test looks for longer than that.
const WINDOW: Duration = Duration::from_secs(2);

struct Scene {
    cloud: Simulator,
    world: World,
}

impl Scene {
    async fn new() -> Result<Self> {
        let cloud = Simulator::start(SimulatorOptions::default())?;
        let only = ["hub", "aws-vpc"].map(str::to_owned).to_vec();
        let suite = SuiteOptions {
            cloud_endpoint: Some(cloud.endpoint().to_owned()),
            only: Some(only),
            ..SuiteOptions::default()
        };
        let suite = suite.with_env("aws-vpc", "KRAKEN_VISIBILITY_WINDOW", &format!("{}s", WINDOW.as_secs()));
        Ok(Self { cloud, world: World::with(suite).await? })
    }

    async fn apply(&self, kind: &str, name: &str, spec: &str, lifecycle: &str) -> Result<()> {
        let object = resource(kind, name, spec);
        let more = format!("lifecycle: {{resyncInterval: 1s, {lifecycle}}}");
        self.world.apply(&object.replace("lifecycle: {resyncInterval: 1s}", &more)).await
    }

    async fn edit(&self, kind: &str, name: &str, spec: Value) -> Result<()> {
        self.world.patch(kind, name, json!({ "spec": spec })).await
    }
}

#[tokio::test]
async fn what_aws_gives_once_is_told_and_what_is_done_is_done() -> Result<()> {
    let scene = Scene::new().await?;
    a_replacement_that_cannot_come_first_says_so(&scene).await?;
    what_is_done_already_counts_as_done(&scene).await
}

/// A name, a block of addresses and an address can be had once: the condition says what to do, and nothing is tried each second.
async fn a_replacement_that_cannot_come_first_says_so(scene: &Scene) -> Result<()> {
    let (world, first) = (&scene.world, "replace: CreateFirst");
    scene.apply("VPC", "main", "cidrBlock: {value: 10.61.0.0/16}", "").await?;
    scene.apply("SecurityGroup", "web", "vpcID: VPC, egress: []", "").await?;
    let zone = |zone: &str| format!("availabilityZone: {{value: us-east-1{zone}}}");
    let subnet = format!("vpcID: VPC, cidrBlock: {{value: 10.61.1.0/24}}, {}", zone("a"));
    scene.apply("Subnet", "a", &subnet, first).await?;
    for (name, block) in [("b", 2), ("c", 3)] {
        let other = format!("vpcID: VPC, cidrBlock: {{value: 10.61.{block}.0/24}}");
        scene.apply("Subnet", name, &other, "").await?;
    }
    scene.apply("SecurityGroup", "named", "vpcID: VPC, groupName: {value: named}", first).await?;
    scene.apply("InternetGateway", "main", "vpcID: VPC", "").await?;
    scene.apply("ElasticIP", "nat", "tags: {Team: net}", "").await?;
    let nat = |subnet: &str| {
        format!(
            "subnetID: {{valueFrom: {{krakenResource: {{kind: subnet, name: {subnet}}}}}}}, \
             allocationID: {{valueFrom: {{krakenResource: {{kind: elasticip, name: nat}}}}}}"
        )
    };
    let after = "dependsOn: [{kind: InternetGateway, name: main}]";
    scene.apply("NATGateway", "a", &nat("b"), &format!("{first}, {after}")).await?;
    for (kind, name) in [("Subnet", "a"), ("SecurityGroup", "named"), ("NATGateway", "a")] {
        world.ready(kind, name).await?;
    }
    scene.cloud.clear_journal();
    scene.apply("NATGateway", "a", &nat("c"), &format!("{first}, {after}")).await?;
    scene.edit("Subnet", "a", json!({"availabilityZone": {"value": "us-east-1b"}})).await?;
    scene.edit("SecurityGroup", "named", json!({"description": {"value": "other"}})).await?;
    for (kind, name, taken) in [
        ("Subnet", "a", "cidrBlock 10.61.1.0/24"),
        ("SecurityGroup", "named", "groupName named"),
        ("NATGateway", "a", "allocationID"),
    ] {
        let message = world.not_ready(kind, name, "CloudRefused").await?;
        assert!(message.contains(taken) && message.contains("DeleteFirst"), "{message}");
    }
    assert_eq!(scene.cloud.count("CreateNatGateway"), 0);
    let tries = scene.cloud.count("CreateSubnet") + scene.cloud.count("CreateSecurityGroup");
    assert!(tries < 12, "{tries} calls");
    // As the message says.
    for (kind, name) in [("NATGateway", "a"), ("SecurityGroup", "named"), ("Subnet", "a")] {
        scene.edit(kind, name, json!({"lifecycle": {"replace": "DeleteFirst"}})).await?;
    }
    for (kind, name) in [("Subnet", "a"), ("SecurityGroup", "named"), ("NATGateway", "a")] {
        world.ready(kind, name).await?;
    }
    Ok(())
}

/// The answer to a call that took effect is lost, or somebody was quicker: AWS refuses the next one, and that is no trouble.
async fn what_is_done_already_counts_as_done(scene: &Scene) -> Result<()> {
    let (world, cloud) = (&scene.world, &scene.cloud);
    cloud.clear_journal();
    for (action, code) in [
        ("CreateRoute", "RouteAlreadyExists"),
        ("AssociateRouteTable", "Resource.AlreadyAssociated"),
        ("AttachInternetGateway", "Resource.AlreadyAssociated"),
        ("AssociateVpcCidrBlock", "CidrConflict"),
        ("AuthorizeSecurityGroupEgress", "InvalidPermission.Duplicate"),
    ] {
        cloud.fail_next(action, When::After, How::error(400, code, "It is so already."));
    }
    // One of two rules is there when they are to be added.
    let duplicate = How::error(400, "InvalidPermission.Duplicate", "the specified rule already exists");
    cloud.fail_next("AuthorizeSecurityGroupIngress", When::Before, duplicate);
    let more = "secondaryCIDRBlocks: {value: [10.71.0.0/16]}";
    scene.apply("VPC", "more", &format!("cidrBlock: {{value: 10.70.0.0/16}}, {more}"), "").await?;
    let vpc = "vpcID: {valueFrom: {krakenResource: {kind: vpc, name: more}}}";
    scene.apply("InternetGateway", "more", vpc, "").await?;
    scene.apply("Subnet", "more", &format!("{vpc}, cidrBlock: {{value: 10.70.1.0/24}}"), "").await?;
    let gateway = "gatewayID: {valueFrom: {krakenResource: {kind: internetgateway, name: more}}}";
    let table = format!(
        "{vpc}, routes: [{{destinationCIDRBlock: {{value: 0.0.0.0/0}}, {gateway}}}], \
         subnetIDs: {{value: [{{valueFrom: {{krakenResource: {{kind: subnet, name: more}}}}}}]}}"
    );
    scene.apply("RouteTable", "more", &table, "").await?;
    let rule = |blocks: &[String]| {
        let blocks = blocks.join(", ");
        format!("[{{protocol: {{value: tcp}}, fromPort: {{value: 443}}, cidrBlocks: {{value: [{blocks}]}}}}]")
    };
    let blocks =
        |of: &str, count: usize| -> Vec<String> { (0..count).map(|n| format!("10.{of}.{n}.0/24")).collect() };
    let of = |ingress: &str| {
        let egress = rule(&["10.0.0.0/8".to_owned()]);
        format!(
            "{vpc}, ingress: {}, egress: {egress}",
            rule(&blocks(ingress, if ingress == "1" { 2 } else { 60 }))
        )
    };
    scene.apply("SecurityGroup", "more", &of("1"), "").await?;
    for kind in ["VPC", "InternetGateway", "Subnet", "RouteTable", "SecurityGroup"] {
        world.ready(kind, "more").await?;
    }
    assert_eq!(cloud.pending_failures(), 0);
    for action in ["CreateRoute", "AssociateRouteTable", "AttachInternetGateway", "AssociateVpcCidrBlock"] {
        assert_eq!(cloud.count(action), 1, "{action}");
    }
    // As many rules as a group can have, twice: the second set does not fit beside the first.
    for set in ["2", "3"] {
        scene.apply("SecurityGroup", "more", &of(set), "").await?;
        world.ready("SecurityGroup", "more").await?;
    }
    assert!(!cloud.refusals("RulesPerSecurityGroupLimitExceeded").is_empty());
    Ok(())
}
