//! Orphans: remote objects with this cluster's tags that no resource owns.
//!
//! The provider is listed first and the cluster second, so that an object created in between is not treated as an
//! orphan. Orphans are reported; they are deleted only if that is enabled, only if two consecutive sweeps found them,
//! and only a few at a time.
//!
//! A sweep also passes on the objects whose owner exists, because a launch may be missing in its records: after a backup of the API server
//! from before it was restored, and the process that remembered it was restarted. So the first sweep is made soon after the start.
//!
//! A sweep examines the objects that the controller's own credentials can list, and those that the credentials of each account can. It uses the
//! accounts that exist, and not those that resources use: the last resource of an account may be the deleted owner.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kraken_kind::{
    Failure, Identity,
    account::{Connection, KnownAccounts},
    dynamic::{Calls, Observed, SharedKind},
};
use kraken_model::ids::listed;
use kraken_runtime::{
    Manager,
    hash::{HashMap, HashSet},
    list::each_metadata,
    patch::within,
    watch::{ObjectKey, RawObject},
};
use kube::{
    Api,
    api::{ListParams, ObjectMeta},
};
use tracing::{info, warn};

use crate::{args::OrphanArgs, shared::former::Former};

/// The key of the controller's own connection, which is no digest.
const OWN: &str = "";

/// Called with an existing resource, its UID and the highest epoch of its live objects.
pub(crate) type OnOwned = Box<dyn Fn(&ObjectKey, &str, i64) + Send + Sync>;

/// The sweeps of one kind.
pub(crate) struct Sweeper {
    pub(crate) manager: Manager,
    pub(crate) args: OrphanArgs,
    pub(crate) kind: SharedKind,
    /// The controller's own connection.
    pub(crate) own: Arc<dyn Calls>,
    pub(crate) accounts: Option<Arc<dyn KnownAccounts>>,
    /// The delay of the first sweep, at most the interval.
    pub(crate) first_after: Duration,
    /// Called for the live objects of each existing owner.
    pub(crate) on_owned: OnOwned,
    /// Where the owners of orphans are recorded.
    pub(crate) former: Arc<Former>,
    /// The UIDs whose objects were orphans in the previous sweep, by the key of the connection.
    pub(crate) before: BTreeMap<Arc<str>, HashSet<String>>,
}

/// The connections to sweep, by key.
type Connections = BTreeMap<Arc<str>, Arc<dyn Calls>>;

/// The objects of the cluster that one connection can list.
struct Listing {
    key: Arc<str>,
    external: Arc<dyn Calls>,
    /// The account and the region; empty if there is only one connection.
    place: String,
    objects: Vec<(Identity, Observed)>,
}

impl Sweeper {
    /// Sweeps until shutdown; called only on the leader.
    pub(crate) async fn run(mut self) {
        let (interval, shutdown) = (self.args.orphan_interval, self.manager.shutdown.clone());
        if interval.is_zero() {
            return;
        }
        let mut pause = self.first_after.min(interval);
        while shutdown.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            pause = interval;
            if let Err(error) = self.sweep().await {
                let kind = self.kind.info().name;
                warn!(kind, error, "the orphan sweep failed; retrying at the next sweep");
            }
        }
    }

    /// One sweep.
    pub(crate) async fn sweep(&mut self) -> Result<(), String> {
        let kind = self.kind.info().name;
        let connections = self.connections().await;
        let mut listings = vec![];
        for (key, external) in &connections {
            match self.list_owned(key, external, connections.len() > 1).await {
                Ok(listing) => listings.push(listing),
                Err(failure) => warn!(kind, %failure, "the orphan sweep failed; retrying at the next sweep"),
            }
        }
        if listings.is_empty() {
            return Ok(());
        }
        let owners = self.owners().await?;
        // The same objects may be visible with several credentials.
        let mut seen = BTreeSet::new();
        let (mut removed, mut owners_of_orphans) = (0, HashSet::default());
        for Listing { key, external, place, objects } in listings {
            self.pass_on_owned(&objects, &owners).await;
            let orphans = self.orphans(objects, &owners);
            owners_of_orphans.extend(orphans.values().map(|(identity, _)| identity.owner.clone()));
            for (uid, (identity, observed)) in &orphans {
                if seen.insert((place.clone(), uid.clone())) {
                    let is_old = self.before.get(&key).is_some_and(|before| before.contains(uid));
                    let is_due = self.args.remove_orphans
                        && is_old
                        && removed < self.args.orphan_limit
                        && !self.is_applied_again(identity, &owners).await;
                    removed += usize::from(is_due);
                    self.report(&*external, identity, observed, is_due).await;
                }
            }
            self.before.insert(key, orphans.into_keys().collect());
        }
        self.former.set_orphans(owners_of_orphans);
        // The findings of a connection are kept if it cannot be listed now.
        self.before.retain(|key, _| connections.contains_key(key));
        let all: BTreeSet<&String> = self.before.values().flatten().collect();
        self.manager.metrics.orphans(kind, all.len());
        Ok(())
    }

    /// The controller's own connection, and one for all accounts with the same credentials, role and region.
    async fn connections(&self) -> Connections {
        let own = || (Arc::<str>::from(OWN), self.own.clone());
        let Some(accounts) = &self.accounts else { return Connections::from([own()]) };
        let mut connections = Connections::new();
        if !accounts.is_required() {
            connections.extend([own()]);
        }
        for account in accounts.all() {
            match self.connect(&account).await {
                Ok(Some((key, external))) => {
                    connections.entry(key).or_insert(external);
                }
                Ok(None) => connections.extend([own()]),
                Err(error) => {
                    let (kind, namespace, account) =
                        (self.kind.info().name, &*account.namespace, &*account.name);
                    warn!(kind, namespace, account, error, "the orphan sweep cannot use an account");
                }
            }
        }
        connections
    }

    /// The connection of this account; `None` if it is the controller's own.
    async fn connect(&self, account: &ObjectKey) -> Result<Option<(Arc<str>, Arc<dyn Calls>)>, String> {
        let connection = self.own.connect(&account.namespace, Some(&*account.name)).await;
        let connection = connection.map_err(|refusal| refusal.to_string())?;
        let Some(Connection { connected, rules }) = connection else { return Ok(None) };
        let external = connected.as_ref().map_or(&self.own, |connected| &connected.external);
        // As in a reconcile: with the credentials of another account, nothing else is called.
        let here = external.location().await.map_err(|failure| failure.to_string())?;
        match here.and_then(|here| rules.location_violation(&here)) {
            Some(why) => Err(why),
            None => Ok(connected.map(|connected| (connected.key, connected.external))),
        }
    }

    async fn list_owned(
        &self,
        key: &Arc<str>,
        external: &Arc<dyn Calls>,
        is_one_of_many: bool,
    ) -> Result<Listing, Failure> {
        let here = if is_one_of_many { external.location().await? } else { None };
        let objects = external.list_owned(&self.manager.cluster_id).await?;
        let place = here.map(|here| here.to_string()).unwrap_or_default();
        Ok(Listing { key: key.clone(), external: external.clone(), place, objects })
    }

    /// All resources of the kind, by UID. Of all namespaces, regardless of what this process watches: an object that
    /// another process manages is not an orphan.
    async fn owners(&self) -> Result<HashMap<String, ObjectKey>, String> {
        let api: Api<RawObject> = Api::all_with(self.manager.client.clone(), &self.kind.info().resource);
        let of = |meta: &ObjectMeta| Some((meta.uid.clone()?, ObjectKey::of(meta)));
        let mut owners = HashMap::default();
        // A list that is not complete would make orphans of what it lacks.
        each_metadata(&api, "list the resources", ListParams::default(), |meta| owners.extend(of(&meta)))
            .await
            .map_err(|error| error.to_string())?;
        Ok(owners)
    }

    /// Passes on the live objects whose owner exists.
    async fn pass_on_owned(&self, objects: &[(Identity, Observed)], owners: &HashMap<String, ObjectKey>) {
        for (n, (Identity { uid, .. }, observed)) in objects.iter().enumerate() {
            // Each resource is decoded: a hundred thousand of them take seconds, in which reconciles continue.
            if n % 100 == 99 {
                tokio::task::yield_now().await;
            }
            let ids = observed.ids();
            if let Some(owner) = owners.get(uid).filter(|_| !ids.is_empty()) {
                let (live, _) = observed.select(&ids);
                (self.on_owned)(owner, uid, live.epoch());
            }
        }
    }

    /// Objects that are not being deleted and are owned by a UID that the cluster does not have.
    fn orphans(
        &self,
        objects: Vec<(Identity, Observed)>,
        owners: &HashMap<String, ObjectKey>,
    ) -> BTreeMap<String, (Identity, Observed)> {
        objects
            .into_iter()
            .filter(|(identity, observed)| !owners.contains_key(&identity.uid) && !observed.ids().is_empty())
            .map(|(identity, observed)| (identity.uid.clone(), (identity, observed)))
            .collect()
    }

    /// Whether a resource with the name in the owner tag was created since the owners were listed, or that is not known: it takes the
    /// objects over.
    async fn is_applied_again(&self, owner: &Identity, owners: &HashMap<String, ObjectKey>) -> bool {
        let Some((_, key)) = owner.resource() else { return false };
        let resource = &self.kind.info().resource;
        let api: Api<RawObject> = Api::namespaced_with(self.manager.client.clone(), &key.namespace, resource);
        match within("read the owner of an orphan", api.get_metadata_opt(&key.name)).await {
            Ok(found) => {
                found.and_then(|found| found.metadata.uid).is_some_and(|uid| !owners.contains_key(&uid))
            }
            Err(_) => true,
        }
    }

    /// Reports the orphans of one owner, or deletes them if that is due.
    async fn report(&self, external: &dyn Calls, identity: &Identity, observed: &Observed, is_due: bool) {
        let (kind, owner, ids) = (self.kind.info().name, &identity.owner, listed(&observed.ids()));
        if !is_due {
            warn!(kind, owner, ids, "orphans: remote objects with this cluster's tags that no resource owns");
            return;
        }
        match external.delete(identity, observed).await {
            Ok(unknown) if unknown.is_empty() => info!(kind, owner, ids, "deleted orphans"),
            Ok(unknown) => {
                let unknown = listed(&unknown);
                warn!(kind, owner, ids, unknown, "deleted orphans, except the unknown ones");
            }
            Err(failure) => warn!(kind, owner, ids, %failure, "failed to delete orphans"),
        }
    }
}
