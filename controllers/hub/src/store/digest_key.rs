//! The key of the digests that tell whether the value of a Secret changed. Client required.
//!
//! A random number in a Secret of the hub's own namespace: a digest with it can be public, because no value can be guessed
//! without the key, and a restarted hub recognizes a value that it has answered before. The key is created when the first
//! referenced Secret is read, or the first exported one restarts workloads or is rotated. Without a key, changes of referenced Secrets
//! are detected within one process only.

use std::time::Duration;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kraken_runtime::{
    patch::{ApiError, within},
    random,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::{sync::OnceCell, time::Instant};
use tracing::warn;

use crate::store::index::ObjectRef;

/// The Secret with the key.
pub(crate) const SECRET: &str = "kraken-hub-digest-key";
/// The key of its data.
const ENTRY: &str = "key";
/// The number of random bytes.
const BYTES: usize = 32;
/// The number of hexadecimal digits of the digest of the key: another key makes digests incomparable, and not different.
const KEY_DIGITS: usize = 8;
/// The number of hexadecimal digits of a digest.
const DIGITS: usize = 32;
/// What a digest has instead of those of the key if it has none.
const PUBLIC: &str = "public";
/// How often a key is asked for that the hub could not have.
const AGAIN: Duration = Duration::from_mins(1);
/// No sequence of texts begins so: it is no length. Thus no digest of texts is one of the value of a Secret.
const TEXTS: [u8; 8] = [0xff; 8];

/// The key, once it was read or created.
#[derive(Debug)]
pub(crate) struct DigestKey {
    secrets: Api<Secret>,
    key: OnceCell<Key>,
    /// When the hub could not have one, most recently.
    none_at: Mutex<Option<Instant>>,
}

/// There is no key.
enum NoKey {
    /// It was not permitted, or the system has no random bytes.
    Impossible,
    /// A request failed.
    Failed(ApiError),
}

impl DigestKey {
    /// The key in the hub's namespace.
    pub(crate) fn new(secrets: Api<Secret>) -> Self {
        Self { secrets, key: OnceCell::new(), none_at: Mutex::default() }
    }

    /// The key; [`Key::NONE`] if the hub could not have it within the last minute.
    ///
    /// # Errors
    /// If it can be neither read nor created now.
    pub(crate) async fn get(&self) -> Result<&Key, ApiError> {
        match self.key.get_or_try_init(|| self.try_again()).await {
            Ok(key) => Ok(key),
            Err(NoKey::Impossible) => Ok(&Key::NONE),
            Err(NoKey::Failed(error)) => Err(error),
        }
    }

    async fn try_again(&self) -> Result<Key, NoKey> {
        if self.none_at.lock().is_some_and(|at| at.elapsed() < AGAIN) {
            return Err(NoKey::Impossible);
        }
        let key = self.read_or_create().await.map_err(NoKey::Failed)?;
        if key == Key::NONE {
            *self.none_at.lock() = Some(Instant::now());
            return Err(NoKey::Impossible);
        }
        Ok(key)
    }

    async fn read_or_create(&self) -> Result<Key, ApiError> {
        // Another replica may create it at the same time: its key is read then.
        for _ in 0..3 {
            let found = match within("read the key of digests", self.secrets.get_opt(SECRET)).await {
                Err(error) if is_refused(&error) => return Ok(Key::none(&error)),
                found => found?,
            };
            if let Some(key) = found.as_ref().and_then(Key::of) {
                return Ok(key);
            }
            match self.create(found).await {
                Ok(Some(key)) => return Ok(key),
                Ok(None) => return Ok(Key(None)),
                Err(error) if error.is_conflict() => {}
                Err(error) if is_refused(&error) || error.is_not_found() => return Ok(Key::none(&error)),
                Err(error) => return Err(error),
            }
        }
        Ok(Key(None))
    }

    /// `None` if the system has no random bytes.
    async fn create(&self, found: Option<Secret>) -> Result<Option<Key>, ApiError> {
        let mut bytes = [0; BYTES];
        if let Err(error) = random::fill(&mut bytes) {
            warn!(%error, "no key for the digests of Secret values");
            return Ok(None);
        }
        let exists = found.is_some();
        let mut secret = found.unwrap_or_else(|| Secret {
            metadata: ObjectMeta { name: Some(SECRET.to_owned()), ..ObjectMeta::default() },
            ..Secret::default()
        });
        secret.data.get_or_insert_default().insert(ENTRY.to_owned(), ByteString(bytes.to_vec()));
        let params = PostParams::default();
        let stored = if exists {
            within("store the key of digests", self.secrets.replace(SECRET, &params, &secret)).await?
        } else {
            within("create the key of digests", self.secrets.create(&params, &secret)).await?
        };
        Ok(Key::of(&stored))
    }
}

fn is_refused(error: &ApiError) -> bool {
    matches!(error.source.as_ref(), kube::Error::Api(status) if status.code == 403)
}

/// A key; none if it may not be stored.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Key(Option<[u8; BYTES]>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}

impl Key {
    /// No key.
    const NONE: Self = Self(None);

    fn none(error: &ApiError) -> Self {
        warn!(%error, "no key for the digests of Secret values: after a restart, a changed label of a Secret counts as a changed value");
        Self(None)
    }

    fn of(secret: &Secret) -> Option<Self> {
        let bytes = &secret.data.as_ref()?.get(ENTRY)?.0;
        bytes.as_slice().try_into().ok().map(|bytes| Self(Some(bytes)))
    }

    /// The digest of the value of a key of a Secret, or of its absence; empty without a key.
    pub(crate) fn digest(&self, named: &ObjectRef, entry: &str, value: Option<&[u8]>) -> String {
        let Some(key) = &self.0 else { return String::new() };
        let place = [named.key.namespace.as_bytes(), named.key.name.as_bytes(), entry.as_bytes()];
        let digest = keyed(key, |inner| {
            place
                .into_iter()
                .fold(inner, with_length)
                .chain_update([u8::from(value.is_some())])
                .chain_update(value.unwrap_or_default())
        });
        format!("{}.{digest}", id(key))
    }

    /// The digest of a sequence of texts; `None` without a key.
    pub(crate) fn digest_of<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Option<String> {
        self.0.as_ref().map(|key| format!("{}.{}", id(key), digest_of(key, texts)))
    }
}

/// What tells two keys apart, and says nothing about them.
fn id(key: &[u8; BYTES]) -> String {
    let mut id = hex::encode(Sha256::digest(key));
    id.truncate(KEY_DIGITS);
    id
}

/// The digest of a sequence of texts that are not secret: everybody can compute it.
pub(crate) fn public_digest_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    format!("{PUBLIC}.{}", digest_of(&[], texts))
}

fn digest_of<'a>(key: &[u8], texts: impl IntoIterator<Item = &'a str>) -> String {
    keyed(key, |inner| texts.into_iter().map(str::as_bytes).fold(inner.chain_update(TEXTS), with_length))
}

fn keyed(key: &[u8], add: impl FnOnce(Sha256) -> Sha256) -> String {
    let inner = add(Sha256::new().chain_update(key));
    let mut digest = hex::encode(Sha256::new().chain_update(key).chain_update(inner.finalize()).finalize());
    digest.truncate(DIGITS);
    digest
}

/// With its length, so that no two sequences give the same bytes.
fn with_length(hash: Sha256, part: &[u8]) -> Sha256 {
    hash.chain_update((part.len() as u64).to_le_bytes()).chain_update(part)
}

/// The digits of a digest, which depend on what is digested.
pub(crate) fn digits(digest: &str) -> &str {
    digest.split_once('.').map_or(digest, |(_, digits)| digits)
}

/// Whether two digests were made with the same key. An empty one was made with none.
pub(crate) fn are_comparable(a: &str, b: &str) -> bool {
    let key = |digest: &str| digest.split_once('.').map(|(key, _)| key.to_owned());
    key(a).is_some() && key(a) == key(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::index::Class;

    fn named(name: &str) -> ObjectRef {
        ObjectRef::new(Class::Secret, "ns", name)
    }

    #[test]
    fn a_digest_depends_on_the_value_its_place_and_the_key() {
        let key = |byte| Key(Some([byte; BYTES]));
        let digest = |byte, name: &str, entry: &str, value| key(byte).digest(&named(name), entry, value);
        let first = digest(1, "db", "a", Some(b"1".as_slice()));
        assert_eq!(first.len(), KEY_DIGITS + 1 + DIGITS);
        assert_eq!(first, digest(1, "db", "a", Some(b"1")));
        for other in [
            digest(1, "db", "a", Some(b"2".as_slice())),
            digest(1, "db", "a", None),
            digest(1, "db", "b", Some(b"1")),
            digest(1, "other", "a", Some(b"1")),
        ] {
            assert_ne!(first, other);
            assert!(are_comparable(&first, &other));
        }
        assert!(!are_comparable(&first, &digest(2, "db", "a", Some(b"1"))), "another key");
        assert_eq!(Key(None).digest(&named("db"), "a", None), "");
        assert!(!are_comparable("", ""));
    }

    #[test]
    fn a_digest_of_texts_depends_on_each_of_them_and_on_the_key() {
        let key = |byte| Key(Some([byte; BYTES]));
        let first = key(1).digest_of(["a", "bc"]).unwrap();
        assert_eq!(first.len(), KEY_DIGITS + 1 + DIGITS);
        assert_eq!(key(1).digest_of(["a", "bc"]).as_ref(), Some(&first));
        for other in [["a", "bd"], ["ab", "c"]] {
            let other = key(1).digest_of(other).unwrap();
            assert_ne!(other, first);
            assert!(are_comparable(&other, &first));
        }
        assert!(!are_comparable(&key(2).digest_of(["a", "bc"]).unwrap(), &first), "another key");
        let public = public_digest_of(["a", "bc"]);
        assert!(!are_comparable(&public, &first));
        assert!(are_comparable(&public, &public_digest_of(["a"])));
        assert_eq!(Key(None).digest_of(["a"]), None, "never without a key");
    }

    #[test]
    fn no_digest_of_texts_is_one_of_a_value() {
        // The bytes of a Secret's value that give those of the texts after its place, but for their beginning.
        let key = Key(Some([1; BYTES]));
        let value = [&[0; 7][..], b"k", &3u64.to_le_bytes(), b"abc"].concat();
        let of_value = key.digest(&named("e"), "Opaque", Some(&value));
        assert_ne!(key.digest_of(["ns", "e", "Opaque", "k", "abc"]), Some(of_value));
    }

    #[test]
    fn an_empty_value_is_not_a_missing_one() {
        let key = Key(Some([1; BYTES]));
        assert_ne!(key.digest(&named("db"), "a", Some(b"")), key.digest(&named("db"), "a", None));
    }

    #[test]
    fn a_secret_without_a_whole_key_has_none() {
        let mut secret = Secret::default();
        assert!(Key::of(&secret).is_none());
        secret.data = Some([(ENTRY.to_owned(), ByteString(vec![1; 3]))].into());
        assert!(Key::of(&secret).is_none());
        secret.data = Some([(ENTRY.to_owned(), ByteString(vec![1; BYTES]))].into());
        assert!(Key::of(&secret).is_some());
    }
}
