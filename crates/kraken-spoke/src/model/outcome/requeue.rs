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
/// The maximum delay between two observations of an operation in progress.
const PROGRESS_MAX: Duration = Duration::from_secs(30);
/// How many conflicting writes in a row are repeated at once. More of them mean that the watch lags, and each repetition may
/// call the provider.
const CONFLICTS_AT_ONCE: u32 = 2;

/// When the resource is reconciled again after this many conflicting writes in a row.
pub(crate) fn after_conflict(conflicts: u32) -> Requeue {
    if conflicts <= CONFLICTS_AT_ONCE { Requeue::Soon(AT_ONCE) } else { Requeue::Backoff }
}

/// What the last reconciles of a resource have in common with the present one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InARow {
    /// How many times the provider rejected an operation as not possible yet, this time included.
    pub(crate) refusals: u32,
    /// For how long an operation has been in progress.
    pub(crate) progress: Duration,
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

    /// When the resource is reconciled again, `resync` being its resync interval if it has one.
    pub(crate) fn requeue(&self, resync: Option<Duration>, in_a_row: InARow) -> Requeue {
        match self.row().again {
            Again::Event => Requeue::Never,
            Again::AtRest | Again::Resync => resync.map_or(Requeue::Never, Requeue::Tick),
            Again::Backoff => Requeue::Backoff,
            Again::Growing => Requeue::After(growing(in_a_row.refusals)),
            Again::Soon(delay) => Requeue::Soon(delay.max(a_tenth_of(in_a_row.progress))),
            Again::After(delay) => Requeue::After(delay),
        }
    }
}

/// The delay between two observations of an operation that has been in progress for so long: its end is noticed a tenth later than it could be.
/// A database that is created for ten minutes is observed 56 times, and not 600 times.
fn a_tenth_of(progress: Duration) -> Duration {
    (progress / 10).min(PROGRESS_MAX)
}

/// The delay after this many attempts in a row: 1, 2, 4 s and so on, at most [`NOT_YET_MAX`].
fn growing(tries: u32) -> Duration {
    let tries = if mutants::active(Mutant::NoGrowingDelay) { 1 } else { tries };
    SOON.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(NOT_YET_MAX)
}
