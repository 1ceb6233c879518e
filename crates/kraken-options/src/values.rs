//! The current values of a resource's dependencies, collected by its spoke.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde_json::Value;

use crate::dependency::Dependency;
use crate::option::{KeyRef, ResourceRef};

/// The known values of dependencies. The default has none.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// ConfigMaps by name, with the requested keys.
    pub config_maps: BTreeMap<String, BTreeMap<String, String>>,
    /// Secrets by name.
    pub secrets: BTreeMap<String, SecretData>,
    /// Fields of other resources: by kind (normalized by [`kind_key`](crate::kind_key)), [full name](ResourceRef::full_name) and path; the
    /// empty path is the main id.
    pub resources: BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>>,
    /// The hub's reasons why dependencies have no value, for example `ConfigMap sizes does not exist`. Kinds are
    /// normalized by [`kind_key`](crate::kind_key).
    pub causes: BTreeMap<Dependency, String>,
}

/// The known data of a Secret. `Debug` prints no value.
#[derive(Clone, Debug, Default)]
pub struct SecretData {
    /// Its uid and resourceVersion.
    pub version: String,
    /// The requested keys.
    pub keys: BTreeMap<String, SecretString>,
    /// The hub's keyed digest of the value of each key, also of one that is missing; empty if the hub has no key for digests. Nobody can
    /// guess a value from it, and equal values of the same key of a Secret have equal digests.
    pub digests: BTreeMap<String, String>,
}

impl SecretData {
    /// The keyed digest of the value of a key, if the hub gave one.
    pub fn digest(&self, key: &str) -> Option<&str> {
        self.digests.get(key).map(String::as_str).filter(|digest| !digest.is_empty())
    }
}

/// A resolved value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    Text(&'a str),
    Secret { text: &'a SecretString, version: &'a str, digest: Option<&'a str> },
    Json(&'a Value),
}

impl Values {
    /// The value of a normalised dependency. A JSON `null` is none.
    pub(crate) fn find(&self, dependency: &Dependency) -> Option<Found<'_>> {
        match dependency {
            Dependency::ConfigMap(KeyRef { name, key }) => {
                Some(Found::Text(self.config_maps.get(name)?.get(key)?))
            }
            Dependency::Secret(KeyRef { name, key }) => {
                let secret = self.secrets.get(name)?;
                let (text, digest) = (secret.keys.get(key)?, secret.digest(key));
                Some(Found::Secret { text, version: &secret.version, digest })
            }
            Dependency::Resource(reference @ ResourceRef { kind, path, .. }) => {
                let value = self.resources.get(kind)?.get(&*reference.full_name())?.get(path)?;
                (!value.is_null()).then_some(Found::Json(value))
            }
        }
    }

    /// Why a normalised dependency has no value.
    pub(crate) fn cause_of_absence(&self, dependency: &Dependency) -> String {
        if let Some(cause) = self.causes.get(dependency) {
            return cause.clone();
        }
        match dependency {
            Dependency::ConfigMap(KeyRef { name, key }) if self.config_maps.contains_key(name) => {
                format!("ConfigMap {name} has no key {key:?}")
            }
            Dependency::Secret(KeyRef { name, key }) if self.secrets.contains_key(name) => {
                format!("Secret {name} has no key {key:?}")
            }
            other => format!("waiting for {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency() -> Dependency {
        Dependency::ConfigMap(KeyRef { name: "sizes".into(), key: "small".into() })
    }

    #[test]
    fn a_missing_key_is_distinguished_from_a_missing_object() {
        let mut values = Values::default();
        assert_eq!(values.cause_of_absence(&dependency()), "waiting for ConfigMap sizes key \"small\"");
        values.config_maps.insert("sizes".into(), BTreeMap::new());
        assert_eq!(values.cause_of_absence(&dependency()), "ConfigMap sizes has no key \"small\"");
    }

    #[test]
    fn the_hubs_cause_takes_precedence() {
        let mut values = Values::default();
        values.causes.insert(dependency(), "ConfigMap sizes does not exist".into());
        assert_eq!(values.cause_of_absence(&dependency()), "ConfigMap sizes does not exist");
    }

    #[test]
    fn a_digest_that_the_hub_did_not_give_is_none() {
        let digests = [("password", "k.1"), ("user", "")].map(|(key, digest)| (key.into(), digest.into()));
        let data = SecretData { digests: digests.into(), ..SecretData::default() };
        assert_eq!(["password", "user", "port"].map(|key| data.digest(key)), [Some("k.1"), None, None]);
    }

    #[test]
    fn values_show_no_secret() {
        let keys = BTreeMap::from([("password".to_owned(), SecretString::from("hunter2"))]);
        let data = SecretData { version: "uid/7".into(), keys, ..SecretData::default() };
        let secrets = BTreeMap::from([("db".to_owned(), data)]);
        let shown = format!("{:?}", Values { secrets, ..Values::default() });
        assert!(shown.contains("password") && shown.contains("uid/7") && !shown.contains("hunter2"));
    }
}
