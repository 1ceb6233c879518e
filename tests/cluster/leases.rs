//! A controller that lost its lease ends. It is restarted by Kubernetes, and in these tests by the suite.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kraken_testing::SuiteOptions;
use kraken_tests::{TestEnv, test_env::TIMEOUT};

#[tokio::test]
async fn a_controller_that_lost_its_lease_ends_and_is_restarted() -> Result<()> {
    let hub = SuiteOptions { only: Some(vec!["hub".to_owned()]), ..SuiteOptions::default() };
    let test_env = TestEnv::with(hub.with_env("hub", "KRAKEN_LEASE_DURATION", "3s")).await?;
    let hub = test_env.env.suite.controller("hub")?;
    let first = hub.pid();
    let start = Instant::now();
    let mut suspended: Option<Instant> = None;
    while hub.pid() == first {
        ensure!(start.elapsed() < TIMEOUT, "not restarted:\n{}", hub.log_text()?);
        // On a slow machine it may not have led yet, and had nothing to lose.
        if suspended.is_none_or(|at| at.elapsed() > Duration::from_secs(10)) {
            hub.suspend(Duration::from_secs(4)).await?;
            suspended = Some(Instant::now());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    hub.wait_ready().await
}
