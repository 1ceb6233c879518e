//! How many steps a query may still take.

/// The query takes more steps than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// The remaining steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps(usize);

impl Steps {
    pub(crate) fn of(steps: usize) -> Self {
        Self(steps)
    }

    pub(crate) fn left(self) -> usize {
        self.0
    }

    /// Counts steps. If too few remain, the rest is discarded.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Exhausted> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(Exhausted)
    }
}
