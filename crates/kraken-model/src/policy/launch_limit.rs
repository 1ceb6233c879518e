//! The limit of launches, a circuit breaker: a resource that launches repeatedly is stopped until a person confirms.
//!
//! It counts the launches that the persisted ledger lists, so a restart does not reset it. An edit of the spec does,
//! and so does the annotation by which a person confirms.

use std::time::Duration;

use jiff::Timestamp;
use kraken_api::{CREATION_CONFIRMED_ANNOTATION, Launches};
use kube::Resource;

use crate::{outcome::Outcome, policy::Permit};

/// How far in the future a confirmation may be: clocks differ.
const SKEW: Duration = Duration::from_mins(5);

/// The launch limit.
#[derive(Clone, Copy, Debug)]
pub struct Breaker {
    /// The number of allowed launches; 0 disables the breaker.
    pub limit: usize,
    /// The time window of the limit.
    pub window: Duration,
}

impl Breaker {
    /// Whether one more launch for this generation may be made.
    pub fn permits(
        self,
        history: &Launches,
        generation: Option<i64>,
        confirmed: Option<Timestamp>,
        now: Timestamp,
    ) -> Permit {
        if !self.is_open(history, generation, confirmed, now) {
            return Ok(());
        }
        Err(Outcome::LaunchLimit(format!(
            "launched {} times within {:?} for the same spec: no further launch is made. Find out why the launched objects \
             do not persist; then edit the spec, or annotate the resource with {CREATION_CONFIRMED_ANNOTATION}=<the current time, \
             such as 2026-01-31T12:00:00Z>",
            self.limit, self.window
        )))
    }

    /// Whether one more launch for this generation requires a confirmation.
    fn is_open(
        self,
        history: &Launches,
        generation: Option<i64>,
        confirmed: Option<Timestamp>,
        now: Timestamp,
    ) -> bool {
        if self.limit == 0 || history.generation != generation {
            return false;
        }
        let unconfirmed = |at: &&Timestamp| confirmed.is_none_or(|confirmed| **at > confirmed);
        let counted: Vec<_> = history.at.iter().filter(unconfirmed).collect();
        // A stopped resource stays stopped regardless of the window: otherwise it would continue at the rate of the
        // limit.
        let Some(first) = counted.len().checked_sub(self.limit.min(Launches::REMEMBERED)) else {
            return false;
        };
        history.stopped || counted[first].duration_until(now).unsigned_abs() < self.window
    }
}

/// When a person confirmed the creation, unless that is in the future: such a confirmation would apply to any later
/// launch.
pub fn confirmed_at(object: &impl Resource, now: Timestamp) -> Option<Timestamp> {
    let text = object.meta().annotations.as_ref()?.get(CREATION_CONFIRMED_ANNOTATION)?;
    let at: Timestamp = text.parse().ok()?;
    (at.as_millisecond() <= now.as_millisecond().saturating_add(i64::try_from(SKEW.as_millis()).ok()?))
        .then_some(at)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::ObjectMeta;

    use super::*;

    const BREAKER: Breaker = Breaker { limit: 3, window: Duration::from_mins(10) };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn launched(seconds: &[i64]) -> Launches {
        seconds.iter().fold(Launches::default(), |history, second| history.with(Some(1), at(*second)))
    }

    #[test]
    fn breaker_opens_at_the_limit() {
        assert!(!BREAKER.is_open(&launched(&[0, 1]), Some(1), None, at(2)));
        assert!(BREAKER.is_open(&launched(&[0, 1, 2]), Some(1), None, at(3)));
        assert!(!BREAKER.is_open(&launched(&[0, 1, 2]), Some(1), None, at(700)), "outside the window");
    }

    #[test]
    fn stopped_resource_stays_stopped_until_an_edit_or_a_confirmation() {
        let stopped = launched(&[0, 1, 2]).stopped();
        assert!(BREAKER.is_open(&stopped, Some(1), None, at(1_000_000)));
        assert!(!BREAKER.is_open(&stopped, Some(2), None, at(4)));
        assert!(!BREAKER.is_open(&stopped, Some(1), Some(at(3)), at(4)));
        assert!(BREAKER.is_open(
            &stopped.with(Some(1), at(5)).with(Some(1), at(6)).with(Some(1), at(7)),
            Some(1),
            Some(at(3)),
            at(8)
        ));
    }

    #[test]
    fn limit_of_zero_disables_the_breaker() {
        let off = Breaker { limit: 0, ..BREAKER };
        assert!(!off.is_open(&launched(&[0, 0, 0, 0]).stopped(), Some(1), None, at(1)));
    }

    #[test]
    fn confirmation_in_the_future_is_ignored() {
        let confirming = |text: &str| {
            let annotations = [(CREATION_CONFIRMED_ANNOTATION.to_owned(), text.to_owned())].into();
            let metadata = ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() };
            confirmed_at(&ConfigMap { metadata, ..ConfigMap::default() }, at(0))
        };
        assert_eq!(confirming("1970-01-01T00:00:00Z"), Some(at(0)));
        assert_eq!(confirming("2070-01-01T00:00:00Z"), None);
        assert_eq!(confirming("yes"), None);
    }
}
