//! Network ACLs.

use anyhow::Result;
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use super::{CALLS, adopted, delete_all, from, resource, test_env};
use crate::network::{has, id};

fn entry(number: i32, port: i32) -> Value {
    json!({
        "ruleNumber": {"value": number}, "action": {"value": "allow"}, "protocol": {"value": "tcp"},
        "fromPort": {"value": port}, "cidrBlock": {"value": "10.0.0.0/8"},
    })
}

fn acl(ingress: &[Value], subnets: &[&str]) -> Value {
    let everything = json!({
        "ruleNumber": {"value": 100}, "action": {"value": "allow"}, "protocol": {"value": -1},
        "cidrBlock": {"value": "0.0.0.0/0"},
    });
    let subnets: Vec<Value> = subnets.iter().map(|name| from(&format!("Subnet/{name}"))).collect();
    json!({
        "vpcID": from("VPC/main"), "ingress": ingress, "egress": [everything], "subnetIDs": {"value": subnets},
    })
}

/// Waits until this is true for the network ACL with this id.
async fn until(test_env: &TestEnv, id: &str, wanted: impl Fn(&Value) -> bool + Send + Sync) -> Result<()> {
    let is_wanted = |all: &[Value]| all.iter().any(|one| one["networkAclId"] == json!(id) && wanted(one));
    test_env.until_cloud("DescribeNetworkAcls", "networkAclSet", is_wanted).await.map(drop)
}

/// Whether the network ACL has an inbound entry with this number and port.
fn admits(acl: &Value, number: &str, port: &str) -> bool {
    has(&acl["entrySet"], |entry| {
        entry["ruleNumber"] == number && entry["egress"] == "false" && entry["portRange"]["from"] == port
    })
}

fn is_of(acl: &Value, subnet: &str) -> bool {
    has(&acl["associationSet"], |association| association["subnetId"] == subnet)
}

#[tokio::test]
async fn a_network_acl_is_created_corrected_and_deleted_and_its_subnets_get_the_default_one() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let subnet = |block: &str| json!({"vpcID": from("VPC/main"), "cidrBlock": {"value": block}});
    let all = [
        ("NetworkACL", "private", acl(&[entry(100, 443), entry(110, 80)], &["a", "b"])),
        ("Subnet", "a", subnet("10.42.1.0/24")),
        ("Subnet", "b", subnet("10.42.2.0/24")),
        ("VPC", "main", json!({"cidrBlock": {"value": "10.42.0.0/16"}})),
    ];
    test_env.apply(&all.map(|(kind, name, spec)| resource(kind, name, spec)).join("\n---\n")).await?;
    let private = id(&test_env, "NetworkACL", "private").await?;
    let (a, b) = (id(&test_env, "Subnet", "a").await?, id(&test_env, "Subnet", "b").await?);
    until(&test_env, &private, |acl| {
        admits(acl, "100", "443") && admits(acl, "110", "80") && is_of(acl, &a) && is_of(acl, &b)
    })
    .await?;

    // Drift: an entry that is missing, one that is changed, and one that is added.
    let moto = &test_env.env.moto;
    let of = |number: &'static str| {
        [("NetworkAclId", private.as_str()), ("RuleNumber", number), ("Egress", "false")]
    };
    moto.ec2("DeleteNetworkAclEntry", &of("110")).await?;
    for (action, number) in [("ReplaceNetworkAclEntry", "100"), ("CreateNetworkAclEntry", "90")] {
        let more = [("Protocol", "6"), ("RuleAction", "deny"), ("CidrBlock", "0.0.0.0/0")];
        moto.ec2(action, &[&of(number)[..], &more].concat()).await?;
    }
    until(&test_env, &private, |acl| {
        let is_denied = has(&acl["entrySet"], |entry| entry["ruleAction"] == "deny");
        admits(acl, "100", "443") && admits(acl, "110", "80") && !is_denied
    })
    .await?;
    // An edit, with a subnet that gets the default network ACL.
    test_env.patch("NetworkACL", "private", json!({"spec": acl(&[entry(100, 8443)], &["b"])})).await?;
    until(&test_env, &private, |acl| {
        admits(acl, "100", "8443") && !admits(acl, "110", "80") && !is_of(acl, &a) && is_of(acl, &b)
    })
    .await?;

    // Another network ACL never takes a subnet, and gets it when it is free.
    test_env.apply(&resource("NetworkACL", "other", acl(&[], &["a", "b"]))).await?;
    let why = test_env.not_ready("NetworkACL", "other", "ValueInUse").await?;
    let holder =
        format!("{b} has the network ACL {private} of NetworkACL/{}/private already", test_env.ns.name);
    assert!(why.contains(&holder), "{why}");
    delete_all(&test_env, &[("NetworkACL", "private")]).await?;
    let other = id(&test_env, "NetworkACL", "other").await?;
    until(&test_env, &other, |acl| is_of(acl, &a) && is_of(acl, &b)).await?;

    delete_all(&test_env, &[("VPC", "main"), ("Subnet", "b"), ("NetworkACL", "other"), ("Subnet", "a")])
        .await?;
    assert_eq!(test_env.in_cloud("DescribeNetworkAcls", "networkAclSet").await?, [Value::Null; 0]);
    assert_eq!(test_env.in_cloud("DescribeVpcs", "vpcSet").await?, [Value::Null; 0]);
    Ok(())
}

#[tokio::test]
async fn an_existing_network_acl_is_adopted_and_kept() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    test_env.apply(&resource("VPC", "main", json!({"cidrBlock": {"value": "10.43.0.0/16"}}))).await?;
    let vpc = id(&test_env, "VPC", "main").await?;
    let moto = &test_env.env.moto;
    let made = moto.ec2("CreateNetworkAcl", &[("VpcId", &vpc)]).await?;
    let existing = made["networkAcl"]["networkAclId"].as_str().unwrap_or_default().to_owned();
    let mut adopt = acl(&[entry(100, 443)], &[]);
    adopt["lifecycle"] = json!({"adopt": {"id": existing}});
    test_env.apply(&resource("NetworkACL", "a", adopt)).await?;
    assert_eq!(adopted(&test_env, "NetworkACL", "a").await?, existing);
    until(&test_env, &existing, |acl| admits(acl, "100", "443")).await?;
    delete_all(&test_env, &[("NetworkACL", "a")]).await?;
    let all = moto.ec2("DescribeNetworkAcls", &[("NetworkAclId.1", &existing)]).await?;
    let kept = &all["networkAclSet"][0];
    assert!(admits(kept, "100", "443") && !kept["tagSet"].to_string().contains("kraken"), "{kept}");
    moto.ec2("DeleteNetworkAcl", &[("NetworkAclId", &existing)]).await?;
    delete_all(&test_env, &[("VPC", "main")]).await
}
