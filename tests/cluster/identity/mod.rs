//! IAM roles, policies, instance profiles and OIDC providers in moto, through their controller as its real binary.

mod federation;
mod ownership;
mod specs;

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::balancing::{
    id,
    moto::{IAM, call, text},
    request_reconcile, until,
};
use crate::services::resource;
use specs::{allow, id_of, in_moto, left, policy, role, trust, unique, version_in_moto};

/// An environment whose controllers have a shorter visibility window.
async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let env = SHARED
        .get(|| {
            let only = ["hub", "aws-iam", "aws-ec2-instance"].map(str::to_owned).to_vec();
            let suite = SuiteOptions { only: Some(only), ..SuiteOptions::default() }.with_env(
                "aws-iam",
                "KRAKEN_VISIBILITY_WINDOW",
                "2s",
            );
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    TestEnv::on(env).await
}

/// The name in an ARN.
fn name(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}

#[tokio::test]
async fn an_instance_gets_a_role_with_policies_from_one_file() -> Result<()> {
    let test_env = test_env().await?;
    let instance = json!({
        "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t3.micro"}, "minCount": {"value": 1},
        "maxCount": {"value": 1}, "iamInstanceProfile": id_of("InstanceProfile", "web"),
    });
    // In reverse order.
    let documents = [
        resource("EC2Instance", "web", &instance),
        resource("InstanceProfile", "web", &json!({"role": id_of("Role", "web")})),
        resource("Role", "web", &role()),
        resource("Policy", "web", &policy("s3:GetObject")),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    let policy_arn = id(&test_env.ready("Policy", "web").await?)?.to_owned();
    let role_arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    let profile_arn = id(&test_env.ready("InstanceProfile", "web").await?)?.to_owned();
    test_env.ready("EC2Instance", "web").await?;

    let found = in_moto(&test_env, name(&role_arn)).await?;
    let expected = specs::InMoto {
        trusted: json!({"Service": ["ec2.amazonaws.com"]}),
        attached: vec![policy_arn.clone()],
        inline: vec!["sqs".to_owned()],
        team: Some("web".to_owned()),
    };
    assert_eq!(found, expected);
    assert_eq!(version_in_moto(&test_env, &policy_arn).await?, (json!("s3:GetObject"), 1));
    let profile = [("InstanceProfileName", name(&profile_arn))];
    let read = call(&test_env, IAM, "GetInstanceProfile", &profile).await?;
    assert_eq!(text(&read, "RoleName")?, name(&role_arn));
    let answer = test_env.env.moto.ec2("DescribeInstances", &[]).await?.to_string();
    assert!(answer.contains(&profile_arn), "{answer}");
    let state = test_env.get("StateDeclaration", "role.aws.web").await?["spec"].clone();
    assert_eq!(
        (&state["id"], &state["data"]["role"]["RoleName"]),
        (&json!(role_arn), &json!(name(&role_arn)))
    );
    assert!(!state.to_string().contains("sts:AssumeRole"), "documents are not published: {state}");

    // What others need first.
    for kind in ["Policy", "Role", "InstanceProfile", "EC2Instance"] {
        test_env.delete(kind, "web").await?;
    }
    for kind in ["EC2Instance", "InstanceProfile", "Role", "Policy"] {
        test_env.gone(kind, "web").await?;
    }
    assert_eq!(left(&test_env, &[&policy_arn, &role_arn, &profile_arn]).await?, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn out_of_band_changes_are_reverted_and_another_spelling_is_none() -> Result<()> {
    let test_env = test_env().await?;
    let documents = [
        resource("Policy", "web", &policy("s3:GetObject")),
        resource("Role", "web", &role()),
        resource("InstanceProfile", "web", &json!({"role": id_of("Role", "web")})),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    let policy_arn = id(&test_env.ready("Policy", "web").await?)?.to_owned();
    let role_arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    let profile_arn = id(&test_env.ready("InstanceProfile", "web").await?)?.to_owned();
    let (role_name, profile_name) = (name(&role_arn), name(&profile_arn));
    let in_place = in_moto(&test_env, role_name).await?;

    let other = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}"#;
    let others: [(&str, &[(&str, &str)]); 6] = [
        ("UpdateAssumeRolePolicy", &[("RoleName", role_name), ("PolicyDocument", other)]),
        ("DeleteRolePolicy", &[("RoleName", role_name), ("PolicyName", "sqs")]),
        ("DetachRolePolicy", &[("RoleName", role_name), ("PolicyArn", &policy_arn)]),
        ("UntagRole", &[("RoleName", role_name), ("TagKeys.member.1", "Team")]),
        (
            "UpdateRole",
            &[("RoleName", role_name), ("Description", "changed"), ("MaxSessionDuration", "3600")],
        ),
        ("RemoveRoleFromInstanceProfile", &[("InstanceProfileName", profile_name), ("RoleName", role_name)]),
    ];
    for (action, fields) in others {
        call(&test_env, IAM, action, fields).await?;
    }
    assert_ne!(in_moto(&test_env, role_name).await?, in_place);
    let everything =
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*"],"Resource":"*"}]}"#;
    let version =
        [("PolicyArn", policy_arn.as_str()), ("PolicyDocument", everything), ("SetAsDefault", "true")];
    call(&test_env, IAM, "CreatePolicyVersion", &version).await?;
    assert_eq!(version_in_moto(&test_env, &policy_arn).await?.0, "s3:*");
    for kind in ["Role", "Policy", "InstanceProfile"] {
        request_reconcile(&test_env, kind, "web", "1").await?;
    }
    until(|| async { Ok(in_moto(&test_env, role_name).await? == in_place) }).await?;
    let fields = [("RoleName", role_name)];
    let read = || call(&test_env, IAM, "GetRole", &fields);
    until(|| async { Ok(read().await?.contains("the web servers")) }).await?;
    until(|| async { Ok(version_in_moto(&test_env, &policy_arn).await?.0 == "s3:GetObject") }).await?;
    let profile = [("InstanceProfileName", profile_name)];
    let profile = || call(&test_env, IAM, "GetInstanceProfile", &profile);
    until(|| async { Ok(text(&profile().await?, "RoleName").is_ok()) }).await?;

    // The same meaning, in other words.
    let spelled = r#"{"Statement":{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"}},"Version":"2012-10-17"}"#;
    let fields = [("RoleName", role_name), ("PolicyDocument", spelled)];
    call(&test_env, IAM, "UpdateAssumeRolePolicy", &fields).await?;
    call(&test_env, IAM, "DeleteRolePolicy", &[("RoleName", role_name), ("PolicyName", "sqs")]).await?;
    request_reconcile(&test_env, "Role", "web", "2").await?;
    // Of two changes, the reconcile that reverts the second leaves the first.
    until(|| async { Ok(in_moto(&test_env, role_name).await?.inline == ["sqs"]) }).await?;
    assert_eq!(in_moto(&test_env, role_name).await?.trusted, json!({"Service": "ec2.amazonaws.com"}));
    Ok(())
}

#[tokio::test]
async fn edits_change_objects_in_place_and_a_policy_keeps_five_versions() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&resource("Policy", "web", &policy("s3:GetObject"))).await?;
    test_env.apply(&resource("Role", "web", &role())).await?;
    let policy_arn = id(&test_env.ready("Policy", "web").await?)?.to_owned();
    let role_arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    for number in 0..7 {
        let action = format!("s3:Get{number}");
        test_env.apply(&resource("Policy", "web", &policy(&action))).await?;
        until(|| async { Ok(version_in_moto(&test_env, &policy_arn).await?.0 == action.as_str()) }).await?;
        let (_, versions) = version_in_moto(&test_env, &policy_arn).await?;
        assert!(versions <= 5, "{versions}");
    }
    assert_eq!(version_in_moto(&test_env, &policy_arn).await?.1, 5);
    assert_eq!(id(&test_env.ready("Policy", "web").await?)?, policy_arn);

    let edit = json!({
        "trustPolicy": trust("lambda.amazonaws.com"), "managedPolicyARNs": {"value": []},
        "inlinePolicies": [{"name": {"value": "sns"}, "document": allow("sns:Publish")}],
        "permissionsBoundary": id_of("Policy", "web"), "maxSessionDurationSeconds": {"value": 7200},
    });
    test_env.apply(&resource("Role", "web", &edit)).await?;
    assert_eq!(id(&test_env.ready("Role", "web").await?)?, role_arn);
    let found = in_moto(&test_env, name(&role_arn)).await?;
    let expected = specs::InMoto {
        trusted: json!({"Service": ["lambda.amazonaws.com"]}),
        attached: vec![],
        inline: vec!["sns".to_owned()],
        team: None,
    };
    assert_eq!(found, expected);
    let read = call(&test_env, IAM, "GetRole", &[("RoleName", name(&role_arn))]).await?;
    assert_eq!(text(&read, "MaxSessionDuration")?, "7200");
    assert_eq!(text(&read, "PermissionsBoundaryArn")?, policy_arn);
    // A description that is not in the spec any more is not managed.
    assert!(read.contains("the web servers"), "{read}");
    Ok(())
}

#[tokio::test]
async fn a_role_with_another_name_is_replaced_and_its_profile_follows() -> Result<()> {
    let test_env = test_env().await?;
    let spec = |name: &str| {
        let mut spec = role();
        spec["name"] = json!({"value": name});
        spec["lifecycle"] = json!({"replace": "CreateFirst"});
        spec
    };
    let (first, second) = (unique(&test_env, "a"), unique(&test_env, "b"));
    let documents = [
        resource("Policy", "web", &policy("s3:GetObject")),
        resource("Role", "web", &spec(&first)),
        resource("InstanceProfile", "web", &json!({"role": id_of("Role", "web")})),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    let profile_arn = id(&test_env.ready("InstanceProfile", "web").await?)?.to_owned();
    let role_arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    assert_eq!(name(&role_arn), first);
    test_env.apply(&resource("Role", "web", &spec(&second))).await?;
    until(|| async { Ok(left(&test_env, &[&role_arn]).await?.is_empty()) }).await?;
    assert_eq!(name(id(&test_env.ready("Role", "web").await?)?), second);
    assert_eq!(id(&test_env.ready("InstanceProfile", "web").await?)?, profile_arn);
    let profile = [("InstanceProfileName", name(&profile_arn))];
    let read = call(&test_env, IAM, "GetInstanceProfile", &profile).await?;
    assert_eq!(text(&read, "RoleName")?, second);
    assert_eq!(in_moto(&test_env, &second).await?.inline, ["sqs"]);
    Ok(())
}

#[tokio::test]
async fn a_policy_may_name_the_role_that_it_is_attached_to() -> Result<()> {
    let test_env = test_env().await?;
    let mut pass = policy("iam:PassRole");
    pass["document"]["statements"][0]["resources"] = json!({"value": [id_of("Role", "web")]});
    // The text of a file, with an id in it.
    let text = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "sts:GetCallerIdentity", "Resource": "*"}}"#;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "policies"}, "data": {"own.json": text, "bad.json": "{}"}});
    let json_of = |key: &str| json!({"json": {"valueFrom": {"configMap": {"name": "policies", "key": key}}}});
    let mut spec = role();
    spec["inlinePolicies"] = json!([{"name": {"value": "own"}, "document": json_of("own.json")}]);
    let documents = [map.to_string(), resource("Role", "web", &spec), resource("Policy", "web", &pass)];
    test_env.apply(&documents.join("\n---\n")).await?;
    let role_arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    let policy_arn = id(&test_env.ready("Policy", "web").await?)?.to_owned();
    let found = in_moto(&test_env, name(&role_arn)).await?;
    assert_eq!((found.attached, found.inline), (vec![policy_arn.clone()], vec!["own".to_owned()]));

    test_env.apply(&resource("Policy", "bad", &json!({"document": json_of("bad.json")}))).await?;
    let why = test_env.not_ready("Policy", "bad", "InvalidSpec").await?;
    assert!(why.contains("spec.document.json") && why.contains("has no element Statement"), "{why}");
    let refusal = test_env.refused(&resource("Policy", "worse", &json!({"document": {}}))).await?;
    assert!(refusal.contains("spec.document"), "{refusal}");
    for kind in ["Policy", "Role"] {
        test_env.delete(kind, "web").await?;
    }
    for kind in ["Policy", "Role"] {
        test_env.gone(kind, "web").await?;
    }
    assert_eq!(left(&test_env, &[&role_arn, &policy_arn]).await?, [""; 0]);
    Ok(())
}

/// The time in which a wrong change would have been made.
const QUIET: Duration = Duration::from_secs(3);

#[tokio::test]
async fn what_uses_a_role_or_a_policy_keeps_it_and_is_named() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&resource("Policy", "web", &policy("s3:GetObject"))).await?;
    test_env.apply(&resource("Role", "web", &role())).await?;
    let policy_arn = id(&test_env.ready("Policy", "web").await?)?.to_owned();
    let role_arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    let role_name = name(&role_arn);
    // Those of others.
    let (other, profile) = (unique(&test_env, "other"), unique(&test_env, "profile"));
    let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
    call(&test_env, IAM, "CreateRole", &[("RoleName", &other), ("AssumeRolePolicyDocument", trust)]).await?;
    let attachment = [("RoleName", other.as_str()), ("PolicyArn", policy_arn.as_str())];
    call(&test_env, IAM, "AttachRolePolicy", &attachment).await?;
    call(&test_env, IAM, "CreateInstanceProfile", &[("InstanceProfileName", &profile)]).await?;
    let membership = [("InstanceProfileName", profile.as_str()), ("RoleName", role_name)];
    call(&test_env, IAM, "AddRoleToInstanceProfile", &membership).await?;
    let in_place = in_moto(&test_env, role_name).await?;

    test_env.delete("Role", "web").await?;
    let says = |words: String| move |object: &Value| object["status"].to_string().contains(&words);
    test_env
        .until("Role", "web", says(format!("instance-profile/{profile} (not managed by Kraken)")))
        .await?;
    tokio::time::sleep(QUIET).await;
    assert_eq!(in_moto(&test_env, role_name).await?, in_place, "it keeps its permissions");
    call(&test_env, IAM, "RemoveRoleFromInstanceProfile", &membership).await?;
    request_reconcile(&test_env, "Role", "web", "1").await?;
    test_env.gone("Role", "web").await?;

    test_env.delete("Policy", "web").await?;
    test_env.until("Policy", "web", says(format!("in use by role {other}"))).await?;
    assert_eq!(left(&test_env, &[&policy_arn]).await?, [policy_arn.as_str()]);
    call(&test_env, IAM, "DetachRolePolicy", &attachment).await?;
    request_reconcile(&test_env, "Policy", "web", "1").await?;
    test_env.gone("Policy", "web").await?;
    assert_eq!(left(&test_env, &[&policy_arn, &role_arn]).await?, [""; 0]);
    let read = call(&test_env, IAM, "GetRole", &[("RoleName", &other)]).await?;
    text(&read, "Arn").context("the role of another owner").map(drop)
}
