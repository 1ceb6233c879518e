//! Ids of the parts of objects: associations, rules.

use crate::kind::id;

/// The counter for these ids.
#[derive(Debug)]
pub(crate) struct PartIds(u64);

impl PartIds {
    /// Ids begin after `base`.
    pub(crate) fn new(base: u64) -> Self {
        Self(base)
    }

    /// An id for a part of an object.
    pub(crate) fn next(&mut self, prefix: &str) -> String {
        self.0 += 1;
        id(prefix, self.0)
    }

    /// The number of the last id.
    pub(crate) fn last(&self) -> u64 {
        self.0
    }
}
