//! The connection of an Account: the same clients with other credentials, another role or another region.

use std::sync::Arc;

use aws_config::{identity::IdentityCache, sts::AssumeRoleProvider};
use aws_sdk_ec2::config::{Credentials, Region, SharedCredentialsProvider};
use kraken_kind::{
    Calls, FromContext, Manager, SpokeContext,
    account::{Connected, Connection, KnownAccounts, OnChange, Refusal},
    options::{ExposeSecret, SecretString},
};

use super::{
    Account, AccountRules, AccountSpec, Accounts,
    credentials::{AccessKey, connection_key},
};
use crate::{
    Aws, AwsArgs,
    clients::{RateLimitScope, Settings, location_cache},
    owner::Owner,
};

/// The name of the sessions of assumed roles, as it is in CloudTrail.
const SESSION: &str = "kraken";

impl Aws {
    /// The client of a spoke whose resources can use Accounts. It works without their CRD.
    pub async fn for_spoke(args: &AwsArgs, manager: &Manager) -> Self {
        let accounts = Some(Accounts::watch(manager, args.require_account, true));
        Self { accounts, ..Self::connect(args, manager.metrics.clone()).await }
    }

    /// The client of the controller of Accounts.
    pub async fn for_accounts(args: &AwsArgs, manager: &Manager) -> Self {
        let accounts = Some(Accounts::watch(manager, args.require_account, false));
        Self { accounts, ..Self::connect(args, manager.metrics.clone()).await }
    }

    /// A client with other credentials, in another role or to another region. It makes no call.
    pub(crate) async fn with_credentials(
        &self,
        keys: Option<&AccessKey>,
        role: Option<(&str, Option<&str>)>,
        region: Option<&str>,
        key: &Arc<str>,
    ) -> Self {
        let Settings { config, endpoint, is_simulated, owner, .. } = &*self.settings;
        // Another key or role belongs to its own account, whoever owns the controller's credentials.
        let owner = if keys.is_none() && role.is_none() { owner.clone() } else { Owner::default() };
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
        let scope =
            if *is_simulated { RateLimitScope::Client } else { RateLimitScope::Place(key.to_string()) };
        let location_cache = location_cache(&config, endpoint.as_deref(), &scope, owner.clone());
        let settings = Settings {
            config,
            endpoint: endpoint.clone(),
            key: Some(key.clone()),
            is_simulated: *is_simulated,
            owner,
        };
        let (clients, settings, metrics) = (Arc::default(), Arc::new(settings), self.metrics.clone());
        Self { clients, settings, location_cache, metrics, accounts: None, connections: Arc::default() }
    }

    /// The connection for the resources of this namespace that name this Account, as
    /// [`kraken_kind::Calls::connect`].
    ///
    /// # Errors
    /// If the Account does not exist, or cannot be used.
    pub async fn connect_account<E: FromContext<Self>>(
        &self,
        namespace: &str,
        account: Option<&str>,
    ) -> Result<Option<Connection>, Refusal> {
        let connection = self.connect_named(namespace, account).await?;
        Ok(connection
            .map(|connection| connection.map(|aws| Arc::new(E::from_context(&aws)) as Arc<dyn Calls>)))
    }

    /// The connection and the rules for a resource of this namespace that names this Account, or none; `None` for the
    /// controller's own connection, which this one is.
    pub(super) async fn connect_named(
        &self,
        namespace: &str,
        named: Option<&str>,
    ) -> Result<Option<Connection<Self>>, Refusal> {
        let Some(accounts) = &self.accounts else { return Ok(None) };
        self.connections.expire();
        match accounts.chosen(namespace, named).await? {
            Some(account) => self.connect_to(accounts, namespace, &account).await.map(Some),
            None => Ok(None),
        }
    }

    /// The connection of this Account.
    pub(super) async fn connect_to(
        &self,
        accounts: &Accounts,
        namespace: &str,
        account: &Account,
    ) -> Result<Connection<Self>, Refusal> {
        let (name, spec) = (account.metadata.name.as_deref().unwrap_or_default(), &account.spec);
        let rules = AccountRules::of(name, spec)
            .map_err(|why| Refusal::NotReady(format!("Account {name}: {why}")))?;
        let keys = accounts.access_key(namespace, account).await?;
        let region = spec.region.as_deref().or_else(|| self.region());
        let is_own = keys.is_none() && spec.assume_role_arn.is_none() && region == self.region();
        let connected = if is_own { None } else { Some(self.connected(keys, spec, region).await) };
        Ok(Connection { connected, rules: Arc::new(rules) })
    }

    pub(super) async fn connected(
        &self,
        keys: Option<AccessKey>,
        spec: &AccountSpec,
        region: Option<&str>,
    ) -> Connected<Self> {
        let key = connection_key(keys.as_ref(), spec, region);
        if let Some(external) = self.connections.get(&key) {
            return Connected { external, key };
        }
        let role = spec.assume_role_arn.as_deref().map(|role| (role, spec.external_id.as_deref()));
        // Boxed, because it is large, and rare.
        let aws = Box::pin(self.with_credentials(keys.as_ref(), role, region, &key)).await;
        // Another reconcile may have created the connection meanwhile: all share one.
        let external = self.connections.get_or_insert(&key, || aws);
        Connected { external, key }
    }

    pub(crate) fn known_accounts(&self) -> Option<&Accounts> {
        self.accounts.as_ref()
    }

    /// Calls this whenever an Account changes.
    pub fn on_account_change(&self, on_change: OnChange) {
        if let Some(accounts) = &self.accounts {
            accounts.on_change(on_change);
        }
    }
}

impl SpokeContext for Aws {
    fn provider_accounts(&self) -> Option<Arc<dyn KnownAccounts>> {
        let accounts = self.known_accounts()?.clone();
        Some(Arc::new(accounts))
    }
}
