//! The outcome of a reconcile, and its consequences: the Ready condition, the event, and the requeue. Pure, and the
//! only place where any of the three is decided.

use std::time::Duration;

use kraken_api::{FieldDiff, Location, Plan, conditions::State, reasons::Reason};
use kraken_options::{Problem, ProblemKind, summary};
use kraken_runtime::{
    mutants::{self, Mutant},
    patch::ApiError,
    queue::Requeue,
};

use crate::{Failure, FailureClass, plan};

/// How soon a started operation is observed again.
const SOON: Duration = Duration::from_secs(1);
/// How soon a reconcile that met a conflicting write is repeated.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(100);
/// How often a blocked deletion is checked; costs one list of the namespace's references for all blocked deletions.
const BLOCKED: Duration = Duration::from_secs(2);
/// How often credentials are retried: they may have been corrected meanwhile.
const CREDENTIALS: Duration = Duration::from_secs(30);
/// How often a rejected adoption is retried: the object may have been created meanwhile, or released by its owner.
const ADOPTION: Duration = Duration::from_secs(10);
/// The maximum delay between two attempts of an operation that is not possible yet.
const NOT_YET_MAX: Duration = Duration::from_mins(1);
/// How long a resource may be in progress before its status reports it. Most operations complete sooner, and a write is
/// saved.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// The same for the hub's response. The report is delayed further only while the hub responds to other resources of the
/// kind.
pub(crate) const HUB_GRACE: Duration = Duration::from_secs(10);

/// The reasons that report progress.
pub(crate) const PROGRESS: [Reason; 8] = [
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
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Observed equals desired.
    InPlace,
    /// References have no value yet.
    Waiting(Vec<Problem>),
    /// The spec cannot be applied as written.
    Invalid(Vec<Problem>),
    /// The hub has not responded yet.
    Asked,
    /// An operation is in progress; observe again.
    InProgress(Reason, String),
    /// The provider rejects the operation because another one must finish first; retry with backoff.
    NotYet(Reason, String),
    /// A change in place was just made; observe again at once.
    Changed(String),
    /// A change in place was made recently, and reads lag behind it; observe again after this delay.
    Unseen(String, Duration),
    /// A change in place was made several times without effect; retry with backoff.
    Unheeded(String),
    /// A changed field cannot be changed in place.
    Immutable(Vec<(FieldDiff, String)>),
    /// Drift that is not reverted.
    Drifted(Vec<FieldDiff>),
    /// These actions await approval.
    AwaitingApproval(Box<Plan>),
    /// The plan is approved; continue at once.
    Approved(Box<Plan>),
    /// The object cannot be adopted.
    AdoptionRefused(String),
    /// The provider call failed.
    Failed(Failure),
    /// The remote objects are in the first location, and the controller works in the second.
    Elsewhere(Location, Location),
    /// More objects exist than the spec accounts for: nothing is launched.
    LaunchRefused(String),
    /// The launch limit is reached: nothing is launched until a person confirms.
    LaunchLimit(String),
    /// Many remote objects vanished at once: nothing is recreated until a person confirms.
    Held(String),
    /// The account that it uses does not exist, cannot be used, or forbids what it asks for.
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

impl Outcome {
    /// The value of the metric label.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Removed => "Removed",
            other => other.ready().1.as_str(),
        }
    }

    /// The state, reason and message of the Ready condition.
    pub(crate) fn ready(&self) -> (State, Reason, String) {
        let no = |reason, message| (State::False, reason, message);
        match self {
            Self::InPlace | Self::Removed => (State::True, Reason::Available, "everything is in place".to_owned()),
            Self::Waiting(problems) => no(Reason::DependenciesNotReady, summary(problems)),
            Self::Invalid(problems) => no(Reason::InvalidSpec, summary(problems)),
            Self::Asked => no(
                Reason::WaitingForHub,
                "waiting for the hub to resolve references; if this persists, check that kraken-hub is running".to_owned(),
            ),
            Self::InProgress(reason, message) | Self::NotYet(reason, message) => no(*reason, message.clone()),
            Self::Changed(message) | Self::Unseen(message, _) | Self::Unheeded(message) => no(Reason::Updating, message.clone()),
            Self::Immutable(fields) => no(Reason::ImmutableField, immutable_message(fields)),
            // Drift that is only reported is a policy and no failure: the Drifted condition and `status.drift` list the
            // differences.
            Self::Drifted(_) => (
                State::True,
                Reason::Available,
                "in place, except for drift that is reported only: see status.drift".to_owned(),
            ),
            Self::AwaitingApproval(plan) => no(Reason::AwaitingApproval, plan::awaited(plan)),
            Self::Approved(plan) => no(Reason::Updating, format!("plan {} is approved", plan.hash)),
            Self::AdoptionRefused(why) => no(Reason::AdoptionRefused, why.clone()),
            // The same message regardless of the attempted action: otherwise it would change with each attempt, and be
            // written each time.
            Self::Failed(Failure { class: FailureClass::Throttled, .. }) => no(
                Reason::Throttled,
                "throttled by the provider; retrying with backoff".to_owned(),
            ),
            Self::Failed(failure) => no(failure_reason(failure.class), failure.to_string()),
            Self::Elsewhere(there, here) => no(
                Reason::LocationMismatch,
                format!(
                    "the remote objects of this resource are in {there}; this controller works in {here} and does not change \
                     them: configure it with the credentials and the region of the former"
                ),
            ),
            Self::LaunchRefused(why) => no(Reason::LaunchRefused, why.clone()),
            Self::LaunchLimit(why) => no(Reason::LaunchLimitReached, why.clone()),
            Self::Held(why) => no(Reason::RecreationHeld, why.clone()),
            Self::Account(reason, why) => no(*reason, why.clone()),
            Self::Paused => no(Reason::Paused, "spec.lifecycle.paused is true: no change is made".to_owned()),
            Self::Protected(message) => no(Reason::DeletionProtected, message.clone()),
            Self::Blocked(by) => no(
                Reason::DeletionBlocked,
                format!("waiting until these dependents are deleted or no longer refer to this resource: {}", listed(by)),
            ),
            Self::Kubernetes(error) => no(Reason::KubernetesError, error.to_string()),
            Self::Internal(message) => no(Reason::InternalError, message.clone()),
        }
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
            Self::Asked => Requeue::After(HUB_GRACE),
            Self::InProgress(..) => Requeue::Soon(SOON),
            Self::NotYet(..) => Requeue::After(growing(refusals)),
            Self::Unseen(_, left) => Requeue::After(*left),
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
            Self::Kubernetes(error) if error.is_conflict() => Requeue::Soon(AT_ONCE),
            Self::Unheeded(_) | Self::Kubernetes(_) | Self::Internal(_) => Requeue::Backoff,
        }
    }

    /// Whether the operation may complete before it needs to be reported.
    pub(crate) fn is_in_progress(&self) -> bool {
        match self {
            Self::Asked
            | Self::InProgress(..)
            | Self::NotYet(..)
            | Self::Changed(_)
            | Self::Unseen(..)
            | Self::Blocked(_) => true,
            Self::Failed(failure) => match failure.class {
                FailureClass::NotYet
                | FailureClass::TokenUsed
                | FailureClass::TokenSpent
                | FailureClass::Throttled
                | FailureClass::Transient => true,
                FailureClass::Terminal
                | FailureClass::Credentials
                | FailureClass::NotConfigured
                | FailureClass::Protected => false,
            },
            Self::Kubernetes(error) => error.is_conflict(),
            _ => false,
        }
    }

    /// Whether the provider rejected the operation as not possible yet.
    pub(crate) fn is_not_yet(&self) -> bool {
        let waits = |class| matches!(class, FailureClass::NotYet | FailureClass::TokenUsed);
        match self {
            Self::NotYet(..) => true,
            Self::Failed(failure) => waits(failure.class),
            _ => false,
        }
    }

    /// Whether only an edit helps: kstatus, Flux and Argo CD then report a failure at once.
    pub(crate) fn is_stalled(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::Immutable(_) | Self::AdoptionRefused(_) => true,
            Self::Elsewhere(..) | Self::LaunchRefused(_) | Self::LaunchLimit(_) | Self::Held(_) => true,
            Self::Account(reason, _) => *reason == Reason::NotAllowedByAccount,
            Self::Failed(failure) => failure.class == FailureClass::Terminal,
            _ => false,
        }
    }

    /// Whether the controller is working on the resource, or retries by itself.
    pub(crate) fn is_reconciling(&self) -> bool {
        self.is_in_progress()
            || matches!(self, Self::Approved(_) | Self::Unheeded(_) | Self::Kubernetes(_) | Self::Internal(_))
    }

    /// Whether the outcome results from a comparison with the observed state; any other outcome states nothing about
    /// drift.
    pub(crate) fn has_compared(&self) -> bool {
        match self {
            Self::InPlace
            | Self::InProgress(..)
            | Self::Changed(_)
            | Self::Unseen(..)
            | Self::Unheeded(_)
            | Self::LaunchRefused(_)
            | Self::LaunchLimit(_)
            | Self::Held(_)
            | Self::Immutable(_)
            | Self::Drifted(_)
            | Self::AwaitingApproval(_)
            | Self::Approved(_) => true,
            Self::Waiting(_)
            | Self::Invalid(_)
            | Self::Asked
            | Self::NotYet(..)
            | Self::AdoptionRefused(_)
            | Self::Elsewhere(..)
            | Self::Account(..)
            | Self::Failed(_)
            | Self::Paused
            | Self::Protected(_)
            | Self::Blocked(_)
            | Self::Kubernetes(_)
            | Self::Internal(_)
            | Self::Removed => false,
        }
    }

    /// The drift that is not reverted.
    pub(crate) fn drift(&self) -> Option<String> {
        match self {
            Self::Drifted(fields) => Some(drift_message(fields)),
            _ => None,
        }
    }

    /// How long the operation may take before it needs to be reported.
    pub(crate) fn grace(&self) -> Duration {
        if matches!(self, Self::Asked) { HUB_GRACE } else { GRACE }
    }

    /// Whether the outcome states nothing about the resource, only about the availability of the provider: the last
    /// reported state still holds.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Failed(Failure { class: FailureClass::Throttled | FailureClass::Transient, .. }))
    }

    /// Whether its event is a warning.
    pub(crate) fn is_warning(&self) -> bool {
        let is_fine = matches!(
            self,
            Self::InPlace | Self::Removed | Self::Paused | Self::AwaitingApproval(_) | Self::Approved(_)
        );
        !is_fine && (!self.is_in_progress() || self.is_not_yet())
    }

    /// The reason why a due launch was not made, as the value of a metric label.
    pub(crate) fn withheld(&self) -> Option<&'static str> {
        matches!(self, Self::LaunchRefused(_) | Self::LaunchLimit(_) | Self::Held(_) | Self::Elsewhere(..))
            .then(|| self.label())
    }

    pub(crate) fn dependencies(&self) -> Option<(State, String)> {
        match self {
            Self::Invalid(problems) if problems.iter().all(|p| p.kind == ProblemKind::Invalid) => {
                Some((State::True, "every reference has a value".to_owned()))
            }
            Self::Waiting(problems) | Self::Invalid(problems) => Some((State::False, summary(problems))),
            Self::Asked => Some((State::Unknown, "waiting for the hub to resolve references".to_owned())),
            Self::Paused
            | Self::Protected(_)
            | Self::Blocked(_)
            | Self::Elsewhere(..)
            | Self::Account(..)
            | Self::Kubernetes(_)
            | Self::Internal(_)
            | Self::Removed => None,
            _ => Some((State::True, "every reference has a value".to_owned())),
        }
    }

    pub(crate) fn synced(&self) -> Option<(State, String)> {
        match self {
            Self::InPlace => Some((State::True, "the remote objects match the desired state".to_owned())),
            Self::Drifted(fields) => Some((State::False, drift_message(fields))),
            Self::Immutable(_)
            | Self::AwaitingApproval(_)
            | Self::Approved(_)
            | Self::AdoptionRefused(_)
            | Self::Elsewhere(..)
            | Self::Account(..)
            | Self::LaunchRefused(_)
            | Self::LaunchLimit(_)
            | Self::Held(_)
            | Self::Failed(_)
            | Self::Changed(_)
            | Self::Unseen(..)
            | Self::Unheeded(_)
            | Self::NotYet(..)
            | Self::InProgress(..) => Some((State::False, self.ready().2)),
            _ => None,
        }
    }
}

/// The outcome of a rejected call: not possible yet, with the reason of the operation, or else a failure.
pub(crate) fn refused(failure: Failure, reason: Reason) -> Outcome {
    match failure.class {
        FailureClass::NotYet | FailureClass::TokenUsed => Outcome::NotYet(reason, failure.to_string()),
        _ => Outcome::Failed(failure),
    }
}

/// The delay after this many attempts in a row: 1, 2, 4 s and so on, at most [`NOT_YET_MAX`].
fn growing(tries: u32) -> Duration {
    let tries = if mutants::active(Mutant::NoGrowingDelay) { 1 } else { tries };
    SOON.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(NOT_YET_MAX)
}

/// The first ids, and the number of the others.
pub(crate) fn listed(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = ids.len().saturating_sub(SHOWN);
    let shown = ids.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn failure_reason(class: FailureClass) -> Reason {
    match class {
        FailureClass::Terminal => Reason::CloudRefused,
        FailureClass::Throttled => Reason::Throttled,
        FailureClass::Transient => Reason::CloudUnavailable,
        FailureClass::Credentials => Reason::CredentialsMissing,
        FailureClass::NotConfigured => Reason::ControllerNotConfigured,
        FailureClass::NotYet | FailureClass::TokenUsed | FailureClass::TokenSpent => Reason::Creating,
        FailureClass::Protected => Reason::DeletionProtected,
    }
}

fn immutable_message(fields: &[(FieldDiff, String)]) -> String {
    let each = |(field, why): &(FieldDiff, String)| {
        format!("spec.{}: observed {}, desired {}: {why}", field.path, field.have, field.want)
    };
    fields.iter().map(each).collect::<Vec<_>>().join("; ")
}

fn drift_message(fields: &[FieldDiff]) -> String {
    let each = |field: &FieldDiff| match field.path.as_str() {
        "" => format!("{} missing", field.want),
        path => format!("spec.{path}: observed {}, desired {}", field.have, field.want),
    };
    let all = fields.iter().map(each).collect::<Vec<_>>().join("; ");
    format!("{all}; not reverted because spec.lifecycle.drift is Report")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: FailureClass) -> Outcome {
        Outcome::Failed(Failure { class, action: "a".into(), code: "c".into(), message: "m".into() })
    }

    #[test]
    fn rejected_call_is_retried_with_backoff_and_a_missing_value_is_awaited() {
        let resync = Some(Duration::from_mins(5));
        assert_eq!(failure(FailureClass::Terminal).requeue(None, 0), Requeue::Backoff);
        assert_eq!(failure(FailureClass::Throttled).requeue(resync, 0), Requeue::Backoff);
        assert_eq!(Outcome::Waiting(vec![]).requeue(resync, 0), Requeue::Never);
        assert_eq!(Outcome::InPlace.requeue(resync, 0), Requeue::Tick(Duration::from_mins(5)));
    }

    #[test]
    fn operation_not_possible_yet_is_retried_with_backoff_up_to_a_minute() {
        let not_yet = refused(
            Failure {
                class: FailureClass::NotYet,
                action: "a".into(),
                code: "c".into(),
                message: "m".into(),
            },
            Reason::Deleting,
        );
        let delays: Vec<Requeue> = (1..=8).map(|tries| not_yet.requeue(None, tries)).collect();
        let seconds = [1, 2, 4, 8, 16, 32, 60, 60];
        assert_eq!(delays, seconds.map(|seconds| Requeue::After(Duration::from_secs(seconds))));
        assert_eq!(not_yet.ready().1, Reason::Deleting);
        assert!(not_yet.is_not_yet() && not_yet.is_in_progress() && not_yet.is_warning());
        assert_eq!(failure(FailureClass::TokenUsed).requeue(None, 3), not_yet.requeue(None, 3));
    }

    #[test]
    fn only_outcomes_that_need_an_edit_are_stalled_and_never_also_reconciling() {
        let stalled = [
            Outcome::Invalid(vec![]),
            Outcome::Immutable(vec![]),
            Outcome::AdoptionRefused(String::new()),
            failure(FailureClass::Terminal),
        ];
        let reconciling = [
            Outcome::Asked,
            Outcome::InProgress(Reason::Creating, String::new()),
            Outcome::Changed(String::new()),
            Outcome::Blocked(vec![]),
            Outcome::Internal(String::new()),
            failure(FailureClass::NotYet),
            failure(FailureClass::Throttled),
            failure(FailureClass::Transient),
        ];
        let neither = [
            Outcome::InPlace,
            Outcome::Waiting(vec![]),
            Outcome::Drifted(vec![]),
            Outcome::Paused,
            Outcome::Protected(String::new()),
            failure(FailureClass::Credentials),
        ];
        for outcome in &stalled {
            assert!(outcome.is_stalled() && !outcome.is_reconciling(), "{outcome:?}");
        }
        for outcome in &reconciling {
            assert!(!outcome.is_stalled() && outcome.is_reconciling(), "{outcome:?}");
        }
        for outcome in &neither {
            assert!(!outcome.is_stalled() && !outcome.is_reconciling(), "{outcome:?}");
        }
    }

    #[test]
    fn reported_drift_does_not_change_ready() {
        let drifted = Outcome::Drifted(vec![FieldDiff::new("size", "3", "9")]);
        assert_eq!((drifted.ready().0, drifted.ready().1), (State::True, Reason::Available));
        assert_eq!(drifted.synced().unwrap().0, State::False);
        assert!(drifted.drift().unwrap().contains("spec.size: observed 9, desired 3"));
    }
}
