//! Guarded watches: each kind has its own task, backoff and store, and deletions are delivered.
//!
//! The watches of kube's `Controller` share one backoff, and its shared stores lose deletions. Here a missing CRD
//! affects only its own watch, and an object that cannot be decoded is reported and skipped.

mod kept;
mod outage;
mod raw;

use std::{fmt::Debug, sync::Arc};

use crate::hash::{HashMap, HashSet};

use futures::StreamExt;
use kube::{
    Api, Client, Resource,
    api::ObjectMeta,
    core::{ApiResource, DeserializeGuard, NamespaceResourceScope, PartialObjectMeta},
    runtime::watcher,
};
use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::{
    metrics::Metrics,
    mutants::{self, Mutant},
    serve::Health,
};
use kept::{Decode, Kept, essential};
use outage::Outage;
pub use raw::RawObject;

/// The name of a namespaced object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The key of this namespace and name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object's metadata.
    pub fn of(meta: &ObjectMeta) -> Self {
        Self::new(meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The objects of one kind that the watch last observed. Clones share the same store.
#[derive(Debug)]
pub struct Store<K> {
    objects: Arc<RwLock<HashMap<ObjectKey, Kept<K>>>>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone() }
    }
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self { objects: Arc::new(RwLock::new(HashMap::default())) }
    }
}

impl<K> Store<K> {
    /// The object, if the watch knows it.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.objects.read().get(key).map(|kept| kept.open(key))
    }

    /// All objects, in no particular order.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.objects.read().iter().map(|(key, kept)| kept.open(key)).collect()
    }

    /// Calls `visit` with each object of a watch of [`Watches::decoded`], without decoding it.
    pub fn visit_raw(&self, mut visit: impl FnMut(&RawObject)) {
        self.objects.read().values().filter_map(Kept::raw).for_each(&mut visit);
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.read().len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A change that a watch observed.
#[derive(Debug)]
pub enum Change<K> {
    /// An object was created or changed; the second value is the previous object, if known.
    Applied(Arc<K>, Option<Arc<K>>),
    /// An object was deleted.
    Deleted(Arc<K>),
    /// An object cannot be decoded: its metadata and the cause. It is reported again when such an object is deleted.
    Invalid(Box<ObjectMeta>, String),
}

impl<K: Resource> Change<K> {
    /// The metadata of the object concerned.
    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Applied(object, _) | Self::Deleted(object) => object.meta(),
            Self::Invalid(meta, _) => meta,
        }
    }
}

/// The version of an object; a newer version is greater. Kubernetes guarantees since 1.35, and has always provided, that
/// resourceVersions of one kind are increasing integers. `None` if the object has none.
pub fn version(meta: &ObjectMeta) -> Option<u128> {
    meta.resource_version.as_deref()?.parse().ok()
}

/// The shared settings of all watches of a process.
#[derive(Clone, Debug)]
pub struct Watches {
    /// The client to watch with.
    pub client: KubeClient,
    /// The namespaces to watch; none means all.
    pub namespaces: Vec<String>,
    /// Ends every watch.
    pub shutdown: CancellationToken,
    /// The health of the process.
    pub health: Health,
    /// The metrics for failures.
    pub metrics: Metrics,
}

/// [`Client`] with a `Debug` that hides its content.
#[derive(Clone)]
pub struct KubeClient(pub Client);

impl Debug for KubeClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KubeClient")
    }
}

impl Watches {
    /// Watches whole objects of one kind. `seen` is called for every change, in order, and must not block.
    pub fn objects<K>(
        &self,
        kind: &'static str,
        config: &watcher::Config,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
    ) -> Store<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug
            + Send
            + Sync
            + 'static,
    {
        let open = |guard: DeserializeGuard<K>| {
            let mut object = guard.0.map_err(|error| (Box::new(error.metadata), error.error))?;
            // managedFields are most of an object's bytes and are not used.
            object.meta_mut().managed_fields = None;
            let object = Arc::new(object);
            Ok((object.clone(), Kept::Whole(object)))
        };
        self.spawn(kind, self.apis(Api::all, Api::namespaced), config, seen, open)
    }

    /// Watches whole objects of a kind that is known only at run time; `decode` converts each to the type that the store returns, or
    /// fails with a reason. The store keeps the text, so each access decodes.
    pub fn decoded<K>(
        &self,
        kind: &'static str,
        resource: &ApiResource,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
        decode: impl Fn(&RawObject) -> Result<K, (Box<ObjectMeta>, String)> + Send + Sync + 'static,
    ) -> Store<K>
    where
        K: Resource + Send + Sync + 'static,
    {
        let apis = self.apis(
            |client| Api::all_with(client, resource),
            |client, namespace| Api::namespaced_with(client, namespace, resource),
        );
        let decode: Decode<K> = Arc::new(decode);
        let open = move |raw: RawObject| {
            let object = Arc::new(decode(&raw)?);
            Ok((object, Kept::Raw(Box::new(raw), decode.clone())))
        };
        self.spawn(kind, apis, &watcher::Config::default(), seen, open)
    }

    /// Watches only the metadata of one kind; bodies are read on demand. Only the identity and version, the owners, and
    /// Kraken's own labels and annotations are kept: the annotation of `kubectl apply` contains the whole object,
    /// including the values of a Secret.
    pub fn metadata<K>(
        &self,
        kind: &'static str,
        config: &watcher::Config,
        seen: impl Fn(Change<PartialObjectMeta<K>>) + Send + Sync + Clone + 'static,
    ) -> Store<PartialObjectMeta<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static,
    {
        let open = |mut object: PartialObjectMeta<K>| {
            object.metadata = essential(object.metadata);
            let object = Arc::new(object);
            Ok((object.clone(), Kept::metadata(object)))
        };
        self.spawn(kind, self.apis(Api::all, Api::namespaced), config, seen, open)
    }

    /// Where to watch: everywhere, or in each of the namespaces.
    fn apis<W>(
        &self,
        all: impl Fn(Client) -> Api<W>,
        namespaced: impl Fn(Client, &str) -> Api<W>,
    ) -> Vec<Api<W>> {
        if self.namespaces.is_empty() {
            return vec![all(self.client.0.clone())];
        }
        self.namespaces.iter().map(|namespace| namespaced(self.client.0.clone(), namespace)).collect()
    }

    fn spawn<W, K>(
        &self,
        kind: &'static str,
        apis: Vec<Api<W>>,
        config: &watcher::Config,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
        open: impl Fn(W) -> Opened<K> + Send + Sync + Clone + 'static,
    ) -> Store<K>
    where
        W: Resource + DeserializeOwned + Clone + Debug + Send + 'static,
        K: Resource + Send + Sync + 'static,
    {
        let store = Store::default();
        for api in apis {
            let beat = self.health.register_watch(kind);
            let (metrics, shutdown, seen) = (self.metrics.clone(), self.shutdown.clone(), seen.clone());
            let open = open.clone();
            let mut follower =
                Follower { objects: store.objects.clone(), mine: HashSet::default(), listed: None };
            let mut events = Box::pin(watcher(api, config.clone()));
            crate::task::spawn(async move {
                let mut outage = Outage::default();
                while let Some(Some(event)) = shutdown.run_until_cancelled(events.next()).await {
                    match event {
                        Ok(event) => {
                            let done = matches!(event, watcher::Event::InitDone);
                            // Each attempt to list begins with an event, which does not mean success.
                            if done || matches!(event, watcher::Event::Apply(_) | watcher::Event::Delete(_)) {
                                outage.is_over(kind);
                                beat.beat();
                            }
                            follower.follow(event, &open, &seen);
                            if done {
                                beat.synced();
                            }
                        }
                        Err(error) => {
                            metrics.watch_failed(kind);
                            let is_gone =
                                matches!(&error, watcher::Error::WatchError(status) if status.code == 410);
                            if is_gone && mutants::active(Mutant::GoneIgnored) {
                                break;
                            }
                            let delay = outage.goes_on(kind, &error, &beat);
                            if shutdown.run_until_cancelled(tokio::time::sleep(delay)).await.is_none() {
                                break;
                            }
                        }
                    }
                }
            });
        }
        store
    }
}

/// An object that a watch delivered, with its stored form; or its metadata, and why it does not decode.
type Opened<K> = Result<(Arc<K>, Kept<K>), (Box<ObjectMeta>, String)>;

/// Applies the events of one watch to a store that watches of other namespaces may share.
struct Follower<K> {
    objects: Arc<RwLock<HashMap<ObjectKey, Kept<K>>>>,
    /// The keys that this watch added, so that a new list reveals deletions.
    mine: HashSet<ObjectKey>,
    /// The keys of the current list, if one is being read.
    listed: Option<HashSet<ObjectKey>>,
}

impl<K: Resource> Follower<K> {
    fn follow<W>(
        &mut self,
        event: watcher::Event<W>,
        open: impl Fn(W) -> Opened<K>,
        seen: &impl Fn(Change<K>),
    ) {
        match event {
            watcher::Event::Init => self.listed = Some(HashSet::default()),
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => match open(object) {
                Ok((object, kept)) => self.applied(object, kept, seen),
                Err((meta, error)) => self.invalid(meta, error, seen),
            },
            watcher::Event::Delete(object) => match open(object) {
                Ok((object, _)) => drop(self.gone(&ObjectKey::of(object.meta()), seen)),
                Err((meta, error)) => {
                    if !self.gone(&ObjectKey::of(&meta), seen) {
                        // It was never decoded, so there is no stored form.
                        seen(Change::Invalid(meta, error));
                    }
                }
            },
            watcher::Event::InitDone => {
                if let Some(listed) =
                    self.listed.take().filter(|_| !mutants::active(Mutant::ListKeepsDeleted))
                {
                    let gone: Vec<_> = self.mine.difference(&listed).cloned().collect();
                    for key in gone {
                        self.gone(&key, seen);
                    }
                }
            }
        }
    }

    fn applied(&mut self, object: Arc<K>, kept: Kept<K>, seen: &impl Fn(Change<K>)) {
        let key = ObjectKey::of(object.meta());
        let before = self.objects.write().insert(key.clone(), kept);
        let before = before.map(|kept| kept.open(&key));
        self.note(key);
        if before.as_ref().is_some_and(|b| b.meta().resource_version == object.meta().resource_version) {
            return; // a new list of known objects
        }
        seen(Change::Applied(object, before));
    }

    /// The store keeps the last decoded form of the object.
    fn invalid(&mut self, meta: Box<ObjectMeta>, error: String, seen: &impl Fn(Change<K>)) {
        self.note(ObjectKey::of(&meta));
        seen(Change::Invalid(meta, error));
    }

    /// Whether it was known.
    fn gone(&mut self, key: &ObjectKey, seen: &impl Fn(Change<K>)) -> bool {
        self.mine.remove(key);
        let before = self.objects.write().remove(key);
        let was_known = before.is_some();
        if let Some(kept) = before {
            seen(Change::Deleted(kept.open(key)));
        }
        was_known
    }

    fn note(&mut self, key: ObjectKey) {
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        self.mine.insert(key);
    }
}

#[cfg(test)]
mod tests;
