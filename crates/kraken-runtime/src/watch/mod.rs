//! Guarded watches: each kind has its own task, backoff and store, and deletions are delivered.
//!
//! The watches of kube's `Controller` share one backoff, and its shared stores lose deletions. Here a missing CRD
//! affects only its own watch, and an object that cannot be decoded is reported and skipped.

mod follower;
mod kept;
mod outage;
mod raw;
mod store;

use std::{fmt::Debug, sync::Arc};

use futures::StreamExt;
use kube::{
    Api, Client, Resource,
    api::ObjectMeta,
    core::{ApiResource, DeserializeGuard, NamespaceResourceScope, PartialObjectMeta},
    runtime::watcher,
};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::{
    metrics::Metrics,
    mutants::{self, Mutant},
    serve::Health,
};
use follower::{Follower, Opened};
use kept::{Decode, Kept, essential};
use outage::Outage;
pub use raw::RawObject;
pub use store::{Change, ObjectKey, Store, version};

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
            let mut follower = Follower::of(&store);
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
                            let delay = outage.failed(kind, &error, &beat);
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

#[cfg(test)]
mod tests;
