//! Guarded watches: each kind has its own task, its own backoff and its own store, and delivers deletes.
//!
//! A watch of kube's `Controller` shares its backoff with all others, and its shared stores lose deletes. Here one
//! missing CRD slows nobody, and one object that does not decode is reported and passed over.

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    sync::Arc,
};

use futures::StreamExt;
use kube::{
    Api, Client, Resource,
    api::ObjectMeta,
    core::{DeserializeGuard, NamespaceResourceScope, PartialObjectMeta},
    runtime::{WatchStreamExt, watcher},
};
use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::{metrics::Metrics, serve::Health};

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

/// The objects of one kind as the watch last saw them. Cloning gives another handle.
#[derive(Debug)]
pub struct Store<K> {
    objects: Arc<RwLock<HashMap<ObjectKey, Arc<K>>>>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone() }
    }
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self { objects: Arc::new(RwLock::new(HashMap::new())) }
    }
}

impl<K> Store<K> {
    /// The object, if the watch knows it.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.objects.read().get(key).cloned()
    }

    /// Every object, in no order.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.objects.read().values().cloned().collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.read().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a watch saw.
#[derive(Debug)]
pub enum Change<K> {
    /// An object is new or different; the second is what it was before, if known.
    Applied(Arc<K>, Option<Arc<K>>),
    /// An object is gone.
    Deleted(Arc<K>),
    /// An object does not decode as its kind: its metadata, and why.
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

/// What every watch of a process shares.
#[derive(Clone, Debug)]
pub struct Watches {
    /// The client to watch with.
    pub client: KubeClient,
    /// The namespaces to watch; none means all.
    pub namespaces: Vec<String>,
    /// Ends every watch.
    pub shutdown: CancellationToken,
    /// Where readiness is kept.
    pub health: Health,
    /// Where failures are counted.
    pub metrics: Metrics,
}

/// [`Client`] with a `Debug` that says nothing of it.
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
        self.spawn::<DeserializeGuard<K>, K>(kind, config, seen, |guard| {
            guard.0.map_err(|e| (Box::new(e.metadata), e.error))
        })
    }

    /// Watches only the metadata of one kind: what a body costs is paid by who reads it.
    pub fn metadata<K>(
        &self,
        kind: &'static str,
        config: &watcher::Config,
        seen: impl Fn(Change<PartialObjectMeta<K>>) + Send + Sync + Clone + 'static,
    ) -> Store<PartialObjectMeta<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static,
    {
        self.spawn::<PartialObjectMeta<K>, PartialObjectMeta<K>>(kind, config, seen, Ok)
    }

    fn spawn<W, K>(
        &self,
        kind: &'static str,
        config: &watcher::Config,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
        open: impl Fn(W) -> Result<K, (Box<ObjectMeta>, String)> + Send + Sync + Copy + 'static,
    ) -> Store<K>
    where
        W: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug
            + Send
            + 'static,
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        let store = Store::default();
        let apis: Vec<Api<W>> = if self.namespaces.is_empty() {
            vec![Api::all(self.client.0.clone())]
        } else {
            self.namespaces.iter().map(|ns| Api::namespaced(self.client.0.clone(), ns)).collect()
        };
        for api in apis {
            let beat = self.health.register_watch(kind);
            let (metrics, shutdown, seen) = (self.metrics.clone(), self.shutdown.clone(), seen.clone());
            let mut follower =
                Follower { objects: store.objects.clone(), mine: HashSet::new(), listed: None };
            let mut events = Box::pin(watcher(api, config.clone()).default_backoff());
            tokio::spawn(async move {
                let mut failing = false;
                while let Some(Some(event)) = shutdown.run_until_cancelled(events.next()).await {
                    match event {
                        Ok(event) => {
                            failing = false;
                            beat.beat();
                            let done = matches!(event, watcher::Event::InitDone);
                            follower.follow(event, open, &seen);
                            if done {
                                beat.synced();
                            }
                        }
                        Err(error) => {
                            metrics.watch_failed(kind);
                            beat.failed();
                            // Once per outage: a watch is retried for as long as it takes.
                            if failing {
                                debug!(kind, %error, "the watch still fails");
                            } else {
                                warn!(kind, %error, "the watch failed and is retried; is the CRD installed and the RBAC complete?");
                            }
                            failing = true;
                        }
                    }
                }
            });
        }
        store
    }
}

/// Applies the events of one watch to a store that other watches (of other namespaces) may share.
struct Follower<K> {
    objects: Arc<RwLock<HashMap<ObjectKey, Arc<K>>>>,
    /// What this watch put in, so that a new list tells what went away meanwhile.
    mine: HashSet<ObjectKey>,
    /// The keys of the list being read, if one is.
    listed: Option<HashSet<ObjectKey>>,
}

impl<K: Resource<DynamicType = ()>> Follower<K> {
    fn follow<W>(
        &mut self,
        event: watcher::Event<W>,
        open: impl Fn(W) -> Result<K, (Box<ObjectMeta>, String)>,
        seen: &impl Fn(Change<K>),
    ) {
        match event {
            watcher::Event::Init => self.listed = Some(HashSet::new()),
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => match open(object) {
                Ok(object) => self.applied(object, seen),
                Err((meta, error)) => self.invalid(meta, error, seen),
            },
            watcher::Event::Delete(object) => {
                let key = match open(object) {
                    Ok(object) => ObjectKey::of(object.meta()),
                    Err((meta, _)) => ObjectKey::of(&meta),
                };
                self.gone(&key, seen);
            }
            watcher::Event::InitDone => {
                if let Some(listed) = self.listed.take() {
                    let gone: Vec<_> = self.mine.difference(&listed).cloned().collect();
                    for key in gone {
                        self.gone(&key, seen);
                    }
                }
            }
        }
    }

    fn applied(&mut self, mut object: K, seen: &impl Fn(Change<K>)) {
        // They are most of an object's bytes and nobody here reads them.
        object.meta_mut().managed_fields = None;
        let key = ObjectKey::of(object.meta());
        let object = Arc::new(object);
        let before = self.objects.write().insert(key.clone(), object.clone());
        self.note(key);
        if before.as_ref().is_some_and(|b| b.meta().resource_version == object.meta().resource_version) {
            return; // a new list of what is known already
        }
        seen(Change::Applied(object, before));
    }

    /// What was decodable before keeps its last good form in the store.
    fn invalid(&mut self, meta: Box<ObjectMeta>, error: String, seen: &impl Fn(Change<K>)) {
        self.note(ObjectKey::of(&meta));
        seen(Change::Invalid(meta, error));
    }

    fn gone(&mut self, key: &ObjectKey, seen: &impl Fn(Change<K>)) {
        self.mine.remove(key);
        let before = self.objects.write().remove(key);
        if let Some(object) = before {
            seen(Change::Deleted(object));
        }
    }

    fn note(&mut self, key: ObjectKey) {
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        self.mine.insert(key);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use parking_lot::Mutex;

    use super::*;

    fn config_map(name: &str, version: &str) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                namespace: Some("ns".into()),
                name: Some(name.into()),
                resource_version: Some(version.into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    fn followed(events: Vec<watcher::Event<ConfigMap>>) -> (Vec<String>, Store<ConfigMap>) {
        let store = Store::default();
        let mut follower = Follower { objects: store.objects.clone(), mine: HashSet::new(), listed: None };
        let log = Mutex::new(vec![]);
        for event in events {
            follower.follow(
                event,
                |object: ConfigMap| match object.metadata.resource_version.as_deref() {
                    Some("bad") => Err((Box::new(object.metadata), "bad".to_owned())),
                    _ => Ok(object),
                },
                &|change: Change<ConfigMap>| {
                    let what = match &change {
                        Change::Applied(..) => "applied",
                        Change::Deleted(_) => "deleted",
                        Change::Invalid(..) => "invalid",
                    };
                    log.lock().push(format!("{what} {}", change.meta().name.clone().unwrap_or_default()));
                },
            );
        }
        (log.into_inner(), store)
    }

    #[test]
    fn a_relist_tells_what_was_deleted_while_nobody_watched() {
        use watcher::Event::{Init, InitApply, InitDone};
        let (log, store) = followed(vec![
            Init,
            InitApply(config_map("a", "1")),
            InitApply(config_map("b", "2")),
            InitDone,
            Init,
            InitApply(config_map("b", "2")),
            InitDone,
        ]);
        assert_eq!(log, ["applied a", "applied b", "deleted a"]);
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn an_object_that_does_not_decode_is_told_and_hides_nothing() {
        use watcher::Event::{Apply, Delete};
        let (log, store) = followed(vec![
            Apply(config_map("a", "1")),
            Apply(config_map("a", "bad")),
            Apply(config_map("b", "3")),
            Delete(config_map("a", "bad")),
        ]);
        assert_eq!(log, ["applied a", "invalid a", "applied b", "deleted a"]);
        assert!(store.get(&ObjectKey::new("ns", "b")).is_some());
    }
}
