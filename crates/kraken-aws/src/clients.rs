//! The clients of the SDK: their settings, and which of them share a rate limit.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
};

use aws_config::SdkConfig;
use aws_sdk_ec2::{Client, config::retry::RetryPartition};
use aws_smithy_types::retry::RetryConfig;
use kraken_kind::runtime::hash::HashMap;
use parking_lot::Mutex;

use crate::{
    aws_service, injected,
    location::LocationCache,
    owner::Owner,
    service::{Service, ServiceSettings},
    unsigned::Unsigned,
};

/// The SDK rate-limits throttled calls: after a throttling error, calls are sent at the rate that AWS accepted, which then increases again.
/// Two hundred resources with separate backoffs would take minutes for calls that the limit allows in seconds. Create calls have a separate
/// rate limit, so that a limit of launches does not slow reads.
const CREATIONS: &str = "creations";

/// The scope of the SDK's rate limit and retry budget.
#[derive(Debug)]
pub(crate) enum RateLimitScope {
    /// All clients of the process, the SDK's default.
    Process,
    /// All clients of one account and region, as AWS's limits are.
    Place(String),
    /// This client only: another client is another simulated process.
    Client,
}

impl RateLimitScope {
    /// The rate limit of this name.
    pub(crate) fn limit(&self, name: &'static str) -> Option<RetryPartition> {
        match self {
            Self::Process => None,
            Self::Place(place) => Some(RetryPartition::new(format!("{name}/{place}"))),
            Self::Client => Some(injected::pace(name)),
        }
    }

    /// That of create calls, which those of all APIs share.
    fn creations(&self) -> RetryPartition {
        self.limit(CREATIONS).unwrap_or_else(|| RetryPartition::new(CREATIONS))
    }
}

aws_service!(pub(crate) Ec2, aws_sdk_ec2, "ec2");
aws_service!(pub(crate) Sts, aws_sdk_sts, "sts");

/// A client for each API that is used, and each again for create calls.
#[derive(Debug)]
pub(crate) struct Clients {
    scope: RateLimitScope,
    creations: RetryPartition,
    // Of almost all calls: without a look into the table.
    pub(crate) ec2: Client,
    pub(crate) ec2_once: Client,
    others: ServiceClients,
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
    pub(crate) fn new(settings: &Settings, scope: RateLimitScope) -> Self {
        let (creations, others) = (scope.creations(), ServiceClients::default());
        let ec2 = others.get::<Ec2>(false, settings, || scope.limit(Ec2::NAME));
        let ec2_once = others.get::<Ec2>(true, settings, || Some(creations.clone()));
        Self { scope, creations, ec2, ec2_once, others }
    }

    /// The client of an API; `creates`: for create calls.
    pub(crate) fn of<S: Service>(&self, creates: bool, settings: &Settings) -> S::Client {
        let limit = || if creates { Some(self.creations.clone()) } else { self.scope.limit(S::NAME) };
        self.others.get::<S>(creates, settings, limit)
    }
}

/// The clients of one connection that were used, each for ordinary and for create calls.
#[derive(Default)]
struct ServiceClients(Mutex<HashMap<(TypeId, bool), Box<dyn Any + Send + Sync>>>);

impl fmt::Debug for ServiceClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServiceClients").field(&self.0.lock().len()).finish()
    }
}

impl ServiceClients {
    /// The client of this API, created on first use; `creates`: with one attempt, and the rate limit of create calls.
    fn get<S: Service>(
        &self,
        creates: bool,
        settings: &Settings,
        retry_partition: impl FnOnce() -> Option<RetryPartition>,
    ) -> S::Client {
        let mut clients = self.0.lock();
        let client = clients.entry((TypeId::of::<S>(), creates)).or_insert_with(|| {
            Box::new(S::client(ServiceSettings {
                config: &settings.config,
                endpoint: settings.endpoint.as_deref(),
                retry_partition: retry_partition(),
                retries: creates.then(|| RetryConfig::adaptive().with_max_attempts(1)),
                auth_scheme: settings.is_simulated.then_some(Unsigned),
            }))
        });
        match client.downcast_ref::<S::Client>() {
            Some(client) => client.clone(),
            None => unreachable!("the key is the type of the service"),
        }
    }
}

/// Identifies the account of a configuration. Its calls are signed in simulations, too.
pub(crate) fn location_cache(
    config: &SdkConfig,
    endpoint: Option<&str>,
    scope: &RateLimitScope,
    owner: Owner,
) -> LocationCache {
    let retry_partition = scope.limit(Sts::NAME);
    let sts =
        Sts::client(ServiceSettings { config, endpoint, retry_partition, retries: None, auth_scheme: None });
    let region = config.region().map(ToString::to_string);
    LocationCache::new(sts, region, endpoint.is_some(), owner)
}
