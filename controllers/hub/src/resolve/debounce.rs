//! Debounces reports of missing values: resources that are applied together miss each other for a moment, and reporting each
//! step of a chain would cost more writes than the chain itself.
//!
//! A problem that requires an edit is reported at once. A missing value without a known producer is reported after two
//! seconds. If its producer exists, a dependent without an answer gets one when all values are available, or before its
//! controller would report that the hub does not answer.
//!
//! Time is measured from when the missing value was first observed, with this process's monotonic clock only.

use std::{sync::Arc, time::Duration};

use kraken_runtime::hash::HashMap;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{resolve::find::Transience, store::index::Dependent};

/// The debounce for a missing object that may be about to be created or recreated.
const ABSENT: Duration = Duration::from_secs(2);
/// The debounce for an expected value. Controllers report after ten seconds that the hub does not answer.
const EXPECTED: Duration = Duration::from_secs(8);
/// The same while the controller observes other answers of the hub.
const EXPECTED_WITH_ANSWERS: Duration = Duration::from_secs(30);
/// The maximum age of another answer to that controller.
const ANSWER_MAX_AGE: Duration = Duration::from_secs(4);
/// The time for which the target of an export is kept without values.
pub(crate) const TARGET_GRACE: Duration = Duration::from_secs(10);

/// Since when each dependent waits, and when each kind was last answered.
#[derive(Debug, Default)]
pub(crate) struct Debounce {
    since: Mutex<HashMap<Dependent, Instant>>,
    answered: Mutex<HashMap<Arc<str>, Instant>>,
}

impl Debounce {
    /// The time for which this dependent has continuously missed values.
    pub(crate) fn missing_for(&self, dependent: &Dependent) -> Duration {
        self.since.lock().entry(dependent.clone()).or_insert_with(Instant::now).elapsed()
    }

    /// Resets a dependent that misses nothing any more, or was deleted.
    pub(crate) fn clear(&self, dependent: &Dependent) {
        self.since.lock().remove(dependent);
    }

    /// Records an answer to the controller of this kind.
    pub(crate) fn answered(&self, kind: &str) {
        self.answered.lock().insert(kind.into(), Instant::now());
    }

    /// The remaining time for which a missing value is not reported. `is_answered`: the dependent has an answer already,
    /// which may be outdated; `kind`: the kind of the dependent.
    pub(crate) fn remaining(
        &self,
        dependent: &Dependent,
        transience: Transience,
        is_answered: bool,
        kind: Option<&str>,
    ) -> Option<Duration> {
        let is_answering = || {
            let answered = self.answered.lock();
            kind.and_then(|kind| answered.get(kind)).is_some_and(|at| at.elapsed() < ANSWER_MAX_AGE)
        };
        let delay = match transience {
            Transience::Permanent => return None,
            Transience::Expected if !is_answered && is_answering() => EXPECTED_WITH_ANSWERS,
            Transience::Expected if !is_answered => EXPECTED,
            Transience::Expected | Transience::Absent => ABSENT,
        };
        let left = delay.checked_sub(self.missing_for(dependent)).filter(|left| !left.is_zero())?;
        // Checked again in time, in case the controller no longer observes other answers.
        Some(if delay == EXPECTED_WITH_ANSWERS { left.min(ANSWER_MAX_AGE) } else { left })
    }
}

#[cfg(test)]
mod tests {
    use kraken_runtime::watch::ObjectKey;

    use super::*;

    fn dependent() -> Dependent {
        Dependent::Request(ObjectKey::new("ns", "vpc.aws.a"))
    }

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_permanent_problem_is_reported_at_once() {
        let debounce = Debounce::default();
        assert_eq!(debounce.remaining(&dependent(), Transience::Permanent, false, None), None);
        assert_eq!(debounce.remaining(&dependent(), Transience::Permanent, true, None), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_without_a_producer_is_reported_after_two_seconds() {
        for is_answered in [false, true] {
            let debounce = Debounce::default();
            assert_eq!(debounce.remaining(&dependent(), Transience::Absent, is_answered, None), Some(ABSENT));
            pass(1).await;
            assert_eq!(
                debounce.remaining(&dependent(), Transience::Absent, is_answered, None),
                Some(ABSENT / 2)
            );
            pass(1).await;
            assert_eq!(debounce.remaining(&dependent(), Transience::Absent, is_answered, None), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_expected_value_is_reported_before_the_hub_counts_as_stopped() {
        let debounce = Debounce::default();
        assert_eq!(
            debounce.remaining(&dependent(), Transience::Expected, false, Some("vpc.aws")),
            Some(EXPECTED)
        );
        pass(8).await;
        assert_eq!(debounce.remaining(&dependent(), Transience::Expected, false, Some("vpc.aws")), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_expected_value_is_debounced_longer_while_the_hub_answers_others() {
        let debounce = Debounce::default();
        debounce.missing_for(&dependent());
        pass(9).await;
        debounce.answered("vpc.aws");
        let left = || debounce.remaining(&dependent(), Transience::Expected, false, Some("vpc.aws"));
        assert_eq!(left(), Some(ANSWER_MAX_AGE));
        assert_eq!(debounce.remaining(&dependent(), Transience::Expected, false, Some("subnet.aws")), None);
        pass(4).await;
        assert_eq!(left(), None, "the controller observed no other answer since");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_value_is_reported_after_two_seconds() {
        let debounce = Debounce::default();
        assert_eq!(debounce.remaining(&dependent(), Transience::Expected, true, None), Some(ABSENT));
        pass(1).await;
        debounce.clear(&dependent());
        assert_eq!(
            debounce.remaining(&dependent(), Transience::Expected, true, None),
            Some(ABSENT),
            "it was available in between"
        );
        pass(2).await;
        assert_eq!(debounce.remaining(&dependent(), Transience::Expected, true, None), None);
    }
}
