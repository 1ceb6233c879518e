//! Secrets of Secrets Manager in moto, through their controller as its real binary.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_simulator::{FailureMode, FailurePoint};
use kraken_testing::{Environment, Shared};
use kraken_tests::TestEnv;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::{
    balancing::{id, request_reconcile, until},
    services::{self, resource},
};

const KIND: &str = "SecretsManagerSecret";
/// A test that counts calls, or fails the next one, is alone.
static CALLS: RwLock<()> = RwLock::const_new(());

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-secretsmanager"]).await
}

/// A Secret with the value, which no message, state or tag of this suite may contain.
fn secret(test_env: &TestEnv, word: &str) -> String {
    let data = json!({"password": test_env.secret_value(word)});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": data}).to_string()
}

fn from_secret() -> Value {
    json!({"valueFrom": {"secret": {"name": "db", "key": "password"}}})
}

/// A call of moto's Secrets Manager.
async fn call(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env.env.moto.json("secretsmanager", "1.1", &format!("secretsmanager.{action}"), body).await
}

async fn described(test_env: &TestEnv, id: &str) -> Result<Value> {
    call(test_env, "DescribeSecret", &json!({"SecretId": id})).await
}

async fn value(test_env: &TestEnv, id: &str) -> Result<String> {
    let found = call(test_env, "GetSecretValue", &json!({"SecretId": id})).await?;
    Ok(found["SecretString"].as_str().context("no value")?.to_owned())
}

#[tokio::test]
async fn a_secret_is_created_corrected_scheduled_for_deletion_and_restored() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let name = format!("shop/{}", test_env.ns.name);
    let template = r#"{"user": "shop", "password": "{{ .Secret.db.password }}"}"#;
    let spec = json!({
        "name": {"value": name}, "description": {"value": "Orders"}, "tags": {"Team": "shop"},
        "secretString": {"valueFrom": {"templateString": template}}, "recoveryWindowDays": 7,
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["arn:aws:iam::123456789012:root"]}},
            "actions": {"value": ["secretsmanager:GetSecretValue"]}, "resources": {"value": ["*"]},
        }]},
    });
    test_env.apply(&resource(KIND, "orders", &spec)).await?;
    test_env.apply(&secret(&test_env, "one")).await?;
    let arn = id(&test_env.ready(KIND, "orders").await?)?.to_owned();
    let wanted = |word: &str| template.replace("{{ .Secret.db.password }}", &test_env.secret_value(word));
    assert_eq!(value(&test_env, &arn).await?, wanted("one"));
    let found = described(&test_env, &arn).await?;
    assert_eq!((&found["Name"], &found["Description"]), (&json!(name), &json!("Orders")), "{found}");
    assert!(found["Tags"].to_string().contains("shop"), "{found}");
    let state = test_env.get("StateDeclaration", "secretsmanagersecret.aws.orders").await?;
    assert_eq!(state["spec"]["data"]["secret"]["ARN"], json!(arn), "{state}");

    // Drift, also of the value.
    let other = json!({"SecretId": arn, "SecretString": "other", "ClientRequestToken": "0".repeat(32)});
    call(&test_env, "PutSecretValue", &other).await?;
    let other = json!({"SecretId": arn, "Description": "other", "ClientRequestToken": "1".repeat(32)});
    call(&test_env, "UpdateSecret", &other).await?;
    call(&test_env, "DeleteResourcePolicy", &json!({"SecretId": arn})).await?;
    request_reconcile(&test_env, KIND, "orders", "1").await?;
    until(|| async { Ok(value(&test_env, &arn).await? == wanted("one")) }).await?;
    until(|| async { Ok(described(&test_env, &arn).await?["Description"] == "Orders") }).await?;
    until(|| async {
        let found = call(&test_env, "GetResourcePolicy", &json!({"SecretId": arn})).await?;
        Ok(found.to_string().contains("secretsmanager:GetSecretValue"))
    })
    .await?;

    // Its name is not free after its deletion: a resource of the same name takes it back.
    test_env.delete(KIND, "orders").await?;
    test_env.gone(KIND, "orders").await?;
    assert!(described(&test_env, &arn).await?["DeletedDate"].is_number());
    test_env.apply(&secret(&test_env, "two")).await?;
    test_env.apply(&resource(KIND, "orders", &spec)).await?;
    assert_eq!(id(&test_env.ready(KIND, "orders").await?)?, arn);
    assert!(described(&test_env, &arn).await?["DeletedDate"].is_null());
    until(|| async { Ok(value(&test_env, &arn).await? == wanted("two")) }).await?;

    test_env.patch(KIND, "orders", json!({"spec": {"recoveryWindowDays": 0}})).await?;
    test_env.delete(KIND, "orders").await?;
    test_env.gone(KIND, "orders").await?;
    assert!(described(&test_env, &arn).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_changed_value_of_the_secret_is_one_new_version_also_if_it_is_a_former_one() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    let count = || test_env.env.proxy.count("PutSecretValue");
    test_env.apply(&secret(&test_env, "one")).await?;
    let spec = json!({"secretString": from_secret(), "recoveryWindowDays": 0});
    test_env.apply(&resource(KIND, "db", &spec)).await?;
    let arn = id(&test_env.ready(KIND, "db").await?)?.to_owned();
    for (calls, word) in [(1, "two"), (2, "one"), (3, "two")] {
        test_env.apply(&secret(&test_env, word)).await?;
        until(|| async { Ok(value(&test_env, &arn).await? == test_env.secret_value(word)) }).await?;
        test_env.ready(KIND, "db").await?;
        assert_eq!(count(), calls);
    }
    // Neither a reconcile nor a label of the Secret changes it again.
    test_env.patch("Secret", "db", json!({"metadata": {"labels": {"team": "shop"}}})).await?;
    for when in ["1", "2", "3"] {
        let observations = || test_env.env.proxy.count("DescribeSecret");
        let before = observations();
        request_reconcile(&test_env, KIND, "db", when).await?;
        until(|| async { Ok(observations() > before) }).await?;
    }
    assert_eq!(count(), 3);

    // A call without a response is not repeated.
    test_env.env.proxy.fail_next("PutSecretValue", FailurePoint::After, FailureMode::Drop);
    test_env.apply(&secret(&test_env, "three")).await?;
    until(|| async { Ok(value(&test_env, &arn).await? == test_env.secret_value("three")) }).await?;
    test_env.ready(KIND, "db").await?;
    let versions = described(&test_env, &arn).await?["VersionIdsToStages"].clone();
    assert_eq!(versions.as_object().map(serde_json::Map::len), Some(5), "{versions}");
    assert_eq!(test_env.env.proxy.pending_failures(), 0);

    let why =
        test_env.refused(&resource(KIND, "literal", &json!({"secretString": {"value": "hunter2"}}))).await?;
    assert!(why.contains("must come from a Secret"), "{why}");
    test_env.delete(KIND, "db").await?;
    test_env.gone(KIND, "db").await
}

#[tokio::test]
async fn a_name_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let name = format!("taken/{}", test_env.ns.name);
    let tags = json!([{"Key": "Test", "Value": "other"}]);
    let token = "0".repeat(32);
    let other = json!({"Name": name, "SecretString": "other", "Tags": tags, "ClientRequestToken": token});
    let arn = call(&test_env, "CreateSecret", &other).await?["ARN"].as_str().context("no ARN")?.to_owned();
    let spec = json!({"name": {"value": name}});
    test_env.apply(&resource(KIND, "a", &spec)).await?;
    let why = test_env.not_ready(KIND, "a", "CloudRefused").await?;
    assert!(
        why.contains(&format!("the name {name} is in use by")) && why.contains("not managed by Kraken"),
        "{why}"
    );

    // It is not restored either.
    call(&test_env, "DeleteSecret", &json!({"SecretId": arn, "RecoveryWindowInDays": 7})).await?;
    test_env.patch(KIND, "a", json!({"spec": {"description": {"value": "a"}}})).await?;
    until(|| async {
        let why = test_env.not_ready(KIND, "a", "CloudRefused").await?;
        Ok(why.contains("scheduled for deletion") && why.contains("restore-secret"))
    })
    .await?;
    let found = described(&test_env, &arn).await?;
    assert!(found["DeletedDate"].is_number() && found["Tags"] == tags, "{found}");
    test_env.delete(KIND, "a").await?;
    test_env.gone(KIND, "a").await?;

    call(&test_env, "RestoreSecret", &json!({"SecretId": arn})).await?;
    let spec = json!({"name": {"value": name}, "lifecycle": {"adopt": {"id": arn}}});
    test_env.apply(&resource(KIND, "b", &spec)).await?;
    test_env.ready(KIND, "b").await?;
    assert_eq!(value(&test_env, &arn).await?, "other", "the value of a spec without one is not managed");
    test_env.delete(KIND, "b").await?;
    test_env.gone(KIND, "b").await?;
    // An adopted secret is kept, with the tags that it had.
    let found = described(&test_env, &arn).await?;
    assert!(found["DeletedDate"].is_null() && found["Tags"] == tags, "{found}");
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    test_env.env.proxy.fail_next("CreateSecret", FailurePoint::After, FailureMode::Drop);
    test_env.apply(&secret(&test_env, "one")).await?;
    let spec =
        json!({"secretString": from_secret(), "recoveryWindowDays": 0, "tags": {"Test": test_env.ns.name}});
    test_env.apply(&resource(KIND, "once", &spec)).await?;
    let arn = id(&test_env.ready(KIND, "once").await?)?.to_owned();
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    let all = call(&test_env, "ListSecrets", &json!({})).await?;
    let of_test = |secret: &&Value| secret["Tags"].to_string().contains(&test_env.ns.name);
    assert_eq!(all["SecretList"].as_array().into_iter().flatten().filter(of_test).count(), 1);
    test_env.delete(KIND, "once").await?;
    test_env.gone(KIND, "once").await?;
    assert!(described(&test_env, &arn).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_restoration_that_was_interrupted_is_completed() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    test_env.apply(&secret(&test_env, "one")).await?;
    let name = format!("again/{}", test_env.ns.name);
    let spec = json!({"name": {"value": name}, "secretString": from_secret()});
    test_env.apply(&resource(KIND, "again", &spec)).await?;
    let arn = id(&test_env.ready(KIND, "again").await?)?.to_owned();
    // By another resource of the name, and by the same one, whose secret somebody else deleted.
    test_env.delete(KIND, "again").await?;
    test_env.gone(KIND, "again").await?;
    // The SDK repeats a call, too.
    let interrupted = || async {
        until(|| async { Ok(described(&test_env, &arn).await?["DeletedDate"].is_null()) }).await?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        test_env.env.proxy.clear_failures();
        anyhow::Ok(())
    };
    test_env.env.proxy.fail_always("TagResource", FailurePoint::Before, FailureMode::Drop);
    test_env.apply(&resource(KIND, "again", &spec)).await?;
    interrupted().await?;
    assert_eq!(id(&test_env.ready(KIND, "again").await?)?, arn);
    test_env.env.proxy.fail_always("TagResource", FailurePoint::Before, FailureMode::Drop);
    call(&test_env, "DeleteSecret", &json!({"SecretId": arn, "RecoveryWindowInDays": 7})).await?;
    request_reconcile(&test_env, KIND, "again", "1").await?;
    interrupted().await?;
    assert_eq!(id(&test_env.ready(KIND, "again").await?)?, arn);
    until(|| async { Ok(value(&test_env, &arn).await? == test_env.secret_value("one")) }).await?;
    test_env.patch(KIND, "again", json!({"spec": {"recoveryWindowDays": 0}})).await?;
    test_env.delete(KIND, "again").await?;
    test_env.gone(KIND, "again").await?;
    assert!(described(&test_env, &arn).await.is_err());
    Ok(())
}
