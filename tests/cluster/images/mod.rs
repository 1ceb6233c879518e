//! Repositories of images in moto, through their controller as its real binary.

use anyhow::Result;
use kraken_simulator::{FailureMode, FailurePoint};
use kraken_testing::{Environment, Shared};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::{
    balancing::{id, request_reconcile, until},
    services::{self, resource},
};

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-ecr"]).await
}

/// A call of moto's ECR.
async fn ecr(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env
        .env
        .moto
        .json("ecr", "1.1", &format!("AmazonEC2ContainerRegistry_V20150921.{action}"), body)
        .await
}

/// The repository with this name.
async fn described(test_env: &TestEnv, name: &str) -> Result<Value> {
    let found = ecr(test_env, "DescribeRepositories", &json!({"repositoryNames": [name]})).await?;
    Ok(found["repositories"][0].clone())
}

async fn tags(test_env: &TestEnv, name: &str) -> Result<String> {
    let arn = described(test_env, name).await?["repositoryArn"].clone();
    Ok(ecr(test_env, "ListTagsForResource", &json!({"resourceArn": arn})).await?["tags"].to_string())
}

/// The text of a policy.
async fn policy(test_env: &TestEnv, name: &str, which: &str) -> Result<String> {
    let found = ecr(test_env, &format!("Get{which}Policy"), &json!({"repositoryName": name})).await?;
    Ok(format!(
        "{}{}",
        found["policyText"].as_str().unwrap_or_default(),
        found["lifecyclePolicyText"].as_str().unwrap_or_default()
    ))
}

fn rule(count: i32) -> Value {
    let selection = json!({"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": count});
    json!({"rules": [{"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}]})
}

fn statement(action: &str) -> Value {
    let principal = json!({"AWS": "arn:aws:iam::123456789012:root"});
    let statement = json!({"Effect": "Allow", "Principal": principal, "Action": action});
    json!({"Version": "2012-10-17", "Statement": [statement]})
}

async fn push(test_env: &TestEnv, name: &str) -> Result<()> {
    let digest = format!("sha256:{}", "a".repeat(64));
    let config =
        json!({"mediaType": "application/vnd.docker.container.image.v1+json", "size": 1, "digest": digest});
    let media = "application/vnd.docker.distribution.manifest.v2+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": media, "config": config, "layers": []});
    let image = json!({"repositoryName": name, "imageManifest": manifest.to_string(), "imageTag": "v1"});
    ecr(test_env, "PutImage", &image).await.map(drop)
}

#[tokio::test]
async fn a_repository_is_created_corrected_field_by_field_and_deleted() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("shop/{}", test_env.ns.name);
    let spec = json!({
        "name": {"value": name}, "imageTagMutability": {"value": "IMMUTABLE"}, "scanOnPush": {"value": true},
        "lifecyclePolicy": {"value": rule(10)}, "policy": {"value": statement("ecr:BatchGetImage")},
        "tags": {"Team": "shop"},
    });
    test_env.apply(&resource("Repository", "web", &spec)).await?;
    assert_eq!(id(&test_env.ready("Repository", "web").await?)?, name);
    let found = described(&test_env, &name).await?;
    assert_eq!(found["imageTagMutability"], "IMMUTABLE", "{found}");
    assert!(policy(&test_env, &name, "Lifecycle").await?.contains("10"));
    assert!(policy(&test_env, &name, "Repository").await?.contains("ecr:BatchGetImage"));
    assert!(tags(&test_env, &name).await?.contains("shop"));
    let state = test_env.get("StateDeclaration", "repository.aws.web").await?;
    let uri = &state["spec"]["data"]["repository"]["RepositoryUri"];
    assert!(uri.as_str().is_some_and(|uri| uri.ends_with(&format!("/{name}"))), "{state}");

    let mutable = json!({"repositoryName": name, "imageTagMutability": "MUTABLE"});
    ecr(&test_env, "PutImageTagMutability", &mutable).await?;
    let off = json!({"repositoryName": name, "imageScanningConfiguration": {"scanOnPush": false}});
    ecr(&test_env, "PutImageScanningConfiguration", &off).await?;
    let longer = json!({"repositoryName": name, "lifecyclePolicyText": rule(99).to_string()});
    ecr(&test_env, "PutLifecyclePolicy", &longer).await?;
    ecr(&test_env, "DeleteRepositoryPolicy", &json!({"repositoryName": name})).await?;
    request_reconcile(&test_env, "Repository", "web", "1").await?;
    until(|| async {
        let found = described(&test_env, &name).await?;
        let scans = found["imageScanningConfiguration"]["scanOnPush"] == true;
        Ok(scans && found["imageTagMutability"] == "IMMUTABLE")
    })
    .await?;
    until(|| async { Ok(policy(&test_env, &name, "Lifecycle").await?.contains(":10")) }).await?;
    until(|| async { Ok(policy(&test_env, &name, "Repository").await.is_ok()) }).await?;
    let edit = json!({"spec": {"lifecyclePolicy": {"value": {"rules": null}}, "policy": {"value": statement("ecr:ListImages")}}});
    test_env.patch("Repository", "web", edit).await?;
    until(|| async { Ok(policy(&test_env, &name, "Lifecycle").await.is_err()) }).await?;
    until(|| async { Ok(policy(&test_env, &name, "Repository").await?.contains("ecr:ListImages")) }).await?;

    // It is not emptied without being asked.
    push(&test_env, &name).await?;
    test_env.delete("Repository", "web").await?;
    let why = test_env.not_ready("Repository", "web", "DeletionProtected").await?;
    assert!(why.contains("spec.emptyOnDeletion"), "{why}");
    test_env.patch("Repository", "web", json!({"spec": {"emptyOnDeletion": true}})).await?;
    test_env.gone("Repository", "web").await?;
    assert!(described(&test_env, &name).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_name_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("taken/{}", test_env.ns.name);
    let other = json!({"repositoryName": name, "tags": [{"Key": "Test", "Value": "other"}]});
    ecr(&test_env, "CreateRepository", &other).await?;
    let before = tags(&test_env, &name).await?;
    test_env
        .apply(&resource("Repository", "a", &json!({"name": {"value": name}, "scanOnPush": {"value": true}})))
        .await?;
    let why = test_env.not_ready("Repository", "a", "CloudRefused").await?;
    assert!(
        why.contains(&format!("the name {name} is in use by")) && why.contains("not managed by Kraken"),
        "{why}"
    );
    assert_eq!(tags(&test_env, &name).await?, before);
    test_env.delete("Repository", "a").await?;
    test_env.gone("Repository", "a").await?;
    test_env
        .apply(&resource(
            "Repository",
            "b",
            &json!({"name": {"value": name}, "lifecycle": {"adopt": {"id": name}}}),
        ))
        .await?;
    test_env.ready("Repository", "b").await?;
    test_env.delete("Repository", "b").await?;
    test_env.gone("Repository", "b").await?;
    // An adopted repository is kept, with the tags that it had.
    assert_eq!(tags(&test_env, &name).await?, before);
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_a_retained_repository_has_no_owner() -> Result<()> {
    let test_env = test_env().await?;
    test_env.env.proxy.fail_next("CreateRepository", FailurePoint::After, FailureMode::Drop);
    let spec = json!({"tags": {"Test": test_env.ns.name}, "lifecycle": {"deletion": "Retain"}});
    test_env.apply(&resource("Repository", "once", &spec)).await?;
    let name = id(&test_env.ready("Repository", "once").await?)?.to_owned();
    assert!(tags(&test_env, &name).await?.contains(&test_env.ns.name));
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    test_env.delete("Repository", "once").await?;
    test_env.gone("Repository", "once").await?;
    let kept = tags(&test_env, &name).await?;
    assert!(kept.contains(&test_env.ns.name) && !kept.contains("/uid"), "{kept}");
    Ok(())
}
