//! Names in use, adoption, and the instances of groups, which belong to no resource.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_name_in_use_is_rejected_with_its_holder_and_a_group_is_adopted_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    let name = format!("taken-{}", test_env.ns.name);
    let subnets = network.subnets.join(",");
    let template_id = {
        let fields = [
            ("LaunchTemplateName", name.as_str()),
            ("LaunchTemplateData.ImageId", "ami-12c6146b"),
            ("LaunchTemplateData.InstanceType", "t3.micro"),
        ];
        text(&call(&test_env, EC2, "CreateLaunchTemplate", &fields).await?, "launchTemplateId")?
    };
    let fields = [
        ("AutoScalingGroupName", name.as_str()),
        ("LaunchTemplate.LaunchTemplateId", &template_id),
        ("MinSize", "0"),
        ("MaxSize", "4"),
        ("VPCZoneIdentifier", &subnets),
    ];
    call(&test_env, AUTOSCALING, "CreateAutoScalingGroup", &fields).await?;

    let mut templates = template("t3.small");
    let mut groups = group(&network.subnets);
    groups["launchTemplateID"] = json!({"value": template_id});
    groups.as_object_mut().unwrap().remove("launchTemplateVersion");
    for (kind, holder, spec) in
        [("LaunchTemplate", &template_id, &mut templates), ("AutoScalingGroup", &name, &mut groups)]
    {
        spec["name"] = json!({"value": name});
        test_env.apply(&resource(kind, "a", spec)).await?;
        let why = test_env.not_ready(kind, "a", "CloudRefused").await?;
        let says = format!("the name {name} is in use by {holder}, which is not managed by Kraken");
        assert!(why.contains(&says), "{why}");
        test_env.delete(kind, "a").await?;
        test_env.gone(kind, "a").await?;
    }
    assert_eq!(default_version(&test_env, &template_id).await?, ("1".to_owned(), "t3.micro".to_owned()));
    assert_eq!(text(&group_in_moto(&test_env, &name).await?, "MinSize")?, "0");

    groups["lifecycle"] = json!({"adopt": {"id": name}});
    groups["minSize"] = json!({"value": 0});
    groups.as_object_mut().unwrap().remove("tags");
    test_env.apply(&resource("AutoScalingGroup", "b", &groups)).await?;
    assert_eq!(id(&test_env.ready("AutoScalingGroup", "b").await?)?, name);
    test_env.delete("AutoScalingGroup", "b").await?;
    test_env.gone("AutoScalingGroup", "b").await?;
    // An adopted group is kept, without tags of Kraken.
    let kept = group_in_moto(&test_env, &name).await?;
    assert_eq!(text(&kept, "MaxSize")?, "4");
    assert!(!kept.contains("kraken-iac"), "{kept}");
    Ok(())
}

#[tokio::test]
async fn instances_of_a_group_are_no_orphans_and_no_instances_of_a_resource_with_the_same_tags() -> Result<()>
{
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    let instance = json!({
        "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t3.micro"}, "minCount": {"value": 1},
        "maxCount": {"value": 1}, "tags": {"Team": "web"},
    });
    for (kind, spec) in [
        ("LaunchTemplate", template("t3.micro")),
        ("AutoScalingGroup", group(&network.subnets)),
        ("EC2Instance", instance),
    ] {
        test_env.apply(&resource(kind, "web", &spec)).await?;
    }
    let own = id(&test_env.ready("EC2Instance", "web").await?)?.to_owned();
    let group = id(&test_env.ready("AutoScalingGroup", "web").await?)?.to_owned();
    let launched = instances(&test_env, &group).await?;
    assert_eq!(launched.len(), 2);
    for one in &launched {
        assert_eq!(one.tags.get("Team").map(String::as_str), Some("web"));
        assert!(one.tags.keys().all(|key| !key.starts_with("kraken-iac")), "{:?}", one.tags);
    }
    // Several sweeps for orphans, and reconciles of the resource with the same tags.
    for number in 1..4 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        request_reconcile(&test_env, "EC2Instance", "web", &number.to_string()).await?;
    }
    let resource = test_env.ready("EC2Instance", "web").await?;
    assert_eq!(resource["status"]["externalIds"], json!([own]));
    let mut ids: Vec<&String> = launched.iter().map(|one| &one.id).collect();
    let after = instances(&test_env, &group).await?;
    let mut left: Vec<&String> = after.iter().map(|one| &one.id).collect();
    ids.sort();
    left.sort();
    assert_eq!(ids, left);
    // The deletion of the resource does not touch them either.
    test_env.delete("EC2Instance", "web").await?;
    test_env.gone("EC2Instance", "web").await?;
    assert_eq!(instances(&test_env, &group).await?.len(), 2);
    Ok(())
}
