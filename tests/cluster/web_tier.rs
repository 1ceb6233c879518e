//! A whole web tier on the simulator: applied at once, drifted, changed by one key, and deleted at once.

use anyhow::{Context as _, Result};
use kraken_simulator::{Simulator, SimulatorOptions};
use kraken_testing::{SuiteOptions, manifests, manifests::Document, paths};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

struct Tier {
    test_env: TestEnv,
    cloud: Simulator,
    samples: Vec<Document>,
}

/// The samples that are Kraken's, in an order in which each refers to something that does not exist yet. The simulator has no images
/// to look up.
fn samples() -> Result<Vec<Document>> {
    let mut samples = manifests::read(&paths::workspace_root()?.join("config/samples/web-tier"))?;
    samples.retain(|sample| !["Deployment", "ImageLookup"].contains(&sample.gvk.kind.as_str()));
    for instance in samples.iter_mut().filter(|sample| sample.gvk.kind == "EC2Instance") {
        instance.value["spec"]["imageID"] = json!({"value": "ami-12c6146b"});
    }
    samples.reverse();
    Ok(samples)
}

async fn tier() -> Result<Tier> {
    let cloud = Simulator::start(SimulatorOptions { strict_network: true, ..SimulatorOptions::default() })?;
    let suite = SuiteOptions {
        cloud_endpoint: Some(cloud.endpoint().to_owned()),
        resync_interval: Some("2s".to_owned()),
        ..SuiteOptions::default()
    };
    let tier = Tier { test_env: TestEnv::with(suite).await?, cloud, samples: samples()? };
    manifests::apply(&tier.test_env.client(), &tier.samples, &tier.test_env.ns.name).await?;
    tier.all_ready().await?;
    Ok(tier)
}

impl Tier {
    fn resources(&self) -> impl Iterator<Item = &Document> {
        self.samples.iter().filter(|sample| !sample.gvk.group.is_empty())
    }

    async fn all_ready(&self) -> Result<()> {
        for sample in self.resources() {
            self.test_env.ready(&sample.gvk.kind, &sample.name).await?;
        }
        Ok(())
    }

    async fn id(&self, kind: &str, name: &str) -> Result<String> {
        let object = self.test_env.get(kind, name).await?;
        let id = object["status"]["externalIds"][0].as_str();
        Ok(id.with_context(|| format!("{kind} {name} has no id"))?.to_owned())
    }

    /// The published state of a resource, when the predicate is true.
    async fn state(&self, kind: &str, name: &str, wanted: impl Fn(&Value) -> bool) -> Result<()> {
        let state = format!("{}.aws.{name}", kind.to_lowercase());
        self.test_env
            .until("StateDeclaration", &state, |object| wanted(&object["spec"]["data"]))
            .await
            .map(drop)
    }

    /// What is Ready is in place, field by field, for controllers without a memory, too: after a restart of all controllers no
    /// object is changed.
    async fn restart_changes_nothing(&self) -> Result<()> {
        for controller in self.test_env.env.suite.controllers() {
            controller.restart().await?;
        }
        self.cloud.clear_journal();
        for kind in ["Vpcs", "Instances", "LoadBalancers", "TargetGroups", "Listeners", "Rules"] {
            // The second observation of each kind is certainly one after the restart.
            self.cloud.wait_for(&format!("Describe{kind}"), 2, kraken_tests::test_env::TIMEOUT).await?;
        }
        let journal = self.cloud.journal();
        let changes = journal.iter().map(|call| call.action.as_str());
        let changes: Vec<&str> = changes
            .filter(|action| !["Describe", "Get"].iter().any(|reads| action.starts_with(reads)))
            .collect();
        assert!(changes.is_empty(), "{changes:?}");
        self.all_ready().await
    }

    /// Waits until a change was reverted.
    async fn reverted(&self, action: &str, before: usize) -> Result<()> {
        self.cloud.wait_for(action, before + 1, kraken_tests::test_env::TIMEOUT).await
    }
}

#[tokio::test]
async fn a_web_tier_is_created_updated_and_deleted_in_order() -> Result<()> {
    let tier = tier().await?;
    let address =
        tier.test_env.until("ConfigMap", "web-address", |map| !map["data"]["url"].is_null()).await?;
    let host = address["data"]["host"].as_str().unwrap_or_default().to_owned();
    assert!(host.contains("elb.amazonaws.com"), "{address}");
    assert_eq!(address["data"]["url"], json!(format!("http://{host}:80/")));

    tier.test_env
        .patch("ConfigMap", "web-tier", json!({"data": {"port": "8080", "clients": "10.0.0.0/8"}}))
        .await?;
    let follows = |map: &Value| map["data"]["url"] == json!(format!("http://{host}:8080/"));
    tier.test_env.until("ConfigMap", "web-address", follows).await?;
    tier.all_ready().await?;

    // AWS's deletion protection is enabled when everything is deleted: the condition says what to edit, and the edit
    // allows the deletion.
    let protection = |on: bool| json!({"spec": {"deletionProtection": {"value": on}}});
    tier.test_env.patch("LoadBalancer", "web", protection(true)).await?;
    tier.test_env.ready("LoadBalancer", "web").await?;
    manifests::delete(&tier.test_env.client(), &tier.samples, &tier.test_env.ns.name).await?;
    let message = tier.test_env.not_ready("LoadBalancer", "web", "DeletionProtected").await?;
    assert!(message.contains("set spec.deletionProtection to {value: false}"), "{message}");
    tier.test_env.patch("LoadBalancer", "web", protection(false)).await?;
    for sample in tier.resources() {
        tier.test_env.gone(&sample.gvk.kind, &sample.name).await?;
    }
    assert!(tier.cloud.live_counts().is_empty(), "{:?}", tier.cloud.live_counts());
    let in_vain = tier.cloud.dependency_violations();
    assert!(in_vain.is_empty(), "{in_vain:?}");
    Ok(())
}

#[tokio::test]
async fn out_of_band_changes_are_reverted() -> Result<()> {
    let tier = tier().await?;
    let cloud = &tier.cloud;
    let group = tier.id("SecurityGroup", "web").await?;
    let before = cloud.count("RevokeSecurityGroupIngress");
    cloud.add_rule_out_of_band(&group, 22, "0.0.0.0/0")?;
    tier.reverted("RevokeSecurityGroupIngress", before).await?;

    let table = tier.id("RouteTable", "web").await?;
    let before = cloud.count("CreateRoute");
    cloud.remove_route_out_of_band(&table, "0.0.0.0/0")?;
    tier.reverted("CreateRoute", before).await?;

    let vpc = tier.id("VPC", "web").await?;
    let before = cloud.count("CreateTags");
    cloud.tag_out_of_band(&vpc, "Name", Some("by another team"))?;
    tier.reverted("CreateTags", before).await?;

    let state = tier.test_env.get("StateDeclaration", "routetable.aws.web").await?;
    let associations = state["spec"]["data"]["routeTable"]["Associations"].as_array();
    let association =
        associations.and_then(|all| all.iter().find_map(|one| one["RouteTableAssociationId"].as_str()));
    let association = association.with_context(|| format!("no subnet is associated: {state}"))?;
    let before = cloud.count("AssociateRouteTable");
    cloud.out_of_band("DisassociateRouteTable", &[("AssociationId", association)])?;
    tier.reverted("AssociateRouteTable", before).await?;

    let listener = tier.id("Listener", "web").await?;
    let before = cloud.count("ModifyListener");
    cloud.change_port_out_of_band(&listener, 81)?;
    tier.reverted("ModifyListener", before).await?;
    tier.state("Listener", "web", |data| data["listener"]["Port"] == 80).await?;

    let rule = tier.id("ListenerRule", "web-ping").await?;
    let before = cloud.count("ModifyRule");
    let condition = "Conditions.member.1";
    let (field, value) =
        (format!("{condition}.Field"), format!("{condition}.PathPatternConfig.Values.member.1"));
    let by_hand = [("RuleArn", rule.as_str()), (field.as_str(), "path-pattern"), (value.as_str(), "/pong")];
    cloud.out_of_band_elb("ModifyRule", &by_hand)?;
    tier.reverted("ModifyRule", before).await?;
    let mut second = tier.test_env.get("ListenerRule", "web-ping").await?["spec"].clone();
    second["conditions"] = json!({"pathPatterns": {"value": ["/other"]}});
    let second = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ListenerRule",
        "metadata": {"name": "second"}, "spec": second,
    });
    tier.test_env.apply(&second.to_string()).await?;
    let message = tier.test_env.not_ready("ListenerRule", "second", "ValueInUse").await?;
    let words = format!("priority 10 of the listener is in use by {rule}, which belongs to ListenerRule/");
    assert!(message.contains(&words), "{message}");

    let targets = tier.id("TargetGroup", "web").await?;
    let instance = tier.id("EC2Instance", "web-a").await?;
    let before = cloud.count("RegisterTargets");
    let target = [("TargetGroupArn", targets.as_str()), ("Targets.member.1.Id", &instance)];
    cloud.out_of_band_elb("DeregisterTargets", &target)?;
    tier.reverted("RegisterTargets", before).await?;
    tier.all_ready().await?;
    tier.test_env.delete("ListenerRule", "second").await?;
    tier.test_env.gone("ListenerRule", "second").await?;
    tier.restart_changes_nothing().await
}
