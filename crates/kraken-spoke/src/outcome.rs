//! What one run came to, and what follows from it: the Ready condition, the event, and when to look again. Pure, and the
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

/// How soon something that was started is looked at again.
const SOON: Duration = Duration::from_secs(1);
/// How soon a run that met somebody else's write is repeated.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(100);
/// How often it is looked whether a deletion may go on; costs one list of the namespace's references for all who wait.
const BLOCKED: Duration = Duration::from_secs(2);
/// How often credentials are tried again: somebody may just have mended them.
const CREDENTIALS: Duration = Duration::from_secs(30);
/// How often what cannot be adopted is looked for again: it may have been made a moment ago, or be let go by its owner.
const ADOPTION: Duration = Duration::from_secs(10);
/// The longest delay between two tries of what the cloud refuses for now.
const NOT_YET_MAX: Duration = Duration::from_mins(1);
/// How long a resource may be in progress before its status says so. Most are done sooner, and a write is saved.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// The same for the hub's answer. It is not held back for so long, except while others of the kind get theirs.
pub(crate) const HUB_GRACE: Duration = Duration::from_secs(10);

/// The reasons that speak of progress.
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

/// What one run came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Everything is as wanted.
    InPlace,
    /// References have no value yet.
    Waiting(Vec<Problem>),
    /// The spec cannot be carried out as written.
    Invalid(Vec<Problem>),
    /// The hub has not answered yet.
    Asked,
    /// Under way; look again.
    InProgress(Reason, String),
    /// The cloud refuses it for now, because something else must happen there first; look again ever later.
    NotYet(Reason, String),
    /// A change in place was just made; look again at once.
    Changed(String),
    /// A change in place was made a moment ago, and reads lag behind it; look again when so much time has passed.
    Unseen(String, Duration),
    /// A change in place was made again and again and has no effect; slow down.
    Unheeded(String),
    /// A changed field cannot be changed in place.
    Immutable(Vec<(FieldDiff, String)>),
    /// It differs and is left alone.
    Drifted(Vec<FieldDiff>),
    /// This is to be done and waits for approval.
    AwaitingApproval(Box<Plan>),
    /// This is approved; look again at once.
    Approved(Box<Plan>),
    /// What is to be adopted cannot be.
    AdoptionRefused(String),
    /// The cloud did not do what was asked.
    Failed(Failure),
    /// Its objects are in the first place, and the controller works in the second.
    Elsewhere(Location, Location),
    /// More exists than the spec explains: nothing is launched.
    LaunchRefused(String),
    /// It launched too often: nothing is launched until a person looks at it.
    LaunchLimit(String),
    /// Much vanished at once: nothing is created again until a person confirms.
    Held(String),
    /// The account that it uses does not exist, cannot be used, or forbids what it asks for.
    Account(Reason, String),
    /// `lifecycle.paused`.
    Paused,
    /// Something is to be deleted, and `lifecycle.protect`: what, and what it takes.
    Protected(String),
    /// Being deleted, and still referred to by these.
    Blocked(Vec<String>),
    /// The Kubernetes API did not do what was asked.
    Kubernetes(ApiError),
    /// A fault of this controller.
    Internal(String),
    /// The finalizer is off: there is nothing left to report on.
    Removed,
}

impl Outcome {
    /// As a metric's label.
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
                "the hub has not answered the DependencyRequest yet; if this stays, check that kraken-hub is running".to_owned(),
            ),
            Self::InProgress(reason, message) | Self::NotYet(reason, message) => no(*reason, message.clone()),
            Self::Changed(message) | Self::Unseen(message, _) | Self::Unheeded(message) => no(Reason::Updating, message.clone()),
            Self::Immutable(fields) => no(Reason::ImmutableField, immutable_message(fields)),
            // A policy that was chosen is no fault: the Drifted condition and `status.drift` say what differs.
            Self::Drifted(_) => (
                State::True,
                Reason::Available,
                "in place, except for drift that is reported only: see status.drift".to_owned(),
            ),
            Self::AwaitingApproval(plan) => no(Reason::AwaitingApproval, plan::awaited(plan)),
            Self::Approved(plan) => no(Reason::Updating, format!("plan {} is approved", plan.hash)),
            Self::AdoptionRefused(why) => no(Reason::AdoptionRefused, why.clone()),
            // The same words whatever was attempted: they would change with each try otherwise, and be written each time.
            Self::Failed(Failure { class: FailureClass::Throttled, .. }) => no(
                Reason::Throttled,
                "the cloud asks for fewer calls: they are repeated with growing delays".to_owned(),
            ),
            Self::Failed(failure) => no(failure_reason(failure.class), failure.to_string()),
            Self::Elsewhere(there, here) => no(
                Reason::LocationMismatch,
                format!(
                    "what this resource manages is in {there}; this controller works in {here} and touches nothing of it: \
                     give the controller credentials and region of the former"
                ),
            ),
            Self::LaunchRefused(why) => no(Reason::LaunchRefused, why.clone()),
            Self::LaunchLimit(why) => no(Reason::LaunchLimitReached, why.clone()),
            Self::Held(why) => no(Reason::RecreationHeld, why.clone()),
            Self::Account(reason, why) => no(*reason, why.clone()),
            Self::Paused => no(Reason::Paused, "spec.lifecycle.paused is true: nothing is touched".to_owned()),
            Self::Protected(message) => no(Reason::DeletionProtected, message.clone()),
            Self::Blocked(by) => no(
                Reason::DeletionBlocked,
                format!("waits until these are deleted or refer to something else: {}", listed(by)),
            ),
            Self::Kubernetes(error) => no(Reason::KubernetesError, error.to_string()),
            Self::Internal(message) => no(Reason::InternalError, message.clone()),
        }
    }

    /// When the resource is looked at again, `resync` being its resync interval if it has one, and `refusals` how many times in
    /// a row the cloud refused for now, this time included.
    pub(crate) fn requeue(&self, resync: Option<Duration>, refusals: u32) -> Requeue {
        let at_resync = resync.map_or(Requeue::Never, Requeue::Tick);
        match self {
            Self::InPlace | Self::Immutable(_) | Self::Drifted(_) | Self::AwaitingApproval(_) => at_resync,
            Self::AdoptionRefused(_) => Requeue::After(ADOPTION),
            // A person has to do something, which wakes it or restarts the controller.
            Self::Elsewhere(..) | Self::LaunchLimit(_) | Self::Held(_) => at_resync,
            Self::LaunchRefused(_) => Requeue::Backoff,
            // A Secret of the account is not watched, and a role may be mended in the cloud.
            Self::Account(Reason::AccountNotReady, _) => Requeue::After(CREDENTIALS),
            // The watch on accounts wakes it.
            Self::Account(..) => Requeue::Never,
            // The watch on what is missing, or on the spec, wakes it.
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
                // An edit wakes it at once. What was refused may also be mended elsewhere: a permission, a limit, something
                // that the cloud does not know yet.
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

    /// Whether it may be over before anybody needs to read of it.
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

    /// Whether the cloud refuses it for now.
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

    /// Whether the controller is at work on it, or tries again by itself.
    pub(crate) fn is_reconciling(&self) -> bool {
        self.is_in_progress()
            || matches!(self, Self::Approved(_) | Self::Unheeded(_) | Self::Kubernetes(_) | Self::Internal(_))
    }

    /// Whether it comes from a comparison with what the cloud has; everything else says nothing of drift.
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

    /// What differs and is left alone.
    pub(crate) fn drift(&self) -> Option<String> {
        match self {
            Self::Drifted(fields) => Some(drift_message(fields)),
            _ => None,
        }
    }

    /// How long it may be over before anybody needs to read of it.
    pub(crate) fn grace(&self) -> Duration {
        if matches!(self, Self::Asked) { HUB_GRACE } else { GRACE }
    }

    /// Whether it says nothing of the resource, only of the cloud's mood: what was in place a moment ago still is.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Failed(Failure { class: FailureClass::Throttled | FailureClass::Transient, .. }))
    }

    /// Whether the event about it is a warning.
    pub(crate) fn is_warning(&self) -> bool {
        let is_fine = matches!(
            self,
            Self::InPlace | Self::Removed | Self::Paused | Self::AwaitingApproval(_) | Self::Approved(_)
        );
        !is_fine && (!self.is_in_progress() || self.is_not_yet())
    }

    /// Why no launch was made, as a metric's label, if one was due and is withheld.
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
            Self::Asked => Some((State::Unknown, "the hub has not answered yet".to_owned())),
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
            Self::InPlace => Some((State::True, "the cloud matches this resource".to_owned())),
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

/// What a call came to that the cloud refused: for now, which says what it was for, or else a failure.
pub(crate) fn refused(failure: Failure, reason: Reason) -> Outcome {
    match failure.class {
        FailureClass::NotYet | FailureClass::TokenUsed => Outcome::NotYet(reason, failure.to_string()),
        _ => Outcome::Failed(failure),
    }
}

/// The delay after this many tries in a row: 1, 2, 4 s and so on, at most [`NOT_YET_MAX`].
fn growing(tries: u32) -> Duration {
    let tries = if mutants::active(Mutant::NoGrowingDelay) { 1 } else { tries };
    SOON.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(NOT_YET_MAX)
}

/// A few ids in full, and how many more.
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
        format!("spec.{} is {} in the cloud and {} here: {why}", field.path, field.have, field.want)
    };
    fields.iter().map(each).collect::<Vec<_>>().join("; ")
}

fn drift_message(fields: &[FieldDiff]) -> String {
    let each = |field: &FieldDiff| match field.path.as_str() {
        "" => format!("{} missing", field.want),
        path => format!("spec.{path} is {} in the cloud and {} here", field.have, field.want),
    };
    let all = fields.iter().map(each).collect::<Vec<_>>().join("; ");
    format!("{all}; left alone because spec.lifecycle.drift is Report")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: FailureClass) -> Outcome {
        Outcome::Failed(Failure { class, action: "a".into(), code: "c".into(), message: "m".into() })
    }

    #[test]
    fn a_refusal_is_tried_again_ever_more_seldom_and_a_missing_value_only_when_it_appears() {
        let resync = Some(Duration::from_mins(5));
        assert_eq!(failure(FailureClass::Terminal).requeue(None, 0), Requeue::Backoff);
        assert_eq!(failure(FailureClass::Throttled).requeue(resync, 0), Requeue::Backoff);
        assert_eq!(Outcome::Waiting(vec![]).requeue(resync, 0), Requeue::Never);
        assert_eq!(Outcome::InPlace.requeue(resync, 0), Requeue::Tick(Duration::from_mins(5)));
    }

    #[test]
    fn what_the_cloud_refuses_for_now_is_tried_again_ever_later_up_to_a_minute() {
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
    fn only_what_an_edit_alone_helps_is_stalled_and_nothing_is_stalled_and_reconciling() {
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
    fn drift_that_is_only_reported_leaves_ready_alone() {
        let drifted = Outcome::Drifted(vec![FieldDiff::new("size", "3", "9")]);
        assert_eq!((drifted.ready().0, drifted.ready().1), (State::True, Reason::Available));
        assert_eq!(drifted.synced().unwrap().0, State::False);
        assert!(drifted.drift().unwrap().contains("spec.size is 9 in the cloud and 3 here"));
    }
}
