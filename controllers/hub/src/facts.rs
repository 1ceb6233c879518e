//! What is known of the objects that others name, and the cache of bodies: each is read once per version, however many
//! want it at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kraken_runtime::hash::HashMap;

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use kraken_api::state_declaration::Withheld;
use kraken_runtime::patch::ApiError;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::{index::Named, secrets::SecretVersions};

/// How long a failure is told to everybody who asks, so that an API server in trouble gets one request from thousands.
const FAILURE: Duration = Duration::from_secs(1);

/// What is known of one object.
#[derive(Clone, Debug)]
pub enum Fact {
    /// It does not exist, and nobody is known to make it.
    Missing,
    /// It does not exist yet, and who is to make it does.
    Coming,
    /// No controller serves such a kind of resource, and which is the nearest.
    UnknownKind(Arc<str>),
    /// Several objects may be meant: which.
    Ambiguous(Arc<str>),
    /// A ConfigMap.
    ConfigMap(Arc<ConfigMapData>),
    /// A Secret: which one and which version of its keys, nothing of its content.
    Secret(Arc<SecretVersions>),
    /// A state that its owner has published.
    State(Arc<StateData>),
    /// A state that is not what the resource it is named after has published, and why.
    Untrusted(Arc<str>),
    /// An object whose content cannot be read as what it should be, and why.
    Unreadable(Arc<str>),
    /// The object could not be read for now.
    Failed(Arc<ReadError>),
}

/// What is known of everything that an asker needs.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The objects.
    pub facts: HashMap<Named, Fact>,
    /// Those among them that are made from what comes of the asker itself, each with the circle.
    pub circles: HashMap<Named, String>,
}

impl Known {
    /// An object; what is not known does not exist.
    pub fn fact(&self, named: &Named) -> &Fact {
        self.facts.get(named).unwrap_or(&Fact::Missing)
    }

    /// The first object that could not be read for now.
    pub fn failure(&self) -> Option<&Arc<ReadError>> {
        self.facts.values().find_map(|fact| match fact {
            Fact::Failed(error) => Some(error),
            _ => None,
        })
    }
}

/// The content of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateData {
    /// What paths lead into.
    pub data: Value,
    /// The main id of the resource.
    pub id: Option<String>,
    /// What is not published because it comes from a Secret.
    pub withheld: Vec<Withheld>,
}

/// The content of a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigMapData {
    /// Its text.
    pub data: BTreeMap<String, String>,
    /// The keys of its binary data, which are no text.
    pub binary: BTreeSet<String>,
}

/// An object could not be read for now: it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The object itself.
    #[error("failed to read {named}: {source}")]
    Object {
        /// Which one.
        named: String,
        /// What the API server said.
        source: ApiError,
    },
}

/// What a read found.
#[derive(Clone, Debug)]
pub struct Read {
    /// The version that was read, which may be newer than the one that was asked for.
    pub version: Option<String>,
    /// What it is.
    pub fact: Fact,
}

/// What a read ends with, shared by everybody who waited for it.
pub type Reading = Result<Arc<Read>, Arc<ReadError>>;

/// Bodies by object. At most one version of each is kept, and only while somebody names the object.
#[derive(Debug, Default)]
pub struct Cache {
    cells: Mutex<HashMap<Named, Cell>>,
}

#[derive(Debug)]
struct Cell {
    asked: String,
    since: Instant,
    reading: Shared<BoxFuture<'static, Reading>>,
}

impl Cell {
    fn holds(&self, version: &str) -> bool {
        match self.reading.peek() {
            Some(Err(_)) => self.since.elapsed() < FAILURE,
            Some(Ok(read)) => self.asked == version || read.version.as_deref() == Some(version),
            None => self.asked == version,
        }
    }
}

impl Cache {
    /// The body of this version of an object, by `read` unless it is known or being read. A failure is told to everybody
    /// who waits, and for a second to everybody who asks.
    ///
    /// # Errors
    /// As `read`.
    pub async fn get<F>(&self, named: &Named, version: &str, read: impl FnOnce() -> F) -> Reading
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
                    Cell { asked: version.to_owned(), since: Instant::now(), reading: reading.clone() };
                cells.insert(named.clone(), cell);
                reading
            }
        };
        reading.await
    }

    /// Forgets an object that is gone, or that nobody names.
    pub fn forget(&self, named: &Named) {
        self.cells.lock().remove(named);
    }

    /// How many bodies are kept.
    pub fn len(&self) -> usize {
        self.cells.lock().len()
    }

    /// Whether none are kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::core::Status;

    use super::*;
    use crate::index::Class;

    pub(crate) fn read_error() -> ReadError {
        let status = Status::failure("the server is on fire", "InternalError").with_code(500);
        let source = ApiError { verb: "read", source: Box::new(kube::Error::Api(Box::new(status))) };
        ReadError::Object { named: "ConfigMap sizes".into(), source }
    }

    fn named() -> Named {
        Named::new(Class::ConfigMap, "ns", "sizes")
    }

    fn found(version: &str) -> Read {
        Read { version: Some(version.into()), fact: Fact::ConfigMap(Arc::default()) }
    }

    /// Counts reads, and takes its time for each.
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
    async fn many_who_want_one_version_cost_one_read() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        let wanted = (0..10_000).map(|_| cache.get(&named, "1", || server.read(Ok(found("1")))));
        for result in futures::future::join_all(wanted).await {
            assert!(result.is_ok());
        }
        assert_eq!(server.reads(), 1);
        cache.get(&named, "2", || server.read(Ok(found("2")))).await.unwrap();
        assert_eq!(server.reads(), 2);
        assert_eq!(cache.len(), 1);
    }

    #[tokio::test]
    async fn a_read_that_was_ahead_of_the_watch_is_not_repeated() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        cache.get(&named, "1", || server.read(Ok(found("2")))).await.unwrap();
        cache.get(&named, "2", || server.read(Ok(found("2")))).await.unwrap();
        assert_eq!(server.reads(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shared_and_then_tried_again() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        let wanted = (0..100).map(|_| cache.get(&named, "1", || server.read(Err(read_error()))));
        assert!(futures::future::join_all(wanted).await.iter().all(Result::is_err));
        assert_eq!(server.reads(), 1);
        tokio::time::sleep(FAILURE).await;
        assert!(cache.get(&named, "1", || server.read(Ok(found("1")))).await.is_ok());
        assert_eq!(server.reads(), 2);
    }

    #[tokio::test]
    async fn one_who_gives_up_does_not_stop_the_others() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        let mut first = Box::pin(cache.get(&named, "1", || server.read(Ok(found("1")))));
        assert!(futures::poll!(first.as_mut()).is_pending());
        drop(first);
        assert!(cache.get(&named, "1", || server.read(Ok(found("1")))).await.is_ok());
        assert_eq!(server.reads(), 1);
    }

    #[tokio::test]
    async fn what_was_forgotten_is_read_again() {
        let (cache, server, named) = (Cache::default(), Server::default(), named());
        cache.get(&named, "1", || server.read(Ok(found("1")))).await.unwrap();
        cache.forget(&named);
        assert!(cache.is_empty());
        cache.get(&named, "1", || server.read(Ok(found("1")))).await.unwrap();
        assert_eq!(server.reads(), 2);
    }
}
