//! The conditions that report an outcome. Pure.

use kraken_api::{APPROVED_PLAN_ANNOTATION, FieldDiff, conditions::State, reasons::Reason};
use kraken_kind::{Failure, FailureClass, MISSING};
use kraken_options::summary;

use crate::{
    ids::listed,
    outcome::{
        Lookup, Outcome, plan,
        row::{Observed, References},
    },
};

impl Outcome {
    /// The state, reason and message of the Ready condition.
    pub fn ready(&self) -> (State, Reason, String) {
        let reason = self.row().reason;
        let state = if reason == Reason::Available { State::True } else { State::False };
        (state, reason, self.message())
    }

    /// What a person reads.
    fn message(&self) -> String {
        match self {
            Self::InPlace | Self::Removed => "everything is in place".to_owned(),
            Self::Waiting(problems) | Self::Invalid(problems) => summary(problems),
            Self::WaitingForHub => {
                "waiting for the hub to resolve references; if this persists, check that kraken-hub is running"
                    .to_owned()
            }
            Self::InProgress(_, message)
            | Self::NotYet(_, message)
            | Self::NotVisibleYet(_, message, _)
            | Self::Changed(message)
            | Self::ChangeHadNoEffect(message)
            | Self::AdoptionRefused(message)
            | Self::WrongLocation(message)
            | Self::LaunchRefused(message)
            | Self::LaunchLimit(message)
            | Self::CreationUnknown(message)
            | Self::MassLossHeld(message)
            | Self::Account(_, message)
            | Self::Protected(message)
            | Self::Internal(message) => message.clone(),
            Self::Immutable(fields) => immutable_message(fields),
            Self::Drifted(_) => "in place, except for drift that is reported only: see status.drift".to_owned(),
            Self::Keeps(why) | Self::Unanswered(why) => with_plan(why),
            Self::AwaitingApproval(plan) => plan::awaited(plan),
            Self::Approved(plan) => format!("plan {} is approved", plan.hash),
            // The same message regardless of the attempted action: otherwise it would change with each attempt, and be
            // written each time.
            Self::Failed(Failure { class: FailureClass::Throttled, .. }) => {
                "throttled by the provider; retrying with backoff".to_owned()
            }
            Self::Failed(failure) => failure.to_string(),
            Self::Paused => "spec.lifecycle.paused is true: no change is made".to_owned(),
            Self::Blocked(by) => format!(
                "waiting until these dependents are deleted or no longer refer to this resource: {}",
                listed(by)
            ),
            Self::Kubernetes(error) => error.to_string(),
        }
    }

    /// The drift that is not reverted.
    pub fn drift(&self) -> Option<String> {
        match self {
            Self::Drifted(fields) => Some(drift_message(fields)),
            _ => None,
        }
    }

    /// The message about a newer answer of a look-up. `Some(None)` if there is none; `None` if the outcome says nothing about it.
    pub fn update(&self) -> Option<Option<String>> {
        match self {
            Self::Keeps(why) | Self::Unanswered(why) => Some(why.plan.as_ref().map(|_| self.message())),
            Self::InPlace => Some(None),
            _ => None,
        }
    }

    /// The state and message of the DependenciesResolved condition, if the outcome states anything about it.
    pub fn dependencies(&self) -> Option<(State, String)> {
        match self.row().references {
            References::Resolved => Some((State::True, "every reference has a value".to_owned())),
            References::Unmet => Some((State::False, self.message())),
            References::Asked => {
                Some((State::Unknown, "waiting for the hub to resolve references".to_owned()))
            }
            References::Unsaid => None,
        }
    }

    /// The state and message of the Synced condition, if the outcome states anything about it.
    pub fn synced(&self) -> Option<(State, String)> {
        match self.row().observed {
            Observed::Matches => Some((State::True, "the remote objects match the desired state".to_owned())),
            Observed::Differs | Observed::Unreached => {
                Some((State::False, self.drift().unwrap_or_else(|| self.message())))
            }
            Observed::Unsaid => None,
        }
    }
}

/// Why a look-up does not publish what it found, and how to publish it.
fn with_plan(Lookup { message, plan, .. }: &Lookup) -> String {
    let Some(plan) = plan else { return message.clone() };
    let stale = plan.stale.as_ref().map(|stale| format!("; {stale}")).unwrap_or_default();
    let hash = &plan.hash;
    format!(
        "{message}{stale}; to publish what it found, annotate the resource with {APPROVED_PLAN_ANNOTATION}={hash}"
    )
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
