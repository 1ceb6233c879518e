//! The accounts that resources of this process use: they, and the Secrets that they name, stay until the last of these resources is
//! gone. Client required.
//!
//! Kubernetes deletes the objects of a namespace in no particular order, and the remote objects cannot be deleted without the
//! credentials. So a spoke puts a finalizer of its own on an account before it creates anything with it, and writes a
//! DependencyRequest that lets the hub keep its Secrets, because a spoke cannot write Secrets. Both are records in the API server: any
//! controller can be restarted meanwhile. When no resource uses the account any more, both are removed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kraken_api::{
    DependencyRequest, DependencyRequestSpec, account_finalizer, dependency_request::KeyDependency,
    names::owned_name,
};
use kraken_kind::{
    account::{AccountKind, KnownAccount, KnownAccounts},
    dynamic::{Object, account_of},
};
use kraken_model::request;
use kraken_runtime::{
    hash::{HashMap, HashSet},
    list::each_metadata,
    manager::Manager,
    patch::{ApiError, apply, set_finalizer, within},
    watch::{ObjectKey, RawObject, Store, version},
};
use kube::{
    Api, Resource,
    api::{DeleteParams, ListParams, ObjectMeta},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::{sync::Notify, time::Instant};
use tracing::{info, warn};

use crate::actions::references::{apis, drop_request};

/// The minimum pause between two searches for unused accounts: each visits every resource of the process.
const PAUSE: Duration = Duration::from_millis(500);
/// How often unused accounts are searched for without an event, such as another account in a spec, and after a failure.
const INTERVAL: Duration = Duration::from_mins(5);
const RETRY: Duration = Duration::from_secs(5);

/// The accounts in use; shared by all kinds of the process. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Uses(Arc<Inner>);

struct Inner {
    manager: Manager,
    kind: AccountKind,
    accounts: Arc<dyn KnownAccounts>,
    /// The resources of each kind, by its key. Those of a kind that is removed stay: its resources still use their accounts.
    resources: Mutex<BTreeMap<String, Users>>,
    /// The accounts that this process knows to be kept.
    kept: Mutex<HashMap<ObjectKey, Kept>>,
    /// The records that exist, by namespace and name, once they were listed: that of an account whose finalizer a client removed
    /// would stay for ever.
    records: Mutex<Option<BTreeSet<ObjectKey>>>,
    /// Held while an account is kept or released.
    change: tokio::sync::Mutex<()>,
    wake: Notify,
}

/// The resources of a kind.
struct Users {
    kind: AccountKind,
    resources: Store<Object>,
}

/// An account that is kept, as this process last wrote it.
struct Kept {
    uid: Option<String>,
    version: Option<u128>,
    /// The Secrets that are on record.
    secrets: Vec<KeyDependency>,
    /// Whether the record states that the account is being deleted.
    is_ending: bool,
}

impl std::fmt::Debug for Uses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uses").finish_non_exhaustive()
    }
}

impl Uses {
    pub(crate) fn new(manager: Manager, kind: AccountKind, accounts: Arc<dyn KnownAccounts>) -> Self {
        Self(Arc::new(Inner {
            manager,
            kind,
            accounts,
            resources: Mutex::default(),
            kept: Mutex::default(),
            records: Mutex::default(),
            change: tokio::sync::Mutex::default(),
            wake: Notify::new(),
        }))
    }

    /// Adds the resources of the kind with this key.
    pub(crate) fn add(&self, key: &str, kind: AccountKind, resources: Store<Object>) {
        self.0.resources.lock().insert(key.to_owned(), Users { kind, resources });
    }

    /// Whether the resources of the kind with this key were [added](Self::add).
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.resources.lock().contains_key(key)
    }

    /// An account changed, or a resource is gone.
    pub(crate) fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Keeps this account for a resource that is about to use it. The resource is in its store: a search that runs at the same time
    /// sees it, or this call waits for the end of the search. One that is not launched yet does not begin to use an account that is
    /// being deleted, also if others still use it. Returns `false` if the account is being deleted and cannot be kept.
    pub(crate) async fn keep(&self, key: &ObjectKey, is_launched: bool) -> Result<bool, ApiError> {
        let is_ending = |account: KnownAccount| account.meta.deletion_timestamp.is_some();
        if !is_launched && self.0.accounts.known(key).is_some_and(is_ending) {
            return Ok(false);
        }
        if self.0.kept.lock().contains_key(key) {
            return Ok(true);
        }
        let _change = self.0.change.lock().await;
        if self.0.kept.lock().contains_key(key) {
            return Ok(true);
        }
        let Some(account) = self.0.accounts.known(key) else { return Ok(true) };
        let Some(kept) = self.0.keep(key, &account).await? else { return Ok(false) };
        self.0.kept.lock().insert(key.clone(), kept);
        Ok(true)
    }

    /// Releases accounts that nothing uses any more, until shutdown; called only on the leader.
    pub(crate) async fn run(self) {
        let shutdown = self.0.manager.shutdown.clone();
        loop {
            let begun = Instant::now();
            let searched = self.0.search().await;
            // Each deletion of a resource leads to a search: of many resources, they must not take all the time.
            let least = PAUSE.max(begun.elapsed() * 10);
            let pause = match searched {
                Ok(()) => INTERVAL,
                Err(error) => {
                    if !error.is_conflict() {
                        warn!(%error, "failed to release an account that is not used any more; retrying");
                    }
                    RETRY
                }
            };
            let woken = tokio::time::timeout(pause, self.0.wake.notified());
            if shutdown.run_until_cancelled(woken).await.is_none()
                || shutdown.run_until_cancelled(tokio::time::sleep(least)).await.is_none()
            {
                return;
            }
        }
    }
}

impl Inner {
    fn finalizer(&self) -> String {
        account_finalizer(self.manager.name)
    }

    fn has_finalizer(&self, meta: &ObjectMeta) -> bool {
        meta.finalizers.iter().flatten().any(|finalizer| *finalizer == self.finalizer())
    }

    /// Puts the finalizer on the account, then its Secrets on record: the finalizer leads to the record after a restart. `None` if the
    /// account is being deleted, and has no finalizer.
    async fn keep(&self, key: &ObjectKey, account: &KnownAccount) -> Result<Option<Kept>, ApiError> {
        let (meta, is_ending) = (&account.meta, account.meta.deletion_timestamp.is_some());
        let mut kept = Kept {
            uid: meta.uid.clone(),
            version: version(meta),
            secrets: account.secrets.clone(),
            is_ending,
        };
        if !self.has_finalizer(meta) {
            if is_ending {
                return Ok(None);
            }
            let written = self.write(key, meta, true).await?;
            kept.version = version(&written.metadata);
        }
        self.record(key, account).await?;
        Ok(Some(kept))
    }

    async fn write(&self, key: &ObjectKey, meta: &ObjectMeta, is_kept: bool) -> Result<RawObject, ApiError> {
        let resource = self.kind.resource();
        let api: Api<RawObject> =
            Api::namespaced_with(self.manager.client.clone(), &key.namespace, &resource);
        set_finalizer(&api, self.manager.name, meta, &self.finalizer(), is_kept).await
    }

    fn requests(&self, key: &ObjectKey) -> Api<DependencyRequest> {
        Api::namespaced(self.manager.client.clone(), &key.namespace)
    }

    /// The name of the record. It belongs to no resource.
    fn request_name(&self, key: &ObjectKey) -> String {
        owned_name(&format!("{}.account", self.manager.name), &key.name)
    }

    /// Writes which Secrets the account names. The record of an account that is being deleted is being deleted too, which tells the
    /// hub that the Secrets are needed to the end.
    async fn record(&self, key: &ObjectKey, account: &KnownAccount) -> Result<(), ApiError> {
        let (api, name) = (self.requests(key), self.request_name(key));
        let found = within("read the DependencyRequest of an account", api.get_opt(&name)).await?;
        let is_ending = account.meta.deletion_timestamp.is_some();
        if found.is_none() && (account.secrets.is_empty() || is_ending) {
            return Ok(());
        }
        let is_ended = found.as_ref().is_some_and(|found| found.meta().deletion_timestamp.is_some());
        let is_current = |found: &DependencyRequest| {
            let DependencyRequestSpec { spoke, keep_secrets, secret_dependencies, .. } = &found.spec;
            *secret_dependencies == account.secrets && *spoke == self.manager.name && *keep_secrets
        };
        if !is_ended && !found.as_ref().is_some_and(is_current) {
            let document = json!({
                "apiVersion": DependencyRequest::api_version(&()),
                "kind": DependencyRequest::kind(&()),
                "metadata": {"name": name, "finalizers": request::finalizers()},
                "spec": {"spoke": self.manager.name, "keepSecrets": true, "secretDependencies": account.secrets},
            });
            match apply(&api, self.manager.name, &name, &document).await {
                // No resource can be created in this namespace any more, and nothing exists that this one made.
                Err(error) if error.is_namespace_terminating() => return Ok(()),
                written => written?,
            };
        }
        let record = ObjectKey::new(&key.namespace, &name);
        if let Some(records) = &mut *self.records.lock() {
            records.insert(record);
        }
        if is_ending && !is_ended {
            let params = DeleteParams::default();
            within("delete the DependencyRequest of an account", api.delete(&name, &params)).await?;
        }
        Ok(())
    }

    /// Releases every kept account that no resource uses, and updates the records of the others.
    async fn search(&self) -> Result<(), ApiError> {
        let _change = self.change.lock().await;
        self.list_records().await?;
        // Taken before the resources are visited: a resource that appears later waits for the end of this search.
        let mut before = std::mem::take(&mut *self.kept.lock());
        let mut candidates = vec![];
        for key in self.accounts.all() {
            let Some(account) = self.accounts.known(&key) else { continue };
            if before.contains_key(&key) || self.has_finalizer(&account.meta) {
                candidates.push((key, account));
            }
        }
        let records = self.records.lock().clone().unwrap_or_default();
        if candidates.is_empty() && records.is_empty() {
            return Ok(());
        }
        // Before the resources are visited: a kind whose resources are listed meanwhile was not visited completely.
        let unknown = candidates.iter().map(|(key, _)| key).filter(|key| !self.accounts.users_are_known(key));
        let unknown: Vec<ObjectKey> = unknown.cloned().collect();
        let mut used = self.used(candidates.iter().map(|(key, _)| key).collect());
        used.extend(unknown);
        // A record without an account, or of one that lost the finalizer. Those of the candidates are released with their finalizers.
        let record_of = |key: &ObjectKey| ObjectKey::new(&key.namespace, &self.request_name(key));
        let needed: BTreeSet<_> = candidates.iter().map(|(key, _)| key).chain(&used).map(record_of).collect();
        let mut result = Ok(());
        for record in records.difference(&needed) {
            if let Err(error) = self.drop_record(record).await {
                result = Err(error);
            }
        }
        for (key, account) in candidates {
            let updated = if used.contains(&key) {
                self.update(&key, &account, before.remove(&key)).await.map(Some)
            } else {
                self.release(&key, &account).await.map(|()| None)
            };
            match updated {
                Ok(kept) => self.kept.lock().extend(kept.map(|kept| (key, kept))),
                Err(error) if error.is_not_found() => {}
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Lists the records of this controller, once per process.
    async fn list_records(&self) -> Result<(), ApiError> {
        if self.records.lock().is_some() {
            return Ok(());
        }
        let mut found = BTreeSet::new();
        let selector =
            ListParams::default().fields(&format!("spec.spoke={},spec.keepSecrets=true", self.manager.name));
        for api in apis(&self.manager) {
            each_metadata(&api, "list the DependencyRequests of accounts", selector.clone(), |record| {
                found.insert(ObjectKey::of(&record));
            })
            .await?;
        }
        self.records.lock().get_or_insert_default().extend(found);
        Ok(())
    }

    /// Deletes a record, if it exists.
    async fn drop_record(&self, record: &ObjectKey) -> Result<(), ApiError> {
        let api = self.requests(record);
        let found = within("read the DependencyRequest of an account", api.get_opt(&record.name)).await?;
        // That of a resource is never dropped here, whatever was listed.
        if let Some(request) = found.filter(|request| request.spec.keep_secrets) {
            drop_request(&api, self.manager.name, &request).await?;
        }
        if let Some(records) = &mut *self.records.lock() {
            records.remove(record);
        }
        Ok(())
    }

    /// The accounts among these that a resource of the process uses. One whose account does not decode may use any of its namespace.
    fn used(&self, accounts: BTreeSet<&ObjectKey>) -> HashSet<ObjectKey> {
        let (mut used, mut of_all) = (HashSet::default(), HashSet::<Arc<str>>::default());
        for Users { kind, resources } in self.resources.lock().values() {
            resources.visit_raw(|object| {
                let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
                match account_of(object.spec.as_deref(), kind) {
                    Ok(named) => {
                        used.insert(ObjectKey::new(namespace, named.as_deref().unwrap_or(kind.default_name)));
                    }
                    Err(_) => {
                        of_all.insert(namespace.into());
                    }
                }
            });
        }
        used.extend(accounts.into_iter().filter(|key| of_all.contains(&key.namespace)).cloned());
        used
    }

    /// Keeps an account that is used, with the Secrets that it names now.
    async fn update(
        &self,
        key: &ObjectKey,
        account: &KnownAccount,
        before: Option<Kept>,
    ) -> Result<Kept, ApiError> {
        let meta = &account.meta;
        let is_ending = meta.deletion_timestamp.is_some();
        // The watch may lag behind this process.
        let is_lost = |kept: &Kept| version(meta) >= kept.version && !self.has_finalizer(meta);
        let is_current = |kept: &Kept| {
            kept.uid == meta.uid && kept.is_ending == is_ending && kept.secrets == account.secrets
        };
        match before {
            Some(kept) if is_current(&kept) && (is_ending || !is_lost(&kept)) => Ok(kept),
            _ => Ok(self.keep(key, account).await?.unwrap_or_else(|| {
                let (uid, secrets) = (meta.uid.clone(), account.secrets.clone());
                Kept { uid, version: version(meta), secrets, is_ending }
            })),
        }
    }

    /// Removes the record, then the finalizer.
    async fn release(&self, key: &ObjectKey, account: &KnownAccount) -> Result<(), ApiError> {
        self.drop_record(&ObjectKey::new(&key.namespace, &self.request_name(key))).await?;
        if self.has_finalizer(&account.meta) {
            self.write(key, &account.meta, false).await?;
        }
        info!(
            namespace = &*key.namespace,
            name = &*key.name,
            "released an account that is not used any more"
        );
        Ok(())
    }
}
