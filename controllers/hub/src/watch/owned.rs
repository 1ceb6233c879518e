//! The ConfigMaps and Secrets that each ConfigExport created, from their metadata. Pure.
//!
//! The status is not sufficient: a target that was created just before a crash, or by a write without a response, would
//! be left behind when the target in the spec changes.

use std::collections::BTreeSet;

use kraken_runtime::hash::HashMap;

use kraken_api::ConfigExport;
use kube::{Resource, api::ObjectMeta};

use crate::store::index::ObjectRef;

/// A ConfigExport that is the controlling owner of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControllingExport {
    /// Its UID.
    pub(crate) uid: String,
    /// Its name, in the object's namespace.
    pub(crate) name: String,
}

/// The ConfigExport that controls an object.
pub(crate) fn controlling_export(meta: &ObjectMeta) -> Option<ControllingExport> {
    let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.split_once('/')?.0;
    let is_export = group == ConfigExport::group(&()) && owner.kind == ConfigExport::kind(&());
    is_export.then(|| ControllingExport { uid: owner.uid.clone(), name: owner.name.clone() })
}

/// Objects by the ConfigExport that controls them: by its namespace and its UID, because an object in another namespace may
/// have been given the same owner reference.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    makers: HashMap<ObjectRef, ControllingExport>,
    made: HashMap<(String, String), BTreeSet<ObjectRef>>,
}

fn place(named: &ObjectRef, controlling_export: &ControllingExport) -> (String, String) {
    (named.key.namespace.to_string(), controlling_export.uid.clone())
}

impl Owned {
    /// Records the controlling owner of an object; returns the previous one.
    pub(crate) fn set(
        &mut self,
        named: &ObjectRef,
        controlling_export: Option<ControllingExport>,
    ) -> Option<ControllingExport> {
        let before = match &controlling_export {
            Some(controlling_export) => self.makers.insert(named.clone(), controlling_export.clone()),
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
        if let Some(controlling_export) = controlling_export {
            self.made.entry(place(named, &controlling_export)).or_default().insert(named.clone());
        }
        before
    }

    /// The objects that the ConfigExport with this namespace and UID controls.
    pub(crate) fn of(&self, namespace: &str, uid: &str) -> Vec<ObjectRef> {
        self.made.get(&(namespace.to_owned(), uid.to_owned())).into_iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use super::*;
    use crate::store::index::Class;

    fn named(name: &str) -> ObjectRef {
        ObjectRef::new(Class::ConfigMap, "ns", name)
    }

    fn by(uid: &str) -> ControllingExport {
        ControllingExport { uid: uid.into(), name: "e".into() }
    }

    #[test]
    fn an_owned_object_is_recorded_until_it_is_deleted_or_reassigned() {
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
    fn an_object_in_another_namespace_is_not_owned() {
        let mut owned = Owned::default();
        owned.set(&named("app"), Some(by("1")));
        owned.set(&ObjectRef::new(Class::ConfigMap, "other", "app"), Some(by("1")));
        assert_eq!(owned.of("ns", "1"), [named("app")]);
        assert_eq!(owned.of("other", "1"), [ObjectRef::new(Class::ConfigMap, "other", "app")]);
    }

    #[test]
    fn only_a_controlling_config_export_is_an_owner() {
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
        assert_eq!(controlling_export(&owner(group, "ConfigExport", Some(true))), Some(by("1")));
        assert_eq!(controlling_export(&owner(group, "ConfigExport", None)), None);
        assert_eq!(controlling_export(&owner("apps/v1", "ConfigExport", Some(true))), None);
        assert_eq!(controlling_export(&owner(group, "Other", Some(true))), None);
        assert_eq!(controlling_export(&ObjectMeta::default()), None);
    }
}
