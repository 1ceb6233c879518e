//! `lifecycle.disruption`: whether a running object may be stopped for a change. Which of several may be stopped at the same time is in
//! `shared/disruptions.rs` of `kraken-spoke`.

use kraken_api::{Disruption, Lifecycle};

/// Whether it may; if not, why the field cannot be changed, `takes` being what its change takes.
pub fn permits(lifecycle: &Lifecycle, takes: &str) -> Result<(), String> {
    match lifecycle.disruption {
        Disruption::Allow => Ok(()),
        Disruption::Forbid => Err(format!("{takes}, or set spec.lifecycle.disruption to Allow")),
    }
}
