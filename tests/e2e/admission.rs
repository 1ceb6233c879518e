//! Webhooks during the rotation of their certificate.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::site::{Site, cluster, mistaken, rolled_out, system, system_json};

const CONTROLLER: &str = "kraken-aws-vpc";

async fn bundle() -> Result<String> {
    let path = "jsonpath={.webhooks[0].clientConfig.caBundle}";
    cluster(&["get", "validatingwebhookconfiguration", CONTROLLER, "-o", path]).await
}

async fn certificate() -> Result<String> {
    let secret = system_json(&["get", "secret", &format!("{CONTROLLER}-webhook")]).await?;
    Ok(secret["data"]["tls.crt"].as_str().context("the Secret has no certificate")?.to_owned())
}

#[tokio::test]
#[ignore = "cargo xtask e2e"]
async fn every_invalid_resource_is_rejected_during_a_rotation() -> Result<()> {
    let site = Site::new("rotation").await?;
    // The environment variable of a flag, as in the README. A rotation then takes half a minute.
    let literal = "--from-literal=KRAKEN_WEBHOOK_CERTIFICATE_LIFETIME=48s";
    system(&["create", "configmap", CONTROLLER, literal]).await?;
    system(&["delete", "secret", &format!("{CONTROLLER}-webhook")]).await?;
    let webhook =
        kraken_testing::paths::workspace_root()?.join(format!("config/{}/webhook.yaml", &CONTROLLER[7..]));
    cluster(&["apply", "--server-side", "--force-conflicts", "-f", &webhook.display().to_string()]).await?;
    system(&["rollout", "restart", &format!("deployment/{CONTROLLER}")]).await?;
    rolled_out(CONTROLLER).await?;
    let mistaken = mistaken("VPC", "cidrBlock");
    site.refused(&mistaken).await?;
    let (first, first_bundle) = (certificate().await?, bundle().await?);

    // The API server admits every request if it does not trust the webhook, so each attempt must be rejected.
    let started = Instant::now();
    let (mut tries, mut bundles) = (0, vec![first_bundle]);
    while started.elapsed() < Duration::from_secs(75) {
        let refused = site.refused(&mistaken).await?;
        assert!(refused.contains("spec.cidrBlock.valueFrom.templateString"), "{refused}");
        tries += 1;
        let now = bundle().await?;
        if bundles.last() != Some(&now) {
            bundles.push(now);
        }
    }
    assert_ne!(certificate().await?, first, "the certificate was not rotated");
    assert!(
        bundles.len() >= 3,
        "expected the old bundle, both, and the new one: {} bundles after {tries} attempts",
        bundles.len()
    );

    system(&["delete", "configmap", CONTROLLER]).await?;
    system(&["rollout", "restart", &format!("deployment/{CONTROLLER}")]).await?;
    rolled_out(CONTROLLER).await?;
    site.end().await
}
