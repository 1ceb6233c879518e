//! Look-ups of parameters of Systems Manager in moto, through their controller as its real binary. moto denies no names.

use anyhow::{Context as _, Result};
use kraken_testing::{Environment, Shared};
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};

use crate::{
    balancing::{request_reconcile, until},
    services::{self, resource},
};

const KIND: &str = "ParameterLookup";

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-ssm"]).await
}

/// A call of moto's Systems Manager.
async fn call(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env.env.moto.json("ssm", "1.1", &format!("AmazonSSM.{action}"), body).await
}

async fn put(test_env: &TestEnv, name: &str, kind: &str, value: &str) -> Result<()> {
    let parameter = json!({"Name": name, "Type": kind, "Value": value, "Overwrite": true});
    call(test_env, "PutParameter", &parameter).await.map(drop)
}

/// What a reference to the look-up gets.
async fn published(test_env: &TestEnv, name: &str) -> Result<Value> {
    let state = test_env.get("StateDeclaration", &format!("parameterlookup.aws.{name}")).await?;
    Ok(json!([state["spec"]["id"], state["spec"]["data"]["parameter"]]))
}

#[tokio::test]
async fn a_value_is_kept_until_a_newer_one_is_approved_and_when_the_parameter_is_deleted() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("/{}/image", test_env.ns.name);
    test_env.apply(&resource(KIND, "image", &json!({"name": {"value": name}}))).await?;
    let why = test_env.not_ready(KIND, "image", "NotFound").await?;
    assert!(why.contains(&name), "{why}");
    put(&test_env, &name, "String", "ami-1").await?;
    request_reconcile(&test_env, KIND, "image", "1").await?;
    test_env.ready(KIND, "image").await?;
    let of = |value: &str| json!([value, {"Name": name, "Value": value}]);
    assert_eq!(published(&test_env, "image").await?, of("ami-1"));

    put(&test_env, &name, "String", "ami-2").await?;
    request_reconcile(&test_env, KIND, "image", "2").await?;
    let is_outdated = |object: &Value| condition(object, "UpdateAvailable")["status"] == "True";
    let lookup = test_env.until(KIND, "image", is_outdated).await?;
    let message = condition(&lookup, "UpdateAvailable")["message"].as_str().unwrap_or_default();
    assert!(message.starts_with(&format!("found {name}=ami-2, and keeps {name}=ami-1")), "{message}");
    assert_eq!(condition(&lookup, "Ready")["status"], "True");
    assert_eq!(published(&test_env, "image").await?, of("ami-1"));
    let hash = lookup["status"]["plan"]["hash"].as_str().context("no plan")?;
    let approved = json!({"metadata": {"annotations": {"kraken-iac.eoinfennessy.com/approved-plan": hash}}});
    test_env.patch(KIND, "image", approved).await?;
    until(|| async { Ok(published(&test_env, "image").await? == of("ami-2")) }).await?;

    call(&test_env, "DeleteParameter", &json!({"Name": name})).await?;
    request_reconcile(&test_env, KIND, "image", "3").await?;
    let is_unfound = |object: &Value| condition(object, "Synced")["reason"] == "NotFound";
    let lookup = test_env.until(KIND, "image", is_unfound).await?;
    assert_eq!(condition(&lookup, "Ready")["status"], "True");
    assert_eq!(published(&test_env, "image").await?, of("ami-2"));
    Ok(())
}

#[tokio::test]
async fn lists_and_public_parameters_have_values_and_a_secure_string_has_none() -> Result<()> {
    let test_env = test_env().await?;
    let of = |name: &str| format!("/{}/{name}", test_env.ns.name);
    put(&test_env, &of("zones"), "StringList", "a,b").await?;
    // moto returns it also without decryption.
    put(&test_env, &of("password"), "SecureString", &test_env.secret_value("password")).await?;
    let image = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64".to_owned();
    for (resource_name, name) in [("zones", of("zones")), ("password", of("password")), ("image", image)] {
        let spec = json!({"name": {"value": name}, "pin": false});
        test_env.apply(&resource(KIND, resource_name, &spec)).await?;
    }
    test_env.ready(KIND, "zones").await?;
    let zones = json!(["a,b", {"Name": of("zones"), "Value": "a,b", "Values": ["a", "b"]}]);
    assert_eq!(published(&test_env, "zones").await?, zones);
    let why = test_env.not_ready(KIND, "password", "InvalidSpec").await?;
    assert!(why.contains("is a SecureString"), "{why}");
    assert_eq!(published(&test_env, "password").await?, json!([null, null]));
    test_env.ready(KIND, "image").await?;
    let found = published(&test_env, "image").await?;
    assert!(found[0].as_str().is_some_and(|id| id.starts_with("ami-")), "{found}");

    // Without `pin`, the value follows.
    put(&test_env, &of("zones"), "StringList", "b").await?;
    request_reconcile(&test_env, KIND, "zones", "1").await?;
    until(|| async { Ok(published(&test_env, "zones").await?[0] == "b") }).await
}
