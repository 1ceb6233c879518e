//! Versions of a Secret's values, by a digest in memory: if only the labels of a Secret change, its dependents see no new
//! version.
//!
//! This digest is keyed with a random number of this process and is never stored or written. A version is a resourceVersion
//! of the Secret. With each version goes a digest of the value with the [key of the hub](crate::store::digest_key), by which a
//! restarted hub recognizes a value whose version is in a status.

use std::{collections::BTreeMap, hash::BuildHasher, sync::Arc};

use kraken_runtime::hash::{HashMap, Keyed};

use k8s_openapi::ByteString;
use kraken_api::dependency_request::SecretVersion;
use parking_lot::Mutex;

use crate::store::{digest_key::Key, index::ObjectRef};

/// The versions of the keys of one Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SecretVersions {
    uid: String,
    /// The resourceVersion in which each key got its value.
    keys: BTreeMap<String, String>,
    /// The resourceVersion in which the set of keys last changed, for missing keys.
    rest: String,
    /// The digest of each value with the key of the hub.
    digests: BTreeMap<String, String>,
    /// The digest of a missing value depends on its key.
    missing: Option<(ObjectRef, Key)>,
}

impl SecretVersions {
    /// One version for all keys, without digests.
    #[cfg(test)]
    pub(crate) fn of_all(uid: String, resource_version: String) -> Self {
        Self { uid, rest: resource_version, ..Self::default() }
    }

    /// The version of a key.
    pub(crate) fn of(&self, key: &str) -> SecretVersion {
        let resource_version = self.keys.get(key).unwrap_or(&self.rest).clone();
        let missing = || self.missing.as_ref().map(|(named, of_hub)| of_hub.digest(named, key, None));
        let digest = self.digests.get(key).cloned().or_else(missing).unwrap_or_default();
        SecretVersion { uid: self.uid.clone(), resource_version, digest }
    }
}

/// The digests of referenced Secrets.
#[derive(Default)]
pub(crate) struct SecretDigests {
    key: Keyed,
    known: Mutex<HashMap<ObjectRef, KnownSecret>>,
}

impl std::fmt::Debug for SecretDigests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretDigests").finish_non_exhaustive()
    }
}

struct KnownSecret {
    versions: Arc<SecretVersions>,
    digests: BTreeMap<String, u64>,
}

impl SecretDigests {
    /// The versions of a Secret's keys, by its current and previous content.
    pub(crate) fn note(
        &self,
        named: &ObjectRef,
        uid: String,
        resource_version: &str,
        data: &BTreeMap<String, ByteString>,
        of_hub: &Key,
    ) -> Arc<SecretVersions> {
        let digests: BTreeMap<String, u64> =
            data.iter().map(|(key, bytes)| (key.clone(), self.key.hash_one((key, &bytes.0)))).collect();
        let mut known = self.known.lock();
        let before = known.get(named).filter(|before| before.versions.uid == uid);
        let version = |key: &String, digest: &u64| {
            let same = before.filter(|before| before.digests.get(key) == Some(digest));
            let version = same.and_then(|before| before.versions.keys.get(key));
            (key.clone(), version.map_or(resource_version, String::as_str).to_owned())
        };
        let keys = digests.iter().map(|(key, digest)| version(key, digest)).collect();
        let rest = before.filter(|before| before.digests.keys().eq(digests.keys()));
        let rest = rest.map_or(resource_version, |before| before.versions.rest.as_str()).to_owned();
        let public = |(key, bytes): (&String, &ByteString)| {
            (key.clone(), of_hub.digest(named, key, Some(bytes.0.as_slice())))
        };
        let versions = Arc::new(SecretVersions {
            uid,
            keys,
            rest,
            digests: data.iter().map(public).collect(),
            missing: Some((named.clone(), of_hub.clone())),
        });
        known.insert(named.clone(), KnownSecret { versions: versions.clone(), digests });
        versions
    }

    /// Removes a Secret that is deleted or no longer referenced.
    pub(crate) fn forget(&self, named: &ObjectRef) {
        self.known.lock().remove(named);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::index::Class;

    fn data(entries: &[(&str, &str)]) -> BTreeMap<String, ByteString> {
        entries.iter().map(|(key, text)| ((*key).to_owned(), ByteString(text.as_bytes().to_vec()))).collect()
    }

    struct Secret {
        digests: SecretDigests,
        named: ObjectRef,
    }

    impl Secret {
        fn new() -> Self {
            Self { digests: SecretDigests::default(), named: ObjectRef::new(Class::Secret, "ns", "db") }
        }

        fn note(&self, uid: &str, version: &str, entries: &[(&str, &str)]) -> Arc<SecretVersions> {
            self.digests.note(&self.named, uid.to_owned(), version, &data(entries), &Key::default())
        }
    }

    #[test]
    fn a_changed_label_does_not_change_the_version() {
        let secret = Secret::new();
        let first = secret.note("u", "5", &[("a", "1"), ("b", "2")]);
        assert_eq!(first.of("a").resource_version, "5");
        assert_eq!(secret.note("u", "7", &[("a", "1"), ("b", "2")]), first);
    }

    #[test]
    fn only_the_key_that_changed_has_a_new_version() {
        let secret = Secret::new();
        secret.note("u", "5", &[("a", "1"), ("b", "2")]);
        let second = secret.note("u", "6", &[("a", "1"), ("b", "3")]);
        let version = |key: &str| second.of(key).resource_version;
        assert_eq!((version("a"), version("b"), version("missing")), ("5".into(), "6".into(), "5".into()));
        // Reverting to the old value is a change too.
        assert_eq!(secret.note("u", "7", &[("a", "1"), ("b", "2")]).of("b").resource_version, "7");
    }

    #[test]
    fn a_key_that_appears_or_disappears_has_a_new_version() {
        let secret = Secret::new();
        secret.note("u", "5", &[("a", "1")]);
        assert_eq!(secret.note("u", "6", &[("a", "1"), ("b", "2")]).of("b").resource_version, "6");
        assert_eq!(secret.note("u", "7", &[("a", "1")]).of("b").resource_version, "7");
    }

    #[test]
    fn another_secret_of_the_same_name_has_new_versions() {
        let secret = Secret::new();
        secret.note("u", "5", &[("a", "1")]);
        let other = secret.note("v", "6", &[("a", "1")]).of("a");
        assert_eq!((other.uid.as_str(), other.resource_version.as_str()), ("v", "6"));
    }

    #[test]
    fn an_unchanged_secret_has_the_same_version_after_a_restart() {
        assert_eq!(
            Secret::new().note("u", "5", &[("a", "1")]).of("a"),
            Secret::new().note("u", "5", &[("a", "1")]).of("a")
        );
    }
}
