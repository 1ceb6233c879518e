//! The persisted intent of a launch, and what to do with one that is found.
//!
//! It is written to the resource, under a resourceVersion precondition, before the cloud is called. Whoever finds it
//! after a crash knows that the call may have been made, and with which token.

use std::time::Duration;

use jiff::Timestamp;
use kraken_api::{INTENT_ANNOTATION, Location};
use kraken_runtime::mutants::{self, Mutant};
use kube::Resource;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::breaker::History;

/// A launch that was, or may have been, asked for, and what has to be known of those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Intent {
    /// Which launch of this resource it is, from 1.
    pub epoch: i64,
    /// When it was persisted.
    pub at: Timestamp,
    /// A digest of the public parameters: the same token must not be sent with others.
    pub hash: String,
    /// How many objects the call asks for at most, if that is known: so many are visible when all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<usize>,
    /// The launch from which on objects count: what earlier ones created is outgoing. Fixed when a replacement begins, and
    /// carried over by every later launch, however many the replacement takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_before: Option<i64>,
    /// The ids of what was there when the replacement began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outgoing: Vec<String>,
    /// Whether it takes over what exists already, and launches nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopts: bool,
    /// The ids that were adopted by this intent or an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<String>,
    /// Where it creates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The last launches, for the circuit breaker.
    #[serde(default, skip_serializing_if = "History::is_empty")]
    pub launches: History,
}

impl Intent {
    /// The intent persisted on a resource, if there is one that can be read.
    pub(crate) fn of(object: &impl Resource) -> Option<Self> {
        let text = object.meta().annotations.as_ref()?.get(INTENT_ANNOTATION)?;
        serde_json::from_str(text).ok()
    }

    /// The intent of another launch: what is known of the resource goes on with it.
    pub(crate) fn next(before: Option<&Self>, epoch: i64, at: Timestamp, hash: String) -> Self {
        let mut next = Self { epoch, at, hash, adopts: false, ..before.cloned().unwrap_or_default() };
        if mutants::active(Mutant::BoundaryMoves) {
            next.replaced_before = next.replaced_before.map(|_| epoch);
        }
        next
    }

    /// Whether what it launched may still be invisible.
    pub(crate) fn may_be_invisible(&self, clock: Clock) -> bool {
        // Between the intent and the call that took effect may lie a long time of refused ones.
        let last = self.at.max(clock.asked);
        let age = clock.now.as_millisecond().saturating_sub(last.as_millisecond());
        // A clock that went backwards only makes the wait longer.
        age < i64::try_from(clock.window.as_millis()).unwrap_or(i64::MAX)
            && !mutants::active(Mutant::IgnoreWindow)
    }
}

/// What the age of a launch is measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub now: Timestamp,
    /// When the cloud was last asked to create something, as far as this process can tell: a process before it may have
    /// done so until this one began.
    pub asked: Timestamp,
    /// How long the cloud may take to show what it created.
    pub window: Duration,
}

/// A digest of the parameters of a launch. Secret values are not in it: `Debug` of what is desired hides them.
pub(crate) fn parameters_hash(desired: &impl std::fmt::Debug, missing: &str) -> String {
    hex::encode(&Sha256::digest(format!("{desired:?}/{missing}"))[..16])
}

/// What is known of the launch that an intent speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nobody knows whether the call was made or took effect.
    Unknown,
    /// The cloud confirmed it, to this process or to one before that wrote it down.
    Confirmed,
    /// The cloud refused it: nothing was created.
    Refused,
    /// Its things were there and are gone, and the cloud says that the token is used up.
    Spent,
}

/// What to do when something is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaunchPlan {
    /// Persist a new intent of this epoch, then create.
    New(i64),
    /// Create under the intent that is there, with its token.
    Repeat(i64),
    /// What was launched is not visible yet, or may exist: look again.
    Wait(&'static str),
}

/// Whether an intent is for these parameters.
pub(crate) fn is_same(intent: Option<&Intent>, hash: &str) -> bool {
    intent.is_some_and(|intent| intent.hash == hash)
}

/// Decides whether a missing thing may be created, and under which epoch.
///
/// `seen` is the highest epoch on anything the cloud shows, gone things included. `is_idempotent` says that the cloud
/// takes tokens, or that the parameters are [the same](is_same) where a name takes the place of a token: then the call may
/// always be repeated, because it answers what the first one created, or that the token was used with other parameters,
/// which says that there is something to wait for.
pub(crate) fn plan_launch(
    intent: Option<&Intent>,
    seen: i64,
    fate: Fate,
    is_idempotent: bool,
    hash: &str,
    clock: Clock,
) -> LaunchPlan {
    let Some(intent) = intent else { return LaunchPlan::New(seen + 1) };
    let next = LaunchPlan::New(intent.epoch.max(seen) + 1);
    if seen >= intent.epoch {
        // A launch may make several objects, which become visible one by one. Which they are, only its answer tells.
        return match fate {
            Fate::Unknown if intent.may_be_invisible(clock) => {
                LaunchPlan::Wait("some of what an earlier launch made may not be visible yet")
            }
            _ => next,
        };
    }
    match fate {
        Fate::Refused if intent.hash == hash => LaunchPlan::Repeat(intent.epoch),
        Fate::Unknown if is_idempotent => LaunchPlan::Repeat(intent.epoch),
        Fate::Confirmed if intent.may_be_invisible(clock) => {
            LaunchPlan::Wait("what was created is not visible in the cloud's answers yet")
        }
        Fate::Unknown if intent.may_be_invisible(clock) => {
            LaunchPlan::Wait("an earlier launch may have taken place and is looked for")
        }
        Fate::Spent | Fate::Refused | Fate::Confirmed | Fate::Unknown => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn now() -> Clock {
        Clock { now: at(1_000_000), asked: at(0), window: Duration::from_secs(90) }
    }

    fn intent(epoch: i64, age: i64) -> Intent {
        Intent { epoch, at: at(1_000_000 - age), hash: "h".into(), ..Intent::default() }
    }

    #[test]
    fn a_later_launch_of_a_replacement_keeps_the_boundary_that_it_began_with() {
        let begun = Intent { replaced_before: Some(3), outgoing: vec!["i-1".into()], ..intent(3, 5) };
        let second = Intent::next(Some(&begun), 4, at(1_000_000), "other".into());
        assert_eq!((second.epoch, second.replaced_before), (4, Some(3)));
        assert_eq!(second.outgoing, ["i-1"]);
    }

    #[test]
    fn an_intent_survives_being_written_and_read() {
        let location = Location { account: "1".into(), region: "r".into() };
        let full = Intent {
            replaced_before: Some(2),
            outgoing: vec!["i-1".into()],
            adopted: vec!["i-2".into()],
            location: Some(location),
            launches: History::default().with(Some(7), at(5)),
            ..intent(3, 5)
        };
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<Intent>(&text).unwrap(), full);
    }

    #[test]
    fn the_first_launch_is_epoch_one() {
        assert_eq!(plan_launch(None, 0, Fate::Unknown, true, "h", now()), LaunchPlan::New(1));
    }

    #[test]
    fn a_lost_annotation_never_reuses_an_epoch_the_cloud_shows() {
        assert_eq!(plan_launch(None, 4, Fate::Unknown, true, "h", now()), LaunchPlan::New(5));
    }

    #[test]
    fn after_a_crash_the_same_call_is_repeated_with_the_same_token() {
        assert_eq!(
            plan_launch(Some(&intent(3, 1)), 2, Fate::Unknown, true, "h", now()),
            LaunchPlan::Repeat(3)
        );
    }

    #[test]
    fn after_a_crash_and_an_edit_the_token_tells_whether_the_first_launch_took_place() {
        assert_eq!(
            plan_launch(Some(&intent(3, 1)), 2, Fate::Unknown, true, "other", now()),
            LaunchPlan::Repeat(3)
        );
    }

    #[test]
    fn without_tokens_a_launch_of_unknown_fate_is_waited_for() {
        assert!(
            is_same(Some(&intent(3, 5)), "h")
                && !is_same(Some(&intent(3, 5)), "other")
                && !is_same(None, "h")
        );
        let plan = |age| plan_launch(Some(&intent(3, age)), 2, Fate::Unknown, false, "h", now());
        assert!(matches!(plan(1), LaunchPlan::Wait(_)));
        assert_eq!(plan(600), LaunchPlan::New(4));
    }

    #[test]
    fn a_read_that_lags_behind_a_launch_never_leads_to_a_second_one() {
        let plan = plan_launch(Some(&intent(1, 5)), 0, Fate::Confirmed, true, "h", now());
        assert!(matches!(plan, LaunchPlan::Wait(_)));
    }

    #[test]
    fn what_a_launch_without_an_answer_made_is_waited_for_even_if_some_of_it_is_visible() {
        let plan = |age, fate| plan_launch(Some(&intent(2, age)), 2, fate, true, "h", now());
        assert!(matches!(plan(5, Fate::Unknown), LaunchPlan::Wait(_)));
        assert_eq!(plan(600, Fate::Unknown), LaunchPlan::New(3));
        assert_eq!(plan(5, Fate::Confirmed), LaunchPlan::New(3));
    }

    #[test]
    fn what_vanished_for_good_is_created_anew() {
        assert_eq!(
            plan_launch(Some(&intent(1, 600)), 0, Fate::Confirmed, true, "h", now()),
            LaunchPlan::New(2)
        );
        assert_eq!(
            plan_launch(Some(&intent(1, 5)), 1, Fate::Confirmed, true, "h", now()),
            LaunchPlan::New(2)
        );
        assert_eq!(plan_launch(Some(&intent(1, 5)), 0, Fate::Spent, true, "h", now()), LaunchPlan::New(2));
    }

    #[test]
    fn the_window_begins_with_the_last_call_and_not_with_the_intent() {
        let after_throttling = Clock { asked: at(1_000_000 - 5), ..now() };
        let plan = |clock| plan_launch(Some(&intent(1, 600)), 0, Fate::Confirmed, true, "h", clock);
        assert!(matches!(plan(after_throttling), LaunchPlan::Wait(_)));
        assert_eq!(plan(now()), LaunchPlan::New(2));
    }

    #[test]
    fn a_refused_launch_keeps_its_token_unless_its_parameters_change() {
        assert_eq!(
            plan_launch(Some(&intent(1, 5)), 0, Fate::Refused, true, "h", now()),
            LaunchPlan::Repeat(1)
        );
        assert_eq!(
            plan_launch(Some(&intent(1, 5)), 0, Fate::Refused, true, "other", now()),
            LaunchPlan::New(2)
        );
    }
}
