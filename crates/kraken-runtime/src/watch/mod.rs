//! Guarded watches: each kind has its own task, backoff and store, and deletions are delivered.
//!
//! The watches of kube's `Controller` share one backoff, and its shared stores lose deletions. Here a missing CRD
//! affects only its own watch, and an object that cannot be decoded is reported and skipped.

mod follower;
mod guarded;
mod key;
mod outage;
mod presence;
mod raw;
mod routes;
mod store;
mod stored;

use std::{fmt::Debug, sync::Arc, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Client, Resource,
    core::{ApiResource, ClusterResourceScope, NamespaceResourceScope, PartialObjectMeta},
    runtime::watcher,
};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::{clock, metrics::Metrics, serve::Health};
use follower::{Follower, Opened};
use guarded::Guarded;
pub use key::ObjectKey;
use outage::{Failure, Outage};
use presence::Probe;
pub use presence::{Presence, Served};
pub use raw::RawObject;
use routes::Router;
pub use routes::Routes;
pub use store::{Change, Store, version};
use stored::{Decode, Stored, essential};

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

/// A namespaced kind whose type is known at compile time.
pub trait NamespacedKind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static
{
}

impl<K> NamespacedKind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static
{
}

impl Watches {
    /// Watches whole objects of one kind. `seen` is called for every change, in order, and must not block.
    pub fn objects<K: NamespacedKind + DeserializeOwned>(
        &self,
        kind: &'static str,
        config: &watcher::Config,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
    ) -> Store<K> {
        let apis: Vec<Api<Guarded<K>>> = self.apis(Api::all, Api::namespaced);
        let store = Store::default();
        self.spawn(kind, apis, config, || following(store.clone(), seen.clone(), whole::<K>));
        store
    }

    /// Watches whole objects of a kind of the cluster, whichever namespaces are watched. `seen` as in [`Self::objects`].
    pub fn cluster_objects<K>(
        &self,
        kind: &'static str,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
    ) -> Store<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + Send + Sync + 'static,
        K: DeserializeOwned,
    {
        let (apis, store) = (vec![Api::<Guarded<K>>::all(self.client.0.clone())], Store::default());
        self.spawn(kind, apis, &watcher::Config::default(), || {
            following(store.clone(), seen.clone(), whole::<K>)
        });
        store
    }

    /// As [`Self::objects`], for a kind that another component brings: the process is ready without it as long as the API server
    /// does not serve the kind. If the kind is `needed`, `/readyz` still reports that it is absent.
    pub fn optional_objects<K: NamespacedKind + DeserializeOwned>(
        &self,
        kind: &'static str,
        needed: bool,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
    ) -> (Store<K>, Served) {
        let store = Store::default();
        let apis: Vec<Api<Guarded<K>>> = self.apis(Api::all, Api::namespaced);
        let probes: Vec<Arc<Probe>> = apis.iter().map(|_| Arc::default()).collect();
        let served = Served::of(&probes);
        let mut probes = probes.into_iter();
        let optional = || {
            let (store, probe) = (store.clone(), probes.next()?);
            Some(Optional { probe, needed, is_empty: Box::new(move || store.is_empty()) })
        };
        let follow = || following(store.clone(), seen.clone(), whole::<K>);
        self.spawn_optional(kind, apis, &watcher::Config::default(), follow, optional);
        (store, served)
    }

    /// Watches whole objects of one kind, for the stores of these routes.
    pub fn routed_objects<K: NamespacedKind + DeserializeOwned>(
        &self,
        kind: &'static str,
        routes: &Routes<K>,
    ) {
        let apis: Vec<Api<Guarded<K>>> = self.apis(Api::all, Api::namespaced);
        self.spawn(kind, apis, &routes.config(), || routing(Router::of(routes), whole::<K>));
    }

    /// Watches whole objects of a kind that is known only at run time; `decode` converts each to the type that the store returns.
    /// The store keeps the text, so each access decodes, except in a simulation.
    pub fn decoded<K>(
        &self,
        kind: &'static str,
        resource: &ApiResource,
        seen: impl Fn(Change<K>) + Send + Sync + Clone + 'static,
        decode: impl Fn(&RawObject) -> K + Send + Sync + 'static,
    ) -> Store<K>
    where
        K: Resource + Send + Sync + 'static,
    {
        let apis: Vec<Api<RawObject>> = self.apis(
            |client| Api::all_with(client, resource),
            |client, namespace| Api::namespaced_with(client, namespace, resource),
        );
        let decode: Decode<K> = Arc::new(decode);
        let open = move |raw: RawObject| {
            let object = Arc::new(decode(&raw));
            let raw = Box::new(raw);
            let stored = if clock::is_simulated() {
                Stored::Both(raw, object.clone())
            } else {
                Stored::Raw(raw, decode.clone())
            };
            Ok((object, stored))
        };
        let (store, config) = (Store::default(), watcher::Config::default());
        self.spawn(kind, apis, &config, || following(store.clone(), seen.clone(), open.clone()));
        store
    }

    /// Watches only the metadata of one kind; bodies are read on demand. Only the identity and version, the owners, and
    /// Kraken's own labels and annotations are kept: the annotation of `kubectl apply` contains the whole object,
    /// including the values of a Secret.
    pub fn metadata<K: NamespacedKind>(
        &self,
        kind: &'static str,
        config: &watcher::Config,
        seen: impl Fn(Change<PartialObjectMeta<K>>) + Send + Sync + Clone + 'static,
    ) -> Store<PartialObjectMeta<K>> {
        let apis: Vec<Api<PartialObjectMeta<K>>> = self.apis(Api::all, Api::namespaced);
        let store = Store::default();
        self.spawn(kind, apis, config, || following(store.clone(), seen.clone(), only_metadata::<K>));
        store
    }

    /// Watches only the metadata of one kind, as [`Self::metadata`] does, for the stores of these routes.
    pub fn routed_metadata<K: NamespacedKind>(
        &self,
        kind: &'static str,
        routes: &Routes<PartialObjectMeta<K>>,
    ) {
        let apis: Vec<Api<PartialObjectMeta<K>>> = self.apis(Api::all, Api::namespaced);
        self.spawn(kind, apis, &routes.config(), || routing(Router::of(routes), only_metadata::<K>));
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

    /// Starts the watches. Each passes its events to a function of its own, which `follow` creates.
    fn spawn<W, F>(
        &self,
        kind: &'static str,
        apis: Vec<Api<W>>,
        config: &watcher::Config,
        follow: impl Fn() -> F,
    ) where
        W: Resource + DeserializeOwned + Clone + Debug + Send + 'static,
        F: FnMut(watcher::Event<W>) + Send + 'static,
    {
        self.spawn_optional(kind, apis, config, follow, || None);
    }

    /// The same, with what is optional about each watch.
    fn spawn_optional<W, F>(
        &self,
        kind: &'static str,
        apis: Vec<Api<W>>,
        config: &watcher::Config,
        follow: impl Fn() -> F,
        mut optional: impl FnMut() -> Option<Optional>,
    ) where
        W: Resource + DeserializeOwned + Clone + Debug + Send + 'static,
        F: FnMut(watcher::Event<W>) + Send + 'static,
    {
        for api in apis {
            let optional = optional();
            let beat = match &optional {
                Some(optional) => self.health.register_optional_watch(kind, optional.needed),
                None => self.health.register_watch(kind),
            };
            let (metrics, shutdown, mut follow) = (self.metrics.clone(), self.shutdown.clone(), follow());
            let mut events = Box::pin(watcher(api, config.clone()));
            crate::task::spawn(async move {
                let mut outage = Outage::default();
                while let Some(Some(event)) = shutdown.run_until_cancelled(events.next()).await {
                    match event {
                        Ok(event) => {
                            let done = matches!(event, watcher::Event::InitDone);
                            // Each attempt to list begins with an event, which does not mean success.
                            if done || matches!(event, watcher::Event::Apply(_) | watcher::Event::Delete(_)) {
                                outage.ended(kind);
                                beat.beat();
                            }
                            follow(event);
                            if done {
                                beat.synced();
                                if let Some(optional) = &optional {
                                    optional.probe.synced();
                                }
                            }
                        }
                        Err(error) => {
                            let is_optional = optional.as_ref().is_some_and(|optional| (optional.is_empty)());
                            let (failure, delay) = outage.failed(kind, &error, &beat, is_optional);
                            if failure != Failure::Absent {
                                metrics.watch_failed(kind);
                            }
                            if shutdown
                                .run_until_cancelled(pause(delay, optional.as_ref(), failure))
                                .await
                                .is_none()
                            {
                                break;
                            }
                        }
                    }
                }
            });
        }
    }
}

/// The parts of a watch whose kind another component brings.
struct Optional {
    probe: Arc<Probe>,
    needed: bool,
    /// Whether the store has no objects: a kind that is not served any more has none.
    is_empty: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Waits until the next attempt, which a reader of an optional kind hastens.
async fn pause(delay: Duration, optional: Option<&Optional>, failure: Failure) {
    let Some(Optional { probe, .. }) = optional else { return tokio::time::sleep(delay).await };
    match failure {
        Failure::Absent => probe.absent(),
        Failure::Rejected => probe.failed("the API server rejects the list".to_owned()),
        Failure::Passing => probe.failed("the API server did not list the kind".to_owned()),
    }
    let _ = tokio::time::timeout(delay, probe.hastened()).await;
    probe.begins();
}

/// Applies the events of a watch to one store.
fn following<W, K: Resource>(
    store: Store<K>,
    seen: impl Fn(Change<K>),
    open: impl Fn(W) -> Opened<K>,
) -> impl FnMut(watcher::Event<W>) {
    let mut follower = Follower::of(&store);
    move |event| follower.follow(event, &open, &seen)
}

/// Applies the events of a watch to the stores of several routes.
fn routing<W: Resource, K: Resource>(
    mut router: Router<K>,
    open: impl Fn(W) -> Opened<K>,
) -> impl FnMut(watcher::Event<W>) {
    move |event| router.follow(event, &open)
}

fn whole<K: Resource>(guard: Guarded<K>) -> Opened<K> {
    let mut object = guard.0.0.map_err(|error| (Box::new(error.metadata), error.error))?;
    // managedFields are most of an object's bytes and are not used.
    object.meta_mut().managed_fields = None;
    let object = Arc::new(object);
    Ok((object.clone(), Stored::Whole(object)))
}

#[allow(clippy::unnecessary_wraps)] // the form of objects that may not decode
fn only_metadata<K>(mut object: PartialObjectMeta<K>) -> Opened<PartialObjectMeta<K>> {
    object.metadata = essential(object.metadata);
    let object = Arc::new(object);
    Ok((object.clone(), Stored::metadata(object)))
}

#[cfg(test)]
mod tests;
