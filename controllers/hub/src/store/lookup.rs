//! Lookups of referenced objects, and the cache of their bodies: each version is read once, for all concurrent lookups.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use kraken_runtime::hash::{HashMap, HashSet};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use kraken_api::state_declaration::Withheld;
use kraken_runtime::patch::ApiError;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::{store::index::ObjectRef, store::secrets::SecretVersions};

/// The time for which a failure is cached, so that a failing API server gets one request instead of thousands.
const FAILURE: Duration = Duration::from_secs(1);

/// The result of looking up one object.
#[derive(Clone, Debug)]
pub(crate) enum Lookup {
    /// It does not exist, and no producer is known.
    Missing,
    /// It does not exist yet, but its producer does.
    Expected,
    /// No controller serves the kind; the message suggests the most similar one.
    UnknownKind(Arc<str>),
    /// The reference is ambiguous: the candidates.
    Ambiguous(Arc<str>),
    /// A ConfigMap.
    ConfigMap(Arc<ConfigMapData>),
    /// A Secret: its identity and the versions of its keys, without content.
    Secret(Arc<SecretVersions>),
    /// A state that its owner published.
    State(Arc<StateData>),
    /// The object is in another namespace, which does not permit the reference: the message. Whether it exists is not looked up.
    NotPermitted(Arc<str>),
    /// A state that is not trusted, and why.
    Untrusted(Arc<str>),
    /// An object whose content cannot be decoded, and why.
    Unreadable(Arc<str>),
    /// The object could not be read.
    Failed(Arc<ReadError>),
}

/// The lookups of all dependencies of a dependent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// The results by object.
    pub(crate) lookup: HashMap<ObjectRef, Lookup>,
    /// The objects that depend on the dependent itself, each with the message about the cycle.
    pub(crate) cycles: HashMap<ObjectRef, String>,
    /// The objects that depend on the dependent, which is created without them: they appear only after it was told that they are
    /// missing.
    pub(crate) mutual: HashSet<ObjectRef>,
}

impl Lookups {
    /// The result for an object; an unknown object does not exist.
    pub(crate) fn lookup(&self, named: &ObjectRef) -> &Lookup {
        self.lookup.get(named).unwrap_or(&Lookup::Missing)
    }

    /// The first object that could not be read.
    pub(crate) fn failure(&self) -> Option<&Arc<ReadError>> {
        self.lookup.values().find_map(|lookup| match lookup {
            Lookup::Failed(error) => Some(error),
            _ => None,
        })
    }
}

/// The content of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StateData {
    /// The data that paths are evaluated on.
    pub(crate) data: Value,
    /// The main id of the resource.
    pub(crate) id: Option<String>,
    /// The parts that are not published because they come from a Secret.
    pub(crate) withheld: Vec<Withheld>,
}

/// The content of a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigMapData {
    /// Its text data.
    pub(crate) data: BTreeMap<String, String>,
    /// The keys of its binary data, which cannot be referenced.
    pub(crate) binary: BTreeSet<String>,
}

/// An object could not be read; it is retried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The object itself.
    #[error("failed to read {named}: {source}")]
    Object {
        /// Which one.
        named: String,
        /// The response of the API server.
        source: ApiError,
    },
}

/// The result of a read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The version that was read, which may be newer than the requested one.
    pub(crate) version: Option<String>,
    /// The result.
    pub(crate) lookup: Lookup,
}

/// The shared result of a read, for all waiters.
pub(crate) type SharedRead = Result<Arc<Read>, Arc<ReadError>>;

/// How many bodies of objects that nothing stored refers to are kept: a body has at most 1.5 MiB.
pub(crate) const RECENT: usize = 16;

/// Cached bodies by object. At most one version of each is kept, and only while the object is referenced, or one of those that
/// reviews read last.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    cells: Mutex<HashMap<ObjectRef, Cell>>,
    /// The objects that nothing stored refers to, the one read last at the end.
    recent: Mutex<VecDeque<ObjectRef>>,
}

#[derive(Debug)]
struct Cell {
    requested: String,
    since: Instant,
    reading: Shared<BoxFuture<'static, SharedRead>>,
}

impl Cell {
    fn holds(&self, version: &str) -> bool {
        match self.reading.peek() {
            Some(Err(_)) => self.since.elapsed() < FAILURE,
            Some(Ok(read)) => self.requested == version || read.version.as_deref() == Some(version),
            None => self.requested == version,
        }
    }
}

impl Cache {
    /// The body of this version of an object, by `read` unless it is cached or being read. A failure is returned to all
    /// waiters, and cached for a second.
    ///
    /// # Errors
    /// As `read`.
    pub(crate) async fn get<F>(
        &self,
        named: &ObjectRef,
        version: &str,
        read: impl FnOnce() -> F,
    ) -> SharedRead
    where
        F: Future<Output = Result<Read, ReadError>> + Send + 'static,
    {
        let reading = {
            let mut cells = self.cells.lock();
            if let Some(cell) = cells.get(named).filter(|cell| cell.holds(version)) {
                cell.reading.clone()
            } else {
                let reading = read().map(|read| read.map(Arc::new).map_err(Arc::new)).boxed().shared();
                let cell =
                    Cell { requested: version.to_owned(), since: Instant::now(), reading: reading.clone() };
                cells.insert(named.clone(), cell);
                reading
            }
        };
        reading.await
    }

    /// Keeps the body of an object that nothing stored refers to, and returns the object whose body it replaces: a review is
    /// often followed by others with the same references, before the first one is stored.
    pub(crate) fn keep(&self, named: &ObjectRef) -> Option<ObjectRef> {
        let mut recent = self.recent.lock();
        recent.retain(|other| other != named);
        recent.push_back(named.clone());
        if recent.len() > RECENT { recent.pop_front() } else { None }
    }

    /// Removes an object that is deleted or no longer referenced.
    pub(crate) fn forget(&self, named: &ObjectRef) {
        self.cells.lock().remove(named);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::core::Status;

    use super::*;
    use crate::store::index::Class;

    pub(crate) fn read_error() -> ReadError {
        let status = Status::failure("the server is unavailable", "InternalError").with_code(500);
        let source = ApiError { verb: "read", source: Box::new(kube::Error::Api(Box::new(status))) };
        ReadError::Object { named: "ConfigMap sizes".into(), source }
    }

    fn named() -> ObjectRef {
        ObjectRef::new(Class::ConfigMap, "ns", "sizes")
    }

    fn found(version: &str) -> Read {
        Read { version: Some(version.into()), lookup: Lookup::ConfigMap(Arc::default()) }
    }

    /// Counts reads, and delays each.
    #[derive(Default)]
    struct Server {
        reads: Arc<AtomicUsize>,
    }

    impl Server {
        fn read(
            &self,
            result: Result<Read, ReadError>,
        ) -> impl Future<Output = Result<Read, ReadError>> + use<> {
            let reads = self.reads.clone();
            async move {
                reads.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                result
            }
        }

        fn reads(&self) -> usize {
            self.reads.load(Ordering::SeqCst)
        }
    }

    #[tokio::test]
    async fn concurrent_lookups_of_one_version_share_one_read() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        let wanted = (0..10_000).map(|_| cache.get(&named, "1", || server.read(Ok(found("1")))));
        for result in futures::future::join_all(wanted).await {
            assert!(result.is_ok());
        }
        assert_eq!(server.reads(), 1);
        cache.get(&named, "2", || server.read(Ok(found("2")))).await.unwrap();
        assert_eq!(server.reads(), 2);
        assert_eq!(cache.cells.lock().len(), 1);
    }

    #[tokio::test]
    async fn a_read_ahead_of_the_watch_is_not_repeated() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        cache.get(&named, "1", || server.read(Ok(found("2")))).await.unwrap();
        cache.get(&named, "2", || server.read(Ok(found("2")))).await.unwrap();
        assert_eq!(server.reads(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shared_and_then_retried() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        let wanted = (0..100).map(|_| cache.get(&named, "1", || server.read(Err(read_error()))));
        assert!(futures::future::join_all(wanted).await.iter().all(Result::is_err));
        assert_eq!(server.reads(), 1);
        tokio::time::sleep(FAILURE).await;
        assert!(cache.get(&named, "1", || server.read(Ok(found("1")))).await.is_ok());
        assert_eq!(server.reads(), 2);
    }

    #[tokio::test]
    async fn a_cancelled_lookup_does_not_cancel_the_shared_read() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        let mut first = Box::pin(cache.get(&named, "1", || server.read(Ok(found("1")))));
        assert!(futures::poll!(first.as_mut()).is_pending());
        drop(first);
        assert!(cache.get(&named, "1", || server.read(Ok(found("1")))).await.is_ok());
        assert_eq!(server.reads(), 1);
    }

    #[tokio::test]
    async fn a_removed_object_is_read_again() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        cache.get(&named, "1", || server.read(Ok(found("1")))).await.unwrap();
        cache.forget(&named);
        assert!(cache.cells.lock().is_empty());
        cache.get(&named, "1", || server.read(Ok(found("1")))).await.unwrap();
        assert_eq!(server.reads(), 2);
    }
}
