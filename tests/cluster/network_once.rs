//! Networks on the simulator: replacements, edits by others and other regions never cause duplicates.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{Call, FailureMode, FailurePoint, Kind, Simulator, SimulatorOptions};
use kraken_testing::SuiteOptions;
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};

use crate::network::{id, resource};

/// Short, because the test observes the time after its end.
const WINDOW: Duration = Duration::from_secs(2);

const OWNER: &str = "kraken-iac.eoinfennessy.com/owner";

/// The owner tags of a resource.
const KEYS: [&str; 4] = [
    "kraken-iac.eoinfennessy.com/cluster",
    "kraken-iac.eoinfennessy.com/uid",
    "kraken-iac.eoinfennessy.com/owner",
    "kraken-iac.eoinfennessy.com/epoch",
];

struct Scene {
    cloud: Simulator,
    test_env: TestEnv,
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
        Ok(Self { cloud, test_env: TestEnv::with(suite).await? })
    }

    async fn apply(&self, kind: &str, name: &str, spec: &str, lifecycle: &str) -> Result<()> {
        let object = resource(kind, name, spec);
        let more = format!("lifecycle: {{resyncInterval: 1s, {lifecycle}}}");
        self.test_env.apply(&object.replace("lifecycle: {resyncInterval: 1s}", &more)).await
    }

    async fn edit(&self, kind: &str, name: &str, spec: Value) -> Result<()> {
        self.test_env.patch(kind, name, json!({ "spec": spec })).await
    }

    /// Waits until Ready and the main id is another one than this.
    async fn replaced(&self, kind: &str, name: &str, before: &str) -> Result<String> {
        let is_new = |object: &Value| {
            let id = object["status"]["externalIds"][0].as_str().unwrap_or_default();
            let ready = condition(object, "Ready");
            ready["status"] == "True"
                && ready["observedGeneration"] == object["metadata"]["generation"]
                && !id.is_empty()
                && id != before
        };
        let object = self.test_env.until(kind, name, is_new).await?;
        object["status"]["externalIds"][0].as_str().map(str::to_owned).context("no id")
    }

    /// The live objects of a kind with this resource's name.
    fn alive(&self, of: Kind, kind: &str, name: &str) -> Vec<String> {
        self.cloud.tagged(of, OWNER, &format!("{kind}/{}/{name}", self.test_env.ns.name))
    }

    /// Waits until this is the only live object.
    async fn alone(&self, of: Kind, kind: &str, name: &str, id: &str) -> Result<()> {
        for _ in 0..300 {
            if self.alive(of, kind, name) == [id] {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("{:?} are live, and not only {id}", self.alive(of, kind, name))
    }
}

#[tokio::test]
async fn networks_are_never_created_twice() -> Result<()> {
    let scene = Scene::new().await?;
    a_replacement_creates_one_and_deletes_one(&scene).await?;
    an_impossible_create_first_replacement_is_reported(&scene).await?;
    a_change_already_in_place_counts_as_success(&scene).await?;
    removed_tags_are_set_again(&scene).await?;
    a_controller_in_another_region_changes_nothing(&scene).await
}

/// A VPC whose CIDR is edited, with a dependent security group and subnet.
async fn a_replacement_creates_one_and_deletes_one(scene: &Scene) -> Result<()> {
    let (test_env, first) = (&scene.test_env, "replace: CreateFirst");
    scene.apply("VPC", "moving", "cidrBlock: {value: 10.60.0.0/16}", first).await?;
    let vpc = "vpcID: {valueFrom: {krakenResource: {kind: vpc, name: moving}}}";
    scene.apply("SecurityGroup", "moving", &format!("{vpc}, egress: []"), first).await?;
    let (vpc, group) = (id(test_env, "VPC", "moving").await?, id(test_env, "SecurityGroup", "moving").await?);

    scene.edit("VPC", "moving", json!({"cidrBlock": {"value": "10.61.0.0/16"}})).await?;
    let new = scene.replaced("VPC", "moving", &vpc).await?;
    let new_group = scene.replaced("SecurityGroup", "moving", &group).await?;
    // The old one is deleted when it is empty; after that nothing happens for longer than the window.
    scene.alone(Kind::SecurityGroup, "SecurityGroup", "moving", &new_group).await?;
    scene.alone(Kind::Vpc, "VPC", "moving", &new).await?;
    tokio::time::sleep(WINDOW * 2).await;
    assert_eq!((scene.cloud.count("CreateVpc"), scene.cloud.count("CreateSecurityGroup")), (2, 2));
    assert_eq!(id(test_env, "VPC", "moving").await?, new);
    assert_eq!(id(test_env, "SecurityGroup", "moving").await?, new_group);
    Ok(())
}

/// A name, a CIDR block and an address must be unique: the condition says what to do, and nothing is retried every
/// second.
async fn an_impossible_create_first_replacement_is_reported(scene: &Scene) -> Result<()> {
    let (test_env, first) = (&scene.test_env, "replace: CreateFirst");
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
        test_env.ready(kind, name).await?;
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
        let message = test_env.not_ready(kind, name, "CloudRefused").await?;
        assert!(message.contains(taken) && message.contains("DeleteFirst"), "{message}");
    }
    assert_eq!(scene.cloud.count("CreateNatGateway"), 0);
    let tries = scene.cloud.count("CreateSubnet") + scene.cloud.count("CreateSecurityGroup");
    assert!(tries < 12, "{tries} calls");
    // As the message recommends.
    for (kind, name) in [("NATGateway", "a"), ("SecurityGroup", "named"), ("Subnet", "a")] {
        scene.edit(kind, name, json!({"lifecycle": {"replace": "DeleteFirst"}})).await?;
    }
    for (kind, name) in [("Subnet", "a"), ("SecurityGroup", "named"), ("NATGateway", "a")] {
        test_env.ready(kind, name).await?;
    }
    Ok(())
}

/// The response of a successful call is lost, or another client was faster: AWS rejects the next call, which is not a
/// failure.
async fn a_change_already_in_place_counts_as_success(scene: &Scene) -> Result<()> {
    let (test_env, cloud) = (&scene.test_env, &scene.cloud);
    cloud.clear_journal();
    for (action, code) in [
        ("CreateRoute", "RouteAlreadyExists"),
        ("AssociateRouteTable", "Resource.AlreadyAssociated"),
        ("AttachInternetGateway", "Resource.AlreadyAssociated"),
        ("AssociateVpcCidrBlock", "CidrConflict"),
        ("AuthorizeSecurityGroupEgress", "InvalidPermission.Duplicate"),
    ] {
        cloud.fail_next(action, FailurePoint::After, FailureMode::error(400, code, "It is so already."));
    }
    // One of two rules exists already when they are added.
    let duplicate =
        FailureMode::error(400, "InvalidPermission.Duplicate", "the specified rule already exists");
    cloud.fail_next("AuthorizeSecurityGroupIngress", FailurePoint::Before, duplicate);
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
        test_env.ready(kind, "more").await?;
    }
    assert_eq!(cloud.pending_failures(), 0);
    for action in ["CreateRoute", "AssociateRouteTable", "AttachInternetGateway", "AssociateVpcCidrBlock"] {
        assert_eq!(cloud.count(action), 1, "{action}");
    }
    // The maximum number of rules, twice: the quota does not allow both sets together.
    for set in ["2", "3"] {
        scene.apply("SecurityGroup", "more", &of(set), "").await?;
        test_env.ready("SecurityGroup", "more").await?;
    }
    assert!(!cloud.refusals("RulesPerSecurityGroupLimitExceeded").is_empty());
    Ok(())
}

/// A user or a policy removes tags: they are restored, and the objects remain managed.
async fn removed_tags_are_set_again(scene: &Scene) -> Result<()> {
    scene.cloud.clear_journal();
    for (of, kind, name) in [
        (Kind::Vpc, "VPC", "main"),
        (Kind::SecurityGroup, "SecurityGroup", "web"),
        (Kind::Address, "ElasticIP", "nat"),
        (Kind::NatGateway, "NATGateway", "a"),
    ] {
        let id = id(&scene.test_env, kind, name).await?;
        for key in KEYS {
            scene.cloud.tag_out_of_band(&id, key, None)?;
        }
        scene.alone(of, kind, name, &id).await?;
    }
    assert_eq!(creations(&scene.cloud), 0);
    Ok(())
}

fn creations(cloud: &Simulator) -> usize {
    let creates = |call: &&Call| {
        !call.out_of_band
            && (call.action.starts_with("Create") && call.action != "CreateTags"
                || call.action.starts_with("Allocate"))
    };
    cloud.journal().iter().filter(creates).count()
}

/// A controller in another region reports it, and neither creates nor releases anything.
async fn a_controller_in_another_region_changes_nothing(scene: &Scene) -> Result<()> {
    let test_env = &scene.test_env;
    let controller = test_env.env.suite.controller("aws-vpc")?;
    let vpc = id(test_env, "VPC", "main").await?;
    controller.restart_with(&[("AWS_REGION", "eu-west-1")]).await?;
    scene.cloud.clear_journal();
    for (kind, name) in [("VPC", "main"), ("SecurityGroup", "web"), ("NATGateway", "a")] {
        let says_both = |object: &Value| {
            let message = condition(object, "Ready")["message"].as_str().unwrap_or_default();
            message.contains("us-east-1") && message.contains("eu-west-1")
        };
        test_env.until(kind, name, says_both).await?;
    }
    test_env.delete("SecurityGroup", "named").await?;
    tokio::time::sleep(WINDOW * 2).await;
    let journal = scene.cloud.journal();
    let changes = |call: &&Call| !call.action.starts_with("Describe") && call.action != "GetCallerIdentity";
    let changes: Vec<&str> = journal.iter().filter(changes).map(|call| call.action.as_str()).collect();
    assert!(changes.is_empty(), "{changes:?}");
    let finalizers = &test_env.get("SecurityGroup", "named").await?["metadata"]["finalizers"];
    assert!(finalizers.as_array().is_some_and(|all| !all.is_empty()), "{finalizers}");

    controller.restart().await?;
    assert_eq!(id(test_env, "VPC", "main").await?, vpc);
    test_env.gone("SecurityGroup", "named").await
}
