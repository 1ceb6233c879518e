//! The decision whether missing objects may be created, from the ledger of the last launch. Pure.

use sha2::{Digest, Sha256};

use crate::ledger::Ledger;

/// A digest of the parameters of a launch. It contains no secret values: `Debug` of the desired state hides them.
pub fn parameters_hash(desired: &impl std::fmt::Debug, missing: &str) -> String {
    hex::encode(&Sha256::digest(format!("{desired:?}/{missing}"))[..16])
}

/// The known result of the launch of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchState {
    /// It is not known whether the call was made or took effect.
    Unknown,
    /// The provider confirmed the launch, to this process or to an earlier one that recorded it.
    Confirmed,
    /// The provider rejected the launch: nothing was created.
    Refused,
    /// Its objects existed and are deleted, and the provider reports the token as used.
    Spent,
}

/// The action for missing objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchPlan {
    /// Persist a new ledger of this epoch, then create.
    New(i64),
    /// Create under the existing ledger, with its token.
    Repeat(i64),
    /// The launched objects are not visible yet, or may exist: observe again.
    Wait(&'static str),
}

/// Whether a ledger has these parameters.
pub fn is_same(ledger: Option<&Ledger>, hash: &str) -> bool {
    ledger.is_some_and(|ledger| ledger.hash == hash)
}

/// Decides whether a missing object may be created, and under which epoch.
///
/// `seen` is the highest epoch of all observed objects, including deleted ones. `may_be_hidden` means that objects of the launch
/// may exist that were not observed. `is_idempotent` means that the provider
/// supports tokens, or that the parameters are [the same](is_same) if a name replaces the token: then the call may
/// always be repeated, because it returns the objects of the first call, or the error that the token was used with
/// other parameters, which means that the objects of the first call will become visible.
pub fn plan_launch(
    ledger: Option<&Ledger>,
    seen: i64,
    state: LaunchState,
    is_idempotent: bool,
    hash: &str,
    may_be_hidden: bool,
) -> LaunchPlan {
    let Some(ledger) = ledger else { return LaunchPlan::New(seen + 1) };
    let next = LaunchPlan::New(ledger.epoch.max(seen) + 1);
    if seen >= ledger.epoch {
        // A launch may create several objects, which become visible one by one. Only the response to the call lists all
        // of them.
        return match state {
            LaunchState::Unknown if may_be_hidden => {
                LaunchPlan::Wait("some objects of an earlier launch may not be visible yet")
            }
            _ => next,
        };
    }
    match state {
        LaunchState::Refused if ledger.hash == hash => LaunchPlan::Repeat(ledger.epoch),
        LaunchState::Unknown if is_idempotent => LaunchPlan::Repeat(ledger.epoch),
        LaunchState::Confirmed if may_be_hidden => {
            LaunchPlan::Wait("the created objects are not visible in the provider's responses yet")
        }
        LaunchState::Unknown if may_be_hidden => {
            LaunchPlan::Wait("an earlier launch may have been made; searching for its objects")
        }
        LaunchState::Spent | LaunchState::Refused | LaunchState::Confirmed | LaunchState::Unknown => next,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use tokio::time::Instant;

    use super::*;
    use crate::ledger::Clock;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn now() -> Clock {
        let window = Duration::from_secs(90);
        Clock { now: at(1_000_000), instant: Instant::now(), last_create: at(0), window }
    }

    fn ledger(epoch: i64, age: i64) -> Ledger {
        Ledger { epoch, at: at(1_000_000 - age), hash: "h".into(), ..Ledger::default() }
    }

    /// The plan if only the time decides whether objects may be hidden.
    fn plan_at(
        ledger: Option<&Ledger>,
        seen: i64,
        state: LaunchState,
        is_idempotent: bool,
        hash: &str,
        clock: Clock,
    ) -> LaunchPlan {
        let may_be_hidden = ledger.is_some_and(|ledger| clock.may_hide(ledger));
        plan_launch(ledger, seen, state, is_idempotent, hash, may_be_hidden)
    }

    #[test]
    fn first_launch_has_epoch_one() {
        assert_eq!(plan_at(None, 0, LaunchState::Unknown, true, "h", now()), LaunchPlan::New(1));
    }

    #[test]
    fn lost_annotation_never_reuses_an_observed_epoch() {
        assert_eq!(plan_at(None, 4, LaunchState::Unknown, true, "h", now()), LaunchPlan::New(5));
    }

    #[test]
    fn call_is_repeated_with_the_same_token_after_a_crash() {
        assert_eq!(
            plan_at(Some(&ledger(3, 1)), 2, LaunchState::Unknown, true, "h", now()),
            LaunchPlan::Repeat(3)
        );
    }

    #[test]
    fn token_is_reused_after_a_crash_and_an_edit() {
        assert_eq!(
            plan_at(Some(&ledger(3, 1)), 2, LaunchState::Unknown, true, "other", now()),
            LaunchPlan::Repeat(3)
        );
    }

    #[test]
    fn unknown_launch_without_tokens_is_waited_for() {
        assert!(
            is_same(Some(&ledger(3, 5)), "h")
                && !is_same(Some(&ledger(3, 5)), "other")
                && !is_same(None, "h")
        );
        let plan = |age| plan_at(Some(&ledger(3, age)), 2, LaunchState::Unknown, false, "h", now());
        assert!(matches!(plan(1), LaunchPlan::Wait(_)));
        assert_eq!(plan(600), LaunchPlan::New(4));
    }

    #[test]
    fn read_that_lags_behind_a_launch_causes_no_second_launch() {
        let plan = plan_at(Some(&ledger(1, 5)), 0, LaunchState::Confirmed, true, "h", now());
        assert!(matches!(plan, LaunchPlan::Wait(_)));
    }

    #[test]
    fn partly_visible_launch_without_response_is_waited_for() {
        let plan = |age, state| plan_at(Some(&ledger(2, age)), 2, state, true, "h", now());
        assert!(matches!(plan(5, LaunchState::Unknown), LaunchPlan::Wait(_)));
        assert_eq!(plan(600, LaunchState::Unknown), LaunchPlan::New(3));
        assert_eq!(plan(5, LaunchState::Confirmed), LaunchPlan::New(3));
    }

    #[test]
    fn vanished_object_is_recreated() {
        assert_eq!(
            plan_at(Some(&ledger(1, 600)), 0, LaunchState::Confirmed, true, "h", now()),
            LaunchPlan::New(2)
        );
        assert_eq!(
            plan_at(Some(&ledger(1, 5)), 1, LaunchState::Confirmed, true, "h", now()),
            LaunchPlan::New(2)
        );
        assert_eq!(plan_at(Some(&ledger(1, 5)), 0, LaunchState::Spent, true, "h", now()), LaunchPlan::New(2));
    }

    #[test]
    fn visibility_window_starts_at_the_last_call() {
        let after_throttling = Clock { last_create: at(1_000_000 - 5), ..now() };
        let plan = |clock| plan_at(Some(&ledger(1, 600)), 0, LaunchState::Confirmed, true, "h", clock);
        assert!(matches!(plan(after_throttling), LaunchPlan::Wait(_)));
        assert_eq!(plan(now()), LaunchPlan::New(2));
    }

    #[test]
    fn rejected_launch_keeps_its_token_unless_its_parameters_change() {
        assert_eq!(
            plan_at(Some(&ledger(1, 5)), 0, LaunchState::Refused, true, "h", now()),
            LaunchPlan::Repeat(1)
        );
        assert_eq!(
            plan_at(Some(&ledger(1, 5)), 0, LaunchState::Refused, true, "other", now()),
            LaunchPlan::New(2)
        );
    }
}
