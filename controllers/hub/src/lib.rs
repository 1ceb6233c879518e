//! The hub: resolves references between resources, and exports values to ConfigMaps and Secrets.
//!
//! Watches maintain the index of references and trigger reconciles (`watch`). A reconcile reads the bodies of
//! referenced objects once per version (`store`). Pure code resolves each reference (`resolve`). The results are the
//! status of a DependencyRequest (`requests`), and a ConfigMap or Secret (`exports`). The same code reviews objects
//! at admission (`admission`).

mod admission;
pub mod exports;
#[cfg(test)]
mod fuzz;
mod kept;
mod program;
pub mod requests;
mod resolve;
mod store;
mod watch;

pub use program::{Hub, HubArgs};

use kraken_api::ConfigExport;
use kraken_options::Problem;

/// The problems for which admission rejects a ConfigExport without looking at another object, for `kubectl kraken lint`. The export has
/// its namespace in its metadata. Pure.
pub fn problems_of_export(export: &ConfigExport) -> Vec<Problem> {
    let namespace = export.metadata.namespace.as_deref().unwrap_or_default();
    let parsed = store::dependents::export::Parsed::of(export);
    exports::resolve::certain(namespace, &export.spec, &parsed.secret_entries)
}
