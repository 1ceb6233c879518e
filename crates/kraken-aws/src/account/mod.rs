//! Accounts: the Account that a resource uses, the credentials of its connection, and the rules that restrict it.
//!
//! `api` is the type, `rules` are its rules (pure), `credentials` reads its Secrets, and `client` makes the connection. A
//! reconcile connects by [`Aws::connect_account`](crate::Aws::connect_account).

pub mod api;
mod check;
mod client;
mod credentials;
mod rules;
#[cfg(test)]
mod sharing;

use std::{fmt, sync::Arc};

use api::AccountCredentials;
use credentials::{AccessKey, access_key};
use kraken_kind::{
    Manager,
    account::{AccountKind, DEFAULT_ACCOUNT, KnownAccount, KnownAccounts, OnChange, Refusal, Rules, Secrets},
    runtime::{
        hash::HashMap,
        patch::{ApiError, within},
        watch::{Change, ObjectKey, Presence, Served, Store},
    },
};
use kube::{Api, Client, Resource, runtime::watcher};
use parking_lot::Mutex;

pub use api::{Account, AccountSpec, AccountStatus};
pub use check::{Caller, CheckError};
pub use rules::{AccountRules, RESTRICTED};

/// The kind of the accounts of AWS, for [`kraken_kind::Features::accounts`].
pub const ACCOUNTS: AccountKind = AccountKind {
    group: api::GROUP,
    version: "v1alpha1",
    kind: "Account",
    plural: "accounts",
    field: "account",
    default_name: DEFAULT_ACCOUNT,
    description: "The Account with the credentials, the region and the rules for this resource. Default: the Account \
                  `default` of this namespace if it exists, else the credentials and region of the controller. Example: \
                  `{name: shop}`",
    name_description: "The name of the Account, in the namespace of this resource. Example: `shop`",
};

/// Accounts that do not decode, and why.
type Invalid = Arc<Mutex<HashMap<ObjectKey, String>>>;
/// The callbacks for changes.
type Listeners = Arc<Mutex<Vec<OnChange>>>;

/// The Accounts of the cluster. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Accounts {
    client: Client,
    known: Store<Account>,
    /// Whether the CRD is installed; none if the controller does not work without it.
    served: Option<Served>,
    invalid: Invalid,
    listeners: Listeners,
    secrets: Secrets,
    /// Whether a resource without an Account must not use the controller's own credentials.
    is_required: bool,
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

/// An Account according to the watch.
#[derive(Clone, Debug)]
enum Found {
    Absent,
    Invalid(String),
    Known(Arc<Account>),
}

/// The Account that a resource uses. Pure. Without the CRD, no Account exists.
fn choose(
    named: Option<&str>,
    find: impl Fn(&str) -> Found,
    is_required: bool,
    has_crd: bool,
) -> Result<Option<Arc<Account>>, Refusal> {
    const NO_CRD: &str = "the CRD of Account is not installed: install the component aws-account";
    let name = named.unwrap_or(DEFAULT_ACCOUNT);
    match (find(name), named) {
        (Found::Absent, Some(name)) if !has_crd => {
            Err(Refusal::NotFound(format!("Account {name} does not exist, because {NO_CRD}, or remove spec.account")))
        }
        (Found::Absent, None) if is_required && !has_crd => {
            Err(Refusal::NotFound(format!("the controller requires an Account (--require-account), and {NO_CRD}")))
        }
        (Found::Known(account), _) => Ok(Some(account)),
        (Found::Invalid(error), _) => {
            Err(Refusal::NotReady(format!(
                "Account {name} does not decode: {error}; correct it, nothing is called until then"
            )))
        }
        (Found::Absent, Some(name)) => Err(Refusal::NotFound(format!(
            "Account {name} does not exist in this namespace: create it, or name another in spec.account"
        ))),
        (Found::Absent, None) if is_required => Err(Refusal::NotFound(
            "the controller requires an Account (--require-account): name one in spec.account, or create the Account \
             default in this namespace"
                .to_owned(),
        )),
        (Found::Absent, None) => Ok(None),
    }
}

impl Accounts {
    /// Watches the Accounts of the namespaces that the controller watches. If `works_without`, another component brings their CRD.
    pub(crate) fn watch(manager: &Manager, is_required: bool, works_without: bool) -> Self {
        let (invalid, listeners) = (Invalid::default(), Listeners::default());
        let seen = {
            let (invalid, listeners) = (invalid.clone(), listeners.clone());
            move |change: Change<Account>| {
                let key = ObjectKey::of(change.meta());
                let concerns_users = match &change {
                    Change::Invalid(_, error) => {
                        invalid.lock().insert(key.clone(), error.clone());
                        true
                    }
                    Change::Applied(now, before) => {
                        let was_invalid = invalid.lock().remove(&key).is_some();
                        // Not a status.
                        was_invalid
                            || before.as_ref().is_none_or(|before| {
                                let of = |account: &Account| {
                                    let meta = account.meta();
                                    let (uid, finalizers) = (meta.uid.clone(), meta.finalizers.clone());
                                    (uid, finalizers, meta.deletion_timestamp.clone())
                                };
                                before.spec != now.spec || of(before) != of(now)
                            })
                    }
                    // A restored backup set it back to the last version that was valid.
                    Change::Listed(_) => invalid.lock().remove(&key).is_some(),
                    Change::Deleted(_) => {
                        invalid.lock().remove(&key);
                        true
                    }
                };
                if concerns_users {
                    let listeners = listeners.lock().clone();
                    for listener in listeners {
                        listener(&key);
                    }
                }
            }
        };
        let watches = manager.watches();
        let (known, served) = if works_without {
            let (known, served) = watches.optional_objects::<Account>("Account", is_required, seen);
            (known, Some(served))
        } else {
            (watches.objects::<Account>("Account", &watcher::Config::default(), seen), None)
        };
        let (client, secrets) = (manager.client.clone(), Secrets::default());
        Self { client, known, served, invalid, listeners, secrets, is_required }
    }

    /// Whether the CRD is installed, in which case all Accounts are known. A resource must not be created with the controller's own
    /// credentials because its Account is not known yet.
    async fn has_crd(&self) -> Result<bool, Refusal> {
        let Some(served) = &self.served else { return Ok(true) };
        match served.presence().await {
            Presence::Served => Ok(true),
            Presence::NotServed => Ok(false),
            Presence::Unknown(cause) => {
                let source = Box::new(kube::Error::Service(cause.into()));
                Err(Refusal::Unreadable(ApiError { verb: "list the Accounts", source }))
            }
        }
    }

    /// Calls this whenever an Account changes.
    pub(crate) fn on_change(&self, listener: OnChange) {
        self.listeners.lock().push(listener);
    }

    /// The Account of a resource of this namespace that names this one, or none; `None` if the resource uses the
    /// controller's own connection.
    ///
    /// # Errors
    /// If the Account does not exist, does not decode, or cannot be read.
    pub(crate) async fn chosen(
        &self,
        namespace: &str,
        named: Option<&str>,
    ) -> Result<Option<Arc<Account>>, Refusal> {
        if !self.invalid.lock().is_empty() {
            self.drop_deleted(&ObjectKey::new(namespace, named.unwrap_or(DEFAULT_ACCOUNT))).await?;
        }
        let has_crd = self.has_crd().await?;
        choose(named, |name| self.find(&ObjectKey::new(namespace, name)), self.is_required, has_crd)
    }

    /// The access key of this Account, if it has one of its own.
    ///
    /// # Errors
    /// If a Secret or a key of it is missing, or cannot be read.
    pub(crate) async fn access_key(
        &self,
        namespace: &str,
        account: &Account,
    ) -> Result<Option<AccessKey>, Refusal> {
        let name = account.metadata.name.as_deref().unwrap_or_default();
        let credentials = account.spec.credentials.as_ref();
        access_key(&self.secrets, &self.client, (namespace, name), credentials).await
    }

    fn find(&self, key: &ObjectKey) -> Found {
        if let Some(error) = self.invalid.lock().get(key) {
            return Found::Invalid(error.clone());
        }
        self.known.get(key).map_or(Found::Absent, Found::Known)
    }

    /// Forgets an Account that never decoded and is deleted, which the watch reports like a change of it.
    async fn drop_deleted(&self, key: &ObjectKey) -> Result<(), Refusal> {
        if !self.invalid.lock().contains_key(key) {
            return Ok(());
        }
        let resource = kube::core::ApiResource::erase::<Account>(&());
        let api: Api<kube::api::DynamicObject> =
            Api::namespaced_with(self.client.clone(), &key.namespace, &resource);
        let found = within("read an Account", api.get_metadata_opt(&key.name)).await;
        if found.map_err(Refusal::Unreadable)?.is_none() {
            self.invalid.lock().remove(key);
        }
        Ok(())
    }
}

impl KnownAccounts for Accounts {
    fn all(&self) -> Vec<ObjectKey> {
        self.known.all().iter().map(|account| ObjectKey::of(&account.metadata)).collect()
    }

    fn known(&self, key: &ObjectKey) -> Option<KnownAccount> {
        let account = self.known.get(key).filter(|_| !self.invalid.lock().contains_key(key))?;
        let secrets = account.spec.credentials.iter().flat_map(AccountCredentials::secrets);
        Some(KnownAccount { meta: account.metadata.clone(), secrets: secrets.collect() })
    }

    fn rules(&self, namespace: &str, account: Option<&str>) -> Option<Arc<dyn Rules>> {
        let name = account.unwrap_or(DEFAULT_ACCOUNT);
        let Found::Known(account) = self.find(&ObjectKey::new(namespace, name)) else { return None };
        let rules = AccountRules::of(name, &account.spec).ok()?;
        Some(Arc::new(rules))
    }

    fn is_required(&self) -> bool {
        self.is_required
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> Arc<Account> {
        Arc::new(Account::new(name, AccountSpec::default()))
    }

    fn chosen(named: Option<&str>, known: &[&str], is_required: bool) -> Result<Option<String>, String> {
        chosen_with(named, known, is_required, true)
    }

    fn chosen_with(
        named: Option<&str>,
        known: &[&str],
        is_required: bool,
        has_crd: bool,
    ) -> Result<Option<String>, String> {
        let find = |name: &str| match name {
            "broken" => Found::Invalid("missing field".into()),
            name if known.contains(&name) => Found::Known(account(name)),
            _ => Found::Absent,
        };
        match choose(named, find, is_required, has_crd) {
            Ok(account) => Ok(account.and_then(|account| account.metadata.name.clone())),
            Err(Refusal::NotFound(why)) => Err(format!("not found: {why}")),
            Err(Refusal::NotReady(why)) => Err(format!("not ready: {why}")),
            Err(Refusal::Unreadable(_)) => unreachable!(),
        }
    }

    #[test]
    fn a_resource_uses_the_account_that_it_names_then_the_default_then_the_controllers() {
        let both = ["default", "shop"];
        assert_eq!(chosen(Some("shop"), &both, false), Ok(Some("shop".into())));
        assert_eq!(chosen(None, &both, false), Ok(Some("default".into())));
        assert_eq!(chosen(None, &["shop"], false), Ok(None));
    }

    #[test]
    fn a_named_account_that_does_not_exist_is_not_replaced_by_another() {
        let why = chosen(Some("shop"), &["default"], false).unwrap_err();
        assert!(why.starts_with("not found: Account shop does not exist"), "{why}");
    }

    #[test]
    fn where_an_account_is_required_the_controllers_credentials_are_not_used() {
        assert_eq!(chosen(None, &["default"], true), Ok(Some("default".into())));
        let why = chosen(None, &[], true).unwrap_err();
        assert!(why.contains("--require-account"), "{why}");
    }

    #[test]
    fn without_the_crd_only_what_needs_an_account_waits_for_it() {
        assert_eq!(chosen_with(None, &[], false, false), Ok(None));
        for (named, is_required) in [(Some("shop"), false), (Some("shop"), true), (None, true)] {
            let why = chosen_with(named, &[], is_required, false).unwrap_err();
            assert!(why.starts_with("not found: ") && why.contains("aws-account"), "{why}");
        }
    }

    #[test]
    fn an_account_that_does_not_decode_is_unusable_and_not_absent() {
        let why = chosen(Some("broken"), &["default"], false).unwrap_err();
        assert!(why.starts_with("not ready") && why.contains("missing field"), "{why}");
    }
}
