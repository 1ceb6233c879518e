//! The SDK without a network, for simulations: supplies every setting that the SDK would otherwise load. Every client
//! behaves like a separate process, so none shares its rate limit, and the clock is tokio's, which a simulation can
//! pause.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_config::{BehaviorVersion, SdkConfig, identity::IdentityCache};
use aws_sdk_ec2::config::{
    Credentials, Region, SharedCredentialsProvider, SharedHttpClient,
    retry::{ClientRateLimiter, RetryPartition},
};
use aws_smithy_async::{rt::sleep::default_async_sleep, time::TimeSource};
use aws_smithy_types::{retry::RetryConfig, timeout::TimeoutConfig};
use tokio::time::Instant;

/// The start of 2026. Signatures are not checked, so the date does not matter.
const START: Duration = Duration::from_hours(490_896);

/// Seeds the SDK's random numbers on this thread: the jitter of its retries, and generated idempotency tokens.
pub fn seed(seed: u64) {
    fastrand::seed(seed);
}

/// A clock that follows tokio's.
#[derive(Debug)]
struct Following(Instant);

impl TimeSource for Following {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + START + self.0.elapsed()
    }
}

/// The configuration that the SDK would otherwise load.
pub(crate) fn config(
    region: Option<&str>,
    http_client: SharedHttpClient,
    timeouts: TimeoutConfig,
    retries: RetryConfig,
) -> SdkConfig {
    let keys = Credentials::new("simulated", "simulated", None, None, "simulated");
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(region.map(|region| Region::new(region.to_owned())))
        .credentials_provider(SharedCredentialsProvider::new(keys))
        .identity_cache(IdentityCache::no_cache())
        .http_client(http_client)
        .time_source(Following(Instant::now()))
        .timeout_config(timeouts)
        .retry_config(retries);
    config.set_sleep_impl(default_async_sleep());
    config.build()
}

/// A rate limit that is not shared with other clients.
pub(crate) fn pace(name: &'static str) -> RetryPartition {
    let limiter = ClientRateLimiter::new(START.as_secs_f64());
    RetryPartition::custom(name).client_rate_limiter(limiter).build()
}
