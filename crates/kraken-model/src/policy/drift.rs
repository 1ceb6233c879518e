//! `lifecycle.drift`: whether drift is reverted or only reported.

use kraken_api::{Drift, Lifecycle};

/// Whether a difference is only reported. An edit is always applied.
pub fn is_reported(lifecycle: &Lifecycle, is_edited: bool) -> bool {
    !is_edited && lifecycle.drift == Drift::Report
}
