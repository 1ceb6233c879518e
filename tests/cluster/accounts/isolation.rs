//! Each resource is managed with the credentials of its own Account, and with no others.

use anyhow::{Context as _, Result};
use serde_json::json;

use super::{NORTH, ONE, OWN, TWO, Tenant, WEST, id};

#[tokio::test]
async fn two_namespaces_work_in_their_own_accounts_and_regions() -> Result<()> {
    let (one, two) = (Tenant::of(ONE).await?, Tenant::of(TWO).await?);
    one.account("default", WEST, json!({"allowedAccountIDs": [ONE]})).await?;
    two.account("default", NORTH, json!({})).await?;
    for (tenant, account, region, other) in [(&one, ONE, WEST, TWO), (&two, TWO, NORTH, ONE)] {
        let checked = tenant.test_env.ready("Account", "default").await?;
        assert_eq!(checked["status"]["accountID"], account);
        assert_eq!(checked["status"]["region"], region);
        tenant.vpc("main", "").await?;
        let vpc = tenant.test_env.ready("VPC", "main").await?;
        assert_eq!(vpc["status"]["location"], json!({"account": account, "region": region}));
        let known = |account: &str, region: &str| -> Result<bool> {
            let id = id(&vpc)?;
            Ok(tenant.cloud(account, region).journal().iter().any(|call| call.ids.contains(&id)))
        };
        assert!(known(account, region)?);
        for (account, region) in [(account, "us-east-1"), (other, region), (OWN, "us-east-1")] {
            assert!(!known(account, region)?, "{account} {region}");
        }
        let calls = tenant.calls_of(&tenant.key);
        assert_eq!(
            calls[0].action, "GetCallerIdentity",
            "the first call determines the account of the credentials"
        );
        assert!(calls.iter().all(|call| call.region == region && call.account.as_deref() == Some(account)));
    }
    // The id of the account can be referred to.
    one.test_env
        .apply(
            "{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {name: out}, \
              spec: {configType: ConfigMap, configMetadata: {name: out}, entries: [{key: id, valueFrom: {ref: Account/default}}, \
              {key: region, valueFrom: {ref: Account/default/account.Region}}]}}",
        )
        .await?;
    one.test_env.ready("ConfigExport", "out").await?;
    assert_eq!(one.test_env.get("ConfigMap", "out").await?["data"], json!({"id": ONE, "region": WEST}));
    for tenant in [&one, &two] {
        tenant.test_env.delete("VPC", "main").await?;
        tenant.test_env.gone("VPC", "main").await?;
    }
    Ok(())
}

#[tokio::test]
async fn credentials_of_another_account_are_rejected_before_anything_is_observed() -> Result<()> {
    let tenant = Tenant::of(TWO).await?;
    tenant.account("shop", WEST, json!({"allowedAccountIDs": [ONE]})).await?;
    tenant.vpc("main", "shop").await?;
    for (kind, name) in [("VPC", "main"), ("Account", "shop")] {
        let why = tenant.test_env.not_ready(kind, name, "AccountNotReady").await?;
        assert!(why.contains(TWO) && why.contains(ONE), "{why}");
    }
    // Some resyncs.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(tenant.actions().into_iter().collect::<Vec<_>>(), ["GetCallerIdentity"]);
    // With a correct list, reconciles continue.
    let more = json!({"spec": {"allowedAccountIDs": [ONE, TWO]}});
    tenant.test_env.patch("Account", "shop", more).await?;
    tenant.test_env.ready("VPC", "main").await?;
    tenant.test_env.ready("Account", "shop").await.map(drop)
}

#[tokio::test]
async fn an_account_cannot_be_named_from_another_namespace() -> Result<()> {
    let (owner, other) = (Tenant::of(ONE).await?, Tenant::of(ONE).await?);
    owner.account("shop", WEST, json!({})).await?;
    owner.test_env.ready("Account", "shop").await?;
    let before = owner.calls_of(&owner.key).len();
    let namespace = &owner.test_env.ns.name;
    other.vpc("main", "shop").await?;
    let why = other.test_env.not_ready("VPC", "main", "AccountNotFound").await?;
    assert!(why.contains("Account shop does not exist in this namespace"), "{why}");
    for name in [format!("{namespace}/shop"), format!("../{namespace}/shop")] {
        let document = json!({
            "apiVersion": super::AWS, "kind": "VPC", "metadata": {"name": "path"},
            "spec": {"cidrBlock": {"value": "10.0.0.0/16"}, "account": {"name": name}},
        });
        let why = other.test_env.refused(&document.to_string()).await?;
        assert!(why.contains("spec.account.name"), "{why}");
    }
    // An Account that names the Secret of another namespace finds its own, which does not exist.
    other.account_of("aws", "thief", WEST, json!({})).await?;
    let why = other.test_env.not_ready("Account", "thief", "AccountNotReady").await?;
    assert!(why.contains("Secret aws does not exist"), "{why}");
    assert!(other.calls_of(&other.key).is_empty());
    let checks = owner.calls_of(&owner.key).split_off(before);
    assert!(checks.iter().all(|call| call.action == "GetCallerIdentity"), "only checks: {checks:?}");
    // Its own Account of that name triggers a reconcile of it.
    other.account("shop", NORTH, json!({})).await?;
    let vpc = other.test_env.ready("VPC", "main").await?;
    assert_eq!(vpc["status"]["location"]["region"], NORTH);
    Ok(())
}

#[tokio::test]
async fn a_role_is_assumed_with_the_external_id() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    let role = format!("arn:aws:iam::{TWO}:role/{}", tenant.test_env.ns.name);
    tenant.aws.add_role(&role, Some("shop"));
    let more = json!({"assumeRoleARN": role, "externalID": "wrong", "allowedAccountIDs": [TWO]});
    tenant.account("default", WEST, more).await?;
    tenant.vpc("main", "").await?;
    let why = tenant.test_env.not_ready("VPC", "main", "AccountNotReady").await?;
    assert!(why.contains("sts:AssumeRole") || why.contains("not authorized"), "{why}");
    tenant.test_env.patch("Account", "default", json!({"spec": {"externalID": "shop"}})).await?;
    let vpc = tenant.test_env.ready("VPC", "main").await?;
    assert_eq!(vpc["status"]["location"]["account"], TWO);
    assert_eq!(
        tenant.actions().into_iter().collect::<Vec<_>>(),
        ["AssumeRole"],
        "all other calls are made in the role"
    );
    tenant.test_env.ready("Account", "default").await.map(drop)
}

#[tokio::test]
async fn resources_and_their_deletions_wait_for_a_deleted_account() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    tenant.account("shop", WEST, json!({})).await?;
    tenant.vpc("main", "shop").await?;
    tenant.vpc("doomed", "shop").await?;
    let vpc = tenant.test_env.ready("VPC", "main").await?;
    tenant.test_env.ready("VPC", "doomed").await?;
    // In use, it would stay: a client removes the finalizers that keep it.
    tenant.test_env.delete("Account", "shop").await?;
    tenant.test_env.patch("Account", "shop", json!({"metadata": {"finalizers": null}})).await?;
    // Both: a call of either may be in flight until then.
    for name in ["main", "doomed"] {
        tenant.test_env.not_ready("VPC", name, "AccountNotFound").await?;
    }
    let reported = tenant.test_env.get("VPC", "main").await?;
    assert_eq!(reported["status"]["externalIds"], vpc["status"]["externalIds"], "nothing is forgotten");
    assert_eq!(reported["status"]["location"], vpc["status"]["location"]);
    let before = tenant.calls_of(&tenant.key).len();
    tenant.test_env.delete("VPC", "doomed").await?;
    tenant.test_env.not_ready("VPC", "doomed", "AccountNotFound").await?;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(tenant.calls_of(&tenant.key).len(), before);
    tenant.account("shop", WEST, json!({})).await?;
    tenant.test_env.gone("VPC", "doomed").await?;
    tenant.test_env.ready("VPC", "main").await.map(drop)
}

#[tokio::test]
async fn batches_belong_to_credentials() -> Result<()> {
    // The same account and region with two access keys: they must not share a response.
    let (one, two) = (Tenant::of(ONE).await?, Tenant::of(ONE).await?);
    for tenant in [&one, &two] {
        tenant.account("default", WEST, json!({})).await?;
        for name in ["a", "b", "c"] {
            tenant.vpc(name, "").await?;
        }
    }
    let mut ids = vec![];
    for tenant in [&one, &two] {
        let mut own = vec![];
        for name in ["a", "b", "c"] {
            own.push(id(&tenant.test_env.ready("VPC", name).await?)?);
        }
        ids.push(own);
    }
    let cloud = one.cloud(ONE, WEST);
    cloud.clear_journal();
    let control_plane = &one.test_env.env.control_plane;
    let secret_reads = || -> Result<usize> {
        let is_read = |request: &&kraken_testing::audit::Request| {
            request.controller == "kraken-aws-vpc"
                && (request.resource.as_str(), &request.namespace) == ("secrets", &one.test_env.ns.name)
        };
        Ok(control_plane.requests()?.iter().filter(is_read).count())
    };
    let before = secret_reads()?;
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    // Of four or five sweeps with three resources each.
    let reads = secret_reads()? - before;
    assert!((1..=6).contains(&reads), "{reads} reads of the Secret");
    let journal = cloud.journal();
    let describes: Vec<_> = journal
        .iter()
        // Not the list of all objects of the cluster.
        .filter(|call| call.action == "DescribeVpcs" && !call.parameters.contains("/cluster"))
        .collect();
    for own in &ids {
        // All of one key share a call.
        let shared = describes.iter().find(|call| own.iter().all(|id| call.ids.contains(id)));
        shared.context("no call was shared by all resources of one key")?;
    }
    for call in describes {
        let has = |own: &Vec<String>| own.iter().any(|id| call.ids.contains(id));
        assert!(!(has(&ids[0]) && has(&ids[1])), "{call:?}");
    }
    Ok(())
}
