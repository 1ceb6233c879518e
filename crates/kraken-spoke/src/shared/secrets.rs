//! The Secrets that specs refer to, read by the spokes that need them: the hub only passes on their versions.
//!
//! A sweep of a thousand resources with references to one Secret must not read it a thousand times. Therefore a
//! response of the API server is shared by the resources that request the version named by the hub within a few
//! seconds, and then wiped: no value stays in memory between two sweeps.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::Secret;
use kraken_api::dependency_request::SecretVersion;
use kraken_options::{Dependencies, Dependency, KeyRef, SecretData, Values};
use kraken_runtime::{
    patch::{ApiError, within},
    shared_reads::SharedReads,
    watch::ObjectKey,
};
use kube::{Api, Client, ResourceExt};
use secrecy::{ExposeSecret, SecretString};

/// How long a Secret that was read is shared: the time that a sweep takes to start.
const SHARED: Duration = Duration::from_secs(5);

/// The responses of the hub: name, key, version.
type Answered = BTreeMap<String, BTreeMap<String, SecretVersion>>;

/// The content of a Secret: its keys that are text, and those that are not.
#[derive(Debug)]
struct Content {
    version: String,
    keys: BTreeMap<String, Result<SecretString, NotText>>,
}

#[derive(Clone, Copy, Debug)]
struct NotText;

/// A recent read: the hub's version for which it was made, and the content; none if there is no such Secret.
#[derive(Clone, Debug)]
struct Read {
    version: Option<String>,
    content: Option<Arc<Content>>,
}

/// The Secrets that were read recently. Clones share the same state.
#[derive(Clone, Debug)]
pub(crate) struct Secrets(SharedReads<Read>);

impl Default for Secrets {
    fn default() -> Self {
        Self(SharedReads::new(SHARED))
    }
}

impl Secrets {
    /// Reads the required keys of every referenced Secret. The cause of a missing value is recorded for its key. Returns whether one is
    /// missing in another version than the hub's: then the hub may not have read that version.
    pub(crate) async fn read(
        &self,
        client: &Client,
        namespace: &str,
        dependencies: &Dependencies,
        answered: &Answered,
        values: &mut Values,
    ) -> Result<bool, ApiError> {
        let mut is_ahead = false;
        let names: BTreeSet<&str> = dependencies.secrets.iter().map(|key| key.name.as_str()).collect();
        for name in names {
            let found = answered.get(name);
            let version = found.and_then(version);
            let key = ObjectKey::new(namespace, name);
            let content = self.content(client, &key, version.as_deref()).await?;
            is_ahead |= found.into_iter().flatten().any(|(key, version)| {
                content.as_ref().is_none_or(|content| {
                    !content.keys.contains_key(key) && content.version != version_of(version)
                })
            });
            let Some(content) = content else { continue };
            let wanted = dependencies.secrets.iter().filter(|key| key.name == name);
            let mut data = chosen(&content, wanted, &mut values.causes);
            // The hub's version changes only if a value does: a changed label on the Secret is not an edit.
            if let Some(version) = version {
                data.version = version;
            }
            let digests = found.into_iter().flatten();
            data.digests = digests.map(|(key, version)| (key.clone(), version.digest.clone())).collect();
            values.secrets.insert(name.to_owned(), data);
        }
        Ok(is_ahead)
    }

    /// The Secret, if it exists: read once for all concurrent requests of the version that the hub named.
    async fn content(
        &self,
        client: &Client,
        key: &ObjectKey,
        version: Option<&str>,
    ) -> Result<Option<Arc<Content>>, ApiError> {
        let api: Api<Secret> = Api::namespaced(client.clone(), &key.namespace);
        let read = async {
            let found = within("read a referenced Secret", api.get_opt(&key.name)).await?;
            let content = found.map(|secret| Arc::new(content_of(&secret)));
            Ok(Read { version: version.map(str::to_owned), content })
        };
        let is_current = |read: &Read| {
            version.is_some_and(|version| {
                read.version.as_deref() == Some(version)
                    || read.content.as_ref().is_some_and(|content| content.version == version)
            })
        };
        // Without a version it cannot be determined whether the content is still current.
        let is_shared = |read: &Read| read.content.is_some() && read.version.is_some();
        self.0.get(key, is_current, is_shared, read).await.map(|read| read.content)
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

/// The keys that one resource requires.
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
    SecretData { version: content.version.clone(), keys, ..SecretData::default() }
}

/// The version of a Secret, from the versions of its keys.
pub(crate) fn version(keys: &BTreeMap<String, SecretVersion>) -> Option<String> {
    newest(keys.values()).map(version_of)
}

fn version_of(version: &SecretVersion) -> String {
    format!("{}/{}", version.uid, version.resource_version)
}

/// The latest of the versions of a Secret's keys: each is the version in which the key got its value.
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
        let version =
            SecretVersion { uid: "u".into(), resource_version: version.into(), digest: String::new() };
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
    async fn resources_of_one_sweep_read_their_secret_once() {
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
    async fn secret_value_is_wiped_before_the_next_sweep() {
        let ((client, requests), secrets) = (server("7"), Secrets::default());
        read(&secrets, &client, &answered("7")).await;
        tokio::time::sleep(SHARED * 2).await;
        read(&secrets, &client, &answered("7")).await;
        assert_eq!(requests.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn secret_with_a_changed_key_is_read_again() {
        let ((client, requests), secrets) = (server("11"), Secrets::default());
        let answered = |bin: &str| {
            let mut answered = answered("9");
            let version =
                SecretVersion { uid: "u".into(), resource_version: bin.into(), digest: String::new() };
            answered.entry("db".into()).or_default().insert("zip".into(), version);
            answered
        };
        for (version, reads) in [("9", 1), ("9", 1), ("10", 2)] {
            let values = read(&secrets, &client, &answered(version)).await;
            assert_eq!(requests.load(Ordering::SeqCst), reads);
            assert_eq!(values.secrets["db"].version, format!("u/{version}"), "not the version of a label");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn changed_version_is_read_again() {
        let ((client, requests), secrets) = (server("8"), Secrets::default());
        for version in ["7", "7", "8", "9"] {
            read(&secrets, &client, &answered(version)).await;
        }
        // The Secret returned for version 7 had version 8 already.
        assert_eq!(requests.load(Ordering::SeqCst), 2);
        read(&secrets, &client, &Answered::new()).await;
        assert_eq!(requests.load(Ordering::SeqCst), 3, "the hub names no version");
    }
}
