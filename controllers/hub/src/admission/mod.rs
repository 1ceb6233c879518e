//! The hub's admission webhooks, for rules that depend on other objects. What can never be right is rejected: a reference of an object
//! to itself, and one to a published value of the wrong type. What an edit of another object may resolve is a warning: a cycle with
//! stored objects, a second export with the same target; so is a reference that requires an edit, such as one to a key that a
//! ConfigMap does not have. A tool that applies a commit applies what is new or changed before it deletes what is gone, so that the
//! stored objects are of the former commit.
//!
//! The hub reviews the references of every provider's kinds, because it has the graph; the rules of each kind are reviewed
//! by its own controller.

pub(crate) mod exports;
pub(crate) mod references;
mod schemas;
pub(crate) mod walk;

use std::sync::Arc;

use kraken_api::{ConfigExport, DOMAIN, VERSION};
use kraken_runtime::webhook::{Hook, Mounts, Operation};

use crate::watch::cluster_state::ClusterState;

/// The webhook of ConfigExports.
pub(crate) fn exports_hook() -> Hook {
    Hook { operations: vec![Operation::Create, Operation::Update], ..Hook::of_kind::<ConfigExport>() }
}

/// The webhook of all kinds' references. Its groups are those of all spokes, which `cargo xtask gen` knows and the hub does not.
pub(crate) fn references_hook() -> Hook {
    Hook {
        name: format!("references.core.{DOMAIN}"),
        groups: vec![],
        version: VERSION.to_owned(),
        resources: vec!["*".to_owned()],
        operations: vec![Operation::Create, Operation::Update],
    }
}

/// Mounts both.
pub(crate) fn mount(mounts: &Mounts, cluster: &Arc<ClusterState>) {
    mounts.mount(&exports_hook(), exports::Exports::new(cluster.clone()));
    mounts.mount(&references_hook(), references::References::new(cluster.clone()));
}
