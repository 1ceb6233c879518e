//! Keys and aliases of KMS in moto, through their controller as its real binary. moto has no creation dates of aliases and no rotation periods.

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

/// A test that fails the next call is alone.
static CALLS: RwLock<()> = RwLock::const_new(());

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-kms"]).await
}

/// A call of moto's KMS.
async fn call(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env.env.moto.json("kms", "1.1", &format!("TrentService.{action}"), body).await
}

/// The id in the ARN of a key.
fn key_id(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}

/// A field of the description of a key.
async fn described(test_env: &TestEnv, arn: &str, field: &str) -> Result<Value> {
    let found = call(test_env, "DescribeKey", &json!({"KeyId": key_id(arn)})).await?;
    Ok(found["KeyMetadata"][field].clone())
}

async fn tags(test_env: &TestEnv, arn: &str) -> Result<String> {
    Ok(call(test_env, "ListResourceTags", &json!({"KeyId": key_id(arn)})).await?["Tags"].to_string())
}

async fn is_rotated(test_env: &TestEnv, arn: &str) -> Result<bool> {
    let found = call(test_env, "GetKeyRotationStatus", &json!({"KeyId": key_id(arn)})).await?;
    Ok(found["KeyRotationEnabled"] == true)
}

/// The key of an alias; none if the alias does not exist.
async fn target(test_env: &TestEnv, name: &str) -> Result<Option<String>> {
    let all = call(test_env, "ListAliases", &json!({})).await?;
    let all = all["Aliases"].as_array().context("no list")?.clone();
    let found = all.into_iter().find(|alias| alias["AliasName"] == name);
    Ok(found.and_then(|alias| alias["TargetKeyId"].as_str().map(str::to_owned)))
}

/// A key of somebody else.
async fn foreign_key(test_env: &TestEnv) -> Result<String> {
    let made = call(test_env, "CreateKey", &json!({})).await?;
    Ok(made["KeyMetadata"]["KeyId"].as_str().context("no key")?.to_owned())
}

fn policy(action: &str) -> Value {
    let actions = [action, "kms:Put*", "kms:Describe*"];
    json!({"statements": [{
        "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["arn:aws:iam::123456789012:root"]}},
        "actions": {"value": actions}, "resources": {"value": ["*"]},
    }]})
}

#[tokio::test]
async fn a_key_with_an_alias_is_created_corrected_and_scheduled_for_deletion_in_any_order() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let name = format!("alias/{}", test_env.ns.name);
    let alias = json!({"name": {"value": name}, "targetKeyID": {"valueFrom": {"ref": "Key/shop"}}});
    test_env.apply(&resource("Alias", "shop", &alias)).await?;
    let key = json!({
        "description": {"value": "The shop"}, "enableKeyRotation": {"value": true}, "policy": policy("kms:List*"),
        "deletionWindowDays": 7, "tags": {"Team": "shop"},
    });
    test_env.apply(&resource("Key", "shop", &key)).await?;
    let arn = id(&test_env.ready("Key", "shop").await?)?.to_owned();
    assert!(arn.contains(":key/"), "{arn}");
    assert_eq!(id(&test_env.ready("Alias", "shop").await?)?, name);
    assert_eq!(target(&test_env, &name).await?.as_deref(), Some(key_id(&arn)));
    assert_eq!(described(&test_env, &arn, "Description").await?, "The shop");
    assert!(is_rotated(&test_env, &arn).await?);
    assert!(tags(&test_env, &arn).await?.contains("/alias-"));
    test_env.ready("Key", "shop").await?;

    // Drift of the key, and of the alias, whose owner is then a tag of another key.
    let of = |more: Value| {
        let mut body = more;
        body["KeyId"] = json!(key_id(&arn));
        body
    };
    call(&test_env, "UpdateKeyDescription", &of(json!({"Description": "other"}))).await?;
    call(&test_env, "DisableKeyRotation", &of(json!({}))).await?;
    request_reconcile(&test_env, "Key", "shop", "1").await?;
    until(|| async { Ok(described(&test_env, &arn, "Description").await? == "The shop") }).await?;
    until(|| async { is_rotated(&test_env, &arn).await }).await?;
    test_env
        .patch("Key", "shop", json!({"spec": {"policy": policy("kms:Get*"), "enabled": {"value": false}}}))
        .await?;
    until(|| async { Ok(described(&test_env, &arn, "KeyState").await? == "Disabled") }).await?;
    until(|| async {
        let found = call(&test_env, "GetKeyPolicy", &of(json!({"PolicyName": "default"}))).await?;
        Ok(found.to_string().contains("kms:Get*"))
    })
    .await?;
    test_env.patch("Key", "shop", json!({"spec": {"enabled": {"value": true}}})).await?;
    until(|| async { Ok(described(&test_env, &arn, "KeyState").await? == "Enabled") }).await?;
    let other = foreign_key(&test_env).await?;
    call(&test_env, "UpdateAlias", &json!({"AliasName": name, "TargetKeyId": other})).await?;
    request_reconcile(&test_env, "Alias", "shop", "1").await?;
    until(|| async { Ok(target(&test_env, &name).await?.as_deref() == Some(key_id(&arn))) }).await?;

    test_env.delete("Key", "shop").await?;
    test_env.delete("Alias", "shop").await?;
    test_env.gone("Alias", "shop").await?;
    test_env.gone("Key", "shop").await?;
    assert_eq!(target(&test_env, &name).await?, None);
    assert_eq!(described(&test_env, &arn, "KeyState").await?, "PendingDeletion");
    assert!(!tags(&test_env, &arn).await?.contains("/alias-"));
    Ok(())
}

#[tokio::test]
async fn a_deletion_by_somebody_else_is_cancelled_and_a_replaced_key_is_not_taken_back() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let spec = json!({"tags": {"Test": test_env.ns.name}, "lifecycle": {"replace": "DeleteFirst"}});
    test_env.apply(&resource("Key", "shop", &spec)).await?;
    let arn = id(&test_env.ready("Key", "shop").await?)?.to_owned();
    call(&test_env, "ScheduleKeyDeletion", &json!({"KeyId": key_id(&arn)})).await?;
    request_reconcile(&test_env, "Key", "shop", "1").await?;
    until(|| async { Ok(described(&test_env, &arn, "KeyState").await? == "Enabled") }).await?;
    assert_eq!(id(&test_env.ready("Key", "shop").await?)?, arn);

    let signs =
        json!({"spec": {"keySpec": {"value": "ECC_NIST_P256"}, "keyUsage": {"value": "SIGN_VERIFY"}}});
    test_env.patch("Key", "shop", signs).await?;
    let is_new = |key: &Value| id(key).is_ok_and(|id| id != arn);
    test_env.until("Key", "shop", is_new).await?;
    let second = id(&test_env.ready("Key", "shop").await?)?.to_owned();
    assert_eq!(described(&test_env, &second, "KeySpec").await?, "ECC_NIST_P256");
    assert_eq!(described(&test_env, &arn, "KeyState").await?, "PendingDeletion");
    test_env.delete("Key", "shop").await?;
    test_env.gone("Key", "shop").await?;
    assert_eq!(described(&test_env, &second, "KeyState").await?, "PendingDeletion");
    Ok(())
}

#[tokio::test]
async fn an_alias_moves_to_another_key_with_its_owner_and_a_retained_one_has_none() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let (first, second) = (foreign_key(&test_env).await?, foreign_key(&test_env).await?);
    let spec = json!({"targetKeyID": {"value": first}, "lifecycle": {"deletion": "Retain"}});
    test_env.apply(&resource("Alias", "moves", &spec)).await?;
    let name = id(&test_env.ready("Alias", "moves").await?)?.to_owned();
    assert!(name.starts_with("alias/kraken-"), "{name}");
    test_env.patch("Alias", "moves", json!({"spec": {"targetKeyID": {"value": second}}})).await?;
    until(|| async { Ok(target(&test_env, &name).await?.as_deref() == Some(&second)) }).await?;
    until(|| async { Ok(!tags(&test_env, &first).await?.contains("/alias-")) }).await?;
    test_env.ready("Alias", "moves").await?;
    assert!(tags(&test_env, &second).await?.contains("Alias/"));
    test_env.delete("Alias", "moves").await?;
    test_env.gone("Alias", "moves").await?;
    assert_eq!(target(&test_env, &name).await?.as_deref(), Some(second.as_str()));
    assert!(!tags(&test_env, &second).await?.contains("Alias/"));
    Ok(())
}

#[tokio::test]
async fn an_alias_of_somebody_else_is_rejected_and_adopted_on_request() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let (key, name) = (foreign_key(&test_env).await?, format!("alias/taken-{}", test_env.ns.name));
    call(&test_env, "CreateAlias", &json!({"AliasName": name, "TargetKeyId": key})).await?;
    let spec = json!({"name": {"value": name}, "targetKeyID": {"value": key}});
    test_env.apply(&resource("Alias", "a", &spec)).await?;
    let why = test_env.not_ready("Alias", "a", "CloudRefused").await?;
    assert!(
        why.contains(&format!("the name {name} is in use by")) && why.contains("not managed by Kraken"),
        "{why}"
    );
    assert!(!tags(&test_env, &key).await?.contains("/alias-"));
    test_env.delete("Alias", "a").await?;
    test_env.gone("Alias", "a").await?;

    let adopt =
        json!({"name": {"value": name}, "targetKeyID": {"value": key}, "lifecycle": {"adopt": {"id": name}}});
    test_env.apply(&resource("Alias", "b", &adopt)).await?;
    test_env.ready("Alias", "b").await?;
    // Another resource with its name.
    test_env.apply(&resource("Alias", "c", &spec)).await?;
    let why = test_env.not_ready("Alias", "c", "ValueInUse").await?;
    assert!(why.contains("which belongs to Alias/"), "{why}");
    for name in ["b", "c"] {
        test_env.delete("Alias", name).await?;
        test_env.gone("Alias", name).await?;
    }
    // An adopted alias is kept, without a trace.
    assert_eq!(target(&test_env, &name).await?.as_deref(), Some(key.as_str()));
    assert!(!tags(&test_env, &key).await?.contains("Alias/"));
    Ok(())
}

#[tokio::test]
async fn creations_without_a_response_are_found_and_not_repeated() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    for action in ["CreateKey", "CreateAlias"] {
        test_env.env.proxy.fail_next(action, FailurePoint::After, FailureMode::Drop);
    }
    test_env.apply(&resource("Key", "once", &json!({"tags": {"Test": test_env.ns.name}}))).await?;
    let alias = json!({"targetKeyID": {"valueFrom": {"ref": "Key/once"}}});
    test_env.apply(&resource("Alias", "once", &alias)).await?;
    let arn = id(&test_env.ready("Key", "once").await?)?.to_owned();
    let name = id(&test_env.ready("Alias", "once").await?)?.to_owned();
    assert_eq!(target(&test_env, &name).await?.as_deref(), Some(key_id(&arn)));
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    let all = call(&test_env, "ListKeys", &json!({})).await?;
    let mut count = 0;
    for key in all["Keys"].as_array().into_iter().flatten() {
        let found = tags(&test_env, key["KeyArn"].as_str().unwrap_or_default()).await?;
        count += usize::from(found.contains(&format!("\"{}\"", test_env.ns.name)));
    }
    assert_eq!(count, 1);
    for kind in ["Alias", "Key"] {
        test_env.delete(kind, "once").await?;
        test_env.gone(kind, "once").await?;
    }
    assert_eq!(target(&test_env, &name).await?, None);
    Ok(())
}

#[tokio::test]
async fn a_cancellation_that_was_interrupted_is_completed() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    test_env.apply(&resource("Key", "again", &json!({"enabled": {"value": true}}))).await?;
    let arn = id(&test_env.ready("Key", "again").await?)?.to_owned();
    for (when, action) in [("1", "TagResource"), ("2", "EnableKey")] {
        // The SDK repeats a call, too.
        test_env.env.proxy.fail_always(action, FailurePoint::Before, FailureMode::Drop);
        call(&test_env, "ScheduleKeyDeletion", &json!({"KeyId": key_id(&arn)})).await?;
        request_reconcile(&test_env, "Key", "again", when).await?;
        until(|| async { Ok(described(&test_env, &arn, "KeyState").await? != "PendingDeletion") }).await?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        test_env.env.proxy.clear_failures();
        until(|| async { Ok(described(&test_env, &arn, "KeyState").await? == "Enabled") }).await?;
        assert_eq!(id(&test_env.ready("Key", "again").await?)?, arn, "{action}");
    }
    test_env.delete("Key", "again").await?;
    test_env.gone("Key", "again").await?;
    assert_eq!(described(&test_env, &arn, "KeyState").await?, "PendingDeletion");
    Ok(())
}
