//! Names that are in use by others, adoption and import.

use anyhow::Result;
use kraken_testing::paths;
use serde_json::{Value, json};

use super::*;
use crate::kubectl::Shell;

const TRUST: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
const DOCUMENT: &str =
    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":"*"}]}"#;

/// Objects that somebody else created with this name: each with its kind, its ARN and the spec that adopts it.
async fn foreign(test_env: &TestEnv, name: &str) -> Result<[(&'static str, String, Value); 3]> {
    let tag = [("Tags.member.1.Key", "Test"), ("Tags.member.1.Value", name)];
    let made = async |action: &str, fields: &[(&str, &str)]| {
        let fields = [fields, &tag].concat();
        text(&call(test_env, IAM, action, &fields).await?, "Arn")
    };
    let role = made("CreateRole", &[("RoleName", name), ("AssumeRolePolicyDocument", TRUST)]).await?;
    let policy = made("CreatePolicy", &[("PolicyName", name), ("PolicyDocument", DOCUMENT)]).await?;
    let profile = made("CreateInstanceProfile", &[("InstanceProfileName", name)]).await?;
    let membership = [("InstanceProfileName", name), ("RoleName", name)];
    call(test_env, IAM, "AddRoleToInstanceProfile", &membership).await?;
    let put = [("RoleName", name), ("PolicyName", "sqs"), ("PolicyDocument", DOCUMENT)];
    call(test_env, IAM, "PutRolePolicy", &put).await?;
    call(test_env, IAM, "AttachRolePolicy", &[("RoleName", name), ("PolicyArn", &policy)]).await?;
    let named = |mut spec: Value| {
        spec["name"] = json!({"value": name});
        spec
    };
    Ok([
        ("Role", role, named(json!({"trustPolicy": trust("ec2.amazonaws.com")}))),
        ("Policy", policy, named(json!({"document": allow("s3:GetObject")}))),
        ("InstanceProfile", profile, named(json!({"role": {"value": name}}))),
    ])
}

#[tokio::test]
async fn a_name_in_use_is_rejected_with_its_holder_and_adopted_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let name = unique(&test_env, "taken");
    let foreign = foreign(&test_env, &name).await?;
    let before = in_moto(&test_env, &name).await?;
    for (kind, arn, spec) in &foreign {
        test_env.apply(&resource(kind, "a", spec)).await?;
        let message = test_env.not_ready(kind, "a", "CloudRefused").await?;
        let holder = format!("the name {name} is in use by {arn}, which is not managed by Kraken");
        assert!(message.contains(&holder), "{message}");
        let mut adopting = spec.clone();
        adopting["lifecycle"] = json!({"adopt": {"id": arn}});
        test_env.apply(&resource(kind, "b", &adopting)).await?;
        assert_eq!(id(&test_env.ready(kind, "b").await?)?, arn);
        // Its holder is a resource now.
        request_reconcile(&test_env, kind, "a", "1").await?;
        let holder = format!("{arn}, which belongs to {kind}/{}/b", test_env.ns.name);
        test_env.until(kind, "a", |object| object["status"].to_string().contains(&holder)).await?;
    }
    for (kind, ..) in &foreign {
        for resource in ["a", "b"] {
            test_env.delete(kind, resource).await?;
            test_env.gone(kind, resource).await?;
        }
    }
    // Adopted objects are kept, and nothing of them was changed.
    let arns: Vec<&str> = foreign.iter().map(|(_, arn, _)| arn.as_str()).collect();
    assert_eq!(left(&test_env, &arns).await?.len(), 3);
    assert_eq!(in_moto(&test_env, &name).await?, before);
    Ok(())
}

#[tokio::test]
async fn a_role_that_somebody_recreates_with_the_same_name_is_not_taken_over() -> Result<()> {
    let test_env = test_env().await?;
    let name = unique(&test_env, "again");
    let spec = json!({"name": {"value": name}, "trustPolicy": trust("ec2.amazonaws.com")});
    test_env.apply(&resource("Role", "web", &spec)).await?;
    let arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    call(&test_env, IAM, "DeleteRole", &[("RoleName", &name)]).await?;
    let fields = [("RoleName", name.as_str()), ("AssumeRolePolicyDocument", TRUST)];
    call(&test_env, IAM, "CreateRole", &fields).await?;
    request_reconcile(&test_env, "Role", "web", "1").await?;
    test_env
        .until("Role", "web", |role| role["status"].to_string().contains("not managed by Kraken"))
        .await?;
    test_env.delete("Role", "web").await?;
    test_env.gone("Role", "web").await?;
    assert_eq!(left(&test_env, &[&arn]).await?, [arn.as_str()], "the same ARN, and another role");
    Ok(())
}

#[tokio::test]
async fn an_import_takes_over_what_exists_without_a_change() -> Result<()> {
    let test_env = test_env().await?;
    let name = unique(&test_env, "import");
    let foreign = foreign(&test_env, &name).await?;
    let before = in_moto(&test_env, &name).await?;
    let shell = Shell::of(&test_env)?;
    let program = paths::bin_dir()?.join("kubectl-kraken").display().to_string();
    // The controllers of other kinds do not run, which is an error at the end.
    shell.run(&format!("{program} import --tags Test={name} --timeout 15 >import.yaml || true")).await?;
    let yaml = shell.run("cat import.yaml").await?;
    for part in ["inlinePolicies:", "managedPolicyARNs:", "kind: Policy", "kind: InstanceProfile"] {
        assert!(yaml.contains(part), "{part}: {yaml}");
    }
    shell.run("kubectl apply -f import.yaml").await?;
    for (kind, arn, _) in &foreign {
        let all: Value = serde_json::from_str(&test_env.all(kind).await?)?;
        let resource = all[0]["metadata"]["name"].as_str().context("no resource")?.to_owned();
        assert_eq!(id(&test_env.ready(kind, &resource).await?)?, arn);
    }
    assert_eq!(in_moto(&test_env, &name).await?, before);
    Ok(())
}
