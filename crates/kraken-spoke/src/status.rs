//! The next status, from an outcome and the previous status. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{
    FieldDiff, InPlace, Location, ResourceStatus,
    conditions::{self, DEPENDENCIES_RESOLVED, DRIFTED, READY, RECONCILING, STALLED, SYNCED, State},
    reasons::Reason,
};

use crate::{
    hub_lease::Followed,
    in_place::recorded,
    outcome::{Outcome, listed},
};

/// The suffix of the Ready message while references are not kept up to date. It does not change the outcome, and no
/// event is published for it.
pub(crate) const UNFOLLOWED: &str = "; kraken-hub is not running: see DependenciesResolved";

/// What a reconcile determined in addition to its outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReconcileFacts {
    /// The ids of the remote objects, if they were observed.
    pub ids: Option<Vec<String>>,
    /// The number of remote objects, of a kind that scales.
    pub replicas: Option<i32>,
    /// The highest epoch known to have taken effect.
    pub epoch: Option<i64>,
    /// The record of what is in place if the outcome is `InPlace`.
    pub in_place: Option<InPlace>,
    /// An addition to the message of a paused resource.
    pub note: Option<String>,
    /// Whether changes of the references have an effect.
    pub followed: Followed,
    /// Whether a change was made because of an edit: the record of what was in place before is void.
    pub edit_under_way: bool,
    /// The values of fields that are applied only at creation, as digests.
    pub at_creation: BTreeMap<String, String>,
    /// Selected public values of the remote objects, if they are published.
    pub summary: Option<BTreeMap<String, String>>,
    /// The adopted ids among them.
    pub adopted: Vec<String>,
    /// Their location.
    pub location: Option<Location>,
    /// The epoch from which objects are current.
    pub replaced_before: Option<i64>,
}

impl ReconcileFacts {
    /// Sets the ids of the remote objects, and which of them were adopted.
    pub(crate) fn of(&mut self, ids: &[String], mut adopted: Vec<String>) {
        adopted.retain(|id| ids.contains(id));
        self.adopted = adopted;
        self.ids = Some(ids.to_vec());
    }
}

/// The next status, from an outcome and the previous status.
pub(crate) fn status_of(
    outcome: &Outcome,
    facts: &ReconcileFacts,
    before: Option<&ResourceStatus>,
    generation: Option<i64>,
    now: Timestamp,
) -> ResourceStatus {
    let mut status = before.cloned().unwrap_or_default();
    status.observed_generation = generation;
    if let Some(ids) = &facts.ids {
        status.external_ids.clone_from(ids);
        status.adopted.clone_from(&facts.adopted);
        status.replaced_before = facts.replaced_before;
        // Set with the first creation and not changed later.
        if !ids.is_empty() && status.location.is_none() {
            status.location.clone_from(&facts.location);
        }
    }
    if let Some(summary) = &facts.summary {
        status.summary.clone_from(summary);
    }
    if facts.replicas.is_some() {
        status.replicas = facts.replicas;
    }
    if facts.epoch.is_some() {
        status.epoch = facts.epoch;
    }
    if let Some(ids) = &facts.ids {
        status.at_creation = recorded(status.at_creation.take(), &facts.at_creation, ids);
    }
    // Set only here: after a failure or a wait, a difference from the record is drift and not an edit.
    if matches!(outcome, Outcome::InPlace) {
        status.in_place.clone_from(&facts.in_place);
    } else if facts.edit_under_way {
        status.in_place = None;
    }
    if let Outcome::Drifted(fields) = outcome {
        status.drift = fields.iter().map(|field| dated(field, &status.drift, now)).collect();
    } else if outcome.has_compared() {
        status.drift.clear();
    }
    plan_of(outcome, &mut status);
    let (state, reason, mut message) = outcome.ready();
    if matches!(outcome, Outcome::InPlace) && !status.external_ids.is_empty() {
        message = format!("in place: {}", listed(&status.external_ids));
    }
    if let (Outcome::Paused, Some(note)) = (outcome, &facts.note) {
        message.push_str(note);
    }
    let unfollowed = unfollowed(&facts.followed, &status);
    if unfollowed.is_some() && (state == State::True || matches!(outcome, Outcome::Waiting(_))) {
        message.push_str(UNFOLLOWED);
    }
    let mut set = |kind, state, reason: &str, message: &str| {
        conditions::set(&mut status.conditions, kind, state, reason, message, generation, now);
    };
    set(READY, state, reason.as_str(), &message);
    if let Some((state, message)) = outcome.synced() {
        let reason = match outcome {
            Outcome::InPlace => "InSync",
            Outcome::Drifted(_) => Reason::Drifted.as_str(),
            _ => reason.as_str(),
        };
        set(SYNCED, state, reason, &message);
    }
    match (outcome.dependencies(), unfollowed) {
        (None, _) => {}
        // Not for `Unknown`: then the request has not been answered at all.
        (Some((State::True | State::False, _)), Some(unfollowed)) => {
            set(DEPENDENCIES_RESOLVED, State::Unknown, Reason::HubNotRunning.as_str(), &unfollowed);
        }
        (Some((state, message)), _) => {
            let reason = if state == State::True { "Resolved" } else { reason.as_str() };
            set(DEPENDENCIES_RESOLVED, state, reason, &message);
        }
    }
    let mut set_while = |kind, held: Option<(&str, &str)>| {
        conditions::set_while(&mut status.conditions, kind, held, generation, now);
    };
    set_while(RECONCILING, outcome.is_reconciling().then_some((reason.as_str(), &message)));
    set_while(STALLED, outcome.is_stalled().then_some((reason.as_str(), &message)));
    if let Some(drift) = outcome.drift() {
        set_while(DRIFTED, Some((Reason::Drifted.as_str(), &drift)));
    } else if outcome.has_compared() {
        set_while(DRIFTED, None);
    }
    status
}

/// The message about references that are not kept up to date, if so.
fn unfollowed(followed: &Followed, before: &ResourceStatus) -> Option<String> {
    match followed {
        Followed::Yes => None,
        Followed::No(message) => Some(message.clone()),
        Followed::Unknown => said_unfollowed(before).map(|condition| condition.message.clone()),
    }
}

/// The condition that reports that references are not kept up to date, if there is one.
pub(crate) fn said_unfollowed(status: &ResourceStatus) -> Option<&Condition> {
    conditions::get(&status.conditions, DEPENDENCIES_RESOLVED)
        .filter(|condition| condition.reason == Reason::HubNotRunning.as_str())
}

/// A plan is shown from the time it awaits approval until it is complete; then its approval is not valid any more.
fn plan_of(outcome: &Outcome, status: &mut ResourceStatus) {
    match outcome {
        Outcome::AwaitingApproval(plan) | Outcome::Approved(plan) => status.plan = Some((**plan).clone()),
        Outcome::InPlace | Outcome::Immutable(_) | Outcome::Drifted(_) => {
            if let Some(plan) = status.plan.take() {
                status.completed_plan = Some(plan.hash);
            }
        }
        // The plan is based on inputs that do not exist any more.
        Outcome::Waiting(_) | Outcome::Invalid(_) | Outcome::AdoptionRefused(_) => status.plan = None,
        _ => {}
    }
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

    fn facts() -> ReconcileFacts {
        let in_place = InPlace { generation: 3, spec: "s".into(), inputs: "7".into() };
        ReconcileFacts {
            ids: Some(vec!["i-1".into()]),
            replicas: Some(1),
            epoch: Some(1),
            in_place: Some(in_place),
            ..ReconcileFacts::default()
        }
    }

    fn ready_status() -> ResourceStatus {
        status_of(&Outcome::InPlace, &facts(), None, Some(3), at(10))
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
    fn repeated_outcome_does_not_change_the_status() {
        let before = ready_status();
        assert_eq!(status_of(&Outcome::InPlace, &facts(), Some(&before), Some(3), at(99)), before);
    }

    #[test]
    fn first_location_is_kept() {
        let at_home = |region: &str| Location { account: "1".into(), region: region.into() };
        let facts = |region| ReconcileFacts { location: Some(at_home(region)), ..facts() };
        let first = status_of(&Outcome::InPlace, &facts("a"), None, Some(3), at(10));
        assert_eq!(first.location, Some(at_home("a")));
        let second = status_of(&Outcome::InPlace, &facts("b"), Some(&first), Some(3), at(11));
        assert_eq!(second.location, Some(at_home("a")));
    }

    #[test]
    fn ids_survive_an_outcome_without_observation() {
        let status =
            status_of(&Outcome::Asked, &ReconcileFacts::default(), Some(&ready_status()), Some(4), at(11));
        assert_eq!(status.external_ids, ["i-1"]);
        assert_eq!((status.epoch, status.replicas), (Some(1), Some(1)));
    }

    #[test]
    fn in_place_record_survives_failures_and_waits() {
        let before = ready_status();
        for outcome in [
            failure(FailureClass::Transient),
            failure(FailureClass::Credentials),
            failure(FailureClass::Terminal),
            Outcome::Asked,
            Outcome::Waiting(vec![]),
            Outcome::Paused,
            Outcome::Drifted(vec![]),
            Outcome::InProgress(Reason::Creating, "stopping".into()),
        ] {
            let after = status_of(&outcome, &facts(), Some(&before), Some(4), at(11));
            assert_eq!(after.in_place, before.in_place, "{outcome:?}");
        }
    }

    #[test]
    fn in_place_record_is_cleared_when_an_edit_starts() {
        let begun = ReconcileFacts { edit_under_way: true, ..facts() };
        let outcome = Outcome::InProgress(Reason::Updating, "half way".into());
        assert_eq!(status_of(&outcome, &begun, Some(&ready_status()), Some(4), at(11)).in_place, None);
    }

    #[test]
    fn reported_drift_and_its_time_survive_an_outage() {
        let drifted = || Outcome::Drifted(vec![FieldDiff::new("size", "3", "9")]);
        let before = status_of(&drifted(), &facts(), Some(&ready_status()), Some(3), at(60));
        let outage = failure(FailureClass::Transient);
        let during = status_of(&outage, &ReconcileFacts::default(), Some(&before), Some(3), at(70));
        assert_eq!(during.drift, before.drift);
        assert!(conditions::get(&during.conditions, DRIFTED).is_some());
        assert_eq!(status_of(&drifted(), &facts(), Some(&during), Some(3), at(80)).drift, before.drift);
    }

    #[test]
    fn temporary_conditions_are_absent_otherwise() {
        let of = |outcome: &Outcome| status_of(outcome, &facts(), Some(&ready_status()), Some(3), at(60));
        let has = |status: &ResourceStatus, kind| conditions::get(&status.conditions, kind).is_some();
        for (outcome, held) in [
            (Outcome::InPlace, None),
            (Outcome::Invalid(vec![]), Some(STALLED)),
            (Outcome::InProgress(Reason::Creating, "pending".into()), Some(RECONCILING)),
            (Outcome::Drifted(vec![FieldDiff::new("size", "3", "9")]), Some(DRIFTED)),
        ] {
            let status = of(&outcome);
            for kind in [STALLED, RECONCILING, DRIFTED] {
                assert_eq!(has(&status, kind), held == Some(kind), "{outcome:?} {kind}");
            }
            let after = status_of(&Outcome::InPlace, &facts(), Some(&status), Some(3), at(70));
            assert!([STALLED, RECONCILING, DRIFTED].iter().all(|kind| !has(&after, kind)), "{outcome:?}");
        }
    }

    /// Status, reason and message of a condition.
    fn said<'a>(status: &'a ResourceStatus, kind: &str) -> (&'a str, &'a str, &'a str) {
        let condition = conditions::get(&status.conditions, kind).unwrap();
        (&condition.status, &condition.reason, &condition.message)
    }

    #[test]
    fn stopped_hub_is_reported_and_resource_in_place_stays_ready() {
        let of = |followed, before: &ResourceStatus| {
            let facts = ReconcileFacts { followed, ..facts() };
            status_of(&Outcome::InPlace, &facts, Some(before), Some(3), at(60))
        };
        let before = ready_status();
        let dead = of(Followed::No("dead since 12:00".into()), &before);
        assert_eq!(said(&dead, DEPENDENCIES_RESOLVED), ("Unknown", "HubNotRunning", "dead since 12:00"));
        assert_eq!(said(&dead, READY), ("True", "Available", &*format!("in place: i-1{UNFOLLOWED}")));
        assert_eq!(
            of(Followed::No("dead since 12:00".into()), &dead),
            dead,
            "nothing is written at a resync"
        );
        assert_eq!(of(Followed::Unknown, &dead), dead, "nor after a restart, until the lease was read");
        assert_eq!(said(&of(Followed::Unknown, &before), DEPENDENCIES_RESOLVED).0, "True");
        let alive = of(Followed::Yes, &dead);
        assert_eq!(said(&alive, READY), said(&before, READY));
        assert_eq!(said(&alive, DEPENDENCIES_RESOLVED), said(&before, DEPENDENCIES_RESOLVED));
    }

    #[test]
    fn resource_that_waits_for_a_value_reports_the_stopped_hub() {
        let facts = ReconcileFacts { followed: Followed::No("dead".into()), ..ReconcileFacts::default() };
        let status = status_of(&Outcome::Waiting(vec![]), &facts, None, Some(3), at(60));
        assert_eq!(said(&status, DEPENDENCIES_RESOLVED), ("Unknown", "HubNotRunning", "dead"));
        let (state, reason, message) = said(&status, READY);
        assert_eq!((state, reason), ("False", "DependenciesNotReady"));
        assert!(message.ends_with(UNFOLLOWED), "{message}");
        let asked = status_of(&Outcome::Asked, &facts, None, Some(3), at(60));
        assert_eq!(said(&asked, DEPENDENCIES_RESOLVED).1, "WaitingForHub");
    }

    #[test]
    fn drift_keeps_the_time_of_its_first_observation() {
        let drifted = || Outcome::Drifted(vec![FieldDiff::new("tags.Team", "a", "b")]);
        let first = status_of(&drifted(), &ReconcileFacts::default(), Some(&ready_status()), Some(3), at(60));
        let second = status_of(&drifted(), &ReconcileFacts::default(), Some(&first), Some(3), at(120));
        assert_eq!(second.drift, first.drift);
        assert_eq!(first.drift[0].since.as_deref(), Some("1970-01-01T00:01:00Z"));
    }
}
