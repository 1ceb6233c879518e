//! The clients of the SDK: their settings, and which of them share a rate limit.

use std::{fmt, sync::Arc};

use aws_config::SdkConfig;
use aws_sdk_ec2::{Client, config::retry::RetryPartition};
use aws_smithy_types::retry::RetryConfig;

use crate::{injected, location::LocationCache, owner::Owner, unsigned::Unsigned};

/// The SDK rate-limits throttled calls: after a throttling error, calls are sent at the rate that AWS accepted, which then increases again.
/// Two hundred resources with separate backoffs would take minutes for calls that the limit allows in seconds. Create calls have a separate
/// rate limit, so that a limit of launches does not slow reads.
const CREATIONS: &str = "creations";

/// The scope of the SDK's rate limit and retry budget.
pub(crate) struct RateLimitScope {
    pub(crate) ec2: Option<RetryPartition>,
    pub(crate) elb: Option<RetryPartition>,
    pub(crate) sts: Option<RetryPartition>,
    pub(crate) creations: RetryPartition,
}

impl RateLimitScope {
    /// Shared by all clients of the process, the SDK's default.
    pub(crate) fn shared() -> Self {
        Self { ec2: None, elb: None, sts: None, creations: RetryPartition::new(CREATIONS) }
    }

    /// Shared by all clients of one account and region, as AWS's limits are.
    pub(crate) fn named(place: &str) -> Self {
        let one = |name| Some(RetryPartition::new(format!("{name}/{place}")));
        let creations = RetryPartition::new(format!("{CREATIONS}/{place}"));
        Self { ec2: one("ec2"), elb: one("elb"), sts: one("sts"), creations }
    }

    /// For this client only: another client is another simulated process.
    pub(crate) fn own() -> Self {
        let one = |name| Some(injected::pace(name));
        Self { ec2: one("ec2"), elb: one("elb"), sts: one("sts"), creations: injected::pace(CREATIONS) }
    }
}

/// A client for each API, and each again for create calls.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) ec2: Client,
    pub(crate) ec2_once: Client,
    pub(crate) elb: aws_sdk_elasticloadbalancingv2::Client,
    pub(crate) elb_once: aws_sdk_elasticloadbalancingv2::Client,
}

/// The settings of clients.
pub(crate) struct Settings {
    pub(crate) config: SdkConfig,
    pub(crate) endpoint: Option<String>,
    /// The key of the connection of an Account; none for the controller's own.
    pub(crate) key: Option<Arc<str>>,
    /// Whether the calls are simulated in this process.
    pub(crate) is_simulated: bool,
    /// The owner of the credentials of `config`.
    pub(crate) owner: Owner,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Clients {
    pub(crate) fn new(settings: &Settings, paces: RateLimitScope) -> Self {
        // Here and not on the loader, because the STS that may issue the credentials must not use this endpoint.
        let mut ec2 = aws_sdk_ec2::config::Builder::from(&settings.config);
        let mut elb = aws_sdk_elasticloadbalancingv2::config::Builder::from(&settings.config);
        ec2.set_retry_partition(paces.ec2);
        elb.set_retry_partition(paces.elb);
        if let Some(endpoint) = &settings.endpoint {
            (ec2, elb) = (ec2.endpoint_url(endpoint), elb.endpoint_url(endpoint));
        }
        if settings.is_simulated {
            (ec2, elb) = (ec2.push_auth_scheme(Unsigned), elb.push_auth_scheme(Unsigned));
        }
        let once = RetryConfig::adaptive().with_max_attempts(1);
        let ec2_once = ec2.clone().retry_config(once.clone()).retry_partition(paces.creations.clone());
        let elb_once = elb.clone().retry_config(once).retry_partition(paces.creations);
        Self {
            ec2_once: Client::from_conf(ec2_once.build()),
            ec2: Client::from_conf(ec2.build()),
            elb_once: aws_sdk_elasticloadbalancingv2::Client::from_conf(elb_once.build()),
            elb: aws_sdk_elasticloadbalancingv2::Client::from_conf(elb.build()),
        }
    }
}

/// Identifies the account of a configuration.
pub(crate) fn location_cache(
    config: &SdkConfig,
    endpoint: Option<&str>,
    pace: Option<RetryPartition>,
    owner: Owner,
) -> LocationCache {
    let mut sts = aws_sdk_sts::config::Builder::from(config);
    sts.set_retry_partition(pace);
    if let Some(endpoint) = endpoint {
        sts = sts.endpoint_url(endpoint);
    }
    let region = config.region().map(ToString::to_string);
    LocationCache::new(aws_sdk_sts::Client::from_conf(sts.build()), region, endpoint.is_some(), owner)
}
