//! Where the in-memory API server knowingly differs from kube-apiserver, and why; each is also in
//! `docs/performance/simulation.md`.

use serde_json::Value;

use super::steps::Step;

/// What is left of an answer without accepted differences.
pub(super) fn without(_step: &Step, answer: Value) -> Value {
    answer
}
