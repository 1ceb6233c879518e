use serde_json::json;

use super::*;
use crate::exports::resolve::tests::spec;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn export(generation: i64, status: Option<ConfigExportStatus>) -> ConfigExport {
    let mut export = ConfigExport::new("e", spec("ConfigMap", json!([{"key": "a", "value": "x"}])));
    export.metadata.generation = Some(generation);
    export.status = status;
    export
}

fn waiting(why: &str) -> Outcome {
    Outcome::Waiting(why.into(), TargetState::Absent)
}

fn restarted(digest: &str) -> Progress {
    Progress { digest: Some(digest.to_owned()), ..Progress::default() }
}

fn written(next: Next) -> (ConfigExportStatus, Option<Notice>) {
    match next {
        Next::Write(status, notice) => (*status, notice),
        Next::Nothing => panic!("nothing was written"),
    }
}

fn after(outcome: &Outcome) -> ConfigExportStatus {
    written(next(&export(1, None), outcome, Progress::default(), at(1))).0
}

fn ready_of(status: &ConfigExportStatus) -> (&str, &str, &str) {
    let ready = conditions::get(&status.conditions, READY).unwrap();
    (&ready.status, &ready.reason, &ready.message)
}

#[test]
fn an_export_is_ready_only_when_it_is_written() {
    let status = after(&Outcome::Exported(3));
    assert_eq!(ready_of(&status), ("True", "Exported", "ConfigMap app has all 3 entries."));
    assert_eq!(status.target.as_deref(), Some("ConfigMap/app"));
    for (outcome, reason) in [
        (waiting("x"), "WaitingForValues"),
        (Outcome::Invalid("x".into()), "InvalidSpec"),
        (Outcome::NotOwned("ConfigMap app".into(), "x".into()), "TargetNotOwned"),
        (Outcome::Terminating("ConfigMap app".into()), "WriteFailed"),
        (Outcome::Unreadable("x".into()), "WaitingForValues"),
        (Outcome::Failed("x".into()), "WriteFailed"),
    ] {
        let status = after(&outcome);
        assert_eq!((ready_of(&status).0, ready_of(&status).1), ("False", reason), "{outcome:?}");
        assert_eq!(status.target, None);
    }
}

#[test]
fn an_unchanged_outcome_is_neither_written_nor_published() {
    let status = after(&Outcome::Exported(1));
    assert_eq!(
        next(&export(1, Some(status)), &Outcome::Exported(1), Progress::default(), at(2)),
        Next::Nothing
    );
}

#[test]
fn a_change_of_the_outcome_is_published_once() {
    let (status, notice) = written(next(&export(1, None), &waiting("a"), Progress::default(), at(1)));
    assert_eq!(notice, Some(Notice { type_: Type::Normal, reason: "WaitingForValues", note: "a".into() }));
    let (status, notice) = written(next(&export(1, Some(status)), &waiting("b"), Progress::default(), at(2)));
    assert_eq!(notice, None, "the same outcome with another message");
    let refused = Outcome::NotOwned("ConfigMap app".into(), "belongs to ConfigExport first".into());
    let (_, notice) = written(next(&export(1, Some(status)), &refused, Progress::default(), at(3)));
    let note = "ConfigMap app exists and belongs to ConfigExport first; it is not changed";
    assert_eq!(notice, Some(Notice { type_: Type::Warning, reason: "TargetNotOwned", note: note.into() }));
}

#[test]
fn a_kept_target_is_in_the_status_until_it_is_deleted() {
    let status = after(&Outcome::Exported(1));
    let waits = |kept| {
        written(next(
            &export(1, Some(status.clone())),
            &Outcome::Waiting("x".into(), kept),
            Progress::default(),
            at(2),
        ))
        .0
    };
    assert_eq!(waits(TargetState::Expiring).target.as_deref(), Some("ConfigMap/app"));
    let kept = waits(TargetState::Kept);
    assert_eq!(kept.target.as_deref(), Some("ConfigMap/app"));
    assert_eq!(ready_of(&kept).2, "x; ConfigMap app is kept unchanged (whileWaiting: Keep)");
    assert_eq!(waits(TargetState::Absent).target, None);
    let never = Outcome::Waiting("x".into(), TargetState::Kept);
    assert_eq!(ready_of(&after(&never)).2, "x", "there is no target to keep");
}

#[test]
fn a_former_target_is_in_the_status_while_the_new_one_is_not_owned() {
    let renamed = |owner: &str| {
        let mut renamed = export(2, Some(after(&Outcome::Exported(1))));
        renamed.spec.config_metadata.name = "other".to_owned();
        let refused = Outcome::NotOwned("ConfigMap other".into(), owner.into());
        let status = written(next(&renamed, &refused, Progress::default(), at(2))).0;
        (status.target.clone(), ready_of(&status).2.to_owned())
    };
    let (target, message) = renamed(NOT_CREATED);
    assert_eq!(target.as_deref(), Some("ConfigMap/app"), "pods may use its values");
    assert!(message.contains("it is not changed; ConfigMap app is kept unchanged"), "{message}");
    let (target, message) = renamed(&format!("{OF_ANOTHER_EXPORT}b"));
    assert_eq!(target, None, "it is deleted");
    assert_eq!(message, "ConfigMap other exists and belongs to ConfigExport b; it is not changed");
}

#[test]
fn a_failed_read_does_not_change_the_report_of_this_generation() {
    let status = after(&Outcome::Exported(1));
    let failed = Outcome::Unreadable("the API server is unavailable".into());
    assert_eq!(next(&export(1, Some(status.clone())), &failed, Progress::default(), at(2)), Next::Nothing);
    let (status, _) = written(next(&export(2, Some(status)), &failed, Progress::default(), at(2)));
    assert_eq!(ready_of(&status).2, "the API server is unavailable; retrying with backoff");
    assert_eq!(status.target.as_deref(), Some("ConfigMap/app"), "it still exists");
}

#[test]
fn the_digest_is_reported_only_with_restarts_and_kept_until_the_next() {
    let mut restarting = export(1, None);
    let exported = Outcome::Exported(1);
    assert_eq!(written(next(&restarting, &exported, restarted("d"), at(1))).0.content_digest, None);
    restarting.spec.restart =
        serde_json::from_value(json!([{"kind": "Deployment", "name": "client"}])).unwrap();
    let status = written(next(&restarting, &exported, restarted("d"), at(1))).0;
    assert_eq!(status.content_digest.as_deref(), Some("d"));
    restarting.status = Some(status);
    assert_eq!(next(&restarting, &exported, Progress::default(), at(2)), Next::Nothing);
    let failed = Outcome::NotRestarted("failed to restart Deployment client: forbidden".into());
    let status = written(next(&restarting, &failed, Progress::default(), at(2))).0;
    assert_eq!(status.content_digest.as_deref(), Some("d"), "so that the restart is still due");
    assert_eq!((ready_of(&status).0, ready_of(&status).1), ("False", "WriteFailed"));
    assert_eq!(status.target.as_deref(), Some("ConfigMap/app"));
}

#[test]
fn a_rotated_target_and_the_one_of_the_workloads_are_reported() {
    let mut rotating = export(1, None);
    rotating.spec.rotate = true;
    rotating.spec.restart =
        serde_json::from_value(json!([{"kind": "Deployment", "name": "client"}])).unwrap();
    let name = |digit: &str| format!("ConfigMap/app-{}", digit.repeat(10));
    let at_target = |digit: &str, rolled_out: Option<&str>| Progress {
        target: Some(name(digit)),
        rolled_out: rolled_out.map(name),
        digest: Some("d".to_owned()),
        sources: None,
    };
    let of = |status: &ConfigExportStatus| (status.target.clone(), status.rolled_out_target.clone());
    let status = written(next(&rotating, &Outcome::Exported(1), at_target("4", Some("4")), at(1))).0;
    assert_eq!(ready_of(&status).2, "ConfigMap app-4444444444 has its only entry.");
    assert_eq!(of(&status), (Some(name("4")), Some(name("4"))));
    assert_eq!(status.content_digest, None, "the name has it");
    rotating.status = Some(status);
    assert_eq!(next(&rotating, &Outcome::Exported(1), Progress::default(), at(2)), Next::Nothing);

    let failed = Outcome::NotRestarted("failed to restart Deployment client: x".into());
    let status = written(next(&rotating, &failed, at_target("5", None), at(2))).0;
    assert_eq!(of(&status), (Some(name("5")), Some(name("4"))), "still due");

    let refused = Outcome::NotOwned("ConfigMap app-5555555555".into(), "belongs to ConfigExport b".into());
    let status = written(next(&rotating, &refused, Progress::default(), at(2))).0;
    assert_eq!(
        ready_of(&status).2,
        "ConfigMap app-5555555555 exists and belongs to ConfigExport b; it is not changed; ConfigMap app-4444444444 is kept unchanged"
    );
    assert_eq!(status.target, Some(name("4")), "the current target still exists");

    let waiting = Outcome::Waiting("no value".into(), TargetState::Kept);
    let status = written(next(&rotating, &waiting, at_target("5", None), at(2))).0;
    assert_eq!(status.target, Some(name("5")), "the status in the cache is older");

    rotating.spec.rotate = false;
    let status = written(next(&rotating, &Outcome::Exported(1), Progress::default(), at(2))).0;
    assert_eq!(of(&status), (Some("ConfigMap/app".to_owned()), None));
}

#[test]
fn only_failures_are_retried_by_a_timer() {
    for outcome in [Outcome::Unreadable(String::new()), Outcome::Failed(String::new())] {
        assert_eq!(outcome.requeue(), Requeue::Backoff);
    }
    for outcome in [
        Outcome::Exported(1),
        waiting(""),
        Outcome::Invalid(String::new()),
        Outcome::Terminating(String::new()),
    ] {
        assert_eq!(outcome.requeue(), Requeue::Never);
    }
}

#[test]
fn missing_values_and_a_failed_write_have_different_reasons() {
    let resolved = |outcome: &Outcome| {
        let status = after(outcome);
        conditions::get(&status.conditions, DEPENDENCIES_RESOLVED).unwrap().status.clone()
    };
    assert_eq!(resolved(&Outcome::Failed("x".into())), "True");
    assert_eq!(resolved(&waiting("x")), "False");
    assert_eq!(resolved(&Outcome::Invalid("x".into())), "Unknown");
}
