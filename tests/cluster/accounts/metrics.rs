//! The metrics of Accounts.

use std::time::Instant;

use anyhow::{Result, bail};
use kraken_tests::test_env::TIMEOUT;
use serde_json::json;

use super::{ONE, Tenant, WEST, account};

#[tokio::test]
async fn accounts_are_counted_by_namespace_and_reason() -> Result<()> {
    let tenant = Tenant::of(ONE).await?;
    tenant.account("default", WEST, json!({})).await?;
    tenant.test_env.ready("Account", "default").await?;
    // Its Secret does not exist.
    tenant.test_env.apply(&account("absent", "broken", WEST, json!({}))).await?;
    tenant.test_env.not_ready("Account", "broken", "AccountNotReady").await?;
    let controller = tenant.test_env.env.suite.controller("aws-account")?;
    let of_namespace = format!("kind=\"Account\",namespace=\"{}\"", tenant.test_env.ns.name);
    let expected = [("True", "Available"), ("False", "AccountNotReady")].map(|(ready, reason)| {
        format!("kraken_resources{{{of_namespace},ready=\"{ready}\",reason=\"{reason}\"}} 1")
    });
    let begin = Instant::now();
    loop {
        // They are counted in the store that the watch fills.
        let metrics = controller.metrics().await?;
        let found: Vec<&str> = metrics.lines().filter(|line| line.contains(&of_namespace)).collect();
        if expected.iter().all(|line| found.contains(&line.as_str())) {
            return Ok(());
        }
        if begin.elapsed() > TIMEOUT {
            bail!("expected {expected:?}, found {found:?}");
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
