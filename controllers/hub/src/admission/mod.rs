//! The hub's admission webhooks: what needs other objects. A reference cycle, a reference of the wrong type to a value that is
//! published, and two exports of one target are refused; a reference to what does not exist yet is a warning.
//!
//! The hub reviews the references of every provider's kinds, because it has the graph; their own rules are reviewed by their
//! own controllers.

pub mod exports;
pub mod references;
mod schemas;
pub mod walk;

use std::sync::Arc;

use kraken_api::{ConfigExport, DOMAIN, VERSION};
use kraken_options::{Problem, ProblemKind};
use kraken_runtime::webhook::{Hook, Mounts, Operation};

use crate::world::World;

/// The API groups whose kinds have references, by their first label. Every provider is one.
pub const PROVIDERS: [&str; 1] = ["aws"];

/// The webhook of ConfigExports.
pub fn exports_hook() -> Hook {
    Hook { operations: vec![Operation::Create, Operation::Update], ..Hook::of_kind::<ConfigExport>() }
}

/// The webhook of all kinds' references.
pub fn references_hook() -> Hook {
    Hook {
        name: format!("references.core.{DOMAIN}"),
        groups: PROVIDERS.iter().map(|provider| format!("{provider}.{DOMAIN}")).collect(),
        version: VERSION.to_owned(),
        resources: vec!["*".to_owned()],
        operations: vec![Operation::Create, Operation::Update],
    }
}

/// Mounts both.
pub fn mount(mounts: &Mounts, world: &Arc<World>) {
    mounts.mount(&exports_hook(), exports::Exports::new(world.clone()));
    mounts.mount(&references_hook(), references::References::new(world.clone()));
}

/// Whether the stores show what there is. Before that everything would look absent.
fn is_synced(world: &World) -> bool {
    world.shell.health.missing().is_empty()
}

fn problem(field: &str, message: impl Into<String>) -> Problem {
    Problem { field: field.to_owned(), kind: ProblemKind::Invalid, message: message.into() }
}
