//! The Secrets that specs refer to, read by who needs them: the hub passes on only which version there is.
//!
//! A sweep of a thousand resources that name one Secret must not read it a thousand times. So an answer of the API server is
//! shared by those who ask within a few seconds for the version that the hub names, and then wiped: no value stays in
//! memory between two sweeps.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kraken_runtime::hash::HashMap;

use k8s_openapi::api::core::v1::Secret;
use kraken_api::dependency_request::SecretVersion;
use kraken_options::{Dependencies, Dependency, KeyRef, SecretData, Values};
use kraken_runtime::{
    patch::{ApiError, within},
    watch::ObjectKey,
};
use kube::{Api, Client, ResourceExt};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

/// How long a Secret that was read serves others: as long as a sweep takes to begin.
const SHARED: Duration = Duration::from_secs(5);

/// The answers of the hub: name, key, version.
type Answered = BTreeMap<String, BTreeMap<String, SecretVersion>>;

/// A Secret as it was read: its keys that are text, and those that are not.
#[derive(Debug)]
struct Content {
    version: String,
    keys: BTreeMap<String, Result<SecretString, NotText>>,
}

#[derive(Clone, Copy, Debug)]
struct NotText;

/// What was read a moment ago: when, for which version of the hub's, and what.
#[derive(Debug, Default)]
struct Cell {
    read: Option<(Instant, String, Arc<Content>)>,
}

/// The Secrets that were read a moment ago. Cloning gives another handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    cells: Arc<Mutex<HashMap<ObjectKey, Arc<tokio::sync::Mutex<Cell>>>>>,
}

impl Secrets {
    /// Reads the wanted keys of every referenced Secret. A key without a value is told by its cause.
    pub(crate) async fn read(
        &self,
        client: &Client,
        namespace: &str,
        dependencies: &Dependencies,
        answered: &Answered,
        values: &mut Values,
    ) -> Result<(), ApiError> {
        let names: BTreeSet<&str> = dependencies.secrets.iter().map(|key| key.name.as_str()).collect();
        for name in names {
            let version = answered.get(name).and_then(version);
            let key = ObjectKey::new(namespace, name);
            let Some(content) = self.content(client, &key, version.as_deref()).await? else { continue };
            let wanted = dependencies.secrets.iter().filter(|key| key.name == name);
            let mut data = chosen(&content, wanted, &mut values.causes);
            // The hub's version is another one only if a value is: a label that changes on the Secret is no edit.
            if let Some(version) = version {
                data.version = version;
            }
            values.secrets.insert(name.to_owned(), data);
        }
        Ok(())
    }

    /// The Secret, if it exists: read once for all who ask at about the same time for the version that the hub named.
    async fn content(
        &self,
        client: &Client,
        key: &ObjectKey,
        version: Option<&str>,
    ) -> Result<Option<Arc<Content>>, ApiError> {
        let cell = self.cells.lock().entry(key.clone()).or_default().clone();
        // Held while it is read: the others wait for that answer instead of asking too.
        let mut held = cell.lock().await;
        if let Some((at, asked, content)) = &held.read
            && at.elapsed() < SHARED
            && version.is_some_and(|version| version == asked || version == content.version)
        {
            return Ok(Some(content.clone()));
        }
        held.read = None;
        let api: Api<Secret> = Api::namespaced(client.clone(), &key.namespace);
        let found = within("read a referenced Secret", api.get_opt(&key.name)).await;
        let content = found.as_ref().ok().and_then(Option::as_ref).map(|secret| Arc::new(content_of(secret)));
        // Without a version nobody could tell whether it is still the right one.
        if let (Some(content), Some(version)) = (&content, version) {
            held.read = Some((Instant::now(), version.to_owned(), content.clone()));
        }
        drop(held);
        self.wipe_later(key.clone(), cell);
        found.map(|_| content)
    }

    /// Forgets a Secret when it has served its time, and its place with it.
    fn wipe_later(&self, key: ObjectKey, cell: Arc<tokio::sync::Mutex<Cell>>) {
        let cells = self.cells.clone();
        kraken_runtime::task::spawn(async move {
            tokio::time::sleep(SHARED).await;
            let mut held = cell.lock().await;
            if held.read.as_ref().is_none_or(|(at, ..)| at.elapsed() >= SHARED) {
                held.read = None;
                let mut cells = cells.lock();
                // Somebody who waits for this very place would read in vain for others.
                if cells.get(&key).is_some_and(|now| Arc::ptr_eq(now, &cell)) {
                    cells.remove(&key);
                }
            }
        });
    }
}

fn content_of(secret: &Secret) -> Content {
    let version =
        format!("{}/{}", secret.uid().unwrap_or_default(), secret.resource_version().unwrap_or_default());
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(SecretString::from(text)),
        Err(_) => Err(NotText),
    };
    let keys = secret.data.iter().flatten().map(|(key, bytes)| (key.clone(), text(&bytes.0)));
    Content { version, keys: keys.collect() }
}

/// The keys that one resource wants.
fn chosen<'a>(
    content: &Content,
    wanted: impl Iterator<Item = &'a KeyRef>,
    causes: &mut BTreeMap<Dependency, String>,
) -> SecretData {
    let mut keys = BTreeMap::new();
    for wanted in wanted {
        let cause = match content.keys.get(&wanted.key) {
            None => format!("Secret {} has no key \"{}\"", wanted.name, wanted.key),
            Some(Ok(text)) => {
                keys.insert(wanted.key.clone(), SecretString::from(text.expose_secret()));
                continue;
            }
            Some(Err(NotText)) => {
                format!("Secret {} key \"{}\" is not text (UTF-8)", wanted.name, wanted.key)
            }
        };
        causes.insert(Dependency::Secret(wanted.clone()), cause);
    }
    SecretData { version: content.version.clone(), keys }
}

/// The version of a Secret, by those of its keys.
pub(crate) fn version(keys: &BTreeMap<String, SecretVersion>) -> Option<String> {
    newest(keys.values()).map(|version| format!("{}/{}", version.uid, version.resource_version))
}

/// The newest of the versions that the keys of a Secret have: each is that with which its key got its value.
fn newest<'a>(versions: impl Iterator<Item = &'a SecretVersion>) -> Option<&'a SecretVersion> {
    // A longer number is a greater one.
    versions.max_by_key(|version| (version.resource_version.len(), version.resource_version.as_str()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    /// An API server with one Secret, which counts its requests.
    fn server(version: &'static str) -> (Client, Arc<AtomicUsize>) {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        let service = service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, Ordering::SeqCst);
            let body = json!({"metadata": {"name": "db", "uid": "u", "resourceVersion": version},
                "data": {"password": "aHVudGVyMg==", "bin": "/w=="}});
            async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok::<_, std::io::Error>(Response::new(Body::from(body.to_string().into_bytes())))
            }
        });
        (Client::new(service, "default"), requests)
    }

    fn answered(version: &str) -> Answered {
        let version = SecretVersion { uid: "u".into(), resource_version: version.into() };
        [("db".to_owned(), [("password".to_owned(), version)].into())].into()
    }

    async fn read(secrets: &Secrets, client: &Client, answered: &Answered) -> Values {
        let key = |key: &str| KeyRef { name: "db".into(), key: key.into() };
        let wanted = ["password", "bin", "absent"].map(key).into();
        let dependencies = Dependencies { secrets: wanted, ..Dependencies::default() };
        let mut values = Values::default();
        secrets.read(client, "ns", &dependencies, answered, &mut values).await.unwrap();
        values
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_resources_of_one_sweep_read_their_secret_once() {
        let ((client, requests), secrets) = (server("7"), Secrets::default());
        let now = answered("7");
        let all = (0..1000).map(|_| read(&secrets, &client, &now));
        let all = futures::future::join_all(all).await;
        assert_eq!(requests.load(Ordering::SeqCst), 1);
        for values in all {
            assert_eq!(values.secrets["db"].keys["password"].expose_secret(), "hunter2");
            assert_eq!(values.secrets["db"].version, "u/7");
            assert_eq!(values.causes.len(), 2);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_value_is_kept_until_the_next_sweep() {
        let ((client, requests), secrets) = (server("7"), Secrets::default());
        read(&secrets, &client, &answered("7")).await;
        tokio::time::sleep(SHARED * 2).await;
        assert!(secrets.cells.lock().is_empty());
        read(&secrets, &client, &answered("7")).await;
        assert_eq!(requests.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_of_which_one_key_changed_is_read_anew() {
        let ((client, requests), secrets) = (server("11"), Secrets::default());
        let answered = |bin: &str| {
            let mut answered = answered("9");
            let version = SecretVersion { uid: "u".into(), resource_version: bin.into() };
            answered.entry("db".into()).or_default().insert("zip".into(), version);
            answered
        };
        for (version, reads) in [("9", 1), ("9", 1), ("10", 2)] {
            let values = read(&secrets, &client, &answered(version)).await;
            assert_eq!(requests.load(Ordering::SeqCst), reads);
            assert_eq!(values.secrets["db"].version, format!("u/{version}"), "not that of a label");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn another_version_is_read_anew() {
        let ((client, requests), secrets) = (server("8"), Secrets::default());
        for version in ["7", "7", "8", "9"] {
            read(&secrets, &client, &answered(version)).await;
        }
        // The answer to 7 was 8 already.
        assert_eq!(requests.load(Ordering::SeqCst), 2);
        read(&secrets, &client, &Answered::new()).await;
        assert_eq!(requests.load(Ordering::SeqCst), 3, "the hub knows of no version");
    }
}
