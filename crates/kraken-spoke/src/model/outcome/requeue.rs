//! When a resource is reconciled again after an outcome. Pure.

use std::time::Duration;

use kraken_runtime::{
    mutants::{self, Mutant},
    queue::Requeue,
};

use crate::{
    FailureClass,
    model::outcome::{
        Outcome,
        table::{AT_ONCE, Again, SOON},
    },
};

/// The maximum delay between two attempts of an operation that is not possible yet.
const NOT_YET_MAX: Duration = Duration::from_mins(1);
/// How many conflicting writes in a row are repeated at once. More of them mean that the watch lags, and each repetition may
/// call the provider.
const CONFLICTS_AT_ONCE: u32 = 2;

/// When the resource is reconciled again after this many conflicting writes in a row.
pub(crate) fn after_conflict(conflicts: u32) -> Requeue {
    if conflicts <= CONFLICTS_AT_ONCE { Requeue::Soon(AT_ONCE) } else { Requeue::Backoff }
}

impl Outcome {
    /// Whether no search for the objects of a launch follows before an event or the resync.
    pub(crate) fn ends_search(&self) -> bool {
        matches!(self.row().again, Again::Event | Again::Resync)
    }

    /// Whether it waits for a value that another resource has.
    pub(crate) fn is_in_use(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.class == FailureClass::InUse)
    }

    /// Whether the remote objects were compared, and nothing is to be done.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.row().again == Again::AtRest
    }

    /// When the resource is reconciled again, `resync` being its resync interval if it has one, and `refusals` how many
    /// times in a row the provider rejected the operation as not possible yet, this time included.
    pub(crate) fn requeue(&self, resync: Option<Duration>, refusals: u32) -> Requeue {
        match self.row().again {
            Again::Event => Requeue::Never,
            Again::AtRest | Again::Resync => resync.map_or(Requeue::Never, Requeue::Tick),
            Again::Backoff => Requeue::Backoff,
            Again::Growing => Requeue::After(growing(refusals)),
            Again::Soon(delay) => Requeue::Soon(delay),
            Again::After(delay) => Requeue::After(delay),
        }
    }
}

/// The delay after this many attempts in a row: 1, 2, 4 s and so on, at most [`NOT_YET_MAX`].
fn growing(tries: u32) -> Duration {
    let tries = if mutants::active(Mutant::NoGrowingDelay) { 1 } else { tries };
    SOON.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(NOT_YET_MAX)
}
