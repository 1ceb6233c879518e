//! A reconcile that found everything in place: while its input is the same, so is its outcome. Pure.

use std::fmt::Debug;

use sha2::{Digest, Sha256};

use crate::status::ReconcileFacts;

/// A reconcile that found everything in place.
#[derive(Debug)]
pub struct Unchanged {
    /// The generation of the spec.
    pub generation: Option<i64>,
    /// As [`crate::in_place::Inputs::inputs`].
    pub inputs: String,
    /// A digest of the observed state. Keyed with a random number of this process, because the provider may return a
    /// value of a Secret.
    pub observed: [u8; 32],
    /// Whether attributes exist that need one call per object, and were not read.
    pub is_shallow: bool,
    /// What its status said.
    pub facts: ReconcileFacts,
}

/// A digest of the observed state that does not allow another process to guess a value.
pub fn digest(key: u64, observed: &impl Debug) -> [u8; 32] {
    // Attributes that `Debug` does not show, such as user data, are read only by deep observations, of which no digest
    // is made.
    Sha256::new().chain_update(key.to_le_bytes()).chain_update(format!("{observed:?}")).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_the_whole_observed_state_and_on_the_process() {
        assert_eq!(digest(1, &["a", "b"]), digest(1, &["a", "b"]));
        assert_ne!(digest(1, &["a", "b"]), digest(1, &["a", "c"]));
        assert_ne!(digest(1, &["a", "b"]), digest(2, &["a", "b"]));
    }
}
