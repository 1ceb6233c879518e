//! When a resource is reconciled again after an outcome. Pure.

use std::time::Duration;

use kraken_kind::FailureClass;
use kraken_runtime::queue::Requeue;

use crate::{
    delay::doubling,
    outcome::{
        Outcome,
        row::{AT_ONCE, Again, SOON},
    },
};

/// The maximum delay between two attempts of an operation that is not possible yet.
const NOT_YET_MAX: Duration = Duration::from_mins(1);
/// The maximum delay between two observations of an operation in progress.
const PROGRESS_MAX: Duration = Duration::from_secs(30);
/// How many conflicting writes in a row are repeated at once. More of them mean that the watch lags, and each repetition may
/// call the provider.
const CONFLICTS_AT_ONCE: u32 = 2;
/// How soon a Secret without a required key is read again if the hub may not have read it so.
const READ_AGAIN: Duration = Duration::from_secs(30);
/// How soon an object that may exist is observed or searched for again, where nothing else observes the resource: soon enough that
/// two searches are no interruption.
pub const RECHECK: Duration = Duration::from_secs(5);

/// What was seen of the remote objects of a resource whose spec cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Which of them exist.
    Known,
    /// Some were not returned, and may exist nevertheless.
    Unconfirmed,
}

/// What the next reconcile depends on besides the outcome of the last one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances {
    /// The resync interval of the resource, if it has one.
    pub resync: Option<Duration>,
    /// What the last reconciles have in common.
    pub in_a_row: InARow,
    /// The time until the next search for objects without a record, if there is one.
    pub next_search: Option<Duration>,
    /// What was seen of remote objects whose spec cannot be applied.
    pub presence: Option<Presence>,
    /// Whether objects may exist of a launch that is not on record.
    pub is_launch_hidden: bool,
    /// Whether a missing key of a Secret may be one that the hub has not read as missing.
    pub is_ahead_of_hub: bool,
    /// The time until a change of a former process is visible, if the observation may not have shown it.
    pub hidden_change: Option<Duration>,
}

/// What the last reconciles of a resource have in common with the present one.
#[derive(Clone, Copy, Debug, Default)]
pub struct InARow {
    /// How many times the provider rejected an operation as not possible yet, this time included.
    pub refusals: u32,
    /// For how long an operation has been in progress.
    pub progress: Duration,
}

/// When the resource is reconciled again after this many conflicting writes in a row.
pub fn after_conflict(conflicts: u32) -> Requeue {
    if conflicts <= CONFLICTS_AT_ONCE { Requeue::Soon(AT_ONCE) } else { Requeue::Backoff }
}

impl Outcome {
    /// Whether it waits for a value that another resource has.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.class == FailureClass::InUse)
    }

    /// When the resource is reconciled again: before its resync if an observation can show more until then.
    pub fn requeue(&self, circumstances: &Circumstances) -> Requeue {
        let Circumstances { resync, next_search, presence, hidden_change, .. } = *circumstances;
        let again = self.row().again;
        let mut requeue = of_row(again, circumstances);
        if let (Requeue::Never, Some(left)) = (requeue, next_search) {
            return Requeue::After(left);
        }
        match (presence, requeue, resync) {
            (Some(Presence::Unconfirmed), ..) => return Requeue::Soon(RECHECK),
            // It waits for an event only, and what exists is observed nevertheless.
            (Some(Presence::Known), Requeue::Never, Some(interval)) => requeue = Requeue::Tick(interval),
            _ => {}
        }
        match self {
            // An object of a launch that is not on record may exist besides those that are in place.
            _ if again == Again::AtRest && circumstances.is_launch_hidden => Requeue::Soon(RECHECK),
            Self::Waiting(_) | Self::Invalid(_) if circumstances.is_ahead_of_hub => {
                Requeue::After(READ_AGAIN)
            }
            // It may only seem to be in place: a change of a former process, for an edit that was reverted, is found when it is visible,
            // and not at the next resync.
            Self::InPlace => match (requeue, hidden_change) {
                (Requeue::Never, Some(left)) => Requeue::After(left),
                (Requeue::Tick(interval), Some(left)) if left < interval => Requeue::After(left),
                (requeue, _) => requeue,
            },
            _ => requeue,
        }
    }
}

/// When a resource is reconciled again according to the row of the outcome alone.
fn of_row(again: Again, Circumstances { resync, in_a_row, .. }: &Circumstances) -> Requeue {
    match again {
        Again::Event => Requeue::Never,
        Again::AtRest | Again::Resync => resync.map_or(Requeue::Never, Requeue::Tick),
        Again::Backoff => Requeue::Backoff,
        Again::Growing => Requeue::After(doubling(SOON, in_a_row.refusals, NOT_YET_MAX)),
        Again::Soon(delay) => Requeue::Soon(delay.max(a_tenth_of(in_a_row.progress))),
        Again::After(delay) => Requeue::After(delay),
    }
}

/// The delay between two observations of an operation that has been in progress for so long: its end is noticed a tenth later than it could be.
/// A database that is created for ten minutes is observed 56 times, and not 600 times.
fn a_tenth_of(progress: Duration) -> Duration {
    (progress / 10).min(PROGRESS_MAX)
}
