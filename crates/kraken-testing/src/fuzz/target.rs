//! What is fuzzed: how its inputs are made, and which of their properties are checked.

use fastrand::Rng;

/// Makes an input from random numbers and the corpus.
pub type Generate = dyn Fn(&mut Rng, &[Vec<u8>]) -> Vec<u8>;

/// One target.
pub struct Target<'a> {
    /// The name, which is that of the folder of its corpus: `tests/fuzz/corpus/<name>`.
    pub name: &'static str,
    /// Words of the format, which mutations insert.
    pub dictionary: &'static [&'static str],
    /// Makes an input that is nearly valid. It can use the entries of the corpus.
    pub generate: &'a Generate,
    /// Checks one input; the error says which property does not hold.
    pub check: &'a dyn Fn(&[u8]) -> Result<(), String>,
}

impl std::fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}
