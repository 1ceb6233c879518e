//! VPC endpoints, network ACLs and VPC peering connections in moto, through their controller as its real binary. moto ignores the tokens of creations.

mod acls;
mod endpoints;
mod peerings;

use anyhow::{Context as _, Result};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::network::id;

/// A test that fails the next call is alone.
static CALLS: RwLock<()> = RwLock::const_new(());

/// An environment whose controllers have a shorter visibility window.
async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let env = SHARED
        .get(|| {
            let only = ["hub", "aws-vpc"].map(str::to_owned).to_vec();
            let suite = SuiteOptions { only: Some(only), ..SuiteOptions::default() }.with_env(
                "aws-vpc",
                "KRAKEN_VISIBILITY_WINDOW",
                "2s",
            );
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    TestEnv::on(env).await
}

/// A resource of this test, as YAML, which is observed each second.
fn resource(kind: &str, name: &str, mut spec: Value) -> String {
    let lifecycle = spec["lifecycle"].take();
    spec["lifecycle"] = json!({"resyncInterval": "1s"});
    if let (Some(all), Some(more)) = (spec["lifecycle"].as_object_mut(), lifecycle.as_object()) {
        all.extend(more.clone());
    }
    let version = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}).to_string()
}

/// A reference to the main id, or with a path to another value.
fn from(path: &str) -> Value {
    json!({"valueFrom": {"ref": path}})
}

/// Deletes all of them at once.
async fn delete_all(test_env: &TestEnv, all: &[(&str, &str)]) -> Result<()> {
    for (kind, name) in all {
        test_env.delete(kind, name).await?;
    }
    for (kind, name) in all {
        test_env.gone(kind, name).await?;
    }
    Ok(())
}

/// Approves the adoption of an object that differs, and waits until it is in place.
async fn adopted(test_env: &TestEnv, kind: &str, name: &str) -> Result<String> {
    let plan = test_env.not_ready(kind, name, "AwaitingApproval").await?;
    let (_, digest) = plan.rsplit_once('=').context("no digest")?;
    let approval = json!({"kraken-iac.eoinfennessy.com/approved-plan": digest});
    test_env.patch(kind, name, json!({"metadata": {"annotations": approval}})).await?;
    id(test_env, kind, name).await
}

/// The texts of a list in a response.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
