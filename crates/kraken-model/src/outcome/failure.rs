//! What each class of failure means: one row, from which follow the row of its outcome, what a process remembers of the call, and
//! whether other calls fail in the same way. Pure. A new class is one variant and one row.

use std::time::Duration;

use kraken_api::reasons::Reason;
use kraken_kind::FailureClass;

use crate::outcome::row::{AT_ONCE, Activity, Again};

/// How often credentials are retried: they may have been corrected meanwhile.
pub(super) const CREDENTIALS: Duration = Duration::from_secs(30);

/// What a class of failure means.
#[derive(Clone, Copy, Debug)]
pub struct FailureRow {
    /// The reason of its conditions and of its event.
    pub(super) reason: Reason,
    /// Who acts next.
    pub(super) activity: Activity,
    /// When the resource is reconciled again.
    pub(super) again: Again,
    /// What a create call created that failed so.
    pub created: Created,
    /// Whether a change in place that failed so may have taken effect: it can take several calls.
    pub may_have_changed: bool,
    /// What the provider rejects.
    pub rejects: Rejects,
    /// Whether a batched read that failed so is split.
    pub split: Split,
}

/// What a failed create call created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// Nothing, according to the provider.
    Nothing,
    /// That is unknown: the response was lost.
    Unknown,
    /// Nothing, but an earlier call with the same token or name did.
    Earlier,
    /// Nothing: what an earlier call with the same token created is deleted, so that another token is required.
    Spent,
}

/// What a failure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejects {
    /// This call: another change of the resource may succeed.
    Call,
    /// Every call, for some time.
    AllCalls,
    /// Every call with these credentials and settings.
    Account,
}

/// Whether a failed batch is split, to find the request that the failure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// More calls would worsen the condition.
    Never,
    /// Only while others succeed.
    UnlessOutage,
    /// It may be about one request.
    Always,
}

impl FailureRow {
    /// The row of this class.
    pub fn of(class: FailureClass) -> Self {
        use {Activity as A, FailureClass as F, Reason as R, Split as S};
        let row = |reason, activity, again, created, may_have_changed, rejects, split| Self {
            reason,
            activity,
            again,
            created,
            may_have_changed,
            rejects,
            split,
        };
        #[rustfmt::skip] // one line for each row
        let row = match class {
            // An edit triggers a reconcile at once. The reason for the rejection may also disappear without an edit: a permission, a
            // limit, an object that is not visible to the provider yet.
            F::Terminal => row(R::CloudRefused, A::Stalled, Again::Backoff, Created::Nothing, false, Rejects::Call, S::Always),
            // Whoever renames a resource in Git deletes the former one afterwards.
            F::InUse => row(R::ValueInUse, A::Waiting, Again::Backoff, Created::Nothing, false, Rejects::Call, S::Always),
            F::Throttled => row(R::Throttled, A::Unavailable, Again::Backoff, Created::Nothing, true, Rejects::AllCalls, S::Never),
            F::Transient => row(R::CloudUnavailable, A::Unavailable, Again::Backoff, Created::Unknown, true, Rejects::AllCalls, S::UnlessOutage),
            F::NotYet => row(R::Creating, A::NotYet, Again::Growing, Created::Nothing, true, Rejects::Call, S::Always),
            F::TokenUsed => row(R::Creating, A::NotYet, Again::Growing, Created::Earlier, false, Rejects::Call, S::Always),
            F::TokenSpent => row(R::Creating, A::Progress, Again::Soon(AT_ONCE), Created::Spent, false, Rejects::Call, S::Always),
            F::Credentials => row(R::CredentialsMissing, A::Waiting, Again::After(CREDENTIALS), Created::Nothing, false, Rejects::Account, S::Never),
            F::NotConfigured => row(R::ControllerNotConfigured, A::Waiting, Again::After(CREDENTIALS), Created::Nothing, false, Rejects::Account, S::Always),
            F::Protected => row(R::DeletionProtected, A::Waiting, Again::Backoff, Created::Nothing, false, Rejects::Call, S::Always),
        };
        row
    }

    /// Whether the provider rejects the operation as not possible yet.
    pub(super) fn is_not_yet(self) -> bool {
        self.activity == Activity::NotYet
    }
}
