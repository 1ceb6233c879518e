//! Rotated credentials, and the absence of overhead where there are no Accounts.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use kraken_simulator::{REGION, SimulatedAccounts};
use kraken_testing::SuiteOptions;
use kraken_tests::TestEnv;
use serde_json::json;

use super::{ONE, OWN, TWO, Tenant, WEST, shared};

#[tokio::test]
async fn rotated_credentials_are_used_from_the_next_reconcile() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    tenant.account("default", WEST, json!({})).await?;
    tenant.vpc("main", "").await?;
    let vpc = tenant.test_env.ready("VPC", "main").await?;
    let rotated = format!("{}R", tenant.key);
    tenant.aws.add_key(&rotated, ONE);
    tenant.secret("aws", &rotated).await?;
    // Reconciles that began before may still be in progress.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let before = tenant.calls_of(&tenant.key).len();
    tenant.aws.remove_key(&tenant.key);
    tenant.test_env.patch("VPC", "main", json!({"spec": {"tags": {"Name": "rotated"}}})).await?;
    tenant.tagged("main", json!({"Name": "rotated"})).await?;
    let calls = tenant.calls_of(&rotated);
    assert_eq!(calls[0].action, "GetCallerIdentity");
    assert!(calls.iter().any(|call| call.action == "CreateTags"), "{calls:?}");
    let late: Vec<_> = tenant.calls_of(&tenant.key).split_off(before);
    assert!(late.iter().all(|call| call.action == "DescribeVpcs"), "a call that was in progress: {late:?}");
    assert_eq!(
        tenant.test_env.ready("VPC", "main").await?["status"]["externalIds"],
        vpc["status"]["externalIds"]
    );

    // Credentials of another account: existing objects are neither searched for nor created again there.
    let foreign = format!("{}F", tenant.key);
    tenant.aws.add_key(&foreign, TWO);
    tenant.secret("aws", &foreign).await?;
    let why = tenant.test_env.not_ready("VPC", "main", "LocationMismatch").await?;
    assert!(why.contains(ONE) && why.contains(TWO), "{why}");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(tenant.calls_of(&foreign).iter().all(|call| call.action == "GetCallerIdentity"));
    tenant.secret("aws", &rotated).await?;
    tenant.test_env.ready("VPC", "main").await.map(drop)
}

#[tokio::test]
async fn missing_and_rejected_credentials_are_conditions() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    tenant.account_of("aws", "default", WEST, json!({})).await?;
    tenant.vpc("main", "").await?;
    let why = tenant.test_env.not_ready("VPC", "main", "AccountNotReady").await?;
    assert!(why.contains("spec.credentials.accessKeyID: Secret aws does not exist"), "{why}");
    tenant.secret("aws", "AKIAUNKNOWN").await?;
    // The Secret is not watched: an edit triggers a reconcile before the next check.
    tenant.test_env.patch("VPC", "main", json!({"spec": {"tags": {"Name": "a"}}})).await?;
    let rejected = |object: &serde_json::Value| {
        let ready = kraken_tests::test_env::condition(object, "Ready");
        ready["message"].as_str().is_some_and(|why| why.contains("InvalidClientTokenId"))
    };
    let object = tenant.test_env.until("VPC", "main", rejected).await?;
    let ready = kraken_tests::test_env::condition(&object, "Ready");
    assert_eq!(ready["reason"], "AccountNotReady");
    assert!(ready["message"].as_str().is_some_and(|why| why.starts_with("Account default: ")), "{ready}");
    assert!(tenant.calls_of(&tenant.key).is_empty());
    Ok(())
}

#[tokio::test]
async fn without_accounts_nothing_is_read_or_called_in_addition() -> Result<()> {
    let (tenant, env) = (Tenant::of(ONE).await?, shared().await?.env.clone());
    let namespace = &tenant.test_env.ns.name;
    let names = ["a", "b", "c", "d"];
    for name in names {
        tenant.vpc(name, "").await?;
    }
    for name in names {
        let vpc = tenant.test_env.ready("VPC", name).await?;
        assert_eq!(vpc["status"]["location"]["account"], OWN);
    }
    tokio::time::sleep(Duration::from_secs(6)).await;
    let requests = env.control_plane.requests()?;
    let by_spoke = requests.iter().filter(|request| request.controller == "kraken-aws-vpc");
    let here: Vec<_> = by_spoke.filter(|request| request.namespace == **namespace).collect();
    let reads: Vec<_> = here.iter().filter(|request| request.verb == "get").collect();
    assert!(reads.is_empty(), "{reads:?}");
    // For each its finalizer and ledger, its state, and its statuses.
    assert!(here.len() <= 6 * names.len(), "{} writes: {here:?}", here.len());
    let of_accounts: Vec<_> = requests.iter().filter(|request| request.resource == "accounts").collect();
    assert!(of_accounts.iter().all(|request| request.verb != "get"), "{of_accounts:?}");
    // One call determines the account of the controller's credentials, regardless of the number of resources.
    let own = tenant.calls_of("testing").into_iter().filter(|call| {
        // Accounts of other tests may use the same credentials in other regions.
        call.action == "GetCallerIdentity" && call.region == REGION
    });
    assert_eq!(own.count(), 1);
    assert!(tenant.calls_of(&tenant.key).is_empty());
    Ok(())
}

#[tokio::test]
async fn where_an_account_is_required_the_controllers_credentials_are_not_used() -> Result<()> {
    let aws = Arc::new(SimulatedAccounts::start()?);
    aws.add_key("testing", OWN);
    aws.add_key("AKIAREQUIRED", ONE);
    let suite = SuiteOptions {
        only: Some(["hub", "aws-vpc"].map(str::to_owned).to_vec()),
        cloud_endpoint: Some(aws.endpoint().to_owned()),
        ..SuiteOptions::default()
    };
    let test_env = TestEnv::with(suite.with_env("aws-vpc", "KRAKEN_REQUIRE_ACCOUNT", "true")).await?;
    let tenant = Tenant { test_env, aws, key: "AKIAREQUIRED".to_owned(), _shared: None };
    tenant.vpc("main", "").await?;
    let why = tenant.test_env.not_ready("VPC", "main", "AccountNotFound").await?;
    assert!(why.contains("--require-account"), "{why}");
    assert!(tenant.calls_of("testing").is_empty(), "{:?}", tenant.aws.calls());
    // The controller of Accounts does not run: no spoke waits for it.
    tenant.account("default", WEST, json!({})).await?;
    tenant.test_env.ready("VPC", "main").await?;
    assert!(tenant.calls_of("testing").is_empty(), "{:?}", tenant.aws.calls());
    Ok(())
}
