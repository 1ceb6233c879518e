//! What a ConfigExport refers to and provides, parsed once per spec. Pure.

use std::collections::BTreeSet;

use kraken_api::{ConfigExport, ConfigExportSpec, ConfigType};
use kraken_options::{Dependencies, KeyRef};
use kube::ResourceExt;

use crate::{
    store::index::{Class, Edges, ObjectRef},
    watch::written,
};

/// The kind, for logs and metrics.
pub const KIND: &str = "ConfigExport";

/// One spec of an export. The generation alone does not identify it: a restored backup of the API server decreases it, and the
/// next edit has the generation of an edit that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpecVersion {
    generation: Option<i64>,
    digest: u64,
}

impl SpecVersion {
    /// Of the spec of this export.
    pub(crate) fn of(export: &ConfigExport) -> Self {
        Self::new(export.metadata.generation, &export.spec)
    }

    /// Of a spec with this generation. It has references to Secrets, and no value of one.
    pub(crate) fn new(generation: Option<i64>, spec: &ConfigExportSpec) -> Self {
        Self { generation, digest: written::digest(spec) }
    }
}

/// The references in the spec of an export.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parsed {
    uid: Option<String>,
    /// The parsed spec.
    pub(crate) spec: SpecVersion,
    /// Its dependencies, and the object that it provides: its target.
    pub(crate) edges: Edges,
    /// The references of its entries.
    pub(crate) dependencies: Dependencies,
    /// The indexes of entries that refer to a Secret.
    pub(crate) secret_entries: BTreeSet<usize>,
}

impl Parsed {
    /// Parses the references of an export.
    pub(crate) fn of(export: &ConfigExport) -> Self {
        let namespace = export.namespace().unwrap_or_default();
        let References { dependencies, secret_entries } = references(&export.spec);
        let named = |class, key: &KeyRef| ObjectRef::new(class, &namespace, &key.name);
        let maps = dependencies.config_maps.iter().map(|key| named(Class::ConfigMap, key));
        let secrets = dependencies.secrets.iter().map(|key| named(Class::Secret, key));
        let states = dependencies.resources.keys();
        let states = states.map(|wanted| ObjectRef::referenced(&namespace, wanted));
        let edges = Edges {
            needs: maps.chain(secrets).chain(states).collect(),
            follows: BTreeSet::new(),
            // With `rotate`, nothing refers to the target of each content by a fixed name.
            provides: (!export.spec.rotate).then(|| target(&namespace, &export.spec)),
        };
        Self { uid: export.uid(), spec: SpecVersion::of(export), edges, dependencies, secret_entries }
    }

    /// Whether this was parsed from the same spec of the same export.
    pub(crate) fn is_of(&self, export: &ConfigExport) -> bool {
        self.uid == export.metadata.uid && self.spec == SpecVersion::of(export)
    }
}

/// The target of a spec.
pub(crate) fn target(namespace: &str, spec: &ConfigExportSpec) -> ObjectRef {
    ObjectRef::new(class(spec.config_type), namespace, &spec.config_metadata.name)
}

/// The class of a target.
pub(crate) fn class(config_type: ConfigType) -> Class {
    match config_type {
        ConfigType::ConfigMap => Class::ConfigMap,
        ConfigType::Secret => Class::Secret,
    }
}

/// What the entries refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct References {
    /// All dependencies.
    pub(crate) dependencies: Dependencies,
    /// The indexes of entries that refer to a Secret.
    pub(crate) secret_entries: BTreeSet<usize>,
}

/// Finds the references of the entries, each parsed once.
pub(crate) fn references(spec: &ConfigExportSpec) -> References {
    let mut found = References::default();
    for (index, entry) in spec.entries.iter().enumerate() {
        #[cfg(test)]
        PARSED.with(|parsed| parsed.set(parsed.get() + 1));
        let Dependencies { config_maps, secrets, resources, follows: _ } = entry.dependencies();
        if !secrets.is_empty() {
            found.secret_entries.insert(index);
        }
        let dependencies = &mut found.dependencies;
        dependencies.config_maps.extend(config_maps);
        dependencies.secrets.extend(secrets);
        // All are strings, so that types never conflict.
        dependencies.resources.extend(resources);
    }
    found
}

/// A target as the status of its export names it: `ConfigMap/app`.
pub(crate) fn reported(target: &ObjectRef) -> String {
    target.to_string().replacen(' ', "/", 1)
}

/// The target that the status of an export in `namespace` names.
pub(crate) fn of_report(namespace: &str, reported: &str) -> Option<ObjectRef> {
    let (kind, name) = reported.split_once('/')?;
    let class = [Class::ConfigMap, Class::Secret].into_iter().find(|class| format!("{class:?}") == kind)?;
    Some(ObjectRef::new(class, namespace, name))
}

/// The name of the targets of two exports of one namespace, if it is the same. With `rotate`, it is the name of the volume.
pub(crate) fn shared_name(one: &ConfigExportSpec, other: &ConfigExportSpec) -> Option<String> {
    let of = |spec: &ConfigExportSpec| (spec.config_type, spec.rotate, spec.config_metadata.name.clone());
    (of(one) == of(other)).then(|| one.config_metadata.name.clone())
}

#[cfg(test)]
thread_local! {
    /// The number of parsed references.
    pub(crate) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(config_type: &str, name: &str, rotate: bool) -> ConfigExportSpec {
        let spec = json!({
            "configType": config_type, "configMetadata": {"name": name}, "rotate": rotate,
            "entries": [{"key": "a", "value": "x"}],
        });
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn a_reported_target_is_read_back() {
        for class in [Class::ConfigMap, Class::Secret] {
            let target = ObjectRef::new(class, "ns", "app");
            assert_eq!(reported(&target), format!("{class:?}/app"));
            assert_eq!(of_report("ns", &reported(&target)), Some(target));
        }
        for other in ["", "app", "Pod/app", "State/app"] {
            assert_eq!(of_report("ns", other), None, "{other}");
        }
    }

    #[test]
    fn exports_of_one_kind_and_one_form_share_a_name() {
        let shared = |one, other| {
            let shared = shared_name(one, other);
            assert_eq!(shared, shared_name(other, one));
            shared
        };
        let (plain, rotated) = (spec("ConfigMap", "a", false), spec("ConfigMap", "a", true));
        assert_eq!(shared(&plain, &plain).as_deref(), Some("a"));
        assert_eq!(shared(&rotated, &rotated).as_deref(), Some("a"));
        for other in [&rotated, &spec("ConfigMap", "b", false), &spec("Secret", "a", false)] {
            assert_eq!(shared(&plain, other), None, "{other:?}");
        }
    }
}
