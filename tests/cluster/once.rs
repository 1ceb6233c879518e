//! Kinds without a client token: the object of a create call without a response is found, and not created again.

use anyhow::Result;
use kraken_simulator::{FailureMode, FailurePoint, Simulator, SimulatorOptions};
use kraken_testing::SuiteOptions;
use kraken_tests::TestEnv;

use crate::network::resource;

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let cloud = Simulator::start(SimulatorOptions::default())?;
    let suite = SuiteOptions { cloud_endpoint: Some(cloud.endpoint().to_owned()), ..SuiteOptions::default() };
    let test_env = TestEnv::with(suite).await?;
    for (kind, action, spec) in [
        ("VPC", "CreateVpc", "cidrBlock: {value: 10.0.0.0/16}"),
        ("InternetGateway", "CreateInternetGateway", "tags: {Team: net}"),
        ("ElasticIP", "AllocateAddress", "tags: {Team: net}"),
    ] {
        cloud.fail_next(action, FailurePoint::After, FailureMode::Drop);
        test_env.apply(&resource(kind, "a", spec)).await?;
        test_env.ready(kind, "a").await?;
        assert_eq!(cloud.count(action), 1, "{action}");
    }
    Ok(())
}
