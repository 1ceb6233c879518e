//! What exists in the cloud is part of a plan: drift, what is missing, and what an adoption changes.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{BEFORE, program, stack, versions};
use crate::kubectl::{Shell, with_webhooks};

#[tokio::test]
async fn a_plan_names_what_differs_in_the_cloud() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    shell.write("stack.yaml", &stack(&BEFORE.into()))?;
    shell.run(&format!("{program} apply -f stack.yaml --yes --timeout 120")).await?;
    let id = async |kind: &str, name: &str| {
        let object = test_env.ready(kind, name).await?;
        object["status"]["externalIds"][0].as_str().map(str::to_owned).context("no id")
    };
    let (vpc, group) = (id("VPC", "main").await?, id("SecurityGroup", "web").await?);
    let moto = &test_env.env.moto;
    let tag = |id, value| [("ResourceId.1", id), ("Tag.1.Key", "Team"), ("Tag.1.Value", value)];
    moto.ec2("CreateTags", &tag(&*vpc, "eve")).await?;
    moto.ec2(
        "AuthorizeSecurityGroupIngress",
        &[
            ("GroupId", &*group),
            ("IpPermissions.1.IpProtocol", "tcp"),
            ("IpPermissions.1.FromPort", "22"),
            ("IpPermissions.1.ToPort", "22"),
            ("IpPermissions.1.IpRanges.1.CidrIp", "0.0.0.0/0"),
        ],
    )
    .await?;
    let before = versions(&shell).await?;
    let printed = shell.output(&format!("{program} plan -f stack.yaml")).await?.1;
    for text in [
        &format!("~ VPC/main\n    corrects {vpc} in the cloud: tags.Team eve -> shop\n"),
        &format!("~ SecurityGroup/web\n    corrects {group} in the cloud: ingress"),
        "Plan: 2 to change; 3 unchanged.",
    ] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    // The same without files: what the reconciles will do.
    let all = shell.output(&format!("{program} plan")).await?.1;
    assert!(all.contains("tags.Team eve -> shop") && all.contains("Plan: 2 to change; "), "{all}");
    let specs = shell.run(&format!("{program} plan -f stack.yaml --no-refresh")).await?;
    assert_eq!(specs, "Nothing changes: 5 unchanged.\n");
    assert_eq!(before, versions(&shell).await?);
    shell.run(&format!("{program} apply -f stack.yaml --yes")).await.map(drop)
}

/// An object that was deleted in the cloud gets another id, which those that refer to it follow.
#[tokio::test]
async fn a_plan_names_what_follows_from_a_missing_object() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let of = |kind: &str, name: &str, spec: &str| {
        let head = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1";
        format!("{{{head}, kind: {kind}, metadata: {{name: {name}}}, spec: {{{spec}}}}}")
    };
    let vpc = of("VPC", "main", "cidrBlock: {value: 10.62.0.0/16}");
    let gateway = of("InternetGateway", "main", "vpcID: {valueFrom: {ref: VPC/main}}");
    let table = of(
        "RouteTable",
        "main",
        "vpcID: {valueFrom: {ref: VPC/main}}, routes: [{destinationCIDRBlock: {value: 0.0.0.0/0}, gatewayID: {valueFrom: {ref: \
         InternetGateway/main}}}]",
    );
    shell.write("stack.yaml", &[vpc, gateway, table].join("\n---\n"))?;
    shell.run(&format!("{program} apply -f stack.yaml --yes --timeout 120")).await?;
    let (vpc, gateway) =
        (test_env.ready("VPC", "main").await?, test_env.ready("InternetGateway", "main").await?);
    let id = |object: &Value| object["status"]["externalIds"][0].as_str().map(str::to_owned).context("no id");
    let (vpc, gateway) = (id(&vpc)?, id(&gateway)?);
    let moto = &test_env.env.moto;
    moto.ec2("DetachInternetGateway", &[("InternetGatewayId", &*gateway), ("VpcId", &*vpc)]).await?;
    moto.ec2("DeleteInternetGateway", &[("InternetGatewayId", &*gateway)]).await?;
    let printed = shell.output(&format!("{program} plan -f stack.yaml")).await?.1;
    for text in [
        "+ InternetGateway/main\n    recreates ",
        &format!("missing in the cloud: {gateway}"),
        "~ RouteTable/main\n",
        "gatewayID InternetGateway/main -> (known after apply)",
        "because InternetGateway/main is replaced",
    ] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    shell.run(&format!("{program} apply -f stack.yaml --yes")).await?;
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}

/// What an adoption changes is known before the apply, and an impossible one is not applied.
#[tokio::test]
async fn a_plan_names_what_an_adoption_changes() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let created = test_env.env.moto.ec2("CreateVpc", &[("CidrBlock", "10.64.0.0/16")]).await?;
    let id = created.pointer("/vpc/vpcId").and_then(Value::as_str).context("no VPC was created")?;
    let adopting = |id: &str, cidr: &str, tag: &str| {
        format!(
            "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {{name: old}}, spec: {{cidrBlock: \
             {{value: {cidr}}}, {tag} lifecycle: {{adopt: {{id: {id}}}}}}}}}"
        )
    };
    let planned = async |text: String| {
        shell.write("vpc.yaml", &text)?;
        anyhow::Ok(shell.output(&format!("{program} plan -f vpc.yaml")).await?.1)
    };
    let same = planned(adopting(id, "10.64.0.0/16", "")).await?;
    assert!(same.contains(&format!("= VPC/old\n    adopts {id} without changes\n")), "{same}");
    let tagged = planned(adopting(id, "10.64.0.0/16", "tags: {Team: shop},")).await?;
    assert!(tagged.contains(&format!("adopts {id}: tags.Team (absent) -> shop")), "{tagged}");
    let other = planned(adopting(id, "10.65.0.0/16", "")).await?;
    assert!(other.contains(&format!("adopts {id}; cannot change spec.cidrBlock")), "{other}");
    let absent = planned(adopting("vpc-0123456789abcdef0", "10.64.0.0/16", "")).await?;
    assert!(absent.contains("x VPC/old\n    cannot adopt ") && absent.contains("no VPC has"), "{absent}");
    test_env.env.moto.ec2("DeleteVpc", &[("VpcId", id)]).await.map(drop)
}

/// A set may have objects of several namespaces, and a ReferenceGrant, on which no controller reports.
#[tokio::test]
async fn a_plan_has_the_namespaces_of_its_files() -> Result<()> {
    let (network, shop) = (with_webhooks().await?, with_webhooks().await?);
    let (shell, program) = (Shell::of(&network)?, program()?);
    let (owner, user) = (&network.ns.name, &shop.ns.name);
    let aws = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1";
    let set = |team: &str, names: &str| {
        format!(
            "{{{aws}, kind: VPC, metadata: {{name: main}}, spec: {{cidrBlock: {{value: 10.65.0.0/16}}, tags: {{Team: {team}}}}}}}\n---\n\
             {{apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1, kind: ReferenceGrant, metadata: {{name: shop}}, \
             spec: {{from: [{{namespace: {user}}}], to: [{{kind: VPC{names}}}]}}}}\n---\n\
             {{{aws}, kind: Subnet, metadata: {{name: a, namespace: {user}}}, spec: {{vpcID: {{valueFrom: {{ref: 'VPC/{owner}:main'}}}}, \
             cidrBlock: {{value: 10.65.1.0/24}}, tags: {{Team: {team}}}}}}}"
        )
    };
    shell.write("set.yaml", &set("a", ""))?;
    let applied = shell.run(&format!("{program} apply -f set.yaml --yes --timeout 120")).await?;
    for text in [
        format!("+ VPC/main in namespace {owner}\n"),
        format!("+ ReferenceGrant/shop in namespace {owner}\n"),
        format!("+ Subnet/a in namespace {user}\n"),
        "Everything is ready".to_owned(),
    ] {
        assert!(applied.contains(&text), "{text}: {applied}");
    }
    shell.write("set.yaml", &set("b", ", name: main"))?;
    let printed = shell.output(&format!("{program} plan -f set.yaml")).await?.1;
    assert!(printed.contains("is edited; what that does is not part of a plan"), "{printed}");
    assert!(printed.ends_with("Plan: 3 to change; 0 unchanged.\n"), "{printed}");
    let other = shell.fails(&format!("{program} plan -f set.yaml -n {owner}")).await?;
    assert!(other.contains(&format!("the object is in namespace {user}")), "{other}");
    shell
        .run(&format!(
            "kubectl delete subnet a -n {user} --timeout=120s; kubectl delete kraken --all --timeout=120s"
        ))
        .await
        .map(drop)
}
