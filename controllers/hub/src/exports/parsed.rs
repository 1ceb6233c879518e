//! The references of an export, parsed once per spec. Pure.

use std::collections::BTreeSet;

use kraken_api::{ConfigExport, ConfigExportSpec};
use kraken_options::{Dependencies, KeyRef};
use kube::ResourceExt;

use crate::{
    exports::resolve::{References, references, target},
    store::index::{Class, Edges, ObjectRef},
    watch::written,
};

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
    pub(super) fn new(generation: Option<i64>, spec: &ConfigExportSpec) -> Self {
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
