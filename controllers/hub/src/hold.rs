//! How long nothing is said of a value that is missing: resources that are applied together miss each other for a moment, and
//! to say so of each step of a chain would cost more writes than the chain itself.
//!
//! What is certain is said at once. What nobody is known to make is said after two seconds. What somebody is to make is on
//! its way: who never had an answer gets it when all is there, or before its controller must believe that nobody answers.
//!
//! Time is counted from when the gap was first seen, by this process's monotonic clock: no other clock is compared with it.

use std::{sync::Arc, time::Duration};

use kraken_runtime::hash::HashMap;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{find::Gap, index::Asker};

/// How long what is missing may be about to be created, or created again.
const ABSENT: Duration = Duration::from_secs(2);
/// How long what is on its way is waited for in silence. Controllers say after ten seconds that the hub does not answer.
const COMING: Duration = Duration::from_secs(8);
/// The same while the controller that asks hears of the hub by other answers.
const COMING_HEARD: Duration = Duration::from_secs(30);
/// How recent another answer to that controller must be.
const HEARD: Duration = Duration::from_secs(4);
/// How long the target of an export outlives its values.
pub const TARGET_GRACE: Duration = Duration::from_secs(10);

/// Who waits since when, and who was answered when.
#[derive(Debug, Default)]
pub struct Holds {
    since: Mutex<HashMap<Asker, Instant>>,
    answered: Mutex<HashMap<Arc<str>, Instant>>,
}

impl Holds {
    /// For how long this asker has missed values without interruption.
    pub fn missing_for(&self, asker: &Asker) -> Duration {
        self.since.lock().entry(asker.clone()).or_insert_with(Instant::now).elapsed()
    }

    /// Nothing is missing any more, or nobody asks.
    pub fn clear(&self, asker: &Asker) {
        self.since.lock().remove(asker);
    }

    /// An answer to the controller of this kind was written.
    pub fn answered(&self, kind: &str) {
        self.answered.lock().insert(kind.into(), Instant::now());
    }

    /// How long nothing is said of a gap for now. `is_answered`: the asker has an answer already, which may be wrong by now;
    /// `kind`: of the resource that asks.
    pub fn left(&self, asker: &Asker, gap: Gap, is_answered: bool, kind: Option<&str>) -> Option<Duration> {
        let heard = || {
            let answered = self.answered.lock();
            kind.and_then(|kind| answered.get(kind)).is_some_and(|at| at.elapsed() < HEARD)
        };
        let patience = match gap {
            Gap::Certain => return None,
            Gap::Coming if !is_answered && heard() => COMING_HEARD,
            Gap::Coming if !is_answered => COMING,
            Gap::Coming | Gap::Absent => ABSENT,
        };
        let left = patience.checked_sub(self.missing_for(asker)).filter(|left| !left.is_zero())?;
        // Whether the controller still hears of the hub is looked at again in time.
        Some(if patience == COMING_HEARD { left.min(HEARD) } else { left })
    }
}

#[cfg(test)]
mod tests {
    use kraken_runtime::watch::ObjectKey;

    use super::*;

    fn asker() -> Asker {
        Asker::Request(ObjectKey::new("ns", "vpc.aws.a"))
    }

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_certain_is_never_held_back() {
        let holds = Holds::default();
        assert_eq!(holds.left(&asker(), Gap::Certain, false, None), None);
        assert_eq!(holds.left(&asker(), Gap::Certain, true, None), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_makes_is_told_after_two_seconds() {
        for is_answered in [false, true] {
            let holds = Holds::default();
            assert_eq!(holds.left(&asker(), Gap::Absent, is_answered, None), Some(ABSENT));
            pass(1).await;
            assert_eq!(holds.left(&asker(), Gap::Absent, is_answered, None), Some(ABSENT / 2));
            pass(1).await;
            assert_eq!(holds.left(&asker(), Gap::Absent, is_answered, None), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_on_its_way_is_told_before_the_hub_seems_dead() {
        let holds = Holds::default();
        assert_eq!(holds.left(&asker(), Gap::Coming, false, Some("vpc.aws")), Some(COMING));
        pass(8).await;
        assert_eq!(holds.left(&asker(), Gap::Coming, false, Some("vpc.aws")), None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_hears_of_the_hub_waits_longer_for_what_is_on_its_way() {
        let holds = Holds::default();
        holds.missing_for(&asker());
        pass(9).await;
        holds.answered("vpc.aws");
        let left = || holds.left(&asker(), Gap::Coming, false, Some("vpc.aws"));
        assert_eq!(left(), Some(HEARD));
        assert_eq!(holds.left(&asker(), Gap::Coming, false, Some("subnet.aws")), None);
        pass(4).await;
        assert_eq!(left(), None, "nothing was heard since");
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_that_was_there_and_is_lost_is_told_after_two_seconds() {
        let holds = Holds::default();
        assert_eq!(holds.left(&asker(), Gap::Coming, true, None), Some(ABSENT));
        pass(1).await;
        holds.clear(&asker());
        assert_eq!(holds.left(&asker(), Gap::Coming, true, None), Some(ABSENT), "it was back meanwhile");
        pass(2).await;
        assert_eq!(holds.left(&asker(), Gap::Coming, true, None), None);
    }
}
