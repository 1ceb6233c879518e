//! The status that an outcome leads to, from the one before. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{
    FieldDiff, ResourceStatus,
    conditions::{self, DEPENDENCIES_RESOLVED, READY, SYNCED, State},
    reasons::Reason,
};

use crate::outcome::{Outcome, listed};

/// What a run learned beside its outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    /// The ids of what is there, if the cloud was asked.
    pub ids: Option<Vec<String>>,
    /// The highest epoch known to have taken effect.
    pub epoch: Option<i64>,
    /// The version of the referenced values used.
    pub inputs: Option<String>,
    /// A few public values of what is there, if it is published.
    pub summary: Option<BTreeMap<String, String>>,
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
    if let Some(summary) = &learned.summary {
        status.summary.clone_from(summary);
    }
    if learned.epoch.is_some() {
        status.epoch = learned.epoch;
    }
    status.observed_inputs.clone_from(&learned.inputs);
    status.drift = match outcome {
        Outcome::Drifted(fields) => fields.iter().map(|field| dated(field, &status.drift, now)).collect(),
        _ => vec![],
    };
    plan_of(outcome, &mut status);
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

/// A plan is shown from when it waits until all of it is done; then its approval is used up.
fn plan_of(outcome: &Outcome, status: &mut ResourceStatus) {
    match outcome {
        Outcome::AwaitingApproval(plan) | Outcome::Approved(plan) => status.plan = Some((**plan).clone()),
        Outcome::InPlace | Outcome::Immutable(_) | Outcome::Drifted(_) => {
            if let Some(plan) = status.plan.take() {
                status.completed_plan = Some(plan.hash);
            }
        }
        // What was planned rests on inputs that are gone.
        Outcome::Waiting(_) | Outcome::Invalid(_) | Outcome::AdoptionRefused(_) => status.plan = None,
        _ => {}
    }
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

fn dated(field: &FieldDiff, before: &[FieldDiff], now: Timestamp) -> FieldDiff {
    let known =
        before.iter().find(|b| b.path == field.path && b.have == field.have).and_then(|b| b.since.clone());
    FieldDiff {
        since: known.or_else(|| Some(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
        ..field.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, FailureClass};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ready_status() -> ResourceStatus {
        let learned = Learned {
            ids: Some(vec!["i-1".into()]),
            epoch: Some(1),
            inputs: Some("7".into()),
            ..Learned::default()
        };
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
        let learned = Learned {
            ids: Some(vec!["i-1".into()]),
            epoch: Some(1),
            inputs: Some("7".into()),
            ..Learned::default()
        };
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
}
