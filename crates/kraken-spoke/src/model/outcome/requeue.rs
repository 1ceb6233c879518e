//! When a resource is reconciled again after an outcome. Pure.

use std::time::Duration;

use kraken_api::reasons::Reason;
use kraken_runtime::{
    mutants::{self, Mutant},
    queue::Requeue,
};

use crate::{
    FailureClass,
    model::outcome::{HUB_GRACE, Outcome},
};

/// How soon a started operation is observed again.
const SOON: Duration = Duration::from_secs(1);
/// How soon a reconcile that met a conflicting write is repeated.
const AT_ONCE: Duration = Duration::from_millis(100);
/// How often a blocked deletion is checked; costs one list of the namespace's references for all blocked deletions.
const BLOCKED: Duration = Duration::from_secs(2);
/// How often credentials are retried: they may have been corrected meanwhile.
const CREDENTIALS: Duration = Duration::from_secs(30);
/// How often a rejected adoption is retried: the object may have been created meanwhile, or released by its owner.
const ADOPTION: Duration = Duration::from_secs(10);
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
        matches!(self.requeue(None, 0), Requeue::Never) && !self.is_at_rest()
    }

    /// Whether the remote objects were compared, and nothing is to be done.
    pub(crate) fn is_at_rest(&self) -> bool {
        matches!(self, Self::InPlace | Self::Immutable(_) | Self::Drifted(_))
    }

    /// When the resource is reconciled again, `resync` being its resync interval if it has one, and `refusals` how many
    /// times in a row the provider rejected the operation as not possible yet, this time included.
    pub(crate) fn requeue(&self, resync: Option<Duration>, refusals: u32) -> Requeue {
        let at_resync = resync.map_or(Requeue::Never, Requeue::Tick);
        match self {
            Self::InPlace | Self::Immutable(_) | Self::Drifted(_) | Self::AwaitingApproval(_) => at_resync,
            Self::AdoptionRefused(_) => Requeue::After(ADOPTION),
            // A person must act, which triggers a reconcile or restarts the controller.
            Self::Elsewhere(..) | Self::LaunchLimit(_) | Self::Held(_) => at_resync,
            Self::LaunchRefused(_) => Requeue::Backoff,
            // The Secret of the account is not watched, nor is its role.
            Self::Account(Reason::AccountNotReady, _) => Requeue::After(CREDENTIALS),
            // The watch on Accounts triggers a reconcile.
            Self::Account(..) => Requeue::Never,
            // The watch on the missing value, or on the spec, triggers a reconcile.
            Self::Waiting(_) | Self::Invalid(_) | Self::Paused | Self::Protected(_) | Self::Removed => {
                Requeue::Never
            }
            Self::WaitingForHub => Requeue::After(HUB_GRACE),
            Self::InProgress(..) => Requeue::Soon(SOON),
            Self::NotYet(..) => Requeue::After(growing(refusals)),
            Self::Unseen(_, _, left) => Requeue::After(*left),
            Self::Blocked(_) => Requeue::Soon(BLOCKED),
            Self::Changed(_) | Self::Approved(_) => Requeue::Soon(AT_ONCE),
            Self::Failed(failure) => match failure.class {
                // An edit triggers a reconcile at once. The reason for the rejection may also disappear without an
                // edit: a permission, a limit, an object that is not visible to the provider yet.
                FailureClass::Terminal
                | FailureClass::Throttled
                | FailureClass::Transient
                | FailureClass::Protected => Requeue::Backoff,
                FailureClass::NotYet | FailureClass::TokenUsed => Requeue::After(growing(refusals)),
                FailureClass::TokenSpent => Requeue::Soon(AT_ONCE),
                FailureClass::Credentials | FailureClass::NotConfigured => Requeue::After(CREDENTIALS),
            },
            Self::Unheeded(_) | Self::Kubernetes(_) | Self::Internal(_) => Requeue::Backoff,
        }
    }
}

/// The delay after this many attempts in a row: 1, 2, 4 s and so on, at most [`NOT_YET_MAX`].
fn growing(tries: u32) -> Duration {
    let tries = if mutants::active(Mutant::NoGrowingDelay) { 1 } else { tries };
    SOON.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(NOT_YET_MAX)
}
