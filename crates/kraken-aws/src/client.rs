//! The client: what every call to AWS goes through, so that each is timed, counted and its error classified.

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
    location::Whereabouts,
};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(3);
/// How long one attempt of a call may take. Launching a thousand instances takes AWS several seconds.
const ATTEMPT: Duration = Duration::from_secs(15);
/// How long a call may take with its second attempt.
const OPERATION: Duration = Duration::from_secs(30);

/// A second attempt, after up to a second, saves a batch of a thousand resources from a reset connection or one throttled
/// call. More would hide trouble from the metrics and hold a worker: the loop has a backoff of its own. It is safe for
/// every call that says what shall be. One that creates is made once: a first attempt without an answer may have created
/// something, and the answer to the second, be it a thing or a refusal, would hide that.
const ATTEMPTS: u32 = 2;

/// What AWS throttles is paced by the SDK: after a refusal, calls wait for their turn at the rate that AWS took, which then grows again. Two
/// hundred resources that each back off on their own would take minutes for what the limit allows in seconds. Creating calls have a pace of
/// their own, so that reads are not slowed by a limit of launches.
const CREATIONS: &str = "creations";

/// Who shares the SDK's pace and its budget of retries.
pub(crate) struct Paces {
    ec2: Option<RetryPartition>,
    elb: Option<RetryPartition>,
    sts: Option<RetryPartition>,
    creations: RetryPartition,
}

impl Paces {
    /// Every client of the process, as the SDK has it.
    pub(crate) fn shared() -> Self {
        Self { ec2: None, elb: None, sts: None, creations: RetryPartition::new(CREATIONS) }
    }

    /// This client alone: another one in the process is another process of the simulation.
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

/// AWS, as seen by one controller. Cloning gives another handle of the same connections.
#[derive(Clone, Debug)]
pub struct Aws {
    ec2: Client,
    ec2_once: Client,
    elb: aws_sdk_elasticloadbalancingv2::Client,
    elb_once: aws_sdk_elasticloadbalancingv2::Client,
    whereabouts: Whereabouts,
    metrics: Metrics,
}

impl Aws {
    /// Makes the client from the flags, the environment and the SDK's chain. Does not fail: what is missing is logged once
    /// and then a [`Failure`] of each call, so that every resource says so and the controller recovers by itself.
    pub async fn connect(args: &AwsArgs, metrics: Metrics) -> Self {
        if let Some(http_client) = &args.http_client {
            let shared = injected::config(args.region(), http_client.clone(), timeouts(), retries());
            return Self::with(shared, args.endpoint(), metrics, Paces::own());
        }
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .timeout_config(timeouts())
            .retry_config(retries());
        if let Some(region) = args.region() {
            loader = loader.region(Region::new(region.to_owned()));
        }
        let shared = loader.load().await;
        // Aside, because the last link of the chain asks a network that may not be there.
        kraken_spoke::runtime::task::spawn(warn_of_what_is_missing(shared.clone()));
        Self::with(shared, args.endpoint(), metrics, Paces::shared())
    }

    /// The client of a configuration that is loaded.
    pub(crate) fn with(shared: SdkConfig, endpoint: Option<&str>, metrics: Metrics, paces: Paces) -> Self {
        // Here and not on the loader: the STS that may issue the credentials stays where it is.
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
            "talking to AWS"
        );
        let once = RetryConfig::adaptive().with_max_attempts(1);
        let ec2_once = ec2.clone().retry_config(once.clone()).retry_partition(paces.creations.clone());
        let elb_once = elb.clone().retry_config(once).retry_partition(paces.creations);
        Self {
            ec2_once: Client::from_conf(ec2_once.build()),
            ec2: Client::from_conf(ec2.build()),
            elb_once: aws_sdk_elasticloadbalancingv2::Client::from_conf(elb_once.build()),
            elb: aws_sdk_elasticloadbalancingv2::Client::from_conf(elb.build()),
            whereabouts: Whereabouts::new(
                aws_sdk_sts::Client::from_conf(sts.build()),
                region,
                endpoint.is_some(),
            ),
            metrics,
        }
    }

    /// The EC2 client, to make a call of; pass what it returns to [`Aws::call`].
    pub fn ec2(&self) -> &Client {
        &self.ec2
    }

    /// The same for calls that create: one attempt, so that an error speaks of the only one.
    pub fn ec2_once(&self) -> &Client {
        &self.ec2_once
    }

    /// The client of Elastic Load Balancing, in the same way.
    pub fn elb(&self) -> &aws_sdk_elasticloadbalancingv2::Client {
        &self.elb
    }

    /// The same for calls that create, as [`Aws::ec2_once`].
    pub fn elb_once(&self) -> &aws_sdk_elasticloadbalancingv2::Client {
        &self.elb_once
    }

    pub(crate) fn whereabouts(&self) -> &Whereabouts {
        &self.whereabouts
    }

    /// Carries out one call, counts it and classifies its error. `action` says what is attempted: "failed to launch
    /// instances".
    ///
    /// # Errors
    /// What AWS or the way to it said, and how it is retried.
    pub async fn call<T, E>(
        &self,
        operation: &'static str,
        action: &str,
        call: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, Failure>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        if !self.whereabouts.has_region() {
            return Err(no_region(action));
        }
        let start = Instant::now();
        // Its future is large: on the heap it does not make every caller's large too.
        let result = Box::pin(call).await.map_err(|error| classify(action, &error));
        let (took, label) = (start.elapsed(), result.as_ref().map_or_else(|f| f.class.as_str(), |_| "ok"));
        self.metrics.cloud_call(operation, label, took);
        tracing::debug!(operation, result = label, milliseconds = took.as_millis(), "called AWS");
        result
    }
}

impl Aws {
    /// Reads every page of a paginator; each page is a call of its own.
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

/// One line that says all that is missing, or none.
async fn warn_of_what_is_missing(config: SdkConfig) {
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
        tracing::warn!("{}; until then every resource of this controller waits", missing.join("; "));
    }
}
