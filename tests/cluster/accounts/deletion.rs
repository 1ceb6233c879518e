//! An Account and its Secret are deleted together with the resources that need them: by `kubectl delete namespace`, and by
//! `kubectl delete -f` of a folder.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kraken_simulator::Kind;
use kube::{Api, ResourceExt as _, api::DeleteParams};
use serde_json::json;

use super::{ONE, Tenant, WEST};

const KEPT: &str = "kraken-iac.eoinfennessy.com/account-in-use";

/// A VPC and a Subnet in another account than that of the controllers. One names the Account, and one uses the default.
async fn stack(tenant: &Tenant) -> Result<()> {
    tenant.account("default", WEST, json!({"allowedAccountIDs": [ONE]})).await?;
    tenant.vpc("net", "default").await?;
    let subnet = json!({"vpcID": {"valueFrom": {"ref": "VPC/net"}}, "cidrBlock": {"value": "10.0.1.0/24"}});
    tenant.resource("Subnet", "s", "", subnet).await?;
    tenant.test_env.ready("VPC", "net").await?;
    tenant.test_env.ready("Subnet", "s").await?;
    until_kept(tenant, true).await
}

fn secrets(tenant: &Tenant) -> Api<Secret> {
    Api::namespaced(tenant.test_env.client(), &tenant.test_env.ns.name)
}

/// Waits until the finalizer of the Secret is there, or is not.
async fn until_kept(tenant: &Tenant, is_kept: bool) -> Result<()> {
    for _ in 0..300 {
        let secret = secrets(tenant).get_opt("aws").await?;
        if secret.is_some_and(|secret| secret.finalizers().contains(&KEPT.to_owned()) == is_kept) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("the finalizer of the Secret is not as expected: {is_kept}")
}

/// The objects of this tenant's account: no other test of this module uses a VPC of this name there.
fn left(tenant: &Tenant) -> Vec<String> {
    let owner = format!("VPC/{}/net", tenant.test_env.ns.name);
    tenant.cloud(ONE, WEST).tagged(Kind::Vpc, "kraken-iac.eoinfennessy.com/owner", &owner)
}

#[tokio::test]
async fn a_namespace_is_deleted_with_its_account() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    stack(&tenant).await?;
    assert_eq!(left(&tenant).len(), 1);
    tenant.test_env.ns.delete().await?;
    let namespaces = Api::<Namespace>::all(tenant.test_env.client());
    for _ in 0..600 {
        if namespaces.get_opt(&tenant.test_env.ns.name).await?.is_none() {
            assert_eq!(left(&tenant), Vec::<String>::new());
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("the namespace still exists: {}", tenant.test_env.all("VPC").await?)
}

#[tokio::test]
async fn a_folder_is_deleted_with_its_account_in_any_order() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    stack(&tenant).await?;
    // As kubectl does: everything is requested first.
    secrets(&tenant).delete("aws", &DeleteParams::default()).await?;
    tenant.test_env.delete("Account", "default").await?;
    tenant.test_env.delete("VPC", "net").await?;
    tenant.test_env.delete("Subnet", "s").await?;
    tenant.test_env.gone("VPC", "net").await?;
    assert_eq!(left(&tenant), Vec::<String>::new());
    tenant.test_env.gone("Account", "default").await?;
    tenant.test_env.gone("Secret", "aws").await
}

#[tokio::test]
async fn nothing_is_kept_without_a_resource_that_uses_it() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    stack(&tenant).await?;
    tenant.test_env.delete("Subnet", "s").await?;
    tenant.test_env.delete("VPC", "net").await?;
    tenant.test_env.gone("VPC", "net").await?;
    until_kept(&tenant, false).await?;
    tenant
        .test_env
        .until("Account", "default", |account| {
            account["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty)
        })
        .await?;
    assert!(!tenant.test_env.all("DependencyRequest").await?.contains("kraken-aws-vpc.account"));
    Ok(())
}

#[tokio::test]
async fn a_secret_in_use_can_be_deleted_and_created_again() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    stack(&tenant).await?;
    secrets(&tenant).delete("aws", &DeleteParams::default()).await?;
    tenant.test_env.gone("Secret", "aws").await?;
    tenant.secret("aws", &tenant.key).await?;
    until_kept(&tenant, true).await?;
    tenant.test_env.delete("Subnet", "s").await?;
    tenant.test_env.delete("VPC", "net").await?;
    tenant.test_env.gone("VPC", "net").await
}

#[tokio::test]
async fn nothing_is_created_with_an_account_that_is_being_deleted() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    stack(&tenant).await?;
    tenant.test_env.delete("Account", "default").await?;
    tenant
        .test_env
        .until("Account", "default", |account| !account["metadata"]["deletionTimestamp"].is_null())
        .await?;
    tenant.test_env.patch("VPC", "net", json!({"spec": {"tags": {"Name": "edited"}}})).await?;
    tenant.test_env.ready("VPC", "net").await?;
    tenant.vpc("other", "").await?;
    let why = tenant.test_env.not_ready("VPC", "other", "AccountNotReady").await?;
    assert!(why.starts_with("Account default is being deleted"), "{why}");
    tenant.test_env.delete("VPC", "other").await?;
    tenant.test_env.delete("Subnet", "s").await?;
    tenant.test_env.delete("VPC", "net").await?;
    tenant.test_env.gone("Account", "default").await
}
