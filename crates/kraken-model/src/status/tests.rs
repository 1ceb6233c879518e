use kraken_api::{InPlace, Location};
use kraken_kind::{Failure, FailureClass};

use super::*;
use crate::{
    ledger::{Ledger, is_own, sealed},
    memory::{LastLaunch, Owned},
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn facts() -> ReconcileFacts {
    let in_place = InPlace { generation: 3, spec: "s".into(), inputs: "7".into(), ..InPlace::default() };
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
fn created_object_is_recorded_by_an_outcome_without_observation() {
    let ledger = Ledger {
        adopted: vec!["i-1".into()],
        secret_fields: [("image".into(), 1)].into(),
        ..Ledger::default()
    };
    let memory = Memory {
        owned: Owned { created: Some((1, vec!["i-1".into()])), ..Owned::default() },
        launch: LastLaunch { ledger: Some(ledger), ..LastLaunch::default() },
        ..Memory::default()
    };
    let facts = ReconcileFacts { launched: Launched::of(&memory), ..ReconcileFacts::default() };
    let status = status_of(&Outcome::WaitingForHub, &facts, None, Some(1), at(10));
    assert_eq!((status.external_ids, status.adopted), (vec!["i-1".to_owned()], vec!["i-1".to_owned()]));
    assert_eq!(status.secret_fields, ["image"]);
    let observed = status_of(&Outcome::WaitingForHub, &facts, Some(&ready_status()), Some(4), at(11));
    assert_eq!(observed.secret_fields, [] as [&str; 0], "the status has a record already");
    assert!(Launched::of(&Memory::default()).is_none());
}

#[test]
fn ids_are_recorded_in_a_ledger_that_a_controller_wrote_for_the_resource() {
    let facts = ReconcileFacts { uid: "u-1".into(), epoch: Some(2), ..facts() };
    let settled = |ledger: Ledger| {
        let before = ResourceStatus { ledger: Some(ledger), ..ResourceStatus::default() };
        status_of(&Outcome::InPlace, &facts, Some(&before), Some(3), at(10)).ledger.unwrap()
    };
    let of = |uid: &str| sealed(Ledger { uid: uid.into(), epoch: 2, hash: "h".into(), ..Ledger::default() });
    let own = settled(of("u-1"));
    assert_eq!((own.objects.as_slice(), own.confirmed), (["i-1".to_owned()].as_slice(), 2));
    assert!(is_own(&own, "u-1"), "it is sealed again");
    assert_eq!(settled(of("u-0")), of("u-0"), "of a former resource");
    let edited = Ledger { epoch: 1, ..of("u-1") };
    assert_eq!(settled(edited.clone()), edited, "an edit does not become a record");
    // The number of a rebuilt one is a guess.
    let rebuilt = sealed(Ledger { epoch: 1, hash: String::new(), ..of("u-1") });
    assert_eq!((settled(rebuilt.clone()).epoch, settled(rebuilt).confirmed), (2, 2));
}

#[test]
fn ids_that_a_client_wrote_are_replaced_by_those_of_the_ledger() {
    let ledger = sealed(Ledger { uid: "u-1".into(), objects: vec!["i-1".into()], ..Ledger::default() });
    let edited = ResourceStatus {
        external_ids: vec!["i-9".into()],
        ledger: Some(ledger),
        ..ResourceStatus::default()
    };
    let facts = ReconcileFacts { uid: "u-1".into(), ..ReconcileFacts::default() };
    let status = status_of(&Outcome::WaitingForHub, &facts, Some(&edited), Some(1), at(10));
    assert_eq!(status.external_ids, ["i-1"]);
}

#[test]
fn created_object_is_recorded_beside_the_observed_ones() {
    let facts = ReconcileFacts { created: vec!["i-2".into()], ..facts() };
    let created = Outcome::InProgress(Reason::Creating, "created i-2".into());
    let status = status_of(&created, &facts, None, Some(3), at(10));
    assert_eq!(status.external_ids, ["i-1", "i-2"]);
}

#[test]
fn ids_survive_an_outcome_without_observation() {
    let status = status_of(
        &Outcome::WaitingForHub,
        &ReconcileFacts::default(),
        Some(&ready_status()),
        Some(4),
        at(11),
    );
    assert_eq!(status.external_ids, ["i-1"]);
    assert_eq!(status.replicas, Some(1));
}

#[test]
fn in_place_record_survives_failures_and_waits() {
    let before = ready_status();
    for outcome in [
        failure(FailureClass::Transient),
        failure(FailureClass::Credentials),
        failure(FailureClass::Terminal),
        Outcome::WaitingForHub,
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
fn condition_of<'a>(status: &'a ResourceStatus, kind: &str) -> (&'a str, &'a str, &'a str) {
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
    let dead = of(Followed::No("not renewed since 12:00".into()), &before);
    assert_eq!(
        condition_of(&dead, DEPENDENCIES_RESOLVED),
        ("Unknown", "HubNotRunning", "not renewed since 12:00")
    );
    assert_eq!(condition_of(&dead, READY), ("True", "Available", &*format!("in place: i-1{UNFOLLOWED}")));
    assert_eq!(
        of(Followed::No("not renewed since 12:00".into()), &dead),
        dead,
        "nothing is written at a resync"
    );
    assert_eq!(of(Followed::Unknown, &dead), dead, "nor after a restart, until the lease was read");
    assert_eq!(condition_of(&of(Followed::Unknown, &before), DEPENDENCIES_RESOLVED).0, "True");
    let alive = of(Followed::Yes, &dead);
    assert_eq!(condition_of(&alive, READY), condition_of(&before, READY));
    assert_eq!(condition_of(&alive, DEPENDENCIES_RESOLVED), condition_of(&before, DEPENDENCIES_RESOLVED));
}

#[test]
fn resource_that_waits_for_a_value_reports_the_stopped_hub() {
    let facts = ReconcileFacts { followed: Followed::No("dead".into()), ..ReconcileFacts::default() };
    let status = status_of(&Outcome::Waiting(vec![]), &facts, None, Some(3), at(60));
    assert_eq!(condition_of(&status, DEPENDENCIES_RESOLVED), ("Unknown", "HubNotRunning", "dead"));
    let (state, reason, message) = condition_of(&status, READY);
    assert_eq!((state, reason), ("False", "DependenciesNotReady"));
    assert!(message.ends_with(UNFOLLOWED), "{message}");
    let waiting = status_of(&Outcome::WaitingForHub, &facts, None, Some(3), at(60));
    assert_eq!(condition_of(&waiting, DEPENDENCIES_RESOLVED).1, "WaitingForHub");
}

#[test]
fn drift_keeps_the_time_of_its_first_observation() {
    let drifted = || Outcome::Drifted(vec![FieldDiff::new("tags.Team", "a", "b")]);
    let first = status_of(&drifted(), &ReconcileFacts::default(), Some(&ready_status()), Some(3), at(60));
    let second = status_of(&drifted(), &ReconcileFacts::default(), Some(&first), Some(3), at(120));
    assert_eq!(second.drift, first.drift);
    assert_eq!(first.drift[0].since.as_deref(), Some("1970-01-01T00:01:00Z"));
}
