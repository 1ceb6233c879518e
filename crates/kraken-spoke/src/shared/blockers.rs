//! The dependents of a resource that is being deleted: they are deleted first; and of one that was replaced. Client required only
//! to list them.
//!
//! In many cases the provider would reject the deletion anyway, but each attempt costs a call, and its message names no
//! resource.

use std::{sync::Arc, time::Duration};

use kraken_api::{DependencyRequest, REFERENCES_PREFIX};
use kraken_model::graph::{Graph, Node, blockers, graph_of, owner_seen_from};
use kraken_runtime::{
    Manager,
    hash::HashMap,
    patch::{ApiError, within},
};
use kube::{Api, api::ListParams};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    actions::references::apis,
    shared::{dependents::DependentKinds, releases::Releases},
};

/// The maximum age of a list without dependents: remote objects are deleted because of it.
const FRESH: Duration = Duration::from_secs(1);
/// The maximum age of a list with dependents. It starts at `FRESH` and doubles while the list does not change: a
/// protected resource may block others for days.
const STALE: Duration = Duration::from_secs(8);

/// The recently listed references of each namespace with a deletion in progress; shared by all kinds of the process.
/// Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    namespaces: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<Listed>>>>>,
    /// The deletions that wait for dependents to be deleted.
    pub(crate) releases: Releases,
    /// The kinds of dependents of replaced resources.
    pub(crate) kinds: DependentKinds,
}

/// The latest list of one namespace.
#[derive(Debug, Default)]
struct Listed {
    newest: Option<(Instant, Arc<List>)>,
    /// How long the list is valid while it shows dependents.
    serves: Duration,
}

#[derive(Debug)]
struct List {
    graph: Graph,
    requests: Vec<DependencyRequest>,
}

impl References {
    /// The requests of the resources that refer to this one, as they are now, except those that it depends on in turn.
    pub(crate) async fn dependents(
        &self,
        manager: &Manager,
        namespace: &str,
        of: &Node,
        since: Instant,
    ) -> Result<Vec<DependencyRequest>, ApiError> {
        let listed = self.of(namespace);
        let mut listed = listed.lock().await;
        let known = listed.newest.as_ref().filter(|(at, _)| *at >= since && at.elapsed() < FRESH);
        let list = if let Some((_, list)) = known {
            list.clone()
        } else {
            let at = Instant::now();
            let list = Arc::new(list(manager, namespace).await?);
            listed.newest = Some((at, list.clone()));
            list
        };
        let dependents = blockers(&list.graph, of);
        let is_dependent = |request: &&DependencyRequest| {
            owner_seen_from(namespace, request).is_some_and(|owner| dependents.contains(&owner))
        };
        Ok(list.requests.iter().filter(is_dependent).cloned().collect())
    }

    /// The resources that refer to this one and must be deleted first, as `kind name`.
    pub(crate) async fn blockers(
        &self,
        manager: &Manager,
        namespace: &str,
        of: &Node,
    ) -> Result<Vec<String>, ApiError> {
        let listed = self.of(namespace);
        // Held during the list call: other callers wait for its result instead of making their own call.
        let mut listed = listed.lock().await;
        let mut is_outdated = false;
        if let Some((at, list)) = &listed.newest {
            let blockers = blockers(&list.graph, of);
            // A list that shows dependents too long delays a deletion; a list without dependents must be current.
            let serves = if blockers.is_empty() { FRESH } else { listed.serves };
            is_outdated = self.releases.last(namespace).is_some_and(|released| released >= *at);
            if at.elapsed() < serves && !is_outdated {
                return Ok(named(blockers));
            }
        }
        // From before the request: the response may not show a release whose event arrives earlier than the response.
        let at = Instant::now();
        let list = Arc::new(list(manager, namespace).await?);
        let is_same =
            listed.newest.as_ref().is_some_and(|(_, before)| before.graph == list.graph) && !is_outdated;
        listed.serves = if is_same { (listed.serves * 2).clamp(FRESH, STALE) } else { FRESH };
        listed.newest = Some((at, list.clone()));
        Ok(named(blockers(&list.graph, of)))
    }

    fn of(&self, namespace: &str) -> Arc<tokio::sync::Mutex<Listed>> {
        let mut namespaces = self.namespaces.lock();
        // Lists that were not used for a while are dropped; a locked list is in use.
        let is_in_use = |listed: &Arc<tokio::sync::Mutex<Listed>>| {
            let Ok(listed) = listed.try_lock() else { return true };
            listed.newest.as_ref().is_some_and(|(at, _)| at.elapsed() < STALE * 2)
        };
        namespaces.retain(|name, listed| name == namespace || is_in_use(listed));
        namespaces.entry(namespace.to_owned()).or_default().clone()
    }
}

async fn list(manager: &Manager, namespace: &str) -> Result<List, ApiError> {
    let api: Api<DependencyRequest> = Api::namespaced(manager.client.clone(), namespace);
    // The most recent state: the API server's cache may be older by any time, and an object in use would be deleted.
    let params = ListParams::default();
    let mut requests = within("list the references of the namespace", api.list(&params)).await?.items;
    let from_others = params.labels(&format!("{REFERENCES_PREFIX}{namespace}"));
    for api in apis(manager) {
        let list = within("list the references of other namespaces", api.list(&from_others)).await?;
        let is_of_another =
            |request: &DependencyRequest| request.metadata.namespace.as_deref() != Some(namespace);
        requests.extend(list.items.into_iter().filter(is_of_another));
    }
    Ok(List { graph: graph_of(namespace, &requests), requests })
}

fn named(blockers: Vec<Node>) -> Vec<String> {
    let shown = |(kind, name): Node| format!("{} {name}", kind.split('.').next().unwrap_or_default());
    blockers.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An API server on which `subnet a` refers to `vpc a`, and which counts its list calls.
    fn server() -> (Manager, Arc<std::sync::atomic::AtomicUsize>) {
        let lists = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = lists.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let is_of_namespace = request.uri().path().contains("/namespaces/");
            counted.fetch_add(usize::from(is_of_namespace), std::sync::atomic::Ordering::SeqCst);
            let none = serde_json::json!({"metadata": {}, "items": []});
            let one = serde_json::json!({"metadata": {}, "items": [{
                "metadata": {"name": "subnet-a", "namespace": "ns", "ownerReferences": [
                    {"apiVersion": "a/v1", "kind": "Subnet", "name": "a", "uid": "u", "controller": true}]},
                "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": "a", "type": "any"}]},
            }]});
            let body = if is_of_namespace { one } else { none };
            async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let body = kube::client::Body::from(body.to_string().into_bytes());
                Ok::<_, std::io::Error>(http::Response::new(body))
            }
        });
        let client = kube::Client::new(service, "default");
        (
            Manager::detached(
                "kraken-test",
                client,
                kraken_runtime::RunArgs::default(),
                "cluster".to_owned(),
            ),
            lists,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn deletions_of_all_kinds_share_a_list_and_a_long_block_is_listed_rarely() {
        let (manager, lists) = server();
        let (vpc, references) = (("vpc".to_owned(), "a".to_owned()), References::default());
        let other_kind = references.clone();
        let all = (0..1000).map(|n| {
            let references = if n % 2 == 0 { &references } else { &other_kind };
            references.blockers(&manager, "ns", &vpc)
        });
        for blockers in futures::future::join_all(all).await {
            assert_eq!(blockers.unwrap(), ["subnet a"]);
        }
        assert_eq!(lists.load(std::sync::atomic::Ordering::SeqCst), 1);
        for _ in 0..300 {
            references.blockers(&manager, "ns", &vpc).await.unwrap();
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        let listed = lists.load(std::sync::atomic::Ordering::SeqCst);
        assert!((60..90).contains(&listed), "{listed} lists in ten minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn release_during_a_list_makes_the_list_outdated() {
        let (manager, lists) = server();
        let (vpc, references) = (("vpc".to_owned(), "a".to_owned()), References::default());
        let listing = references.blockers(&manager, "ns", &vpc);
        let release = async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            references.releases.released("ns");
        };
        let (blockers, ()) = futures::join!(listing, release);
        assert_eq!(blockers.unwrap(), ["subnet a"]);
        references.blockers(&manager, "ns", &vpc).await.unwrap();
        assert_eq!(lists.load(std::sync::atomic::Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn absence_of_dependents_requires_a_fresh_list() {
        let (manager, lists) = server();
        let (vpc, subnet) = (("vpc".to_owned(), "a".to_owned()), ("subnet".to_owned(), "a".to_owned()));
        let references = References::default();
        for _ in 0..5 {
            references.blockers(&manager, "ns", &vpc).await.unwrap();
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        references.blockers(&manager, "ns", &vpc).await.unwrap();
        let before = lists.load(std::sync::atomic::Ordering::SeqCst);
        tokio::time::sleep(FRESH).await;
        assert!(references.blockers(&manager, "ns", &subnet).await.unwrap().is_empty());
        assert_eq!(lists.load(std::sync::atomic::Ordering::SeqCst), before + 1);
    }
}
