//! Schedules of the simulated OpenTofu provider, and their checks. The processes are in [`crate::engine::providers`].

mod check;
mod generate;

pub use check::ProviderCheck;
pub use generate::generate;

use crate::provider_types::{FILE, NOTE};

/// The namespace of all resources.
const NAMESPACE: &str = "prod";
/// The kinds, with their resource types.
const KINDS: [(&str, &str); 2] = [("KtestFile", FILE), ("KtestNote", NOTE)];
