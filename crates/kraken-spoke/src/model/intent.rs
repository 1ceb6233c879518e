//! The persisted intent of a launch, and the decision about an existing one.
//!
//! It is written to the resource, with a resourceVersion precondition, before the provider call is made. After a crash
//! it shows that the call may have been made, and with which token.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use kraken_api::{INTENT_ANNOTATION, Location};
use kraken_runtime::mutants::{self, Mutant};
use kube::Resource;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::model::breaker::History;

/// A launch that was or may have been requested, and the necessary record of earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Intent {
    /// The number of this launch of the resource, from 1.
    pub epoch: i64,
    /// When it was persisted.
    pub at: Timestamp,
    /// A digest of the public parameters: the same token must not be sent with other parameters.
    pub hash: String,
    /// The maximum number of objects that a call under this epoch requests, if it is known: as many are visible when all are.
    // `asks` is the name that earlier versions wrote.
    #[serde(default, alias = "asks", skip_serializing_if = "Option::is_none")]
    pub requested: Option<usize>,
    /// The epoch from which objects are current: objects of earlier epochs are outgoing. Set when a replacement starts,
    /// and copied to every later launch, regardless of how many the replacement needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_before: Option<i64>,
    /// The ids of the objects that existed when the replacement started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outgoing: Vec<String>,
    /// Whether it adopts an existing object, and launches nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopts: bool,
    /// The ids that were adopted by this intent or an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<String>,
    /// The location of the launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The fields of the spec whose value in the launched objects came from a Secret, with the generation that they were
    /// recorded for: a controller that restarts before it writes the status must not show these values, see
    /// [`crate::model::secrecy::recorded`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_fields: BTreeMap<String, i64>,
    /// The last launches, for the circuit breaker.
    #[serde(default, skip_serializing_if = "History::is_empty")]
    pub launches: History,
}

impl Intent {
    /// The intent persisted on a resource, if there is one that decodes.
    pub(crate) fn of(object: &impl Resource) -> Option<Self> {
        let text = object.meta().annotations.as_ref()?.get(INTENT_ANNOTATION)?;
        serde_json::from_str(text).ok()
    }

    /// The intent of another launch: it inherits the record of the resource.
    pub(crate) fn next(before: Option<&Self>, epoch: i64, at: Timestamp, hash: String) -> Self {
        let mut next = Self { epoch, at, hash, adopts: false, ..before.cloned().unwrap_or_default() };
        if mutants::active(Mutant::BoundaryMoves) {
            next.replaced_before = next.replaced_before.map(|_| epoch);
        }
        next
    }

    /// Whether the launched objects may not be visible yet.
    pub(crate) fn may_be_invisible(&self, clock: Clock) -> bool {
        // Rejected calls may delay the successful call long after the intent.
        clock.is_within_window(self.at.max(clock.last_create))
    }
}

/// The reference for the age of a launch, and of an observation: it is read before the observation begins, because the reconcile
/// may continue long after the response, when it gets a slot again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub now: Timestamp,
    /// The same time on the monotonic clock.
    pub instant: Instant,
    /// When this process, as far as it knows, last made a create call; initially when this process started, because an
    /// earlier process may have made one until then.
    pub last_create: Timestamp,
    /// How long a new object may be missing from responses.
    pub window: Duration,
}

impl Clock {
    /// Whether an object that was created at this time may be missing from responses.
    pub(crate) fn is_within_window(self, created: Timestamp) -> bool {
        let age = self.now.as_millisecond().saturating_sub(created.as_millisecond());
        // A clock that is set back only extends the wait.
        age < i64::try_from(self.window.as_millis()).unwrap_or(i64::MAX)
            && !mutants::active(Mutant::IgnoreWindow)
    }

    /// The time until what was created or changed at this time is visible, if it need not be visible yet.
    pub(crate) fn left_of_window(self, created: Timestamp) -> Option<Duration> {
        let age = Duration::try_from(self.now.duration_since(created)).unwrap_or_default();
        self.is_within_window(created).then(|| self.window.saturating_sub(age))
    }

    /// The delay until the next read for an object or a change of this age that is not visible yet: 1, 2, 4 s and so on, at most
    /// until the window ends. Zero after that.
    pub(crate) fn next_read(self, age: Duration) -> Duration {
        const LEAST: Duration = Duration::from_secs(1);
        self.window.saturating_sub(age).min(age.max(LEAST))
    }
}

/// A digest of the parameters of a launch. It contains no secret values: `Debug` of the desired state hides them.
pub(crate) fn parameters_hash(desired: &impl std::fmt::Debug, missing: &str) -> String {
    hex::encode(&Sha256::digest(format!("{desired:?}/{missing}"))[..16])
}

/// The known result of the launch of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchState {
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
pub(crate) enum LaunchPlan {
    /// Persist a new intent of this epoch, then create.
    New(i64),
    /// Create under the existing intent, with its token.
    Repeat(i64),
    /// The launched objects are not visible yet, or may exist: observe again.
    Wait(&'static str),
}

/// Whether an intent has these parameters.
pub(crate) fn is_same(intent: Option<&Intent>, hash: &str) -> bool {
    intent.is_some_and(|intent| intent.hash == hash)
}

/// Decides whether a missing object may be created, and under which epoch.
///
/// `seen` is the highest epoch of all observed objects, including deleted ones. `may_be_hidden` means that objects of the launch
/// may exist that were not observed. `is_idempotent` means that the provider
/// supports tokens, or that the parameters are [the same](is_same) if a name replaces the token: then the call may
/// always be repeated, because it returns the objects of the first call, or the error that the token was used with
/// other parameters, which means that the objects of the first call will become visible.
pub(crate) fn plan_launch(
    intent: Option<&Intent>,
    seen: i64,
    state: LaunchState,
    is_idempotent: bool,
    hash: &str,
    may_be_hidden: bool,
) -> LaunchPlan {
    let Some(intent) = intent else { return LaunchPlan::New(seen + 1) };
    let next = LaunchPlan::New(intent.epoch.max(seen) + 1);
    if seen >= intent.epoch {
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
        LaunchState::Refused if intent.hash == hash => LaunchPlan::Repeat(intent.epoch),
        LaunchState::Unknown if is_idempotent => LaunchPlan::Repeat(intent.epoch),
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
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn now() -> Clock {
        let window = Duration::from_secs(90);
        Clock { now: at(1_000_000), instant: Instant::now(), last_create: at(0), window }
    }

    fn intent(epoch: i64, age: i64) -> Intent {
        Intent { epoch, at: at(1_000_000 - age), hash: "h".into(), ..Intent::default() }
    }

    /// The plan if only the time decides whether objects may be hidden.
    fn plan_at(
        intent: Option<&Intent>,
        seen: i64,
        state: LaunchState,
        is_idempotent: bool,
        hash: &str,
        clock: Clock,
    ) -> LaunchPlan {
        let may_be_hidden = intent.is_some_and(|intent| intent.may_be_invisible(clock));
        plan_launch(intent, seen, state, is_idempotent, hash, may_be_hidden)
    }

    #[test]
    fn later_launch_of_a_replacement_keeps_its_boundary() {
        let begun = Intent { replaced_before: Some(3), outgoing: vec!["i-1".into()], ..intent(3, 5) };
        let second = Intent::next(Some(&begun), 4, at(1_000_000), "other".into());
        assert_eq!((second.epoch, second.replaced_before), (4, Some(3)));
        assert_eq!(second.outgoing, ["i-1"]);
    }

    #[test]
    fn intent_round_trips_through_json() {
        let location = Location { account: "1".into(), region: "r".into() };
        let full = Intent {
            replaced_before: Some(2),
            outgoing: vec!["i-1".into()],
            adopted: vec!["i-2".into()],
            location: Some(location),
            secret_fields: [("image".to_owned(), 2)].into(),
            launches: History::default().with(Some(7), at(5)),
            ..intent(3, 5)
        };
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<Intent>(&text).unwrap(), full);
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
            plan_at(Some(&intent(3, 1)), 2, LaunchState::Unknown, true, "h", now()),
            LaunchPlan::Repeat(3)
        );
    }

    #[test]
    fn token_is_reused_after_a_crash_and_an_edit() {
        assert_eq!(
            plan_at(Some(&intent(3, 1)), 2, LaunchState::Unknown, true, "other", now()),
            LaunchPlan::Repeat(3)
        );
    }

    #[test]
    fn unknown_launch_without_tokens_is_waited_for() {
        assert!(
            is_same(Some(&intent(3, 5)), "h")
                && !is_same(Some(&intent(3, 5)), "other")
                && !is_same(None, "h")
        );
        let plan = |age| plan_at(Some(&intent(3, age)), 2, LaunchState::Unknown, false, "h", now());
        assert!(matches!(plan(1), LaunchPlan::Wait(_)));
        assert_eq!(plan(600), LaunchPlan::New(4));
    }

    #[test]
    fn read_that_lags_behind_a_launch_causes_no_second_launch() {
        let plan = plan_at(Some(&intent(1, 5)), 0, LaunchState::Confirmed, true, "h", now());
        assert!(matches!(plan, LaunchPlan::Wait(_)));
    }

    #[test]
    fn partly_visible_launch_without_response_is_waited_for() {
        let plan = |age, state| plan_at(Some(&intent(2, age)), 2, state, true, "h", now());
        assert!(matches!(plan(5, LaunchState::Unknown), LaunchPlan::Wait(_)));
        assert_eq!(plan(600, LaunchState::Unknown), LaunchPlan::New(3));
        assert_eq!(plan(5, LaunchState::Confirmed), LaunchPlan::New(3));
    }

    #[test]
    fn vanished_object_is_recreated() {
        assert_eq!(
            plan_at(Some(&intent(1, 600)), 0, LaunchState::Confirmed, true, "h", now()),
            LaunchPlan::New(2)
        );
        assert_eq!(
            plan_at(Some(&intent(1, 5)), 1, LaunchState::Confirmed, true, "h", now()),
            LaunchPlan::New(2)
        );
        assert_eq!(plan_at(Some(&intent(1, 5)), 0, LaunchState::Spent, true, "h", now()), LaunchPlan::New(2));
    }

    #[test]
    fn visibility_window_starts_at_the_last_call() {
        let after_throttling = Clock { last_create: at(1_000_000 - 5), ..now() };
        let plan = |clock| plan_at(Some(&intent(1, 600)), 0, LaunchState::Confirmed, true, "h", clock);
        assert!(matches!(plan(after_throttling), LaunchPlan::Wait(_)));
        assert_eq!(plan(now()), LaunchPlan::New(2));
    }

    #[test]
    fn rejected_launch_keeps_its_token_unless_its_parameters_change() {
        assert_eq!(
            plan_at(Some(&intent(1, 5)), 0, LaunchState::Refused, true, "h", now()),
            LaunchPlan::Repeat(1)
        );
        assert_eq!(
            plan_at(Some(&intent(1, 5)), 0, LaunchState::Refused, true, "other", now()),
            LaunchPlan::New(2)
        );
    }

    #[test]
    fn number_of_requested_objects_is_read_from_its_former_name() {
        let mut written = serde_json::to_value(intent(1, 5)).unwrap();
        written["asks"] = 2.into();
        let read: Intent = serde_json::from_value(written).unwrap();
        assert_eq!(read, Intent { requested: Some(2), ..intent(1, 5) });
    }
}
