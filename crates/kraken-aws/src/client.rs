//! The client for all calls to AWS, which measures and counts each call and classifies its error.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_ec2::{
    Client,
    config::{ProvideCredentials, Region},
    error::{ProvideErrorMetadata, SdkError},
};
use aws_sdk_sts::operation::get_caller_identity::GetCallerIdentityOutput;
use aws_smithy_async::future::pagination_stream::PaginationStream;
use aws_smithy_types::{retry::RetryConfig, timeout::TimeoutConfig};
use kraken_kind::{
    Failure, Location,
    account::Recent,
    runtime::{clock::Instant, metrics::Metrics},
};

use crate::{
    AwsArgs,
    account::Accounts,
    clients::{Clients, RateLimitScope, Settings, location_cache},
    errors::{ACCOUNT_HINT, CREDENTIALS_HINT, REGION_HINT, classify, no_region},
    injected,
    location::LocationCache,
    owner::{Owner, verified},
    service::Service,
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
    pub(crate) clients: Arc<OnceLock<Clients>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) location_cache: LocationCache,
    pub(crate) metrics: Metrics,
    /// The Accounts that resources can use instead of this connection.
    pub(crate) accounts: Option<Accounts>,
    /// The connections that were made with them, by their key.
    pub(crate) connections: Arc<Recent<Self>>,
}

impl Aws {
    /// Creates the client from the flags, the environment and the SDK's chain. Never fails: missing settings are logged
    /// once and then cause a [`Failure`] of each call, so that every resource reports it and the controller can recover.
    pub async fn connect(args: &AwsArgs, metrics: Metrics) -> Self {
        if let Some(http_client) = &args.http_client {
            let shared = injected::config(args.region(), http_client.clone(), timeouts(), retries());
            return Self::with(shared, args.endpoint(), metrics, RateLimitScope::Client);
        }
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .timeout_config(timeouts())
            .retry_config(retries());
        if let Some(region) = args.region() {
            loader = loader.region(Region::new(region.to_owned()));
        }
        let shared = loader.load().await;
        // In a separate task, because the last provider of the chain queries a network that may be unavailable.
        kraken_kind::runtime::task::spawn(warn_of_missing_settings(shared.clone()));
        Self::with(shared, args.endpoint(), metrics, RateLimitScope::Process)
    }

    /// The client for a loaded configuration.
    pub(crate) fn with(
        shared: SdkConfig,
        endpoint: Option<&str>,
        metrics: Metrics,
        scope: RateLimitScope,
    ) -> Self {
        let is_simulated = matches!(scope, RateLimitScope::Client);
        // Those of a simulation never change.
        let (shared, owner) =
            if is_simulated { (shared, Owner::default()) } else { verified(shared, endpoint) };
        let location_cache = location_cache(&shared, endpoint, &scope, owner.clone());
        let region = shared.region().map(ToString::to_string);
        tracing::info!(
            region = region.as_deref().unwrap_or("none"),
            endpoint = endpoint.unwrap_or("AWS"),
            "connected to AWS"
        );
        let endpoint = endpoint.map(str::to_owned);
        let settings = Settings { config: shared, endpoint, key: None, is_simulated, owner };
        let clients = Arc::new(OnceLock::from(Clients::new(&settings, scope)));
        let (settings, connections) = (Arc::new(settings), Arc::default());
        Self { clients, settings, location_cache, metrics, accounts: None, connections }
    }

    /// The clients. Those of an Account are created on first use, when its AWS account is known: all clients of an AWS account
    /// share a rate limit.
    fn clients(&self) -> &Clients {
        self.clients.get_or_init(|| {
            let key = self.settings.key.as_deref().unwrap_or_default();
            let account = self.location_cache.first().filter(|account| !account.is_empty()).unwrap_or(key);
            let place = format!("{account}/{}", self.region().unwrap_or_default());
            let is_simulated = self.settings.is_simulated;
            let scope = if is_simulated { RateLimitScope::Client } else { RateLimitScope::Place(place) };
            Clients::new(&self.settings, scope)
        })
    }

    /// The region of calls, if it is known.
    pub fn region(&self) -> Option<&str> {
        self.location_cache.region()
    }

    /// Whether calls go to an address that is set, such as that of a test's server, and not to AWS's own.
    pub fn has_endpoint(&self) -> bool {
        self.settings.endpoint.is_some()
    }

    /// The EC2 client, to build a call; pass its future to [`Aws::call`].
    pub fn ec2(&self) -> &Client {
        &self.clients().ec2
    }

    /// The same for create calls, with one attempt, so that an error describes the only attempt.
    pub fn ec2_once(&self) -> &Client {
        &self.clients().ec2_once
    }

    /// The client of another API, used in the same way. Clones share its connections.
    pub fn client<S: Service>(&self) -> S::Client {
        self.clients().of::<S>(false, &self.settings)
    }

    /// The same for create calls, as [`Aws::ec2_once`].
    pub fn client_once<S: Service>(&self) -> S::Client {
        self.clients().of::<S>(true, &self.settings)
    }

    /// The account and the region of calls. Makes a call periodically.
    ///
    /// # Errors
    /// The failure of that call.
    pub async fn location(&self) -> Result<Location, Failure> {
        self.location_cache.location(self.identify()).await
    }

    /// The identity with which calls are made, as AWS returns it. Makes a call each time.
    ///
    /// # Errors
    /// The failure of that call.
    pub(crate) async fn identify(&self) -> Result<GetCallerIdentityOutput, Failure> {
        let call = self.location_cache.sts().get_caller_identity();
        self.call("GetCallerIdentity", "failed to identify the AWS account", call.send()).await
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
        let result = Box::pin(call).await.map_err(|error| self.of_account(classify(action, &error)));
        let (took, label) = (start.elapsed(), result.as_ref().map_or_else(|f| f.class.as_str(), |_| "ok"));
        self.metrics.cloud_call(operation, label, took);
        tracing::debug!(operation, result = label, milliseconds = took.as_millis(), "called AWS");
        result
    }
}

impl Aws {
    /// A failure of an Account's connection, without the hint to the controller's own credentials.
    fn of_account(&self, mut failure: Failure) -> Failure {
        if self.settings.key.is_some() {
            failure.message = failure.message.replace(CREDENTIALS_HINT, ACCOUNT_HINT);
        }
        failure
    }

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
