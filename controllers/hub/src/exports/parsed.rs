//! The references of an export, parsed once per spec. Pure.

use std::collections::BTreeSet;

use kraken_api::ConfigExport;
use kraken_options::{Dependencies, KeyRef};
use kube::ResourceExt;

use crate::{
    exports::resolve::{References, references, target},
    store::index::{Class, Edges, ObjectRef},
};

/// The references in the spec of an export.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parsed {
    uid: Option<String>,
    generation: Option<i64>,
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
        let states = states.map(|wanted| ObjectRef::state(&namespace, &wanted.kind, &wanted.name));
        let edges = Edges {
            needs: maps.chain(secrets).chain(states).collect(),
            // With `rotate`, nothing refers to the target of each content by a fixed name.
            provides: (!export.spec.rotate).then(|| target(&namespace, &export.spec)),
        };
        let (uid, generation) = (export.uid(), export.metadata.generation);
        Self { uid, generation, edges, dependencies, secret_entries }
    }

    /// Whether this was parsed from the same spec of the same export.
    pub(crate) fn is_of(&self, export: &ConfigExport) -> bool {
        (&self.uid, self.generation) == (&export.metadata.uid, export.metadata.generation)
    }
}
