//! Which ConfigMaps and Secrets each ConfigExport has made, read from their metadata. Pure.
//!
//! The status alone could not tell: a target made just before a crash, or by a write that seemed to fail, would be left
//! behind when the spec names another.

use std::collections::BTreeSet;

use kraken_runtime::hash::HashMap;

use kraken_api::ConfigExport;
use kube::{Resource, api::ObjectMeta};

use crate::index::Named;

/// A ConfigExport as the controller that an object names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Its UID.
    pub uid: String,
    /// Its name, in the object's namespace.
    pub name: String,
}

/// The ConfigExport that controls an object.
pub fn maker(meta: &ObjectMeta) -> Option<Maker> {
    let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.split_once('/')?.0;
    let is_export = group == ConfigExport::group(&()) && owner.kind == ConfigExport::kind(&());
    is_export.then(|| Maker { uid: owner.uid.clone(), name: owner.name.clone() })
}

/// Objects by the ConfigExport that controls them: by its namespace and its UID, because an object in another namespace may
/// have been given the same owner reference.
#[derive(Debug, Default)]
pub struct Owned {
    makers: HashMap<Named, Maker>,
    made: HashMap<(String, String), BTreeSet<Named>>,
}

fn place(named: &Named, maker: &Maker) -> (String, String) {
    (named.key.namespace.to_string(), maker.uid.clone())
}

impl Owned {
    /// Takes note of who controls an object now; returns who did before.
    pub fn set(&mut self, named: &Named, maker: Option<Maker>) -> Option<Maker> {
        let before = match &maker {
            Some(maker) => self.makers.insert(named.clone(), maker.clone()),
            None => self.makers.remove(named),
        };
        if let Some(before) = &before
            && let Some(made) = self.made.get_mut(&place(named, before))
        {
            made.remove(named);
            if made.is_empty() {
                self.made.remove(&place(named, before));
            }
        }
        if let Some(maker) = maker {
            self.made.entry(place(named, &maker)).or_default().insert(named.clone());
        }
        before
    }

    /// What the ConfigExport with this namespace and UID controls.
    pub fn of(&self, namespace: &str, uid: &str) -> Vec<Named> {
        self.made.get(&(namespace.to_owned(), uid.to_owned())).into_iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use super::*;
    use crate::index::Class;

    fn named(name: &str) -> Named {
        Named::new(Class::ConfigMap, "ns", name)
    }

    fn by(uid: &str) -> Maker {
        Maker { uid: uid.into(), name: "e".into() }
    }

    #[test]
    fn what_an_export_made_is_known_until_it_is_gone_or_given_away() {
        let mut owned = Owned::default();
        owned.set(&named("a"), Some(by("1")));
        owned.set(&named("b"), Some(by("1")));
        assert_eq!(owned.of("ns", "1"), [named("a"), named("b")]);
        assert_eq!(owned.set(&named("a"), Some(by("2"))), Some(by("1")));
        assert_eq!(owned.set(&named("b"), None), Some(by("1")));
        assert!(owned.of("ns", "1").is_empty());
        assert_eq!(owned.of("ns", "2"), [named("a")]);
        owned.set(&named("a"), None);
        assert!(owned.made.is_empty() && owned.makers.is_empty());
    }

    #[test]
    fn an_object_in_another_namespace_is_not_what_an_export_made() {
        let mut owned = Owned::default();
        owned.set(&named("app"), Some(by("1")));
        owned.set(&Named::new(Class::ConfigMap, "other", "app"), Some(by("1")));
        assert_eq!(owned.of("ns", "1"), [named("app")]);
        assert_eq!(owned.of("other", "1"), [Named::new(Class::ConfigMap, "other", "app")]);
    }

    #[test]
    fn only_a_controlling_config_export_is_a_maker() {
        let owner = |api_version: &str, kind: &str, controller| ObjectMeta {
            owner_references: Some(vec![OwnerReference {
                api_version: api_version.into(),
                kind: kind.into(),
                name: "e".into(),
                uid: "1".into(),
                controller,
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        };
        let group = "configexport.kraken-iac.eoinfennessy.com/v1alpha1";
        assert_eq!(maker(&owner(group, "ConfigExport", Some(true))), Some(by("1")));
        assert_eq!(maker(&owner(group, "ConfigExport", None)), None);
        assert_eq!(maker(&owner("apps/v1", "ConfigExport", Some(true))), None);
        assert_eq!(maker(&owner(group, "Other", Some(true))), None);
        assert_eq!(maker(&ObjectMeta::default()), None);
    }
}
