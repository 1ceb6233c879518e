//! Look-ups of what Kraken does not manage, in moto, with the real binaries: what they find, keep, and say.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};

use crate::kubectl::with_webhooks;

const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
const APPROVED: &str = "kraken-iac.eoinfennessy.com/approved-plan";

/// A resource that is observed every second.
fn resource(kind: &str, name: &str, mut spec: Value) -> String {
    spec["lifecycle"] = json!({"resyncInterval": "1s"});
    json!({"apiVersion": AWS, "kind": kind, "metadata": {"name": name}, "spec": spec}).to_string()
}

/// Registers an image of the account.
async fn image(test_env: &TestEnv, name: &str) -> Result<String> {
    let made = test_env.env.moto.ec2("RegisterImage", &[("Name", name)]).await?;
    made["imageId"].as_str().map(str::to_owned).with_context(|| format!("no image: {made}"))
}

/// Creates an object of the account with this tag, which names the test.
async fn tagged(test_env: &TestEnv, action: &str, path: &str, fields: &[(&str, &str)]) -> Result<String> {
    let made = test_env.env.moto.ec2(action, fields).await?;
    let id = made.pointer(path).and_then(Value::as_str).with_context(|| format!("no {path}: {made}"))?;
    let tag = [("ResourceId.1", id), ("Tag.1.Key", "Test"), ("Tag.1.Value", &*test_env.ns.name)];
    test_env.env.moto.ec2("CreateTags", &tag).await?;
    Ok(id.to_owned())
}

async fn vpc(test_env: &TestEnv) -> Result<String> {
    tagged(test_env, "CreateVpc", "/vpc/vpcId", &[("CidrBlock", "10.77.0.0/16")]).await
}

fn found(object: &Value) -> &Value {
    &object["status"]["answer"]["ids"]
}

#[tokio::test]
async fn an_image_is_found_kept_and_replaced_only_after_an_approval() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let name = format!("{}-server", test_env.ns.name);
    let first = image(&test_env, &format!("{name}-1")).await?;
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "images"},
        "data": {"web": format!("{name}-*")}});
    test_env.apply(&config_map.to_string()).await?;
    let spec = json!({"owner": {"value": "self"},
        "name": {"valueFrom": {"configMap": {"name": "images", "key": "web"}}}});
    test_env.apply(&resource("ImageLookup", "web", spec)).await?;
    let spec = json!({"imageID": {"valueFrom": {"ref": "ImageLookup/web"}}, "instanceType": {"value": "t2.nano"},
        "minCount": {"value": 1}, "maxCount": {"value": 1},
        "tags": {"Image": {"valueFrom": {"ref": "ImageLookup/web/image.Name"}}}});
    test_env.apply(&resource("EC2Instance", "web", spec)).await?;
    let instance = test_env.ready("EC2Instance", "web").await?;
    let lookup = test_env.ready("ImageLookup", "web").await?;
    assert_eq!(found(&lookup), &json!([first]));
    assert!(lookup["metadata"]["finalizers"].is_null(), "{lookup}");
    let alive = test_env.alive("web").await?;
    assert_eq!((&alive[0].image_id, &alive[0].tags["Image"]), (&first, &format!("{name}-1")));

    // The creation date of an image has whole seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let second = image(&test_env, &format!("{name}-2")).await?;
    let is_outdated = |object: &Value| condition(object, "UpdateAvailable")["status"] == "True";
    let lookup = test_env.until("ImageLookup", "web", is_outdated).await?;
    assert_eq!((found(&lookup), &lookup["status"]["answer"]["newer"]), (&json!([first]), &json!([second])));
    assert_eq!(condition(&lookup, "Ready")["status"], "True");
    let message = condition(&lookup, "UpdateAvailable")["message"].as_str().unwrap_or_default();
    assert!(message.starts_with(&format!("found {second} ({name}-2, ")), "{message}");
    let hash = lookup["status"]["plan"]["hash"].as_str().context("no plan")?;
    assert!(message.ends_with(&format!("{APPROVED}={hash}")), "{message}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let kept = test_env.get("EC2Instance", "web").await?;
    assert_eq!(condition(&kept, "Ready")["status"], "True");
    assert_eq!(kept["status"]["externalIds"], instance["status"]["externalIds"]);

    let approval = json!({"metadata": {"annotations": {APPROVED: hash}}});
    test_env.patch("ImageLookup", "web", approval).await?;
    let lookup = test_env.until("ImageLookup", "web", |object| found(object) == &json!([second])).await?;
    assert_eq!(condition(&lookup, "UpdateAvailable"), &Value::Null);
    // The machine is not replaced without its own consent.
    let why = test_env.not_ready("EC2Instance", "web", "ImmutableField").await?;
    assert!(why.contains(&first) && why.contains(&second), "{why}");

    test_env.delete("ImageLookup", "web").await?;
    test_env.gone("ImageLookup", "web").await?;
    test_env.not_ready("EC2Instance", "web", "DependenciesNotReady").await?;
    assert_eq!(test_env.alive("web").await?[0].id, alive[0].id);
    Ok(())
}

#[tokio::test]
async fn a_vpc_its_subnets_and_a_group_are_found_and_used_by_reference() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let vpc = vpc(&test_env).await?;
    let mut subnets = vec![];
    for (block, zone) in
        [("10.77.1.0/24", "us-east-1b"), ("10.77.2.0/24", "us-east-1a"), ("10.77.3.0/24", "us-east-1a")]
    {
        let fields = [("VpcId", &*vpc), ("CidrBlock", block), ("AvailabilityZone", zone)];
        subnets.push(tagged(&test_env, "CreateSubnet", "/subnet/subnetId", &fields).await?);
    }
    let fields = [("VpcId", &*vpc), ("GroupName", "shared"), ("GroupDescription", "shared")];
    let group = tagged(&test_env, "CreateSecurityGroup", "/groupId", &fields).await?;
    let of_vpc = json!({"valueFrom": {"ref": "VPCLookup/shared"}});
    let all = [
        resource("SubnetLookup", "shared", json!({"vpcID": of_vpc, "onePerZone": {"value": true}})),
        resource("SecurityGroupLookup", "shared", json!({"vpcID": of_vpc, "groupName": {"value": "shared"}})),
        json!({"apiVersion": "configexport.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ConfigExport",
            "metadata": {"name": "network"}, "spec": {"configType": "ConfigMap", "configMetadata": {"name": "network"},
            "entries": [
                {"key": "subnets", "valueFrom": {"krakenResource":
                    {"kind": "SubnetLookup", "name": "shared", "path": "$.subnets[*].SubnetId"}}},
                {"key": "group", "valueFrom": {"ref": "SecurityGroupLookup/shared"}},
                {"key": "block", "valueFrom": {"ref": "VPCLookup/shared/vpc.CidrBlock"}}]}})
        .to_string(),
        resource("VPCLookup", "shared", json!({"tags": {"Test": test_env.ns.name}})),
    ];
    test_env.apply(&all.join("\n---\n")).await?;
    test_env.ready("ConfigExport", "network").await?;
    let data = test_env.get("ConfigMap", "network").await?["data"].clone();
    let smallest = subnets[1].clone().min(subnets[2].clone());
    assert_eq!(data["subnets"], json!(json!([smallest, subnets[0]]).to_string()));
    assert_eq!((&data["group"], &data["block"]), (&json!(group), &json!("10.77.0.0/16")));
    // Only now: the look-up would find it, too.
    let own = resource("Subnet", "own", json!({"vpcID": of_vpc, "cidrBlock": {"value": "10.77.9.0/24"}}));
    test_env.apply(&own).await?;
    test_env.ready("Subnet", "own").await?;

    // It is Kraken's, and a subnet of the VPC like the others: nothing changes by itself.
    let subnets = test_env.ready("SubnetLookup", "shared").await?;
    assert_eq!(found(&subnets), &json!([smallest, found(&subnets)[1]]));
    test_env.delete("Subnet", "own").await?;
    test_env.gone("Subnet", "own").await
}

#[tokio::test]
async fn a_lookup_says_what_it_searched_for_and_what_narrows_it() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let tags = json!({"Test": test_env.ns.name});
    test_env.apply(&resource("VPCLookup", "shared", json!({"tags": tags}))).await?;
    let why = test_env.not_ready("VPCLookup", "shared", "NotFound").await?;
    let searched = format!("the search for VPCs with tags.Test {}", test_env.ns.name);
    assert_eq!(why, format!("{searched} found none: edit the spec, or check the account and the region"));
    let (one, two) = (vpc(&test_env).await?, vpc(&test_env).await?);
    let why = test_env.not_ready("VPCLookup", "shared", "Ambiguous").await?;
    assert!(
        why.starts_with(&format!("{searched} found 2, ")) && why.contains(&one) && why.contains(&two),
        "{why}"
    );
    assert!(why.ends_with("narrow the search with spec.cidrBlock, spec.isDefault or spec.tags"), "{why}");
    test_env.env.moto.ec2("DeleteVpc", &[("VpcId", &two)]).await?;
    let lookup = test_env.ready("VPCLookup", "shared").await?;
    assert_eq!(found(&lookup), &json!([one]));
    // What was found once stays, and is never replaced silently.
    test_env.env.moto.ec2("DeleteVpc", &[("VpcId", &one)]).await?;
    let why = test_env.not_ready("VPCLookup", "shared", "AnswerLost").await?;
    assert!(why.starts_with(&format!("{one} is not found any more, and stays published")), "{why}");
    let other = vpc(&test_env).await?;
    let has_plan = |object: &Value| object["status"]["plan"]["action"] == "Publish";
    test_env.until("VPCLookup", "shared", has_plan).await?;
    test_env.patch("VPCLookup", "shared", json!({"spec": {"pin": false}})).await?;
    assert_eq!(found(&test_env.ready("VPCLookup", "shared").await?), &json!([other]));
    Ok(())
}

#[tokio::test]
async fn a_lookup_without_a_criterion_or_with_a_secret_is_rejected() -> Result<()> {
    let test_env = with_webhooks().await?;
    let refused = test_env.refused(&resource("VPCLookup", "any", json!({}))).await?;
    assert!(refused.contains("says nothing about the VPC: set tags, cidrBlock or isDefault"), "{refused}");
    let secret =
        json!({"owner": {"value": "self"}, "name": {"valueFrom": {"secret": {"name": "s", "key": "k"}}}});
    let refused = test_env.refused(&resource("ImageLookup", "any", secret)).await?;
    assert!(refused.contains("secret"), "{refused}");
    let mut protected = json!({"owner": {"value": "self"}, "name": {"value": "a"}});
    protected["lifecycle"] = json!({"protect": true});
    let object =
        json!({"apiVersion": AWS, "kind": "ImageLookup", "metadata": {"name": "any"}, "spec": protected});
    let refused = test_env.refused(&object.to_string()).await?;
    assert!(refused.contains("protect"), "{refused}");
    Ok(())
}
