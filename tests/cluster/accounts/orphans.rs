//! The orphan sweep examines the account of every Account.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::Namespace;
use kraken_simulator::{Kind, SimulatedAccounts};
use kraken_testing::SuiteOptions;
use kraken_tests::TestEnv;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::{ONE, OWN, TWO, Tenant, WEST, id};

#[tokio::test]
async fn orphans_are_deleted_with_the_credentials_of_each_account() -> Result<()> {
    let aws = Arc::new(SimulatedAccounts::start()?);
    aws.add_key("testing", OWN);
    aws.add_key("AKIAORPHANS", ONE);
    aws.add_key("AKIAELSEWHERE", TWO);
    let suite = SuiteOptions {
        only: Some(["hub", "aws-vpc"].map(str::to_owned).to_vec()),
        cloud_endpoint: Some(aws.endpoint().to_owned()),
        ..SuiteOptions::default()
    };
    let suite = suite.with_env("aws-vpc", "KRAKEN_ORPHAN_INTERVAL", "1s").with_env(
        "aws-vpc",
        "KRAKEN_REMOVE_ORPHANS",
        "true",
    );
    let tenant =
        Tenant { test_env: TestEnv::with(suite).await?, aws, key: "AKIAORPHANS".to_owned(), _shared: None };
    tenant.account("default", WEST, json!({})).await?;
    // The credentials belong to an account that is not allowed: nothing is listed there.
    tenant.secret("foreign", "AKIAELSEWHERE").await?;
    tenant.account_of("foreign", "foreign", WEST, json!({"allowedAccountIDs": [ONE]})).await?;
    tenant.vpc("main", "").await?;
    let main = id(&tenant.test_env.ready("VPC", "main").await?)?;

    let kube_system = Api::<Namespace>::all(tenant.test_env.client()).get("kube-system").await?;
    let cluster = kube_system.uid().unwrap_or_default();
    let prefix = "kraken-iac.eoinfennessy.com";
    let keys = ["cluster", "uid", "owner", "epoch"].map(|key| format!("{prefix}/{key}"));
    let orphan = |account: &str, cluster: &str, name: &str| -> Result<String> {
        let values = [cluster, "0e6b0f5c-0000-4000-8000-000000000000", "VPC/shop/gone", "1"];
        let tags: Vec<(&str, &str)> = keys.iter().map(String::as_str).zip(values).collect();
        tenant.cloud(account, WEST).create_out_of_band(Kind::Vpc, name, &tags)
    };
    let (gone, other) = (orphan(ONE, &cluster, "gone")?, orphan(ONE, "another-cluster", "other")?);
    orphan(TWO, &cluster, "elsewhere")?;
    let is_deleted = |id: &str| {
        let journal = tenant.cloud(ONE, WEST).journal();
        journal.iter().any(|call| call.action == "DeleteVpc" && call.parameters.contains(id))
    };
    for _ in 0..300 {
        if is_deleted(&gone) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // More sweeps.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(is_deleted(&gone), "the orphan is not deleted");
    assert!(
        !is_deleted(&main) && !is_deleted(&other),
        "an object with an owner, or of another cluster, was deleted"
    );
    let elsewhere = tenant.calls_of("AKIAELSEWHERE");
    assert!(elsewhere.iter().all(|call| call.action == "GetCallerIdentity"), "{elsewhere:?}");
    assert_eq!(id(&tenant.test_env.ready("VPC", "main").await?)?, main);
    Ok(())
}
