//! The conditions that report an outcome. Pure.

use kraken_api::{FieldDiff, conditions::State, reasons::Reason};
use kraken_options::{ProblemKind, summary};

use crate::{
    Failure, FailureClass,
    model::{decide::MISSING, ids::listed, outcome::Outcome, plan},
};

impl Outcome {
    /// The state, reason and message of the Ready condition.
    pub(crate) fn ready(&self) -> (State, Reason, String) {
        let no = |reason, message| (State::False, reason, message);
        match self {
            Self::InPlace | Self::Removed => (State::True, Reason::Available, "everything is in place".to_owned()),
            Self::Waiting(problems) => no(Reason::DependenciesNotReady, summary(problems)),
            Self::Invalid(problems) => no(Reason::InvalidSpec, summary(problems)),
            Self::WaitingForHub => no(
                Reason::WaitingForHub,
                "waiting for the hub to resolve references; if this persists, check that kraken-hub is running".to_owned(),
            ),
            Self::InProgress(reason, message) | Self::NotYet(reason, message) | Self::Unseen(reason, message, _) => {
                no(*reason, message.clone())
            }
            Self::Changed(message) | Self::Unheeded(message) => no(Reason::Updating, message.clone()),
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
            Self::Elsewhere(why) => no(Reason::LocationMismatch, why.clone()),
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

    /// The drift that is not reverted.
    pub(crate) fn drift(&self) -> Option<String> {
        match self {
            Self::Drifted(fields) => Some(drift_message(fields)),
            _ => None,
        }
    }

    /// The state and message of the DependenciesResolved condition, if the outcome states anything about it.
    pub(crate) fn dependencies(&self) -> Option<(State, String)> {
        match self {
            Self::Invalid(problems) if problems.iter().all(|p| p.kind == ProblemKind::Invalid) => {
                Some((State::True, "every reference has a value".to_owned()))
            }
            Self::Waiting(problems) | Self::Invalid(problems) => Some((State::False, summary(problems))),
            Self::WaitingForHub => {
                Some((State::Unknown, "waiting for the hub to resolve references".to_owned()))
            }
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

    /// The state and message of the Synced condition, if the outcome states anything about it.
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
    let each = |field: &FieldDiff| match field.have.as_str() {
        MISSING => format!("{} missing", field.want),
        have => format!("spec.{}: observed {have}, desired {}", field.path, field.want),
    };
    let all = fields.iter().map(each).collect::<Vec<_>>().join("; ");
    format!("{all}; not reverted because spec.lifecycle.drift is Report")
}
