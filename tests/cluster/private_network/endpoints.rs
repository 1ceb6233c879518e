//! VPC endpoints. moto has no pending ones, ignores `PrivateDnsEnabled` of a change, and cannot delete a gateway endpoint without a type in its spec,
//! or with a route table that a change added.

use anyhow::Result;
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use super::{CALLS, delete_all, from, resource, test_env, texts};
use crate::network::{has, id};

const GATEWAY: &str = "com.amazonaws.us-east-1.s3";

fn policy(action: &str) -> Value {
    json!({"statements": [{
        "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["*"]}}, "actions": {"value": [action]},
        "resources": {"value": ["*"]},
    }]})
}

/// Waits until this is true for the endpoint of this resource.
async fn until(test_env: &TestEnv, name: &str, wanted: impl Fn(&Value) -> bool + Send + Sync) -> Result<()> {
    let id = id(test_env, "VPCEndpoint", name).await?;
    let is_wanted = |all: &[Value]| all.iter().any(|one| one["vpcEndpointId"] == json!(id) && wanted(one));
    test_env.until_cloud("DescribeVpcEndpoints", "vpcEndpointSet", is_wanted).await.map(drop)
}

#[tokio::test]
async fn endpoints_are_created_corrected_and_deleted_in_any_order() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let vpc = || from("VPC/main");
    let table = |name: &str| from(&format!("RouteTable/{name}"));
    let egress = json!([{
        "protocol": {"value": "tcp"}, "fromPort": {"value": 443},
        "prefixListIDs": {"value": [from("VPCEndpoint/s3/vpcEndpoint.PrefixListId")]},
    }]);
    let all = [
        (
            "VPCEndpoint",
            "queues",
            json!({
                "vpcID": vpc(), "serviceName": {"value": "com.amazonaws.us-east-1.sqs"}, "type": {"value": "Interface"},
                "subnetIDs": {"value": [from("Subnet/a"), from("Subnet/b")]},
                "securityGroupIDs": {"value": [from("SecurityGroup/endpoints")]}, "privateDNSEnabled": {"value": true},
            }),
        ),
        (
            "VPCEndpoint",
            "s3",
            json!({
                "vpcID": vpc(), "serviceName": {"value": GATEWAY}, "type": {"value": "Gateway"}, "routeTableIDs": {"value": [table("a")]},
                "policy": policy("s3:GetObject"), "tags": {"Team": "net"},
            }),
        ),
        ("SecurityGroup", "endpoints", json!({"vpcID": vpc(), "egress": egress})),
        ("RouteTable", "a", json!({"vpcID": vpc(), "routes": []})),
        ("RouteTable", "b", json!({"vpcID": vpc()})),
        ("Subnet", "a", json!({"vpcID": vpc(), "cidrBlock": {"value": "10.40.1.0/24"}})),
        (
            "Subnet",
            "b",
            json!({"vpcID": vpc(), "cidrBlock": {"value": "10.40.2.0/24"}, "availabilityZone": {"value": "us-east-1b"}}),
        ),
        ("VPC", "main", json!({"cidrBlock": {"value": "10.40.0.0/16"}})),
    ];
    let names = all.clone().map(|(kind, name, _)| (kind, name));
    test_env.apply(&all.map(|(kind, name, spec)| resource(kind, name, spec)).join("\n---\n")).await?;
    for (kind, name) in &names {
        test_env.ready(kind, name).await?;
    }
    let state =
        test_env.get("StateDeclaration", "vpcendpoint.aws.queues").await?["spec"]["data"]["vpcEndpoint"]
            .clone();
    assert!(has(&state["DnsEntries"], |entry| entry["DnsName"].is_string()), "{state}");
    assert_eq!(state["NetworkInterfaceIds"].as_array().map(Vec::len), Some(2), "{state}");
    let state =
        test_env.get("StateDeclaration", "vpcendpoint.aws.s3").await?["spec"]["data"]["vpcEndpoint"].clone();
    let list = state["PrefixListId"].as_str().unwrap_or_default().to_owned();
    assert!(list.starts_with("pl-") && state["PolicyDocument"].is_null(), "{state}");
    let uses_list = |group: &Value| group["ipPermissionsEgress"].to_string().contains(&list);
    test_env
        .until_cloud("DescribeSecurityGroups", "securityGroupInfo", |all| all.iter().any(uses_list))
        .await?;

    // Drift of a list, and an edit of several fields.
    let (queues, subnet) =
        (id(&test_env, "VPCEndpoint", "queues").await?, id(&test_env, "Subnet", "a").await?);
    let moto = &test_env.env.moto;
    moto.ec2("ModifyVpcEndpoint", &[("VpcEndpointId", &queues), ("RemoveSubnetId.1", &subnet)]).await?;
    until(&test_env, "queues", |one| texts(&one["subnetIdSet"]).contains(&subnet.as_str())).await?;
    let (first, second) = (id(&test_env, "RouteTable", "a").await?, id(&test_env, "RouteTable", "b").await?);
    let edit = |tables: Value, action: &str| json!({"spec": {"routeTableIDs": {"value": tables}, "policy": policy(action)}});
    test_env.patch("VPCEndpoint", "s3", edit(json!([table("b"), table("a")]), "s3:List*")).await?;
    let is_edited = |one: &Value| {
        texts(&one["routeTableIdSet"]).contains(&second.as_str())
            && one["policyDocument"].to_string().contains("s3:List*")
    };
    until(&test_env, "s3", is_edited).await?;
    test_env.patch("VPCEndpoint", "s3", edit(json!([table("a")]), "s3:List*")).await?;
    until(&test_env, "s3", |one| texts(&one["routeTableIdSet"]) == [first.as_str()]).await?;

    delete_all(&test_env, &names).await?;
    let left = test_env.in_cloud("DescribeVpcEndpoints", "vpcEndpointSet").await?;
    assert!(left.iter().all(|one| one["state"] == "deleted"), "{left:?}");
    assert_eq!(test_env.in_cloud("DescribeVpcs", "vpcSet").await?, [Value::Null; 0]);
    Ok(())
}

#[tokio::test]
async fn an_endpoint_of_another_service_is_replaced_and_one_that_exists_is_adopted() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    test_env.apply(&resource("VPC", "main", json!({"cidrBlock": {"value": "10.41.0.0/16"}}))).await?;
    let vpc = id(&test_env, "VPC", "main").await?;
    let spec = |service: &str| {
        json!({
            "vpcID": from("VPC/main"), "serviceName": {"value": service}, "type": {"value": "Gateway"},
            "lifecycle": {"replace": "DeleteFirst"},
        })
    };
    test_env.apply(&resource("VPCEndpoint", "a", spec(GATEWAY))).await?;
    let first = id(&test_env, "VPCEndpoint", "a").await?;
    let service = "com.amazonaws.us-east-1.dynamodb";
    test_env.patch("VPCEndpoint", "a", json!({"spec": {"serviceName": {"value": service}}})).await?;
    test_env
        .until("VPCEndpoint", "a", |object| {
            let id = object["status"]["externalIds"][0].as_str();
            id.is_some_and(|id| id != first)
        })
        .await?;
    until(&test_env, "a", |one| one["serviceName"] == service && one["state"] == "available").await?;

    let fields = [("VpcId", vpc.as_str()), ("ServiceName", GATEWAY), ("VpcEndpointType", "Gateway")];
    let made = test_env.env.moto.ec2("CreateVpcEndpoint", &fields).await?;
    let existing = made["vpcEndpoint"]["vpcEndpointId"].as_str().unwrap_or_default().to_owned();
    let adopt = json!({
        "vpcID": from("VPC/main"), "serviceName": {"value": GATEWAY}, "type": {"value": "Gateway"},
        "lifecycle": {"adopt": {"id": existing}},
    });
    test_env.apply(&resource("VPCEndpoint", "b", adopt)).await?;
    assert_eq!(id(&test_env, "VPCEndpoint", "b").await?, existing);
    delete_all(&test_env, &[("VPCEndpoint", "a"), ("VPCEndpoint", "b")]).await?;
    // An adopted one is kept, without a trace.
    let all = test_env.env.moto.ec2("DescribeVpcEndpoints", &[("VpcEndpointId.1", &existing)]).await?;
    let kept = &all["vpcEndpointSet"][0];
    assert!(kept["state"] == "available" && !kept["tagSet"].to_string().contains("kraken"), "{kept}");
    test_env.env.moto.ec2("DeleteVpcEndpoints", &[("VpcEndpointId.1", &existing)]).await?;
    delete_all(&test_env, &[("VPC", "main")]).await
}
