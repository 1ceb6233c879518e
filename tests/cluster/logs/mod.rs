//! Log groups in moto, through their controller as its real binary.

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
    services::start(&SHARED, &["aws-cloudwatch"]).await
}

/// A call of moto's CloudWatch Logs.
async fn logs(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env.env.moto.json("logs", "1.1", &format!("Logs_20140328.{action}"), body).await
}

/// The log group with this name; null if there is none.
async fn described(test_env: &TestEnv, name: &str) -> Result<Value> {
    let found = logs(test_env, "DescribeLogGroups", &json!({"logGroupNamePrefix": name})).await?;
    let mut groups = found["logGroups"].as_array().cloned().unwrap_or_default().into_iter();
    Ok(groups.find(|group| group["logGroupName"] == name).unwrap_or_default())
}

async fn tags(test_env: &TestEnv, name: &str) -> Result<Value> {
    Ok(logs(test_env, "ListTagsLogGroup", &json!({"logGroupName": name})).await?["tags"].clone())
}

#[tokio::test]
async fn a_log_group_is_created_corrected_and_deleted() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("/shop/{}", test_env.ns.name);
    let key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
    let spec = json!({
        "name": {"value": name}, "retentionDays": {"value": 30}, "kmsKeyID": {"value": key},
        "class": {"value": "STANDARD"}, "tags": {"Team": "shop"},
    });
    test_env.apply(&resource("LogGroup", "web", &spec)).await?;
    assert_eq!(id(&test_env.ready("LogGroup", "web").await?)?, name);
    let found = described(&test_env, &name).await?;
    assert_eq!((&found["retentionInDays"], &found["kmsKeyId"]), (&json!(30), &json!(key)), "{found}");
    assert_eq!(tags(&test_env, &name).await?["Team"], "shop");
    let state = test_env.get("StateDeclaration", "loggroup.aws.web").await?;
    let arn = &state["spec"]["data"]["logGroup"]["LogGroupArn"];
    assert!(arn.as_str().is_some_and(|arn| arn.ends_with(&format!(":log-group:{name}"))), "{state}");

    let retention = || async { anyhow::Ok(described(&test_env, &name).await?["retentionInDays"].clone()) };
    logs(&test_env, "PutRetentionPolicy", &json!({"logGroupName": name, "retentionInDays": 1})).await?;
    let other = json!({"logGroupName": name, "tags": {"Team": "eve"}});
    logs(&test_env, "TagLogGroup", &other).await?;
    request_reconcile(&test_env, "LogGroup", "web", "1").await?;
    until(|| async { Ok(retention().await? == 30) }).await?;
    until(|| async { Ok(tags(&test_env, &name).await?["Team"] == "shop") }).await?;
    test_env.patch("LogGroup", "web", json!({"spec": {"retentionDays": {"value": 0}}})).await?;
    until(|| async { Ok(retention().await?.is_null()) }).await?;

    test_env.delete("LogGroup", "web").await?;
    test_env.gone("LogGroup", "web").await?;
    assert!(described(&test_env, &name).await?.is_null());
    Ok(())
}

#[tokio::test]
async fn a_log_group_that_was_deleted_out_of_band_is_created_again_and_retained_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("again-{}", test_env.ns.name);
    let spec = json!({"name": {"value": name}, "lifecycle": {"deletion": "Retain"}});
    test_env.apply(&resource("LogGroup", "again", &spec)).await?;
    test_env.ready("LogGroup", "again").await?;
    logs(&test_env, "DeleteLogGroup", &json!({"logGroupName": name})).await?;
    request_reconcile(&test_env, "LogGroup", "again", "1").await?;
    until(|| async { Ok(!described(&test_env, &name).await?.is_null()) }).await?;
    test_env.ready("LogGroup", "again").await?;
    test_env.delete("LogGroup", "again").await?;
    test_env.gone("LogGroup", "again").await?;
    assert!(!described(&test_env, &name).await?.is_null());
    assert!(!tags(&test_env, &name).await?.to_string().contains("/uid"));
    Ok(())
}

#[tokio::test]
async fn a_name_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("taken-{}", test_env.ns.name);
    logs(&test_env, "CreateLogGroup", &json!({"logGroupName": name, "tags": {"Test": "other"}})).await?;
    test_env
        .apply(&resource("LogGroup", "a", &json!({"name": {"value": name}, "retentionDays": {"value": 1}})))
        .await?;
    let why = test_env.not_ready("LogGroup", "a", "CloudRefused").await?;
    assert!(
        why.contains(&format!("the name {name} is in use by")) && why.contains("not managed by Kraken"),
        "{why}"
    );
    assert_eq!(tags(&test_env, &name).await?, json!({"Test": "other"}));
    assert!(described(&test_env, &name).await?["retentionInDays"].is_null());
    test_env.delete("LogGroup", "a").await?;
    test_env.gone("LogGroup", "a").await?;
    test_env
        .apply(&resource(
            "LogGroup",
            "b",
            &json!({"name": {"value": name}, "lifecycle": {"adopt": {"id": name}}}),
        ))
        .await?;
    test_env.ready("LogGroup", "b").await?;
    test_env.delete("LogGroup", "b").await?;
    test_env.gone("LogGroup", "b").await?;
    // An adopted log group is kept, with the tags that it had.
    assert_eq!(tags(&test_env, &name).await?, json!({"Test": "other"}));
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let test_env = test_env().await?;
    test_env.env.proxy.fail_next("CreateLogGroup", FailurePoint::After, FailureMode::Drop);
    test_env.apply(&resource("LogGroup", "once", &json!({"tags": {"Test": test_env.ns.name}}))).await?;
    let name = id(&test_env.ready("LogGroup", "once").await?)?.to_owned();
    assert_eq!(tags(&test_env, &name).await?["Test"], json!(test_env.ns.name));
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    test_env.delete("LogGroup", "once").await?;
    test_env.gone("LogGroup", "once").await?;
    assert!(described(&test_env, &name).await?.is_null());
    Ok(())
}
