//! ProviderConfigs: the configuration that a resource uses, and the provider that runs with it.
//!
//! Each configuration that is in use has a process of its own, so that no resource is managed with credentials of another namespace.
//! [`resolve`] is pure; a reconcile connects by [`OfInstall::connect`].

mod check;
mod resolve;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use kraken_kind::{
    account::{
        AccountKind, Connected, Connection, KnownAccount, KnownAccounts, OnChange, Recent, Refusal, Rules,
        Secrets,
    },
    api::dependency_request::KeyDependency,
    dynamic::{Calls, interned},
    options::{ExposeSecret, KeyRef},
    runtime::{
        Manager,
        watch::{Change, ObjectKey, Store},
    },
};
use kube::{Client, Resource, runtime::watcher};
use parking_lot::Mutex;

use crate::{
    api::{self, ProviderConfig},
    provider::{Config, Program, Provider, key, key_of_validations},
};

pub(crate) use check::check;

/// ProviderConfig as the kind of accounts of resources whose ProviderInstall has this name.
pub(crate) fn kind(default_name: &str) -> AccountKind {
    AccountKind {
        group: api::GROUP,
        version: api::VERSION,
        kind: api::CONFIG,
        plural: "providerconfigs",
        field: "providerConfig",
        default_name: interned(default_name),
        description: "The ProviderConfig with the credentials and the endpoint for this resource. Default: the one that has the name of \
                      the ProviderInstall. Example: `{name: openstack}`",
        name_description: "The name of the ProviderConfig, in the namespace of this resource. Example: `openstack`",
    }
}

/// The ProviderConfigs of the cluster, and the providers that run with them. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Configs(Arc<Inner>);

struct Inner {
    client: Client,
    known: Store<ProviderConfig>,
    listeners: Arc<Mutex<Vec<OnChange>>>,
    secrets: Secrets,
    providers: Recent<Arc<Provider>>,
    /// Whether all kinds of this ProviderInstall run.
    is_served: OnceLock<IsServed>,
}

/// Whether all kinds of the ProviderInstall with this name run in this process, or there is no such ProviderInstall.
type IsServed = Box<dyn Fn(&str) -> bool + Send + Sync>;

impl fmt::Debug for Configs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configs").finish_non_exhaustive()
    }
}

/// Whether a change concerns those who use the configuration, and is not one of its status.
fn concerns_users(change: &Change<ProviderConfig>) -> bool {
    match change {
        Change::Applied(now, Some(before)) => {
            let (meta, old) = (now.meta(), before.meta());
            now.spec != before.spec
                || meta.uid != old.uid
                || meta.finalizers != old.finalizers
                || meta.deletion_timestamp != old.deletion_timestamp
        }
        Change::Listed(_) => false,
        Change::Applied(_, None) | Change::Invalid(..) | Change::Deleted(_) => true,
    }
}

impl Configs {
    /// Watches the ProviderConfigs of the namespaces that the controller watches.
    pub(crate) fn watch(manager: &Manager) -> Self {
        let listeners = Arc::<Mutex<Vec<OnChange>>>::default();
        let seen = {
            let listeners = listeners.clone();
            move |change: Change<ProviderConfig>| {
                if concerns_users(&change) {
                    let (key, all) = (ObjectKey::of(change.meta()), listeners.lock().clone());
                    for listener in all {
                        listener(&key);
                    }
                }
            }
        };
        let known = manager.watches().objects(api::CONFIG, &watcher::Config::default(), seen);
        let (client, secrets, providers) = (manager.client.clone(), Secrets::default(), Recent::default());
        Self(Arc::new(Inner { client, known, listeners, secrets, providers, is_served: OnceLock::new() }))
    }

    /// Releases configurations only if this says that all their users are known.
    pub(crate) fn released_if(&self, is_served: impl Fn(&str) -> bool + Send + Sync + 'static) {
        // Called once.
        let _ = self.0.is_served.set(Box::new(is_served));
    }

    /// Calls this whenever a ProviderConfig changes.
    pub(crate) fn on_change(&self, listener: OnChange) {
        self.0.listeners.lock().push(listener);
    }

    /// All that exist.
    pub(crate) fn all(&self) -> Vec<Arc<ProviderConfig>> {
        self.0.known.all()
    }

    /// The one of this namespace and name.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<ProviderConfig>> {
        self.0.known.get(key)
    }

    /// The values of this ProviderConfig for this program.
    ///
    /// # Errors
    /// If a Secret or a key is missing, or an option is wrong; all of them are named.
    pub(crate) async fn values(&self, program: &Program, config: &ProviderConfig) -> Result<Config, Refusal> {
        let (namespace, name) = (
            config.metadata.namespace.as_deref().unwrap_or_default(),
            config.metadata.name.as_deref().unwrap_or_default(),
        );
        let wanted: Vec<(String, KeyRef)> = resolve::secrets(&config.spec).collect();
        let texts = self.0.secrets.texts(&self.0.client, namespace, &wanted).await;
        let texts = texts.map_err(|error| error.refusal(format!("{} {name}", api::CONFIG)))?;
        let texts: Vec<&str> = texts.iter().map(ExposeSecret::expose_secret).collect();
        resolve::config(&program.schema().provider, &config.spec, &texts)
            .map_err(|problems| Refusal::NotReady(format!("{} {name}: {}", api::CONFIG, problems.join("; "))))
    }

    /// The provider of this program for validations.
    pub(crate) fn validator(&self, program: &Arc<Program>) -> Arc<Provider> {
        let key = key_of_validations(program);
        self.0.providers.get_or_insert(&key, || Arc::new(Provider::unconfigured(program.clone())))
    }
}

/// The configurations of the provider of one ProviderInstall.
#[derive(Clone, Debug)]
pub(crate) struct OfInstall {
    /// The configurations of all.
    pub(crate) configs: Configs,
    /// The name of the ProviderInstall.
    pub(crate) install: Arc<str>,
}

impl OfInstall {
    /// Calls this whenever a ProviderConfig changes.
    pub(crate) fn on_change(&self, listener: OnChange) {
        self.configs.on_change(listener);
    }

    /// The calls with the provider for a resource of this namespace that names this ProviderConfig, or none.
    ///
    /// # Errors
    /// If the ProviderConfig does not exist, belongs to another provider, or cannot be used.
    pub(crate) async fn connect<E: Calls>(
        &self,
        program: &Arc<Program>,
        namespace: &str,
        named: Option<&str>,
        calls: impl FnOnce(Arc<Provider>) -> E,
    ) -> Result<Connection, Refusal> {
        let (install, kind) = (&self.install, api::CONFIG);
        let name = named.unwrap_or(install);
        let Some(config) = self.configs.get(&ObjectKey::new(namespace, name)) else {
            return Err(Refusal::NotFound(format!(
                "{kind} {name} does not exist in this namespace: create it with the options of provider {install}, or name another in \
                 spec.providerConfig"
            )));
        };
        if config.spec.provider != **install {
            return Err(Refusal::NotReady(format!(
                "{kind} {name} is for provider {}, and this kind is one of provider {install}: name another in spec.providerConfig",
                config.spec.provider
            )));
        }
        let values = self.configs.values(program, &config).await?;
        let key = key(program, &values);
        let providers = &self.configs.0.providers;
        providers.expire();
        let provider = if let Some(provider) = providers.get(&key) {
            provider
        } else {
            let provider = Provider::new(program.clone(), values);
            // Another reconcile may have created it meanwhile: all share one.
            providers.get_or_insert(&key, || Arc::new(provider))
        };
        let rules = Arc::new(ConfigRules { name: name.to_owned() });
        let external: Arc<dyn Calls> = Arc::new(calls(provider));
        Ok(Connection { connected: Some(Connected { external, key }), rules })
    }
}

/// A ProviderConfig restricts nothing: the credentials do.
#[derive(Debug)]
struct ConfigRules {
    name: String,
}

impl Rules for ConfigRules {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        api::CONFIG
    }
}

impl KnownAccounts for Configs {
    fn all(&self) -> Vec<ObjectKey> {
        self.0.known.all().iter().map(|config| ObjectKey::of(&config.metadata)).collect()
    }

    fn known(&self, key: &ObjectKey) -> Option<KnownAccount> {
        let config = self.get(key)?;
        let secrets = resolve::secrets(&config.spec)
            .map(|(_, KeyRef { name, key })| KeyDependency { name, key, follows: false })
            .collect();
        Some(KnownAccount { meta: config.metadata.clone(), secrets })
    }

    fn rules(&self, _: &str, _: Option<&str>) -> Option<Arc<dyn Rules>> {
        None
    }

    fn is_required(&self) -> bool {
        true
    }

    fn users_are_known(&self, key: &ObjectKey) -> bool {
        let Some(config) = self.get(key) else { return true };
        self.0.is_served.get().is_some_and(|is_served| is_served(&config.spec.provider))
    }
}
