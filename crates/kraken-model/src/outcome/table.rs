//! What each outcome means: one row, from which its conditions, event, metric and requeue follow. Pure.

use std::time::Duration;

use kraken_api::reasons::Reason;
use kraken_options::{Problem, ProblemKind};

use crate::outcome::{
    HUB_GRACE, Outcome,
    failure::{CREDENTIALS, FailureRow},
    row::{AT_ONCE, Activity, Again, Observed, References, Row, SOON},
};

/// How often a blocked deletion is checked; costs one list of the namespace's references for all blocked deletions.
const BLOCKED: Duration = Duration::from_secs(2);
/// How often a rejected adoption is retried: the object may have been created meanwhile, or released by its owner.
const ADOPTION: Duration = Duration::from_secs(10);

impl Outcome {
    /// The row of this outcome.
    pub fn row(&self) -> Row {
        use {Activity as A, Observed as O, Reason as R, References as D};
        let row = |reason, activity, observed, references, again| Row {
            reason,
            activity,
            observed,
            references,
            again,
        };
        let problems = |problems: &[Problem]| {
            let is_resolved = problems.iter().all(|problem| problem.kind == ProblemKind::Invalid);
            if is_resolved { D::Resolved } else { D::Unmet }
        };
        #[rustfmt::skip] // one line for each row
        let row = match self {
            Self::InPlace => row(R::Available, A::Fine, O::Matches, D::Resolved, Again::AtRest),
            // A policy and no failure: the Drifted condition and `status.drift` list the differences.
            Self::Drifted(_) => row(R::Available, A::Waiting, O::Differs, D::Resolved, Again::AtRest),
            Self::Immutable(_) => row(R::ImmutableField, A::Stalled, O::Differs, D::Resolved, Again::AtRest),
            // A newer answer is no failure, and its dependents work with the one that is kept.
            Self::Keeps(kept) if kept.plan.is_some() => row(R::Available, A::Fine, O::Matches, D::Resolved, Again::AtRest),
            Self::Keeps(_) => row(R::Available, A::Fine, O::Differs, D::Resolved, Again::AtRest),
            // The object may be created later.
            Self::Unanswered(why) if why.reason == R::NotFound => row(why.reason, A::Waiting, O::Unreached, D::Resolved, Again::Backoff),
            Self::Unanswered(why) => row(why.reason, A::Stalled, O::Unreached, D::Resolved, Again::Backoff),
            Self::AwaitingApproval(_) => row(R::AwaitingApproval, A::Fine, O::Differs, D::Resolved, Again::Resync),
            Self::Approved(_) => row(R::Updating, A::Continuing, O::Differs, D::Resolved, Again::Soon(AT_ONCE)),
            Self::Changed(_) => row(R::Updating, A::Progress, O::Differs, D::Resolved, Again::Soon(AT_ONCE)),
            Self::ChangeHadNoEffect(_) => row(R::Updating, A::Retrying, O::Differs, D::Resolved, Again::Backoff),
            // Of an object that does not decode, which has no plan.
            Self::InProgress(R::AwaitingApproval, _) => row(R::AwaitingApproval, A::Waiting, O::Differs, D::Resolved, Again::Resync),
            Self::InProgress(reason, _) => row(*reason, A::Progress, O::Differs, D::Resolved, Again::Soon(SOON)),
            Self::NotVisibleYet(reason, _, left) => row(*reason, A::Progress, O::Differs, D::Resolved, Again::After(*left)),
            Self::NotYet(reason, _) => row(*reason, A::NotYet, O::Unreached, D::Resolved, Again::Growing),
            Self::LaunchRefused(_) => row(R::LaunchRefused, A::LaunchWithheld, O::Differs, D::Resolved, Again::Backoff),
            Self::LaunchLimit(_) => row(R::LaunchLimitReached, A::LaunchWithheld, O::Differs, D::Resolved, Again::Resync),
            // What is missing may be restored.
            Self::CreationUnknown(_) => row(R::CreationUnknown, A::LaunchWithheld, O::Unreached, D::Unsaid, Again::Backoff),
            Self::MassLossHeld(_) => row(R::RecreationHeld, A::LaunchWithheld, O::Differs, D::Resolved, Again::Resync),
            Self::WrongLocation(_) => row(R::LocationMismatch, A::LaunchWithheld, O::Unreached, D::Unsaid, Again::Resync),
            Self::AdoptionRefused(_) => row(R::AdoptionRefused, A::Stalled, O::Unreached, D::Resolved, Again::After(ADOPTION)),
            Self::Waiting(_) => row(R::DependenciesNotReady, A::Waiting, O::Unsaid, D::Unmet, Again::Event),
            Self::Invalid(all) => row(R::InvalidSpec, A::Stalled, O::Unsaid, problems(all), Again::Event),
            Self::WaitingForHub => row(R::WaitingForHub, A::Progress, O::Unsaid, D::Asked, Again::After(HUB_GRACE)),
            // Neither the Secret of an Account is watched, nor its role; the Account itself is.
            Self::Account(R::AccountNotReady, _) => row(R::AccountNotReady, A::Waiting, O::Unreached, D::Unsaid, Again::After(CREDENTIALS)),
            Self::Account(R::NotAllowedByAccount, _) => row(R::NotAllowedByAccount, A::Stalled, O::Unreached, D::Unsaid, Again::Event),
            Self::Account(reason, _) => row(*reason, A::Waiting, O::Unreached, D::Unsaid, Again::Event),
            Self::Paused => row(R::Paused, A::Fine, O::Unsaid, D::Unsaid, Again::Event),
            Self::Protected(_) => row(R::DeletionProtected, A::Waiting, O::Unsaid, D::Unsaid, Again::Event),
            Self::Blocked(_) => row(R::DeletionBlocked, A::Progress, O::Unsaid, D::Unsaid, Again::Soon(BLOCKED)),
            Self::Kubernetes(error) if error.is_conflict() => row(R::KubernetesError, A::Progress, O::Unsaid, D::Unsaid, Again::Backoff),
            Self::Kubernetes(_) => row(R::KubernetesError, A::Retrying, O::Unsaid, D::Unsaid, Again::Backoff),
            Self::Internal(_) => row(R::InternalError, A::Retrying, O::Unsaid, D::Unsaid, Again::Backoff),
            Self::Removed => row(R::Available, A::Fine, O::Unsaid, D::Unsaid, Again::Event),
            Self::Failed(failure) => {
                let FailureRow { reason, activity, again, .. } = FailureRow::of(failure.class);
                row(reason, activity, O::Unreached, D::Resolved, again)
            }
        };
        row
    }
}
