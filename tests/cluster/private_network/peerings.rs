//! VPC peering connections. moto ignores the filters of their descriptions, creates a second connection of the same VPCs, and keeps those that ended.

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{FailureMode, FailurePoint, http};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use super::{CALLS, adopted, delete_all, from, resource, test_env};
use crate::network::{has, id};

const OTHER_REGION: &str = "eu-west-1";

/// A call of moto's EC2 in another region.
async fn elsewhere(test_env: &TestEnv, action: &str, fields: &[(&str, &str)]) -> Result<String> {
    let scope = format!("testing/20260101/{OTHER_REGION}/ec2/aws4_request");
    let credential = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
    let form = [&[("Action", action), ("Version", "2016-11-15")], fields].concat();
    let headers = [("authorization", credential.as_str())];
    let answer = http::post_form(test_env.env.moto.endpoint(), &headers, &form).await?;
    if answer.status != 200 {
        bail!("{action} failed with {}: {}", answer.status, answer.body);
    }
    Ok(answer.body)
}

async fn vpcs(test_env: &TestEnv, blocks: [(&str, &str); 2]) -> Result<()> {
    let vpcs = blocks.map(|(name, block)| resource("VPC", name, json!({"cidrBlock": {"value": block}})));
    test_env.apply(&vpcs.join("\n---\n")).await
}

/// The connections of this namespace that did not end.
async fn live(test_env: &TestEnv) -> Result<Vec<Value>> {
    let mut all = test_env.in_cloud("DescribeVpcPeeringConnections", "vpcPeeringConnectionSet").await?;
    all.retain(|one| !["deleted", "rejected"].iter().any(|code| one["status"]["code"] == *code));
    Ok(all)
}

#[tokio::test]
async fn a_connection_is_accepted_corrected_and_deleted_in_any_order() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let route = json!([{
        "destinationCIDRBlock": {"value": "10.45.0.0/16"},
        "vpcPeeringConnectionID": from("VPCPeeringConnection/data"),
    }]);
    test_env
        .apply(&resource("RouteTable", "main", json!({"vpcID": from("VPC/main"), "routes": route})))
        .await?;
    let connection = json!({
        "vpcID": from("VPC/main"), "peerVPCID": from("VPC/data"), "tags": {"Team": "net"},
        "requesterAllowDNSResolutionFromRemoteVPC": {"value": true},
        "accepterAllowDNSResolutionFromRemoteVPC": {"value": true},
    });
    test_env.apply(&resource("VPCPeeringConnection", "data", connection)).await?;
    vpcs(&test_env, [("main", "10.44.0.0/16"), ("data", "10.45.0.0/16")]).await?;
    let first = id(&test_env, "VPCPeeringConnection", "data").await?;
    let route = id(&test_env, "RouteTable", "main").await?;
    let leads_to = |table: &Value, id: &str| {
        table["routeTableId"] == json!(route)
            && has(&table["routeSet"], |route| route["vpcPeeringConnectionId"] == json!(id))
    };
    test_env
        .until_cloud("DescribeRouteTables", "routeTableSet", |all| {
            all.iter().any(|one| leads_to(one, &first))
        })
        .await?;
    let is_on =
        |one: &Value, side: &str| one[side]["peeringOptions"]["allowDnsResolutionFromRemoteVpc"] == "true";
    let is_in_place = |all: &[Value]| {
        all.iter().any(|one| {
            one["status"]["code"] == "active"
                && is_on(one, "requesterVpcInfo")
                && is_on(one, "accepterVpcInfo")
        })
    };
    let list = "vpcPeeringConnectionSet";
    test_env.until_cloud("DescribeVpcPeeringConnections", list, is_in_place).await?;
    let off = [
        ("VpcPeeringConnectionId", first.as_str()),
        ("AccepterPeeringConnectionOptions.AllowDnsResolutionFromRemoteVpc", "false"),
    ];
    test_env.env.moto.ec2("ModifyVpcPeeringConnectionOptions", &off).await?;
    test_env.until_cloud("DescribeVpcPeeringConnections", list, is_in_place).await?;

    // The other direction is the same connection.
    let reverse = json!({"vpcID": from("VPC/data"), "peerVPCID": from("VPC/main")});
    test_env.apply(&resource("VPCPeeringConnection", "reverse", reverse)).await?;
    let why = test_env.not_ready("VPCPeeringConnection", "reverse", "ValueInUse").await?;
    let owner =
        format!("is in use by {first}, which belongs to VPCPeeringConnection/{}/data", test_env.ns.name);
    assert!(why.contains(&owner), "{why}");
    delete_all(&test_env, &[("VPCPeeringConnection", "reverse")]).await?;

    // One that somebody deleted is created again, and routes follow.
    test_env.env.moto.ec2("DeleteVpcPeeringConnection", &[("VpcPeeringConnectionId", &first)]).await?;
    test_env
        .until("VPCPeeringConnection", "data", |object| {
            object["status"]["externalIds"][0].as_str().is_some_and(|id| id != first)
        })
        .await?;
    let second = id(&test_env, "VPCPeeringConnection", "data").await?;
    test_env
        .until_cloud("DescribeRouteTables", "routeTableSet", |all| {
            all.iter().any(|one| leads_to(one, &second))
        })
        .await?;
    let all = [("VPC", "main"), ("VPC", "data"), ("VPCPeeringConnection", "data"), ("RouteTable", "main")];
    delete_all(&test_env, &all).await?;
    assert_eq!(live(&test_env).await?, [Value::Null; 0]);
    Ok(())
}

#[tokio::test]
async fn a_connection_to_another_region_waits_for_its_owner_and_is_not_repeated_if_it_is_rejected()
-> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    test_env.apply(&resource("VPC", "main", json!({"cidrBlock": {"value": "10.46.0.0/16"}}))).await?;
    let made = elsewhere(&test_env, "CreateVpc", &[("CidrBlock", "10.47.0.0/16")]).await?;
    let peer = made.split("<vpcId>").nth(1).and_then(|rest| rest.split('<').next()).context("no VPC")?;
    let spec = json!({"vpcID": from("VPC/main"), "peerVPCID": {"value": peer}, "peerRegion": {"value": OTHER_REGION}});
    for (name, action) in
        [("accepted", "AcceptVpcPeeringConnection"), ("rejected", "RejectVpcPeeringConnection")]
    {
        test_env.apply(&resource("VPCPeeringConnection", name, spec.clone())).await?;
        let waits =
            |object: &Value| object["status"].to_string().contains("waiting until the owner of the peer VPC");
        let object = test_env.until("VPCPeeringConnection", name, waits).await?;
        let id = object["status"]["externalIds"][0].as_str().context("no id")?.to_owned();
        elsewhere(&test_env, action, &[("VpcPeeringConnectionId", &id)]).await?;
        if name == "accepted" {
            test_env.ready("VPCPeeringConnection", name).await?;
        } else {
            let why = test_env.not_ready("VPCPeeringConnection", name, "CloudRefused").await?;
            assert!(why.contains(&format!("{id} is rejected")) && why.contains("two days"), "{why}");
            assert_eq!(live(&test_env).await?, [Value::Null; 0]);
        }
        delete_all(&test_env, &[("VPCPeeringConnection", name)]).await?;
    }
    delete_all(&test_env, &[("VPC", "main")]).await
}

#[tokio::test]
async fn a_connection_of_somebody_else_is_rejected_and_adopted_on_request() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    vpcs(&test_env, [("main", "10.48.0.0/16"), ("data", "10.49.0.0/16")]).await?;
    let (vpc, peer) = (id(&test_env, "VPC", "main").await?, id(&test_env, "VPC", "data").await?);
    let moto = &test_env.env.moto;
    let made = moto.ec2("CreateVpcPeeringConnection", &[("VpcId", &vpc), ("PeerVpcId", &peer)]).await?;
    let existing =
        made["vpcPeeringConnection"]["vpcPeeringConnectionId"].as_str().context("no id")?.to_owned();
    let mut spec = json!({"vpcID": from("VPC/main"), "peerVPCID": from("VPC/data")});
    test_env.apply(&resource("VPCPeeringConnection", "a", spec.clone())).await?;
    let why = test_env.not_ready("VPCPeeringConnection", "a", "CloudRefused").await?;
    assert!(why.contains(&existing) && why.contains("not managed by Kraken"), "{why}");
    spec["lifecycle"] = json!({"adopt": {"id": existing}});
    test_env.apply(&resource("VPCPeeringConnection", "b", spec)).await?;
    assert_eq!(adopted(&test_env, "VPCPeeringConnection", "b").await?, existing);
    delete_all(&test_env, &[("VPCPeeringConnection", "a"), ("VPCPeeringConnection", "b")]).await?;
    // An adopted one is kept, accepted and without a trace.
    let all = moto.ec2("DescribeVpcPeeringConnections", &[("VpcPeeringConnectionId.1", &existing)]).await?;
    let kept = &all["vpcPeeringConnectionSet"][0];
    assert!(kept["status"]["code"] == "active" && !kept["tagSet"].to_string().contains("kraken"), "{kept}");
    moto.ec2("DeleteVpcPeeringConnection", &[("VpcPeeringConnectionId", &existing)]).await?;
    delete_all(&test_env, &[("VPC", "main"), ("VPC", "data")]).await
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    test_env.env.proxy.fail_next("CreateVpcPeeringConnection", FailurePoint::After, FailureMode::Drop);
    vpcs(&test_env, [("main", "10.50.0.0/16"), ("data", "10.51.0.0/16")]).await?;
    let spec = json!({"vpcID": from("VPC/main"), "peerVPCID": from("VPC/data")});
    test_env.apply(&resource("VPCPeeringConnection", "once", spec)).await?;
    test_env.ready("VPCPeeringConnection", "once").await?;
    assert_eq!((live(&test_env).await?.len(), test_env.env.proxy.pending_failures()), (1, 0));
    delete_all(&test_env, &[("VPCPeeringConnection", "once"), ("VPC", "main"), ("VPC", "data")]).await
}
