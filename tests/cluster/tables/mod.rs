//! Tables of DynamoDB in moto, through their controller as its real binary. moto completes each change at once, has no table classes and ids
//! of tables, changes no encryption, and enables no stream a second time.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_simulator::{FailureMode, FailurePoint};
use kraken_testing::{Environment, Shared};
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::{
    balancing::{id, request_reconcile, until},
    services::{self, resource},
};

const KIND: &str = "DynamoDBTable";
/// A test that counts calls, or fails the next one, is alone.
static CALLS: RwLock<()> = RwLock::const_new(());

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-dynamodb"]).await
}

/// A call of moto's DynamoDB.
async fn call(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env.env.moto.json("dynamodb", "1.0", &format!("DynamoDB_20120810.{action}"), body).await
}

/// The description of the table with this name.
async fn described(test_env: &TestEnv, name: &str) -> Result<Value> {
    Ok(call(test_env, "DescribeTable", &json!({"TableName": name})).await?["Table"].clone())
}

/// What AWS describes apart.
async fn read(test_env: &TestEnv, action: &str, name: &str) -> Result<String> {
    Ok(call(test_env, action, &json!({"TableName": name})).await?.to_string())
}

async fn index_names(test_env: &TestEnv, name: &str) -> Result<Vec<String>> {
    let found = described(test_env, name).await?["GlobalSecondaryIndexes"].clone();
    let name = |index: &Value| index["IndexName"].as_str().unwrap_or_default().to_owned();
    let mut names: Vec<String> = found.as_array().into_iter().flatten().map(name).collect();
    names.sort();
    Ok(names)
}

async fn backups(test_env: &TestEnv, name: &str) -> Result<usize> {
    let found = call(test_env, "ListBackups", &json!({"TableName": name})).await?;
    Ok(found["BackupSummaries"].as_array().context("no list")?.len())
}

/// The keys of the table and of its index.
async fn keys(test_env: &TestEnv, name: &str) -> Result<(String, String)> {
    let found = described(test_env, name).await?;
    Ok((found["KeySchema"].to_string(), found["GlobalSecondaryIndexes"][0]["KeySchema"].to_string()))
}

/// The name in an ARN.
fn table_name(arn: &str) -> String {
    arn.rsplit('/').next().unwrap_or_default().to_owned()
}

fn key(name: &str) -> Value {
    json!({"name": {"value": name}})
}

fn index(name: &str, hash: &str) -> Value {
    json!({"name": {"value": name}, "hashKey": key(hash)})
}

#[tokio::test]
async fn a_table_is_created_changed_in_steps_corrected_and_deleted_after_a_backup() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    let name = format!("orders.{}", test_env.ns.name);
    let spec = json!({
        "name": {"value": name}, "hashKey": key("customer"), "rangeKey": {"name": {"value": "number"}, "type": {"value": "N"}},
        "localSecondaryIndexes": [{"name": {"value": "local"}, "rangeKey": key("place"), "projectionType": {"value": "KEYS_ONLY"}}],
        "globalSecondaryIndexes": [index("by-date", "date")],
        "streamViewType": {"value": "NEW_IMAGE"}, "deletionProtection": {"value": true},
        "timeToLiveAttribute": {"value": "expires"}, "pointInTimeRecovery": {"value": true}, "recoveryPeriodDays": {"value": 7},
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["arn:aws:iam::123456789012:root"]}},
            "actions": {"value": ["dynamodb:GetItem"]}, "resources": {"value": ["*"]},
        }]},
        "tags": {"Team": "shop"},
    });
    test_env.apply(&resource(KIND, "orders", &spec)).await?;
    let arn = id(&test_env.ready(KIND, "orders").await?)?.to_owned();
    let found = described(&test_env, &name).await?;
    assert_eq!(
        (&found["TableArn"], &found["BillingModeSummary"]["BillingMode"]),
        (&json!(arn), &json!("PAY_PER_REQUEST"))
    );
    assert_eq!(found["AttributeDefinitions"].as_array().map(Vec::len), Some(4), "{found}");
    let state =
        test_env.get("StateDeclaration", "dynamodbtable.aws.orders").await?["spec"]["data"]["table"].clone();
    assert_eq!(
        (&state["TableName"], &state["LatestStreamArn"]),
        (&json!(name), &found["LatestStreamArn"]),
        "{state}"
    );
    let settings = || async {
        let time_to_live = read(&test_env, "DescribeTimeToLive", &name).await?;
        let backups = read(&test_env, "DescribeContinuousBackups", &name).await?;
        let policy = call(&test_env, "GetResourcePolicy", &json!({"ResourceArn": arn})).await?.to_string();
        let is_in_place = time_to_live.contains(r#""expires""#)
            && time_to_live.contains(r#""ENABLED""#)
            && backups.contains(r#""RecoveryPeriodInDays":7"#)
            && policy.contains("dynamodb:GetItem");
        anyhow::Ok(is_in_place)
    };
    assert!(settings().await?);

    // Drift.
    call(&test_env, "UpdateTimeToLive", &json!({"TableName": name, "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": false}})).await?;
    call(&test_env, "UpdateContinuousBackups", &json!({"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": false}})).await?;
    call(
        &test_env,
        "PutResourcePolicy",
        &json!({"ResourceArn": arn, "Policy": "{\"Version\": \"2012-10-17\", \"Statement\": []}"}),
    )
    .await?;
    call(
        &test_env,
        "UpdateTable",
        &json!({"TableName": name, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-date"}}]}),
    )
    .await?;
    request_reconcile(&test_env, KIND, "orders", "1").await?;
    until(|| async { Ok(settings().await? && index_names(&test_env, &name).await? == ["by-date"]) }).await?;

    // One call for each index.
    let before = test_env.env.proxy.count("UpdateTable");
    let indexes = json!([index("by-place", "place"), index("by-state", "state")]);
    test_env.patch(KIND, "orders", json!({"spec": {"globalSecondaryIndexes": indexes}})).await?;
    until(|| async { Ok(index_names(&test_env, &name).await? == ["by-place", "by-state"]) }).await?;
    test_env.ready(KIND, "orders").await?;
    assert_eq!(test_env.env.proxy.count("UpdateTable") - before, 3);

    // Another attribute of the time to live: the former one ends before.
    let before = test_env.env.proxy.count("UpdateTimeToLive");
    test_env.patch(KIND, "orders", json!({"spec": {"timeToLiveAttribute": {"value": "until"}}})).await?;
    until(|| async { Ok(read(&test_env, "DescribeTimeToLive", &name).await?.contains(r#""until""#)) })
        .await?;
    test_env.ready(KIND, "orders").await?;
    assert_eq!(test_env.env.proxy.count("UpdateTimeToLive") - before, 2);

    // Neither deleted nor backed up while it is protected.
    test_env.delete(KIND, "orders").await?;
    let why = test_env.not_ready(KIND, "orders", "DeletionProtected").await?;
    assert!(why.contains("spec.deletionProtection"), "{why}");
    assert_eq!(backups(&test_env, &name).await?, 0);
    test_env.patch(KIND, "orders", json!({"spec": {"deletionProtection": {"value": false}}})).await?;
    test_env.gone(KIND, "orders").await?;
    assert!(described(&test_env, &name).await.is_err());
    assert_eq!(backups(&test_env, &name).await?, 1);
    Ok(())
}

#[tokio::test]
async fn an_index_with_other_keys_is_rebuilt_and_a_table_replaced_only_with_permission() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let spec = json!({"hashKey": key("id"), "globalSecondaryIndexes": [index("by-date", "date")]});
    test_env.apply(&resource(KIND, "web", &spec)).await?;
    let arn = id(&test_env.ready(KIND, "web").await?)?.to_owned();
    test_env
        .patch(KIND, "web", json!({"spec": {"globalSecondaryIndexes": [index("by-date", "day")]}}))
        .await?;
    let why = test_env.not_ready(KIND, "web", "ImmutableField").await?;
    assert!(why.contains("lifecycle.disruption") && why.contains("deleted and created again"), "{why}");
    assert!(keys(&test_env, &table_name(&arn)).await?.1.contains("date"));
    test_env.patch(KIND, "web", json!({"spec": {"lifecycle": {"disruption": "Allow"}}})).await?;
    test_env.ready(KIND, "web").await?;
    assert!(keys(&test_env, &table_name(&arn)).await?.1.contains("day"));

    test_env.patch(KIND, "web", json!({"spec": {"hashKey": key("uuid")}})).await?;
    let why = test_env.not_ready(KIND, "web", "ImmutableField").await?;
    assert!(why.contains("an empty one"), "{why}");
    test_env.patch(KIND, "web", json!({"spec": {"lifecycle": {"replace": "DeleteFirst"}}})).await?;
    let other = id(&test_env.ready(KIND, "web").await?)?.to_owned();
    assert_ne!(arn, other);
    assert!(keys(&test_env, &table_name(&other)).await?.0.contains("uuid"));
    assert!(described(&test_env, &table_name(&arn)).await.is_err());
    assert_eq!(backups(&test_env, &table_name(&arn)).await?, 1, "of the replaced table");

    test_env.patch(KIND, "web", json!({"spec": {"skipFinalBackup": true}})).await?;
    test_env.delete(KIND, "web").await?;
    test_env.gone(KIND, "web").await?;
    assert!(described(&test_env, &table_name(&other)).await.is_err());
    assert_eq!(backups(&test_env, &table_name(&other)).await?, 0);
    Ok(())
}

#[tokio::test]
async fn capacities_are_changed_unless_an_autoscaler_owns_them() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    let spec = json!({"hashKey": key("id"), "globalSecondaryIndexes": [index("by-date", "date")], "skipFinalBackup": true});
    test_env.apply(&resource(KIND, "busy", &spec)).await?;
    let name = table_name(id(&test_env.ready(KIND, "busy").await?)?);
    let capacity = || async {
        let found = described(&test_env, &name).await?;
        let units = |of: &Value| {
            (
                of["ProvisionedThroughput"]["ReadCapacityUnits"].as_i64(),
                of["ProvisionedThroughput"]["WriteCapacityUnits"].as_i64(),
            )
        };
        anyhow::Ok((
            found["BillingModeSummary"]["BillingMode"].clone(),
            units(&found),
            units(&found["GlobalSecondaryIndexes"][0]),
        ))
    };
    let before = test_env.env.proxy.count("UpdateTable");
    let provisioned = json!({
        "billingMode": {"value": "PROVISIONED"}, "readCapacityUnits": {"value": 5}, "writeCapacityUnits": {"value": 6},
        "globalSecondaryIndexes": [{
            "name": {"value": "by-date"}, "hashKey": key("date"), "readCapacityUnits": {"value": 7},
        }],
    });
    test_env.patch(KIND, "busy", json!({"spec": provisioned})).await?;
    test_env.ready(KIND, "busy").await?;
    let all = (json!("PROVISIONED"), (Some(5), Some(6)), (Some(7), Some(6)));
    assert_eq!(capacity().await?, all);
    assert_eq!(test_env.env.proxy.count("UpdateTable") - before, 1);

    // An autoscaler.
    let ignored =
        json!(["readCapacityUnits", "writeCapacityUnits", "globalSecondaryIndexes.readCapacityUnits"]);
    test_env.patch(KIND, "busy", json!({"spec": {"lifecycle": {"ignoreChanges": ignored}}})).await?;
    test_env.ready(KIND, "busy").await?;
    let units = |read: i32, write: i32| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let scaled = json!({
        "TableName": name, "ProvisionedThroughput": units(50, 60),
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-date", "ProvisionedThroughput": units(70, 6)}}],
    });
    call(&test_env, "UpdateTable", &scaled).await?;
    let observations = || test_env.env.proxy.count("DescribeTable");
    let seen = observations();
    request_reconcile(&test_env, KIND, "busy", "1").await?;
    until(|| async { Ok(observations() > seen) }).await?;
    // What is ignored is not sent either.
    let index = json!([{
        "name": {"value": "by-date"}, "hashKey": key("date"), "readCapacityUnits": {"value": 7}, "writeCapacityUnits": {"value": 80},
    }]);
    test_env.patch(KIND, "busy", json!({"spec": {"globalSecondaryIndexes": index}})).await?;
    test_env.ready(KIND, "busy").await?;
    assert_eq!(capacity().await?, (json!("PROVISIONED"), (Some(50), Some(60)), (Some(70), Some(80))));
    test_env.delete(KIND, "busy").await?;
    test_env.gone(KIND, "busy").await
}

#[tokio::test]
async fn a_name_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let name = format!("taken.{}", test_env.ns.name);
    let tags = json!([{"Key": "Test", "Value": "other"}]);
    let other = json!({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST", "Tags": tags,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    });
    let made = call(&test_env, "CreateTable", &other).await?;
    let arn = made["TableDescription"]["TableArn"].as_str().context("no ARN")?;
    let spec = json!({"name": {"value": name}, "hashKey": key("id")});
    test_env.apply(&resource(KIND, "a", &spec)).await?;
    let why = test_env.not_ready(KIND, "a", "CloudRefused").await?;
    assert!(
        why.contains(&format!("the name {name} is in use by")) && why.contains("not managed by Kraken"),
        "{why}"
    );
    test_env.delete(KIND, "a").await?;
    test_env.gone(KIND, "a").await?;
    assert_eq!(backups(&test_env, &name).await?, 0, "it was never that of the resource");

    let adopted = json!({"name": {"value": name}, "hashKey": key("id"), "lifecycle": {"adopt": {"id": arn}}});
    test_env.apply(&resource(KIND, "b", &adopted)).await?;
    assert_eq!(id(&test_env.ready(KIND, "b").await?)?, arn);
    test_env.delete(KIND, "b").await?;
    test_env.gone(KIND, "b").await?;
    // An adopted table is kept, with the tags that it had.
    let kept = call(&test_env, "ListTagsOfResource", &json!({"ResourceArn": arn})).await?["Tags"].clone();
    assert_eq!(kept, tags);
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_a_repeated_deletion_makes_one_backup() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    let before =
        call(&test_env, "ListTables", &json!({})).await?["TableNames"].as_array().map_or(0, Vec::len);
    test_env.env.proxy.fail_next("CreateTable", FailurePoint::After, FailureMode::Drop);
    test_env.apply(&resource(KIND, "once", &json!({"hashKey": key("id")}))).await?;
    let name = table_name(id(&test_env.ready(KIND, "once").await?)?);
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    let after = call(&test_env, "ListTables", &json!({})).await?["TableNames"].as_array().map_or(0, Vec::len);
    assert_eq!(after, before + 1);

    test_env.env.proxy.fail_always("DeleteTable", FailurePoint::Before, FailureMode::Drop);
    test_env.delete(KIND, "once").await?;
    until(|| async {
        let ready = test_env.get(KIND, "once").await?;
        let message = condition(&ready, "Ready")["message"].as_str().unwrap_or_default().to_owned();
        Ok(message.contains("failed to delete the table"))
    })
    .await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    test_env.env.proxy.clear_failures();
    test_env.gone(KIND, "once").await?;
    assert!(described(&test_env, &name).await.is_err());
    assert_eq!(backups(&test_env, &name).await?, 1);
    Ok(())
}
