//! The client for all calls to AWS, which measures and counts each call and classifies its error.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use aws_config::{BehaviorVersion, SdkConfig, identity::IdentityCache, sts::AssumeRoleProvider};
use aws_sdk_ec2::{
    Client,
    config::{Credentials, ProvideCredentials, Region, SharedCredentialsProvider, retry::RetryPartition},
    error::{ProvideErrorMetadata, SdkError},
};
use aws_smithy_async::future::pagination_stream::PaginationStream;
use aws_smithy_types::{retry::RetryConfig, timeout::TimeoutConfig};
use kraken_spoke::{
    Failure, Shell,
    account::{Connection, OnChange, Refusal},
    options::{ExposeSecret, SecretString},
    runtime::{clock::Instant, metrics::Metrics},
};

use crate::{
    AwsArgs,
    account::{AccessKey, Accounts},
    errors::{ACCOUNT_HINT, CREDENTIALS_HINT, REGION_HINT, classify, no_region},
    injected,
    location::LocationCache,
};

/// The timeout of a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// The timeout of one attempt of a call. Launching a thousand instances takes AWS several seconds.
const ATTEMPT: Duration = Duration::from_secs(15);
/// The timeout of a call including its second attempt.
const OPERATION: Duration = Duration::from_secs(30);

/// A second attempt, after up to a second, protects a batch of a thousand resources from a reset connection or one
/// throttled call. More attempts would hide failures from the metrics and occupy a worker: the loop has its own backoff.
/// It is safe for every idempotent call. A create call is attempted once: a first attempt without a response may have
/// created an object, and the response to the second, success or error, would hide that.
const ATTEMPTS: u32 = 2;

/// The name of the sessions of assumed roles, as it is in CloudTrail.
const SESSION: &str = "kraken";

/// The SDK rate-limits throttled calls: after a throttling error, calls are sent at the rate that AWS accepted, which then increases again.
/// Two hundred resources with separate backoffs would take minutes for calls that the limit allows in seconds. Create calls have a separate
/// rate limit, so that a limit of launches does not slow reads.
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

    /// Shared by all clients of one account and region, as AWS's limits are.
    fn named(place: &str) -> Self {
        let one = |name| Some(RetryPartition::new(format!("{name}/{place}")));
        let creations = RetryPartition::new(format!("{CREATIONS}/{place}"));
        Self { ec2: one("ec2"), elb: one("elb"), sts: one("sts"), creations }
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
    clients: Arc<OnceLock<Clients>>,
    settings: Arc<Settings>,
    location_cache: LocationCache,
    metrics: Metrics,
    /// The Accounts that resources can use instead of this connection.
    accounts: Option<Accounts>,
}

/// A client for each API, and each again for create calls.
#[derive(Debug)]
struct Clients {
    ec2: Client,
    ec2_once: Client,
    elb: aws_sdk_elasticloadbalancingv2::Client,
    elb_once: aws_sdk_elasticloadbalancingv2::Client,
}

/// What clients are made of.
struct Settings {
    config: SdkConfig,
    endpoint: Option<String>,
    /// The key of the connection of an Account; none for the controller's own.
    key: Option<Arc<str>>,
    /// Whether the calls are simulated in this process.
    is_simulated: bool,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Clients {
    fn new(settings: &Settings, paces: RateLimitScope) -> Self {
        // Here and not on the loader, because the STS that may issue the credentials must not use this endpoint.
        let mut ec2 = aws_sdk_ec2::config::Builder::from(&settings.config);
        let mut elb = aws_sdk_elasticloadbalancingv2::config::Builder::from(&settings.config);
        ec2.set_retry_partition(paces.ec2);
        elb.set_retry_partition(paces.elb);
        if let Some(endpoint) = &settings.endpoint {
            (ec2, elb) = (ec2.endpoint_url(endpoint), elb.endpoint_url(endpoint));
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
        let location_cache = location_cache(&shared, endpoint, paces.sts.clone());
        let region = shared.region().map(ToString::to_string);
        tracing::info!(
            region = region.as_deref().unwrap_or("none"),
            endpoint = endpoint.unwrap_or("AWS"),
            "connected to AWS"
        );
        let is_simulated = paces.ec2.is_some();
        let settings =
            Settings { config: shared, endpoint: endpoint.map(str::to_owned), key: None, is_simulated };
        let clients = Arc::new(OnceLock::from(Clients::new(&settings, paces)));
        Self { clients, settings: Arc::new(settings), location_cache, metrics, accounts: None }
    }

    /// The client of a spoke whose resources can use Accounts.
    pub async fn for_spoke(args: &AwsArgs, shell: &Shell) -> Self {
        let accounts = Some(Accounts::watch(shell, args.require_account));
        Self { accounts, ..Self::connect(args, shell.metrics.clone()).await }
    }

    /// A client with other credentials, in another role or to another region. It makes no call.
    pub(crate) async fn with_credentials(
        &self,
        keys: Option<&AccessKey>,
        role: Option<(&str, Option<&str>)>,
        region: Option<&str>,
        key: &Arc<str>,
    ) -> Self {
        let Settings { config, endpoint, is_simulated, .. } = &*self.settings;
        let mut config =
            config.clone().into_builder().region(region.map(|region| Region::new(region.to_owned())));
        if let Some(keys) = keys {
            let text = |secret: &SecretString| secret.expose_secret().to_owned();
            let token = keys.token.as_ref().map(text);
            let keys = Credentials::new(text(&keys.id), text(&keys.secret), token, None, "Account");
            config.set_credentials_provider(Some(SharedCredentialsProvider::new(keys)));
        }
        // One cache for all clients of the connection: a role is assumed once.
        if !is_simulated {
            config.set_identity_cache(Some(IdentityCache::lazy().build()));
        }
        let mut config = config.build();
        if let Some((role, external_id)) = role {
            let mut caller = config.clone().into_builder();
            caller.set_endpoint_url(endpoint.clone());
            let caller = caller.build();
            let mut assumed = AssumeRoleProvider::builder(role).session_name(SESSION).configure(&caller);
            if let Some(external_id) = external_id {
                assumed = assumed.external_id(external_id);
            }
            let assumed = match caller.credentials_provider() {
                Some(provider) => assumed.build_from_provider(provider).await,
                None => assumed.build().await,
            };
            let mut with_role = config.clone().into_builder();
            with_role.set_credentials_provider(Some(SharedCredentialsProvider::new(assumed)));
            config = with_role.build();
        }
        let pace = (!is_simulated).then(|| RetryPartition::new(format!("sts/{key}")));
        let location_cache = location_cache(&config, endpoint.as_deref(), pace);
        let settings = Settings {
            config,
            endpoint: endpoint.clone(),
            key: Some(key.clone()),
            is_simulated: *is_simulated,
        };
        let (clients, metrics) = (Arc::default(), self.metrics.clone());
        Self { clients, settings: Arc::new(settings), location_cache, metrics, accounts: None }
    }

    /// The clients. Those of an Account are made when they are first used: then its account is known, which they share their
    /// rate limit with.
    fn clients(&self) -> &Clients {
        self.clients.get_or_init(|| {
            let key = self.settings.key.as_deref().unwrap_or_default();
            let account = self.location_cache.first().filter(|account| !account.is_empty()).unwrap_or(key);
            let place = format!("{account}/{}", self.region().unwrap_or_default());
            let is_simulated = self.settings.is_simulated;
            let paces = if is_simulated { RateLimitScope::own() } else { RateLimitScope::named(&place) };
            Clients::new(&self.settings, paces)
        })
    }

    /// The region of calls, if it is known.
    pub fn region(&self) -> Option<&str> {
        self.location_cache.region()
    }

    /// What a resource of this namespace uses that names this Account, as [`kraken_spoke::External::connect`].
    ///
    /// # Errors
    /// If the Account does not exist, or cannot be used.
    pub async fn connect_account(
        &self,
        namespace: &str,
        account: Option<&str>,
    ) -> Result<Option<Connection<Self>>, Refusal> {
        match &self.accounts {
            Some(accounts) => accounts.connect(self, namespace, account).await,
            None => Ok(None),
        }
    }

    pub(crate) fn known_accounts(&self) -> Option<&Accounts> {
        self.accounts.as_ref()
    }

    /// Calls this whenever an Account changes.
    pub fn on_account_change(&self, wake: OnChange) {
        if let Some(accounts) = &self.accounts {
            accounts.on_change(wake);
        }
    }

    /// The EC2 client, to build a call; pass its future to [`Aws::call`].
    pub fn ec2(&self) -> &Client {
        &self.clients().ec2
    }

    /// The same for create calls, with one attempt, so that an error describes the only attempt.
    pub fn ec2_once(&self) -> &Client {
        &self.clients().ec2_once
    }

    /// The Elastic Load Balancing client, used in the same way.
    pub fn elb(&self) -> &aws_sdk_elasticloadbalancingv2::Client {
        &self.clients().elb
    }

    /// The same for create calls, as [`Aws::ec2_once`].
    pub fn elb_once(&self) -> &aws_sdk_elasticloadbalancingv2::Client {
        &self.clients().elb_once
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

/// Identifies the account of a configuration.
fn location_cache(config: &SdkConfig, endpoint: Option<&str>, pace: Option<RetryPartition>) -> LocationCache {
    let mut sts = aws_sdk_sts::config::Builder::from(config);
    sts.set_retry_partition(pace);
    if let Some(endpoint) = endpoint {
        sts = sts.endpoint_url(endpoint);
    }
    let region = config.region().map(ToString::to_string);
    LocationCache::new(aws_sdk_sts::Client::from_conf(sts.build()), region, endpoint.is_some())
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
