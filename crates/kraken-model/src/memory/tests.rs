use kraken_kind::dynamic::Object;
use kube::api::ObjectMeta;

use super::{absence::CONFIRMED_AFTER, *};
use crate::{
    memory::copies::version,
    outcome::{GRACE, HUB_GRACE},
    policy::undecoded::Undecoded,
};

/// An object with this UID and version.
fn object(uid: &str, version: &str) -> Arc<Object> {
    let (uid, version) = (Some(uid.into()), Some(version.into()));
    let metadata = ObjectMeta { uid, resource_version: version, ..ObjectMeta::default() };
    Arc::new(Object::new(metadata, Undecoded::default(), None))
}

#[test]
fn copy_written_after_a_backup_is_dropped_when_the_backup_is_restored() {
    let mut memory = Memory::default();
    memory.copies.drop_watched_copy(&object("u", "7"));
    memory.copies.latest = Some(object("u", "9"));
    memory.copies.drop_watched_copy(&object("u", "7"));
    assert_eq!(version(&*memory.copies.newest(object("u", "7"))), Some(9), "the watch lags behind");
    memory.copies.drop_watched_copy(&object("u", "5"));
    assert_eq!(version(&*memory.copies.newest(object("u", "5"))), Some(5));
}

#[test]
fn secret_texts_are_kept_after_a_panic() {
    let mut memory = Memory { retries: Retries { refusals: 3, ..Retries::default() }, ..Memory::default() };
    memory.secrets.texts = memory.secrets_with(vec!["hunter2".to_owned().into()]);
    memory.reset();
    assert_eq!(
        (memory.retries.refusals, memory.secrets.texts.len()),
        (0, 1),
        "the provider may still quote them"
    );
}

#[test]
fn rejected_call_does_not_settle_another_call_without_response() {
    let persisted =
        || Memory { launch: LastLaunch { refused: Some(1), ..LastLaunch::default() }, ..Memory::default() };
    let mut memory = persisted();
    memory.answered(1, Err(FailureClass::Throttled));
    memory.answered(1, Err(FailureClass::NotYet));
    assert_eq!(memory.launch.refused, Some(1));
    memory.answered(1, Err(FailureClass::Transient));
    memory.answered(1, Err(FailureClass::Throttled));
    assert_eq!(memory.launch.refused, None);
    let mut after_a_restart = Memory::default();
    after_a_restart.answered(1, Err(FailureClass::Throttled));
    assert_eq!(after_a_restart.launch.refused, None);
    let mut memory = persisted();
    memory.answered(1, Ok(vec!["i-1".into()]));
    assert_eq!((memory.launch.refused, memory.owned.created), (None, Some((1, vec!["i-1".into()]))));
}

/// The time before an observation that began then.
fn clock(instant: Instant) -> Clock {
    Clock { instant, ..Memory::default().clock(Duration::ZERO) }
}

#[tokio::test(start_paused = true)]
async fn id_counts_as_deleted_only_after_it_was_missing_without_interruption() {
    let ids = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let mut memory = Memory::default();
    assert!(memory.is_vanishing(&ids(&["vpc-1"]), clock(Instant::now())));
    tokio::time::advance(CONFIRMED_AFTER / 2).await;
    assert!(memory.is_vanishing(&ids(&["vpc-1", "vpc-2"]), clock(Instant::now())));
    tokio::time::advance(CONFIRMED_AFTER / 2).await;
    assert!(memory.is_vanishing(&ids(&["vpc-1", "vpc-2"]), clock(Instant::now())), "the second not yet");
    assert!(!memory.is_vanishing(&ids(&["vpc-1"]), clock(Instant::now())));
    assert!(!memory.is_vanishing(&[], clock(Instant::now())));
    assert!(memory.is_vanishing(&ids(&["vpc-1"]), clock(Instant::now())), "it was visible in between");
}

#[tokio::test(start_paused = true)]
async fn response_that_waited_for_a_slot_does_not_show_that_an_id_is_still_missing() {
    let (mut memory, ids) = (Memory::default(), ["vpc-1".to_owned()]);
    assert!(memory.is_vanishing(&ids, clock(Instant::now())));
    tokio::time::advance(Duration::from_millis(200)).await;
    let began = Instant::now();
    tokio::time::advance(CONFIRMED_AFTER).await;
    assert!(memory.is_vanishing(&ids, clock(began)));
    assert!(!memory.is_vanishing(&ids, clock(Instant::now())));
}

#[tokio::test(start_paused = true)]
async fn an_observation_before_an_outage_and_one_after_it_do_not_show_that_an_id_was_missing_in_between() {
    let (mut memory, ids) = (Memory::default(), ["i-1".to_owned()]);
    assert!(memory.is_vanishing(&ids, clock(Instant::now())));
    tokio::time::advance(Duration::from_secs(4)).await;
    assert!(memory.is_vanishing(&ids, clock(Instant::now())));
    tokio::time::advance(Duration::from_secs(46)).await;
    assert!(memory.is_vanishing(&ids, clock(Instant::now())));
    tokio::time::advance(Duration::from_secs(9)).await;
    assert!(memory.is_vanishing(&ids, clock(Instant::now())));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!memory.is_vanishing(&ids, clock(Instant::now())));
}

#[tokio::test(start_paused = true)]
async fn a_long_queue_does_not_prevent_the_confirmation_that_an_id_is_missing() {
    let (mut memory, ids) = (Memory::default(), ["i-1".to_owned()]);
    for _ in 0..3 {
        assert!(memory.is_vanishing(&ids, clock(Instant::now())));
        tokio::time::advance(Duration::from_mins(1)).await;
    }
    assert!(!memory.is_vanishing(&ids, clock(Instant::now())));
}

#[tokio::test(start_paused = true)]
async fn launch_in_use_is_searched_for_with_backoff() {
    let mut memory = Memory::default();
    memory.answered(1, Err(FailureClass::TokenUsed));
    let mut searches = vec![];
    for second in 0..3600 {
        if !memory.is_known_in_use(Some(1)) {
            searches.push(second);
            memory.searched();
        }
        memory.answered(1, Err(FailureClass::TokenUsed));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(searches[..6], [0, 10, 30, 70, 150, 310]);
    assert_eq!(searches.len(), 11, "{searches:?}");
    assert!(!memory.is_known_in_use(Some(2)), "another launch");
    memory.answered(1, Err(FailureClass::Transient));
    assert!(!memory.is_known_in_use(Some(1)), "a call that may have taken place");
}

#[tokio::test(start_paused = true)]
async fn grace_period_restarts_after_waiting_for_the_hub() {
    let mut memory = Memory::default();
    assert!(memory.progress(HUB_GRACE, true).is_fresh());
    tokio::time::advance(HUB_GRACE / 2).await;
    assert!(memory.progress(HUB_GRACE, true).is_fresh());
    assert!(memory.progress(GRACE, false).is_fresh());
    tokio::time::advance(GRACE).await;
    assert!(!memory.progress(GRACE, false).is_fresh());
}

#[tokio::test(start_paused = true)]
async fn deep_resyncs_are_spread_over_the_interval() {
    const HOUR: Duration = Duration::from_hours(1);
    let mut turns = std::collections::BTreeSet::new();
    let mut memories: Vec<Memory> = (0..100).map(|_| Memory::default()).collect();
    for minute in 0..60 {
        for (number, memory) in memories.iter_mut().enumerate() {
            if memory.deep.is_due(HOUR, &format!("uid-{number}")) {
                assert!(turns.insert((number, minute)), "{number}");
                memory.deep.observed(HOUR);
            }
        }
        tokio::time::advance(Duration::from_mins(1)).await;
    }
    assert_eq!(turns.len(), 100, "each resource once");
    let at_most = (0..60).map(|minute| turns.iter().filter(|turn| turn.1 == minute).count()).max();
    assert!(at_most.is_some_and(|most| most < 30), "{at_most:?}");
    assert!(!Deep::default().is_due(Duration::ZERO, "u"));
}

#[test]
fn later_write_takes_precedence_over_a_watch_that_lags() {
    let memory = Memory {
        copies: Copies { latest: Some(object("u", "100")), ..Copies::default() },
        ..Memory::default()
    };
    assert_eq!(memory.copies.newest(object("u", "99")).metadata.resource_version.as_deref(), Some("100"));
    assert_eq!(memory.copies.newest(object("u", "101")).metadata.resource_version.as_deref(), Some("101"));
}

#[test]
fn copy_is_dropped_when_the_watch_has_caught_up() {
    let mut memory = Memory {
        copies: Copies { latest: Some(object("u", "100")), ..Copies::default() },
        ..Memory::default()
    };
    memory.copies.drop_watched_copy(&object("u", "99"));
    assert!(memory.copies.latest.is_some());
    memory.copies.drop_watched_copy(&object("u", "100"));
    assert!(memory.copies.latest.is_none());
}

#[test]
fn a_copy_that_meets_a_conflict_is_dropped() {
    // After a backup was restored, the watched version is never newer than the copy of the last write.
    let watched = object("u", "20");
    let mut memory = Memory {
        copies: Copies { latest: Some(object("u", "100")), ..Copies::default() },
        ..Memory::default()
    };
    memory.copies.drop_watched_copy(&watched);
    assert_eq!(version(&*memory.copies.newest(watched.clone())), Some(100));
    assert_eq!(memory.conflicted(), 1);
    assert_eq!(version(&*memory.copies.newest(watched)), Some(20));
}

#[test]
fn gone_id_is_not_on_record_again_until_it_is_shown_or_the_status_does_not_name_it() {
    let outgoing = Ledger { outgoing: vec!["i-1".to_owned()], ..Ledger::default() };
    let mut memory = Memory {
        launch: LastLaunch { ledger: Some(outgoing), ..LastLaunch::default() },
        ..Memory::default()
    };
    memory.forget_ids(&["i-1".to_owned(), "i-2".to_owned()]);
    assert_eq!(memory.absent.gone_ids, ["i-1", "i-2"]);
    memory.forgotten();
    assert_eq!(memory.absent.gone_ids, ["i-1"], "the ledger names it");
}

#[test]
fn copy_from_before_a_status_write_is_outdated_unless_the_write_changed_nothing() {
    let mut memory = Memory::default();
    assert!(!memory.copies.is_outdated(&object("u", "10")));
    memory.copies.reporting(&object("u", "10"));
    assert!(memory.copies.is_outdated(&object("u", "10")), "there is no response");
    assert!(!memory.copies.is_outdated(&object("u", "11")), "the watch returned it");
    memory.copies.reported(&object("u", "11"));
    assert!(memory.copies.is_outdated(&object("u", "10")), "the copy of the response may be dropped");
    memory.copies.reporting(&object("u", "11"));
    memory.copies.reported(&object("u", "11"));
    assert!(!memory.copies.is_outdated(&object("u", "11")), "the stored status was equal already");
}

#[test]
fn search_before_a_call_without_response_shows_nothing_about_its_objects() {
    // The ledger of a replacement is persisted before the replaced object is deleted, long before its launch.
    let mut memory = Memory {
        launch: LastLaunch { search: LaunchSearch::Settled(2), ..LastLaunch::default() },
        ..Memory::default()
    };
    assert!(!memory.needs_launch_search(Some(2)));
    memory.answered(2, Err(FailureClass::Transient));
    assert!(memory.needs_launch_search(Some(2)));
}
