//! The client for all calls to AWS, which measures and counts each call and classifies its error.

use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_ec2::{
    Client,
    config::{ProvideCredentials, Region, retry::RetryPartition},
    error::{ProvideErrorMetadata, SdkError},
};
use aws_smithy_async::future::pagination_stream::PaginationStream;
use aws_smithy_types::{retry::RetryConfig, timeout::TimeoutConfig};
use kraken_spoke::{
    Failure,
    runtime::{clock::Instant, metrics::Metrics},
};

use crate::{
    AwsArgs,
    errors::{CREDENTIALS_HINT, REGION_HINT, classify, no_region},
    injected,
    location::LocationCache,
};

/// The timeout of a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// The timeout of one attempt of a call. A RunInstances call for a thousand instances takes several seconds.
const ATTEMPT: Duration = Duration::from_secs(15);
/// The timeout of a call including its second attempt.
const OPERATION: Duration = Duration::from_secs(30);

/// A second attempt, after up to a second, protects a batch of a thousand resources from a reset connection or one
/// throttled call. More attempts would hide failures from the metrics and occupy a worker: the loop has its own backoff.
/// It is safe for every idempotent call. A create call is attempted once: a first attempt without a response may have
/// created an object, and the response to the second, success or error, would hide that.
const ATTEMPTS: u32 = 2;

/// The name of the rate limit of create calls. The SDK rate-limits throttled calls: after a throttling error, calls are
/// sent at the rate that AWS accepted, which then increases again. Two hundred resources with separate backoffs would
/// take minutes for calls that the limit allows in seconds. Create calls have a separate rate limit, so that throttled
/// launches do not delay reads.
const CREATIONS: &str = "creations";

/// The scope of the SDK's rate limit and retry budget.
pub(crate) struct RateLimitScope {
    ec2: Option<RetryPartition>,
    elb: Option<RetryPartition>,
    sts: Option<RetryPartition>,
    creations: RetryPartition,
}

impl RateLimitScope {
    /// Shared by all clients of the process, the SDK's default.
    pub(crate) fn shared() -> Self {
        Self { ec2: None, elb: None, sts: None, creations: RetryPartition::new(CREATIONS) }
    }

    /// For this client only: another client is another simulated process.
    fn own() -> Self {
        let one = |name| Some(injected::pace(name));
        Self { ec2: one("ec2"), elb: one("elb"), sts: one("sts"), creations: injected::pace(CREATIONS) }
    }
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(ATTEMPT)
        .operation_timeout(OPERATION)
        .build()
}

fn retries() -> RetryConfig {
    RetryConfig::adaptive().with_max_attempts(ATTEMPTS)
}

/// The AWS clients of one controller. Clones share the same connections.
#[derive(Clone, Debug)]
pub struct Aws {
    ec2: Client,
    ec2_once: Client,
    elb: aws_sdk_elasticloadbalancingv2::Client,
    elb_once: aws_sdk_elasticloadbalancingv2::Client,
    location_cache: LocationCache,
    metrics: Metrics,
}

impl Aws {
    /// Creates the client from the flags, the environment and the SDK's chain. Never fails: missing settings are logged
    /// once and then cause a [`Failure`] of each call, so that every resource reports it and the controller can recover.
    pub async fn connect(args: &AwsArgs, metrics: Metrics) -> Self {
        if let Some(http_client) = &args.http_client {
            let shared = injected::config(args.region(), http_client.clone(), timeouts(), retries());
            return Self::with(shared, args.endpoint(), metrics, RateLimitScope::own());
        }
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .timeout_config(timeouts())
            .retry_config(retries());
        if let Some(region) = args.region() {
            loader = loader.region(Region::new(region.to_owned()));
        }
        let shared = loader.load().await;
        // In a separate task, because the last provider of the chain queries a network that may be unavailable.
        kraken_spoke::runtime::task::spawn(warn_of_missing_settings(shared.clone()));
        Self::with(shared, args.endpoint(), metrics, RateLimitScope::shared())
    }

    /// The client for a loaded configuration.
    pub(crate) fn with(
        shared: SdkConfig,
        endpoint: Option<&str>,
        metrics: Metrics,
        paces: RateLimitScope,
    ) -> Self {
        // Here and not on the loader, because the STS that may issue the credentials must not use this endpoint.
        let mut ec2 = aws_sdk_ec2::config::Builder::from(&shared);
        let mut elb = aws_sdk_elasticloadbalancingv2::config::Builder::from(&shared);
        let mut sts = aws_sdk_sts::config::Builder::from(&shared);
        ec2.set_retry_partition(paces.ec2);
        elb.set_retry_partition(paces.elb);
        sts.set_retry_partition(paces.sts);
        let (ec2, elb, sts) = match endpoint {
            Some(endpoint) => {
                (ec2.endpoint_url(endpoint), elb.endpoint_url(endpoint), sts.endpoint_url(endpoint))
            }
            None => (ec2, elb, sts),
        };
        let region = shared.region().map(ToString::to_string);
        tracing::info!(
            region = region.as_deref().unwrap_or("none"),
            endpoint = endpoint.unwrap_or("AWS"),
            "connected to AWS"
        );
        let once = RetryConfig::adaptive().with_max_attempts(1);
        let ec2_once = ec2.clone().retry_config(once.clone()).retry_partition(paces.creations.clone());
        let elb_once = elb.clone().retry_config(once).retry_partition(paces.creations);
        Self {
            ec2_once: Client::from_conf(ec2_once.build()),
            ec2: Client::from_conf(ec2.build()),
            elb_once: aws_sdk_elasticloadbalancingv2::Client::from_conf(elb_once.build()),
            elb: aws_sdk_elasticloadbalancingv2::Client::from_conf(elb.build()),
            location_cache: LocationCache::new(
                aws_sdk_sts::Client::from_conf(sts.build()),
                region,
                endpoint.is_some(),
            ),
            metrics,
        }
    }

    /// The EC2 client, to build a call; pass its future to [`Aws::call`].
    pub fn ec2(&self) -> &Client {
        &self.ec2
    }

    /// The same for create calls, with one attempt, so that an error describes the only attempt.
    pub fn ec2_once(&self) -> &Client {
        &self.ec2_once
    }

    /// The Elastic Load Balancing client, used in the same way.
    pub fn elb(&self) -> &aws_sdk_elasticloadbalancingv2::Client {
        &self.elb
    }

    /// The same for create calls, as [`Aws::ec2_once`].
    pub fn elb_once(&self) -> &aws_sdk_elasticloadbalancingv2::Client {
        &self.elb_once
    }

    pub(crate) fn location_cache(&self) -> &LocationCache {
        &self.location_cache
    }

    /// Performs one call, counts it and classifies its error. `action` is the prefix of the error: "failed to launch
    /// instances".
    ///
    /// # Errors
    /// The error of AWS or of the connection, with its retry class.
    pub async fn call<T, E>(
        &self,
        operation: &'static str,
        action: &str,
        call: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, Failure>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        if !self.location_cache.has_region() {
            return Err(no_region(action));
        }
        let start = Instant::now();
        // Boxed, because a large future would make every caller's future large.
        let result = Box::pin(call).await.map_err(|error| classify(action, &error));
        let (took, label) = (start.elapsed(), result.as_ref().map_or_else(|f| f.class.as_str(), |_| "ok"));
        self.metrics.cloud_call(operation, label, took);
        tracing::debug!(operation, result = label, milliseconds = took.as_millis(), "called AWS");
        result
    }
}

impl Aws {
    /// Reads all pages of a paginator; each page is a separate call.
    ///
    /// # Errors
    /// As [`Aws::call`].
    pub async fn pages<T, E>(
        &self,
        operation: &'static str,
        action: &str,
        mut pages: PaginationStream<Result<T, SdkError<E>>>,
    ) -> Result<Vec<T>, Failure>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let mut all = vec![];
        while let Some(page) = self.call(operation, action, pages.try_next()).await? {
            all.push(page);
        }
        Ok(all)
    }
}

/// Logs all missing settings in one line, if there are any.
async fn warn_of_missing_settings(config: SdkConfig) {
    let mut missing = vec![];
    if config.region().is_none() {
        missing.push(REGION_HINT);
    }
    let found = match config.credentials_provider() {
        Some(provider) => provider.provide_credentials().await.is_ok(),
        None => false,
    };
    if !found {
        missing.push(CREDENTIALS_HINT);
    }
    if !missing.is_empty() {
        tracing::warn!(
            "{}; all resources of this controller wait until it is configured",
            missing.join("; ")
        );
    }
}
