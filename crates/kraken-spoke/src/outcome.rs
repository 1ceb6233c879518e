//! What one run came to, and what follows from it: the Ready condition, the event, and when to look again. Pure, and the
//! only place where any of the three is decided.

use std::time::Duration;

use kraken_api::{FieldDiff, Plan, conditions::State, reasons::Reason};
use kraken_options::{Problem, ProblemKind, summary};
use kraken_runtime::{patch::ApiError, queue::Requeue};

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
/// How long a resource may be in progress before its status says so. Most are done sooner, and a write is saved.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// The same for the hub's answer, which it holds back for up to 30 s while other resources are on their way.
pub(crate) const HUB_GRACE: Duration = Duration::from_secs(40);

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
    /// A change in place was just made; look again at once.
    Changed(String),
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
    /// `lifecycle.paused`.
    Paused,
    /// Being deleted, and `lifecycle.protect`.
    Protected,
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
            Self::InProgress(reason, message) => no(*reason, message.clone()),
            Self::Changed(message) | Self::Unheeded(message) => no(Reason::Updating, message.clone()),
            Self::Immutable(fields) => no(Reason::ImmutableField, immutable_message(fields)),
            Self::Drifted(fields) => no(Reason::Drifted, drift_message(fields)),
            Self::AwaitingApproval(plan) => no(Reason::AwaitingApproval, plan::awaited(plan)),
            Self::Approved(plan) => no(Reason::Updating, format!("plan {} is approved", plan.hash)),
            Self::AdoptionRefused(why) => no(Reason::AdoptionRefused, why.clone()),
            // The same words whatever was attempted: they would change with each try otherwise, and be written each time.
            Self::Failed(Failure { class: FailureClass::Throttled, .. }) => no(
                Reason::Throttled,
                "the cloud asks for fewer calls: they are repeated with growing delays".to_owned(),
            ),
            Self::Failed(failure) => no(failure_reason(failure.class), failure.to_string()),
            Self::Paused => no(Reason::Paused, "spec.lifecycle.paused is true: nothing is touched".to_owned()),
            Self::Protected => no(
                Reason::DeletionProtected,
                "spec.lifecycle.protect is true: set it to false to let the deletion go on".to_owned(),
            ),
            Self::Blocked(by) => no(
                Reason::DeletionBlocked,
                format!("waits until these are deleted or refer to something else: {}", listed(by)),
            ),
            Self::Kubernetes(error) => no(Reason::KubernetesError, error.to_string()),
            Self::Internal(message) => no(Reason::InternalError, message.clone()),
        }
    }

    /// When the resource is looked at again, `resync` being its resync interval if it has one.
    pub(crate) fn requeue(&self, resync: Option<Duration>) -> Requeue {
        let at_resync = resync.map_or(Requeue::Never, Requeue::Tick);
        match self {
            Self::InPlace | Self::Immutable(_) | Self::Drifted(_) | Self::AwaitingApproval(_) => at_resync,
            Self::AdoptionRefused(_) => Requeue::After(ADOPTION),
            // The watch on what is missing, or on the spec, wakes it.
            Self::Waiting(_) | Self::Invalid(_) | Self::Paused | Self::Protected | Self::Removed => {
                Requeue::Never
            }
            Self::Asked => Requeue::After(HUB_GRACE),
            Self::InProgress(..) => Requeue::Soon(SOON),
            Self::Blocked(_) => Requeue::Soon(BLOCKED),
            Self::Changed(_) | Self::Approved(_) => Requeue::Soon(AT_ONCE),
            Self::Failed(failure) => match failure.class {
                // An edit wakes it at once. What was refused may also be mended elsewhere: a permission, a limit, something
                // that the cloud does not know yet.
                FailureClass::Terminal | FailureClass::Throttled | FailureClass::Transient => {
                    Requeue::Backoff
                }
                FailureClass::NotYet | FailureClass::TokenUsed => Requeue::Soon(SOON),
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
            Self::Asked | Self::InProgress(..) | Self::Changed(_) | Self::Blocked(_) => true,
            Self::Failed(failure) => match failure.class {
                FailureClass::NotYet
                | FailureClass::TokenUsed
                | FailureClass::TokenSpent
                | FailureClass::Throttled
                | FailureClass::Transient => true,
                FailureClass::Terminal | FailureClass::Credentials | FailureClass::NotConfigured => false,
            },
            Self::Kubernetes(error) => error.is_conflict(),
            _ => false,
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
        !is_fine && !self.is_in_progress()
    }

    pub(crate) fn dependencies(&self) -> Option<(State, String)> {
        match self {
            Self::Invalid(problems) if problems.iter().all(|p| p.kind == ProblemKind::Invalid) => {
                Some((State::True, "every reference has a value".to_owned()))
            }
            Self::Waiting(problems) | Self::Invalid(problems) => Some((State::False, summary(problems))),
            Self::Asked => Some((State::Unknown, "the hub has not answered yet".to_owned())),
            Self::Paused
            | Self::Protected
            | Self::Blocked(_)
            | Self::Kubernetes(_)
            | Self::Internal(_)
            | Self::Removed => None,
            _ => Some((State::True, "every reference has a value".to_owned())),
        }
    }

    pub(crate) fn synced(&self) -> Option<(State, String)> {
        match self {
            Self::InPlace => Some((State::True, "the cloud matches this resource".to_owned())),
            Self::Immutable(_)
            | Self::Drifted(_)
            | Self::AwaitingApproval(_)
            | Self::Approved(_)
            | Self::AdoptionRefused(_)
            | Self::Failed(_)
            | Self::Changed(_)
            | Self::Unheeded(_)
            | Self::InProgress(..) => Some((State::False, self.ready().2)),
            _ => None,
        }
    }
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
        assert_eq!(failure(FailureClass::Terminal).requeue(None), Requeue::Backoff);
        assert_eq!(failure(FailureClass::Throttled).requeue(resync), Requeue::Backoff);
        assert_eq!(Outcome::Waiting(vec![]).requeue(resync), Requeue::Never);
        assert_eq!(Outcome::InPlace.requeue(resync), Requeue::Tick(Duration::from_mins(5)));
    }
}
