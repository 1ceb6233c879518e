//! Launch templates, Auto Scaling groups and scaling policies in moto, through their controllers as their real binaries. moto supports no
//! instance refreshes: unit tests of the kind have their rules.

mod ownership;

use anyhow::{Context as _, Result};
use kraken_simulator::Instance;
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::{
    balancing::{
        id,
        moto::{EC2, call, network, targets, text, texts},
        request_reconcile, until,
    },
    services::resource,
};

const AUTOSCALING: (&str, &str) = ("autoscaling", "2011-01-01");

/// An environment whose controllers have a shorter visibility window, and look for orphans all the time.
async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let env = SHARED
        .get(|| {
            let spokes = ["aws-autoscaling", "aws-ec2-instance", "aws-elb"];
            let only = [&["hub"], spokes.as_slice()].concat().into_iter().map(str::to_owned).collect();
            let mut suite = SuiteOptions { only: Some(only), ..SuiteOptions::default() };
            for spoke in spokes {
                suite = suite.with_env(spoke, "KRAKEN_VISIBILITY_WINDOW", "2s");
                suite = suite.with_env(spoke, "KRAKEN_ORPHAN_INTERVAL", "1s");
            }
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    TestEnv::on(env).await
}

fn of(reference: &str) -> Value {
    json!({"valueFrom": {"ref": reference}})
}

fn template(instance_type: &str) -> Value {
    json!({"imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": instance_type}, "tags": {"Team": "web"}})
}

fn group(subnets: &[String]) -> Value {
    json!({
        "launchTemplateID": of("LaunchTemplate/web"),
        "launchTemplateVersion": of("LaunchTemplate/web/launchTemplate.DefaultVersionNumber"),
        "minSize": {"value": 2}, "maxSize": {"value": 4}, "subnetIDs": {"value": subnets}, "tags": {"Team": "web"},
    })
}

fn policy() -> Value {
    json!({
        "groupName": of("AutoScalingGroup/web"), "metric": {"value": "ASGAverageCPUUtilization"}, "targetValue": {"value": 50},
    })
}

async fn group_in_moto(test_env: &TestEnv, name: &str) -> Result<String> {
    let fields = [("AutoScalingGroupNames.member.1", name)];
    call(test_env, AUTOSCALING, "DescribeAutoScalingGroups", &fields).await
}

/// The instances of a group that are not terminated. moto fails if a group of another test launches or terminates instances meanwhile.
async fn instances(test_env: &TestEnv, group: &str) -> Result<Vec<Instance>> {
    let mut all = test_env.env.moto.instances().await;
    for _ in 0..20 {
        if all.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        all = test_env.env.moto.instances().await;
    }
    let is_of_group =
        |one: &Instance| one.tags.get("aws:autoscaling:groupName").is_some_and(|name| name == group);
    Ok(all?.into_iter().filter(|one| one.is_alive() && is_of_group(one)).collect())
}

/// The version that is the default of a template, and its instance type.
async fn default_version(test_env: &TestEnv, id: &str) -> Result<(String, String)> {
    let fields = [("LaunchTemplateId", id), ("LaunchTemplateVersion.1", "$Default")];
    let found = call(test_env, EC2, "DescribeLaunchTemplateVersions", &fields).await?;
    Ok((text(&found, "versionNumber")?, text(&found, "instanceType")?))
}

#[tokio::test]
async fn a_group_behind_a_target_group_is_created_healed_and_deleted_in_any_order() -> Result<()> {
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    let target_group =
        json!({"protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": network.vpc}});
    let mut spec = group(&network.subnets);
    spec["targetGroupARNs"] = json!({"value": [of("TargetGroup/web")]});
    spec["healthCheckType"] = json!({"value": "ELB"});
    let all = [
        ("ScalingPolicy", policy()),
        ("AutoScalingGroup", spec),
        ("LaunchTemplate", template("t3.micro")),
        ("TargetGroup", target_group),
    ];
    for (kind, spec) in &all {
        test_env.apply(&resource(kind, "web", spec)).await?;
    }
    let group = id(&test_env.ready("AutoScalingGroup", "web").await?)?.to_owned();
    let template_id = id(&test_env.ready("LaunchTemplate", "web").await?)?.to_owned();
    let target_group = id(&test_env.ready("TargetGroup", "web").await?)?.to_owned();
    let policy = id(&test_env.ready("ScalingPolicy", "web").await?)?.to_owned();
    assert_eq!(instances(&test_env, &group).await?.len(), 2);
    assert_eq!(targets(&test_env, &target_group).await?.len(), 2);

    // Drift of sizes and of the policy is reverted; the number of instances is not the spec's.
    let sizes = [("AutoScalingGroupName", group.as_str()), ("MaxSize", "9"), ("DesiredCapacity", "3")];
    call(&test_env, AUTOSCALING, "UpdateAutoScalingGroup", &sizes).await?;
    let by_hand = [
        ("AutoScalingGroupName", group.as_str()),
        ("PolicyName", policy.split_once("policyName/").context("no name")?.1),
        ("PolicyType", "TargetTrackingScaling"),
        (
            "TargetTrackingConfiguration.PredefinedMetricSpecification.PredefinedMetricType",
            "ASGAverageCPUUtilization",
        ),
        ("TargetTrackingConfiguration.TargetValue", "80.0"),
    ];
    call(&test_env, AUTOSCALING, "PutScalingPolicy", &by_hand).await?;
    for kind in ["AutoScalingGroup", "ScalingPolicy"] {
        request_reconcile(&test_env, kind, "web", "1").await?;
    }
    until(|| async { Ok(text(&group_in_moto(&test_env, &group).await?, "MaxSize")? == "4") }).await?;
    assert_eq!(text(&group_in_moto(&test_env, &group).await?, "DesiredCapacity")?, "3");
    let value = || async {
        let found =
            call(&test_env, AUTOSCALING, "DescribePolicies", &[("AutoScalingGroupName", &group)]).await?;
        text(&found, "TargetValue")
    };
    until(|| async { Ok(value().await?.starts_with("50")) }).await?;

    // An edit is a new version, which the group follows. So is another default version that somebody made.
    test_env.apply(&resource("LaunchTemplate", "web", &template("t3.small"))).await?;
    let is_version = |number: &'static str| {
        let (test_env, group, template_id) = (&test_env, &group, &template_id);
        move || async move {
            let (version, kind) = default_version(test_env, template_id).await?;
            let found = text(&group_in_moto(test_env, group).await?, "LaunchTemplate")?;
            Ok((version.as_str(), kind.as_str()) == (number, "t3.small")
                && found.contains(&format!("<Version>{number}</Version>")))
        }
    };
    until(is_version("2")).await?;
    let version = [
        ("LaunchTemplateId", template_id.as_str()),
        ("LaunchTemplateData.ImageId", "ami-12c6146b"),
        ("LaunchTemplateData.InstanceType", "m5.large"),
    ];
    call(&test_env, EC2, "CreateLaunchTemplateVersion", &version).await?;
    let default = [("LaunchTemplateId", template_id.as_str()), ("SetDefaultVersion", "3")];
    call(&test_env, EC2, "ModifyLaunchTemplate", &default).await?;
    request_reconcile(&test_env, "LaunchTemplate", "web", "2").await?;
    until(is_version("4")).await?;

    for (kind, _) in all.iter().rev() {
        test_env.delete(kind, "web").await?;
    }
    for (kind, _) in &all {
        test_env.gone(kind, "web").await?;
    }
    assert_eq!(texts(&group_in_moto(&test_env, &group).await?, "AutoScalingGroupName"), [""; 0]);
    assert_eq!(instances(&test_env, &group).await?.len(), 0);
    let policies =
        call(&test_env, AUTOSCALING, "DescribePolicies", &[("AutoScalingGroupName", &group)]).await?;
    assert_eq!(texts(&policies, "PolicyName"), [""; 0]);
    assert!(default_version(&test_env, &template_id).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    use kraken_simulator::{FailureMode, FailurePoint};
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    let proxy = &test_env.env.proxy;
    let all = [
        ("LaunchTemplate", "CreateLaunchTemplate", template("t3.micro")),
        ("AutoScalingGroup", "CreateAutoScalingGroup", group(&network.subnets)),
        ("ScalingPolicy", "PutScalingPolicy", policy()),
    ];
    for (kind, action, spec) in &all {
        proxy.fail_next(action, FailurePoint::After, FailureMode::Drop);
        test_env.apply(&resource(kind, "web", spec)).await?;
        test_env.ready(kind, "web").await?;
    }
    let group = id(&test_env.get("AutoScalingGroup", "web").await?)?.to_owned();
    assert_eq!(instances(&test_env, &group).await?.len(), 2, "instances of a second group");
    let policies =
        call(&test_env, AUTOSCALING, "DescribePolicies", &[("AutoScalingGroupName", &group)]).await?;
    assert_eq!(texts(&policies, "PolicyName").len(), 1);
    let uid = test_env.get("LaunchTemplate", "web").await?["metadata"]["uid"]
        .as_str()
        .context("no UID")?
        .to_owned();
    let filter =
        [("Filter.1.Name", "tag:kraken-iac.eoinfennessy.com/uid"), ("Filter.1.Value.1", uid.as_str())];
    let templates = call(&test_env, EC2, "DescribeLaunchTemplates", &filter).await?;
    assert_eq!(texts(&templates, "launchTemplateId").len(), 1);
    for (kind, ..) in all {
        test_env.delete(kind, "web").await?;
    }
    for kind in ["ScalingPolicy", "AutoScalingGroup", "LaunchTemplate"] {
        test_env.gone(kind, "web").await?;
    }
    assert_eq!(instances(&test_env, &group).await?.len(), 0);
    Ok(())
}
