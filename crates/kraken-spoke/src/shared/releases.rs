//! Triggers a reconcile of deletions that wait for dependents, when a dependent is released: by a watch on the
//! DependencyRequests of every spoke, which is active only while a deletion waits. Client required.
//!
//! Without it the dependents would be listed every few seconds, and a chain of deletions would take that long at each
//! step. An event that the watch misses is still found by the next list.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream::select_all};
use kraken_api::{DependencyRequest, REFERENCES_PREFIX};
use kraken_model::{graph::Node, request::has_finalizer};
use kraken_runtime::{clock::Instant, manager::Manager, task};
use kube::{
    Api, ResourceExt,
    core::PartialObjectMeta,
    runtime::watcher::{self, watcher},
};
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;

/// How long the watch stays active without a waiting deletion, and how long a waiting deletion is kept that does not
/// register again.
const LINGER: Duration = Duration::from_mins(1);
/// The delay before a failed watch is restarted. Lists serve meanwhile.
const PAUSE: Duration = Duration::from_secs(5);

type Watched = PartialObjectMeta<DependencyRequest>;
type Enqueue = Box<dyn Fn() + Send + Sync>;

/// The deletions that wait for dependents; shared by all kinds of the process. Clones share the same state.
#[derive(Clone, Default)]
pub(crate) struct Releases {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    /// By namespace and resource: when it last registered, and the callback that enqueues it.
    waiting: BTreeMap<String, BTreeMap<Node, (Instant, Enqueue)>>,
    /// By namespace: when references were last released.
    released: BTreeMap<String, Instant>,
    watch: Option<DropGuard>,
}

impl std::fmt::Debug for Releases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Releases").field("is_watching", &self.inner.lock().watch.is_some()).finish()
    }
}

impl Releases {
    /// Registers a resource to be enqueued when references of its namespace are released, or at once if they were
    /// released since `listed_at`, when its dependents were listed. It registers again each time that it is blocked.
    pub(crate) fn wait(
        &self,
        manager: &Manager,
        namespace: &str,
        of: Node,
        listed_at: Instant,
        enqueue: Enqueue,
    ) {
        let mut inner = self.inner.lock();
        if inner.released.get(namespace).is_some_and(|released| *released >= listed_at) {
            return enqueue();
        }
        inner.waiting.entry(namespace.to_owned()).or_default().insert(of, (Instant::now(), enqueue));
        if inner.watch.is_none() {
            let stop = manager.shutdown.child_token();
            inner.watch = Some(stop.clone().drop_guard());
            task::spawn(self.clone().watch(manager.clone(), stop.clone()));
            task::spawn(self.clone().end(stop));
        }
    }

    /// When references of a namespace were last released.
    pub(crate) fn last(&self, namespace: &str) -> Option<Instant> {
        self.inner.lock().released.get(namespace).copied()
    }

    /// References of this namespace were released: its waiting deletions are enqueued.
    pub(super) fn released(&self, namespace: &str) {
        let mut inner = self.inner.lock();
        inner.released.insert(namespace.to_owned(), Instant::now());
        let waiting = inner.waiting.remove(namespace).unwrap_or_default();
        for (_, enqueue) in waiting.into_values() {
            enqueue();
        }
    }

    async fn watch(self, manager: Manager, stop: CancellationToken) {
        let (client, namespaces) = (&manager.client, manager.args.namespaces.names());
        let apis: Vec<Api<Watched>> = if namespaces.is_empty() {
            vec![Api::all(client.clone())]
        } else {
            namespaces.iter().map(|name| Api::namespaced(client.clone(), name)).collect()
        };
        let config = watcher::Config::default().any_semantic();
        let mut events = select_all(apis.into_iter().map(|api| watcher(api, config.clone()).boxed()));
        while let Some(Some(event)) = stop.run_until_cancelled(events.next()).await {
            match event {
                Ok(event) => self.handle_event(&event),
                Err(error) => {
                    debug!(%error, "failed to watch DependencyRequests");
                    if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    fn handle_event(&self, event: &watcher::Event<Watched>) {
        match event {
            watcher::Event::Delete(request) => self.released_by(request),
            watcher::Event::Apply(request) if !has_finalizer(&request.metadata) => self.released_by(request),
            watcher::Event::InitDone => {
                // Any of them may have been released while no watch was active.
                let all: Vec<String> = self.inner.lock().waiting.keys().cloned().collect();
                for namespace in &all {
                    self.released(namespace);
                }
            }
            _ => {}
        }
    }

    /// The references of this request were released: those of its namespace, and those to other namespaces.
    fn released_by(&self, request: &Watched) {
        self.released(&request.namespace().unwrap_or_default());
        for namespace in request.labels().keys().filter_map(|label| label.strip_prefix(REFERENCES_PREFIX)) {
            self.released(namespace);
        }
    }

    /// Stops the watch when no deletion waits any more.
    async fn end(self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(LINGER)).await.is_some() {
            let mut inner = self.inner.lock();
            inner.waiting.retain(|_, waiting| {
                waiting.retain(|_, (at, _)| at.elapsed() < LINGER);
                !waiting.is_empty()
            });
            inner.released.retain(|_, at| at.elapsed() < LINGER);
            if inner.waiting.is_empty() {
                inner.watch = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kraken_api::REFERENCES_FINALIZER;

    use super::*;

    fn request(namespace: &str, is_held: bool) -> Watched {
        let mut request =
            DependencyRequest::new("subnet.aws.a", kraken_api::DependencyRequestSpec::default());
        request.metadata.namespace = Some(namespace.to_owned());
        request.metadata.finalizers = is_held.then(|| vec![REFERENCES_FINALIZER.to_owned()]);
        PartialObjectMeta { types: None, metadata: request.metadata, _phantom: std::marker::PhantomData }
    }

    /// Two resources that wait in two namespaces, and how often each was enqueued.
    fn waiting() -> (Releases, [Arc<AtomicUsize>; 2]) {
        let (releases, enqueued) = (Releases::default(), <[Arc<AtomicUsize>; 2]>::default());
        for (namespace, enqueued) in ["a", "b"].into_iter().zip(enqueued.clone()) {
            let enqueue: Enqueue = Box::new(move || {
                enqueued.fetch_add(1, Ordering::SeqCst);
            });
            let of = ("vpc.aws".to_owned(), "main".to_owned());
            let at = (Instant::now(), enqueue);
            releases.inner.lock().waiting.entry(namespace.to_owned()).or_default().insert(of, at);
        }
        (releases, enqueued)
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_deletion_is_enqueued_only_by_releases_in_its_namespace() {
        let (releases, [a, b]) = waiting();
        let enqueued = || (a.load(Ordering::SeqCst), b.load(Ordering::SeqCst));
        releases.handle_event(&watcher::Event::InitApply(request("a", true)));
        releases.handle_event(&watcher::Event::Apply(request("a", true)));
        assert_eq!((enqueued(), releases.last("a")), ((0, 0), None));
        releases.handle_event(&watcher::Event::Delete(request("a", true)));
        assert_eq!((enqueued(), releases.last("a")), ((1, 0), Some(Instant::now())));
        releases.handle_event(&watcher::Event::Delete(request("a", true)));
        assert_eq!(enqueued(), (1, 0), "it must register again");
        releases.handle_event(&watcher::Event::Apply(request("b", false)));
        assert_eq!(enqueued(), (1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_deletion_is_enqueued_by_the_release_of_a_reference_from_another_namespace() {
        let (releases, [a, b]) = waiting();
        let mut other = request("c", true);
        other.metadata.labels = Some([(format!("{REFERENCES_PREFIX}a"), String::new())].into());
        releases.handle_event(&watcher::Event::Delete(other));
        assert_eq!((a.load(Ordering::SeqCst), b.load(Ordering::SeqCst)), (1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn restarted_watch_enqueues_every_waiting_deletion() {
        let (releases, enqueued) = waiting();
        releases.handle_event(&watcher::Event::InitDone);
        assert_eq!(enqueued.map(|enqueued| enqueued.load(Ordering::SeqCst)), [1, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn watch_stops_when_no_deletion_waits() {
        let (releases, _) = waiting();
        let stop = CancellationToken::new();
        releases.inner.lock().watch = Some(stop.clone().drop_guard());
        task::spawn(releases.clone().end(stop.clone()));
        tokio::time::sleep(LINGER / 2).await;
        assert!(!stop.is_cancelled());
        tokio::time::sleep(LINGER * 2).await;
        assert!(stop.is_cancelled() && releases.inner.lock().watch.is_none());
    }
}
