//! What one run came to, and what follows from it: the status, the event, and when to look again. Pure, and the only
//! place where any of the three is decided.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{
    FieldDiff, ResourceStatus,
    conditions::{self, DEPENDENCIES_RESOLVED, READY, SYNCED, State},
    reasons::Reason,
};
use kraken_options::{Problem, ProblemKind, summary};
use kraken_runtime::{patch::ApiError, queue::Requeue};

use crate::{Failure, FailureClass};

/// How soon something that was started is looked at again.
const SOON: Duration = Duration::from_secs(1);
/// How soon a run that met somebody else's write is repeated.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(100);
/// How often it is looked whether a deletion may go on; costs one list of the namespace's references for all who wait.
const BLOCKED: Duration = Duration::from_secs(2);
/// How often credentials are tried again: somebody may just have mended them.
const CREDENTIALS: Duration = Duration::from_secs(30);
/// How long a resource may be in progress before its status says so. Most are done sooner, and a write is saved.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

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
            Self::InPlace | Self::Immutable(_) | Self::Drifted(_) => at_resync,
            // The watch on what is missing, or on the spec, wakes it.
            Self::Waiting(_) | Self::Invalid(_) | Self::Paused | Self::Protected | Self::Removed => {
                Requeue::Never
            }
            Self::Asked => Requeue::Soon(GRACE),
            Self::InProgress(..) => Requeue::Soon(SOON),
            Self::Blocked(_) => Requeue::Soon(BLOCKED),
            Self::Changed(_) => Requeue::Soon(AT_ONCE),
            Self::Failed(failure) => match failure.class {
                FailureClass::Terminal => at_resync,
                FailureClass::Throttled | FailureClass::Transient => Requeue::Backoff,
                FailureClass::NotYet | FailureClass::TokenUsed => Requeue::Soon(SOON),
                FailureClass::TokenSpent => Requeue::Soon(AT_ONCE),
                FailureClass::Credentials => Requeue::Soon(CREDENTIALS),
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
                FailureClass::Terminal | FailureClass::Credentials => false,
            },
            Self::Kubernetes(error) => error.is_conflict(),
            _ => false,
        }
    }

    /// Whether it says nothing of the resource, only of the cloud's mood: what was in place a moment ago still is.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Failed(Failure { class: FailureClass::Throttled | FailureClass::Transient, .. }))
    }

    /// Whether the event about it is a warning.
    pub(crate) fn is_warning(&self) -> bool {
        !matches!(self, Self::InPlace | Self::Removed | Self::Paused) && !self.is_in_progress()
    }

    fn dependencies(&self) -> Option<(State, String)> {
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

    fn synced(&self) -> Option<(State, String)> {
        match self {
            Self::InPlace => Some((State::True, "the cloud matches this resource".to_owned())),
            Self::Immutable(_)
            | Self::Drifted(_)
            | Self::Failed(_)
            | Self::Changed(_)
            | Self::Unheeded(_)
            | Self::InProgress(..) => Some((State::False, self.ready().2)),
            _ => None,
        }
    }
}

/// What a run learned beside its outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    /// The ids of what is there, if the cloud was asked.
    pub ids: Option<Vec<String>>,
    /// The highest epoch known to have taken effect.
    pub epoch: Option<i64>,
    /// The version of the referenced values used.
    pub inputs: Option<String>,
}

/// The status that an outcome leads to, from the one before.
pub(crate) fn status_of(
    outcome: &Outcome,
    learned: &Learned,
    before: Option<&ResourceStatus>,
    generation: Option<i64>,
    now: Timestamp,
) -> ResourceStatus {
    let mut status = before.cloned().unwrap_or_default();
    status.observed_generation = generation;
    if let Some(ids) = &learned.ids {
        status.external_ids.clone_from(ids);
    }
    if learned.epoch.is_some() {
        status.epoch = learned.epoch;
    }
    status.observed_inputs.clone_from(&learned.inputs);
    status.drift = match outcome {
        Outcome::Drifted(fields) => fields.iter().map(|field| dated(field, &status.drift, now)).collect(),
        _ => vec![],
    };
    let (state, reason, mut message) = outcome.ready();
    if matches!(outcome, Outcome::InPlace) && !status.external_ids.is_empty() {
        message = format!("in place: {}", listed(&status.external_ids));
    }
    let mut set = |kind, state, reason: &str, message: &str| {
        conditions::set(&mut status.conditions, kind, state, reason, message, generation, now);
    };
    set(READY, state, reason.as_str(), &message);
    if let Some((state, message)) = outcome.synced() {
        set(SYNCED, state, if state == State::True { "InSync" } else { reason.as_str() }, &message);
    }
    if let Some((state, message)) = outcome.dependencies() {
        set(
            DEPENDENCIES_RESOLVED,
            state,
            if state == State::True { "Resolved" } else { reason.as_str() },
            &message,
        );
    }
    status
}

/// Whether this generation with these inputs was in place when last looked at: then a difference is drift and no edit.
pub(crate) fn was_in_place(
    status: Option<&ResourceStatus>,
    generation: Option<i64>,
    inputs: Option<&str>,
) -> bool {
    let Some(status) = status else { return false };
    let holds = |c: &Condition| c.status == "True" || c.reason == Reason::Drifted.as_str();
    status.observed_generation == generation
        && status.observed_inputs.as_deref() == inputs
        && conditions::get(&status.conditions, READY).is_some_and(holds)
}

/// A few ids in full, and how many more.
pub(crate) fn listed(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = ids.len().saturating_sub(SHOWN);
    let shown = ids.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn dated(field: &FieldDiff, before: &[FieldDiff], now: Timestamp) -> FieldDiff {
    let known =
        before.iter().find(|b| b.path == field.path && b.have == field.have).and_then(|b| b.since.clone());
    FieldDiff {
        since: known.or_else(|| Some(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
        ..field.clone()
    }
}

fn failure_reason(class: FailureClass) -> Reason {
    match class {
        FailureClass::Terminal => Reason::CloudRefused,
        FailureClass::Throttled => Reason::Throttled,
        FailureClass::Transient => Reason::CloudUnavailable,
        FailureClass::Credentials => Reason::CredentialsMissing,
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

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ready_status() -> ResourceStatus {
        let learned = Learned { ids: Some(vec!["i-1".into()]), epoch: Some(1), inputs: Some("7".into()) };
        status_of(&Outcome::InPlace, &learned, None, Some(3), at(10))
    }

    fn failure(class: FailureClass) -> Outcome {
        Outcome::Failed(Failure { class, action: "a".into(), code: "c".into(), message: "m".into() })
    }

    #[test]
    fn in_place_is_ready_synced_and_resolved() {
        let status = ready_status();
        for kind in [READY, SYNCED, DEPENDENCIES_RESOLVED] {
            assert_eq!(conditions::get(&status.conditions, kind).unwrap().status, "True", "{kind}");
        }
        assert_eq!(status.external_ids, ["i-1"]);
        assert_eq!(status.observed_generation, Some(3));
    }

    #[test]
    fn the_same_outcome_again_changes_nothing_so_that_nothing_is_written_at_rest() {
        let before = ready_status();
        let learned = Learned { ids: Some(vec!["i-1".into()]), epoch: Some(1), inputs: Some("7".into()) };
        assert_eq!(status_of(&Outcome::InPlace, &learned, Some(&before), Some(3), at(99)), before);
    }

    #[test]
    fn ids_survive_an_outcome_that_did_not_ask_the_cloud() {
        let status = status_of(&Outcome::Asked, &Learned::default(), Some(&ready_status()), Some(4), at(11));
        assert_eq!(status.external_ids, ["i-1"]);
        assert_eq!(status.epoch, Some(1));
    }

    #[test]
    fn a_difference_is_drift_only_if_this_generation_with_these_inputs_was_in_place() {
        let status = ready_status();
        assert!(was_in_place(Some(&status), Some(3), Some("7")));
        assert!(!was_in_place(Some(&status), Some(4), Some("7")));
        assert!(!was_in_place(Some(&status), Some(3), Some("8")));
        let failed =
            status_of(&failure(FailureClass::Terminal), &Learned::default(), Some(&status), Some(3), at(11));
        assert!(!was_in_place(Some(&failed), Some(3), None));
    }

    #[test]
    fn drift_keeps_the_time_it_was_first_seen() {
        let drifted = || Outcome::Drifted(vec![FieldDiff::new("tags.Team", "a", "b")]);
        let first = status_of(&drifted(), &Learned::default(), Some(&ready_status()), Some(3), at(60));
        let second = status_of(&drifted(), &Learned::default(), Some(&first), Some(3), at(120));
        assert_eq!(second.drift, first.drift);
        assert_eq!(first.drift[0].since.as_deref(), Some("1970-01-01T00:01:00Z"));
    }

    #[test]
    fn a_terminal_failure_waits_for_an_edit_and_a_throttled_one_backs_off() {
        let resync = Some(Duration::from_secs(300));
        assert_eq!(failure(FailureClass::Terminal).requeue(resync), Requeue::Tick(Duration::from_secs(300)));
        assert_eq!(failure(FailureClass::Terminal).requeue(None), Requeue::Never);
        assert_eq!(failure(FailureClass::Throttled).requeue(resync), Requeue::Backoff);
        assert_eq!(Outcome::Waiting(vec![]).requeue(resync), Requeue::Never);
    }
}
