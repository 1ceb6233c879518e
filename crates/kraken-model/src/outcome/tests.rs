use kraken_api::conditions::State;
use kraken_kind::FailureClass;
use kraken_runtime::queue::Requeue;

use super::*;

fn failure(class: FailureClass) -> Outcome {
    Outcome::Failed(Failure { class, action: "a".into(), code: "c".into(), message: "m".into() })
}

/// The circumstances of a resource with this resync interval.
fn resynced(resync: Option<Duration>) -> Circumstances {
    Circumstances { resync, ..Circumstances::default() }
}

#[test]
fn resource_in_place_is_observed_once_more_if_a_change_was_hidden() {
    let tick = |seconds| Some(Duration::from_secs(seconds));
    let next = |resync| {
        let hidden_change = Some(Duration::from_secs(70));
        Outcome::InPlace.requeue(&Circumstances { hidden_change, ..resynced(resync) })
    };
    let after = Requeue::After(Duration::from_secs(70));
    assert_eq!([next(tick(300)), next(None)], [after, after]);
    assert_eq!(next(tick(30)), Requeue::Tick(Duration::from_secs(30)));
}

#[test]
fn rejected_call_is_retried_with_backoff_and_a_missing_value_is_awaited() {
    let resync = Some(Duration::from_mins(5));
    assert_eq!(failure(FailureClass::Terminal).requeue(&resynced(None)), Requeue::Backoff);
    assert_eq!(failure(FailureClass::Throttled).requeue(&resynced(resync)), Requeue::Backoff);
    assert_eq!(Outcome::Waiting(vec![]).requeue(&resynced(resync)), Requeue::Never);
    assert_eq!(Outcome::InPlace.requeue(&resynced(resync)), Requeue::Tick(Duration::from_mins(5)));
}

#[test]
fn an_approval_of_what_has_no_plan_is_awaited_and_not_polled() {
    let awaited = Outcome::InProgress(Reason::AwaitingApproval, String::new());
    assert_eq!(awaited.requeue(&resynced(None)), Requeue::Never);
    assert!(!awaited.is_in_progress(), "a person acts");
}

#[test]
fn operation_not_possible_yet_is_retried_with_backoff_up_to_a_minute() {
    let not_yet = refused(
        Failure { class: FailureClass::NotYet, action: "a".into(), code: "c".into(), message: "m".into() },
        Reason::Deleting,
    );
    let after = |refusals| {
        let in_a_row = InARow { refusals, ..InARow::default() };
        Circumstances { in_a_row, ..Circumstances::default() }
    };
    let delays: Vec<Requeue> = (1..=8).map(|tries| not_yet.requeue(&after(tries))).collect();
    let seconds = [1, 2, 4, 8, 16, 32, 60, 60];
    assert_eq!(delays, seconds.map(|seconds| Requeue::After(Duration::from_secs(seconds))));
    assert_eq!(not_yet.ready().1, Reason::Deleting);
    assert!(not_yet.is_not_yet() && not_yet.is_in_progress() && not_yet.is_warning());
    assert_eq!(failure(FailureClass::TokenUsed).requeue(&after(3)), not_yet.requeue(&after(3)));
}

#[test]
fn operation_in_progress_is_observed_each_second_and_later_less_often() {
    let creating = Outcome::InProgress(Reason::Creating, String::new());
    let delay = |seconds| {
        let progress = Duration::from_secs(seconds);
        let in_a_row = InARow { progress, ..InARow::default() };
        creating.requeue(&Circumstances { in_a_row, ..Circumstances::default() })
    };
    let delays = [(0, 1), (10, 1), (60, 6), (300, 30), (36_000, 30)];
    assert_eq!(
        delays.map(|(after, _)| delay(after)),
        delays.map(|(_, seconds)| Requeue::Soon(Duration::from_secs(seconds)))
    );
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
        Outcome::WaitingForHub,
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

#[test]
fn the_documentation_names_the_reasons_that_are_stalled() {
    let text = String::new;
    let all = [
        Outcome::Invalid(vec![]),
        Outcome::Immutable(vec![]),
        Outcome::AdoptionRefused(text()),
        Outcome::WrongLocation(text()),
        Outcome::Account(Reason::NotAllowedByAccount, text()),
        Outcome::Account(Reason::AccountNotReady, text()),
        Outcome::LaunchRefused(text()),
        Outcome::LaunchLimit(text()),
        Outcome::MassLossHeld(text()),
        Outcome::CreationUnknown(text()),
        failure(FailureClass::Terminal),
        failure(FailureClass::Credentials),
        Outcome::Protected(text()),
        Outcome::Waiting(vec![]),
    ];
    let page = include_str!("../../../../docs/conditions.md");
    let sentence = page.split("\n\n").find(|part| part.starts_with("`Stalled` is true with")).unwrap();
    for outcome in all {
        let reason = outcome.row().reason.as_str();
        assert_eq!(sentence.contains(&format!("`{reason}`")), outcome.is_stalled(), "{reason}");
    }
}
