//! What a look-up finds.

use std::collections::BTreeMap;

use kraken_api::reasons::Reason;

/// The result of a look-up: see [`crate::Kind::finding`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The ids of the answer, the main id first, or why there is none.
    pub answer: Result<Vec<String>, Unanswered>,
    /// Whether an answer from before is kept until its successor is approved.
    pub pins: bool,
    /// Each observed object in words, by id: `ami-1 (ubuntu-24.04, 2026-01-02)`.
    pub words: BTreeMap<String, String>,
}

impl Finding {
    /// These objects in words. One that does not exist any more has only its id.
    pub fn named(&self, ids: &[String]) -> Vec<String> {
        ids.iter().map(|id| self.words.get(id).unwrap_or(id).clone()).collect()
    }
}

/// Why a look-up has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// `NotFound` or `Ambiguous`.
    pub reason: Reason,
    /// What was searched for, how many objects were found, and what narrows the search.
    pub message: String,
}
