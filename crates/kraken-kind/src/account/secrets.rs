//! Values of accounts that are in Secrets, read at the start of a reconcile. Reconciles that start within a second share one read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::Secret;
use kraken_options::{ExposeSecret, KeyRef, SecretString};
use kraken_runtime::{
    patch::{ApiError, within},
    shared_reads::SharedReads,
    watch::ObjectKey,
};
use kube::{Api, Client};

use super::Refusal;

/// How long reconciles share a Secret that was read: a sweep of a thousand reads it once.
const SHARED: Duration = Duration::from_secs(1);

/// The text of each key of a Secret; `None` if it is not text.
type Content = BTreeMap<String, Option<SecretString>>;

/// The Secrets that were read recently; no content if there is no such Secret. Clones share the same state.
#[derive(Clone, Debug)]
pub struct Secrets(SharedReads<Option<Arc<Content>>>);

impl Default for Secrets {
    fn default() -> Self {
        Self(SharedReads::new(SHARED))
    }
}

/// Why the values of an account are not known.
#[derive(Debug)]
pub enum SecretsError {
    /// Keys are missing or have no text: one reason for each field.
    Wrong(Vec<String>),
    /// A Secret could not be read.
    Unreadable(ApiError),
}

impl SecretsError {
    /// As the refusal of this account, such as `Account shop`.
    pub fn refusal(self, account: impl Display) -> Refusal {
        match self {
            Self::Wrong(all) => Refusal::NotReady(format!("{account}: {}", all.join("; "))),
            Self::Unreadable(error) => Refusal::Unreadable(error),
        }
    }
}

impl Secrets {
    /// The texts of these keys, each with the field that refers to it, in the same order.
    ///
    /// # Errors
    /// If a Secret or a key is missing, is no text or empty; all of them are named. If a Secret cannot be read.
    pub async fn texts(
        &self,
        client: &Client,
        namespace: &str,
        wanted: &[(String, KeyRef)],
    ) -> Result<Vec<SecretString>, SecretsError> {
        let names: BTreeSet<&str> = wanted.iter().map(|(_, key)| key.name.as_str()).collect();
        let mut contents = BTreeMap::new();
        for name in names {
            let content = self.content(client, &ObjectKey::new(namespace, name)).await;
            contents.insert(name, content.map_err(SecretsError::Unreadable)?);
        }
        let (mut texts, mut wrong) = (vec![], vec![]);
        for (field, KeyRef { name, key }) in wanted {
            let found = contents.get(name.as_str()).and_then(Option::as_ref);
            let why = match found.map(|content| content.get(key)) {
                None => format!("Secret {name} does not exist"),
                Some(None) => format!("Secret {name} has no key {key:?}"),
                Some(Some(None)) => format!("Secret {name} key {key:?} is not text (UTF-8)"),
                Some(Some(Some(text))) if text.expose_secret().trim().is_empty() => {
                    format!("Secret {name} key {key:?} is empty")
                }
                // Editors append a line feed, which is not part of a value.
                Some(Some(Some(text))) => {
                    texts.push(SecretString::from(text.expose_secret().trim()));
                    continue;
                }
            };
            wrong.push(format!("{field}: {why}"));
        }
        if wrong.is_empty() { Ok(texts) } else { Err(SecretsError::Wrong(wrong)) }
    }

    async fn content(&self, client: &Client, key: &ObjectKey) -> Result<Option<Arc<Content>>, ApiError> {
        let api: Api<Secret> = Api::namespaced(client.clone(), &key.namespace);
        let read = async {
            let found = within("read the Secret of an account", api.get_opt(&key.name)).await?;
            Ok(found.map(|secret| Arc::new(texts(&secret))))
        };
        self.0.get(key, |_| true, |_| true, read).await
    }
}

fn texts(secret: &Secret) -> Content {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(SecretString::from);
    secret.data.iter().flatten().map(|(key, bytes)| (key.clone(), text(&bytes.0))).collect()
}
