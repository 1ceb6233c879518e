//! How far the search for values of Secrets has come.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The parts that were searched already.
#[derive(Debug, Default)]
pub(crate) struct Searched {
    /// etcd's first revision that was not.
    pub(crate) revision: u64,
    /// The first byte of each log that was not.
    pub(crate) logs: BTreeMap<PathBuf, u64>,
}
