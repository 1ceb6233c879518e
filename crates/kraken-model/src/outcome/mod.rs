//! The outcome of a reconcile, and its consequences: the conditions, the event, and the requeue. Pure, and the only
//! place where any of them is decided. A new outcome is one variant, one row ([`table`]) and one message ([`conditions`]).

mod conditions;
mod failed;
mod failure;
mod plan;
mod requeue;
mod row;
mod table;

use std::time::Duration;

use kraken_api::{FieldDiff, Plan, reasons::Reason};
use kraken_kind::Failure;
use kraken_options::Problem;
use kraken_runtime::patch::ApiError;
use row::Observed;
use strum::{IntoStaticStr, VariantNames};

pub use failed::{attributed, in_namespace, refused};
pub use failure::{Created, FailureRow, Rejects, Split};
pub use requeue::{Circumstances, InARow, Presence, RECHECK, after_conflict};
pub use row::{Activity, Again};

/// How long a resource may be in progress before its status reports it. Most operations complete sooner, and a write is
/// saved.
pub const GRACE: Duration = Duration::from_secs(10);
/// The same for the hub's response. The report is delayed further only while the hub responds to other resources of the
/// kind.
pub const HUB_GRACE: Duration = Duration::from_secs(10);

/// The reasons that report progress.
pub const PROGRESS: [Reason; 8] = [
    Reason::WaitingForHub,
    Reason::Creating,
    Reason::Updating,
    Reason::Replacing,
    Reason::Deleting,
    Reason::DeletionBlocked,
    Reason::Throttled,
    Reason::CloudUnavailable,
];

/// The outcome of a reconcile.
#[derive(Debug, IntoStaticStr, VariantNames)]
pub enum Outcome {
    /// Observed equals desired.
    InPlace,
    /// References have no value yet.
    Waiting(Vec<Problem>),
    /// The spec cannot be applied as written.
    Invalid(Vec<Problem>),
    /// The hub has not responded yet.
    WaitingForHub,
    /// An operation is in progress; observe again.
    InProgress(Reason, String),
    /// The provider rejects the operation because another one must finish first; retry with backoff.
    NotYet(Reason, String),
    /// A change in place was just made; observe again at once.
    Changed(String),
    /// A change was or may have been made recently, and reads lag behind it; observe again after this delay.
    NotVisibleYet(Reason, String, Duration),
    /// A change in place was made several times without effect; retry with backoff.
    ChangeHadNoEffect(String),
    /// A changed field cannot be changed in place.
    Immutable(Vec<(FieldDiff, String)>),
    /// Drift that is not reverted.
    Drifted(Vec<FieldDiff>),
    /// A look-up publishes what it found before: there is a newer answer, or none any more.
    Keeps(Box<Lookup>),
    /// A look-up has no answer, or its answer does not exist any more.
    Unanswered(Box<Lookup>),
    /// These actions await approval.
    AwaitingApproval(Box<Plan>),
    /// The plan is approved; continue at once.
    Approved(Box<Plan>),
    /// The object cannot be adopted.
    AdoptionRefused(String),
    /// The provider call failed.
    Failed(Failure),
    /// The remote objects are in another location than the one in which the resource is reconciled; the message names both, and what
    /// determines the second.
    WrongLocation(String),
    /// More objects exist than the spec accounts for: nothing is launched.
    LaunchRefused(String),
    /// The launch limit is reached: nothing is launched until a person confirms.
    LaunchLimit(String),
    /// It is not known whether a launch created an object, and nothing can find it: nothing is launched, and no record is removed, until
    /// a person says.
    CreationUnknown(String),
    /// Many remote objects vanished at once: nothing is recreated until a person confirms.
    MassLossHeld(String),
    /// The account that it uses does not exist, cannot be used, or forbids what the resource uses.
    Account(Reason, String),
    /// `lifecycle.paused`.
    Paused,
    /// A deletion is due, and `lifecycle.protect` is set; the message states what and how to allow it.
    Protected(String),
    /// The resource is being deleted, and these are its dependents.
    Blocked(Vec<String>),
    /// A call to the Kubernetes API failed.
    Kubernetes(ApiError),
    /// An internal error of this controller.
    Internal(String),
    /// The finalizer is removed: there is no status to write any more.
    Removed,
}

/// Why a look-up does not publish what it found now.
#[derive(Debug)]
pub struct Lookup {
    /// `NewerAnswer`, `NotFound`, `Ambiguous` or `AnswerLost`.
    pub reason: Reason,
    /// What was found, and what is published.
    pub message: String,
    /// The plan to publish a newer answer, if there is one.
    pub plan: Option<Box<Plan>>,
}

impl Outcome {
    /// The value of the metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Removed => "Removed",
            other => other.row().reason.as_str(),
        }
    }

    /// Whether the operation may complete before it needs to be reported.
    pub fn is_in_progress(&self) -> bool {
        matches!(self.row().activity, Activity::Progress | Activity::NotYet | Activity::Unavailable)
    }

    /// Whether a write met another version of the object.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Kubernetes(error) if error.is_conflict())
    }

    /// Whether the provider rejected the operation as not possible yet.
    pub fn is_not_yet(&self) -> bool {
        self.row().activity == Activity::NotYet
    }

    /// Whether an edit is required: kstatus, Flux and Argo CD then report a failure at once.
    pub fn is_stalled(&self) -> bool {
        matches!(self.row().activity, Activity::Stalled | Activity::LaunchWithheld)
    }

    /// Whether the controller is working on the resource, or retries by itself.
    pub fn is_reconciling(&self) -> bool {
        self.is_in_progress() || matches!(self.row().activity, Activity::Continuing | Activity::Retrying)
    }

    /// Whether the outcome results from a comparison with the observed state; any other outcome states nothing about
    /// drift.
    pub fn has_compared(&self) -> bool {
        matches!(self.row().observed, Observed::Matches | Observed::Differs)
    }

    /// How long the operation may take before it needs to be reported.
    pub fn grace(&self) -> Duration {
        if matches!(self, Self::WaitingForHub) { HUB_GRACE } else { GRACE }
    }

    /// Whether its event is a warning.
    pub fn is_warning(&self) -> bool {
        match self.row().activity {
            Activity::Waiting
            | Activity::NotYet
            | Activity::Retrying
            | Activity::Stalled
            | Activity::LaunchWithheld => true,
            Activity::Fine | Activity::Progress | Activity::Unavailable | Activity::Continuing => false,
        }
    }
}

#[cfg(test)]
mod tests;
