//! An unrecorded launch of a former process: a client removed the whole record while no process ran, or a backup from before
//! the launch was restored. Pure.

use std::time::Duration;

use jiff::Timestamp;
use kube::Resource;

use crate::ledger::Clock;

/// Whether such a launch may have been made. `predecessor_ended_at` is the latest time at which a former process can have made a call:
/// it cannot have launched a resource that was created later.
pub fn is_possible(object: &impl Resource, predecessor_ended_at: Timestamp) -> bool {
    let created = object.meta().creation_timestamp.as_ref();
    created.is_none_or(|created| created.0 < predecessor_ended_at)
}

/// The time until what a former process did is visible, if it can have known the resource and need not be visible yet.
pub fn time_left(object: &impl Resource, predecessor_ended_at: Timestamp, clock: Clock) -> Option<Duration> {
    clock.left_of_window(predecessor_ended_at).filter(|_| is_possible(object, predecessor_ended_at))
}

/// The delay until the next search for the objects of such a launch, if it may have been made and they may not be visible yet.
pub fn next_search(
    object: &impl Resource,
    predecessor_ended_at: Timestamp,
    clock: Clock,
) -> Option<Duration> {
    let left = time_left(object, predecessor_ended_at, clock)?;
    Some(clock.next_read(clock.window.saturating_sub(left)))
}

/// The time until a change of a former process is visible, if an observation after `began` need not have shown it.
pub fn hidden_change(
    object: &impl Resource,
    predecessor_ended_at: Timestamp,
    began: Timestamp,
    clock: Clock,
) -> Option<Duration> {
    let left = |clock| time_left(object, predecessor_ended_at, clock);
    left(Clock { now: began, ..clock }).map(|_| left(clock).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Time};
    use kube::api::ObjectMeta;
    use tokio::time::Instant;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A resource that was created at 100 s.
    fn object() -> ConfigMap {
        let created = ObjectMeta { creation_timestamp: Some(Time(at(100))), ..ObjectMeta::default() };
        ConfigMap { metadata: created, ..ConfigMap::default() }
    }

    fn clock(now: i64) -> Clock {
        let (now, instant, window) = (at(now), Instant::now(), Duration::from_secs(90));
        Clock { now, instant, last_create: now, window }
    }

    /// The delay in seconds.
    fn delay(predecessor_ended_at: Timestamp, now: i64) -> Option<u64> {
        next_search(&object(), predecessor_ended_at, clock(now)).map(|delay| delay.as_secs())
    }

    #[test]
    fn an_older_resource_is_searched_for_until_the_window_of_the_former_process_ends() {
        assert_eq!(
            [delay(at(120), 120), delay(at(120), 122), delay(at(120), 150)],
            [Some(1), Some(2), Some(30)]
        );
        assert_eq!([delay(at(120), 200), delay(at(120), 210)], [Some(10), None]);
    }

    #[test]
    fn a_younger_resource_is_not_waited_for() {
        assert_eq!([delay(at(100), 101), delay(Timestamp::MIN, 101)], [None, None]);
    }

    #[test]
    fn a_change_is_hidden_from_an_observation_that_began_before_the_window_ended() {
        let left = |began, now| hidden_change(&object(), at(120), at(began), clock(now));
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!([left(130, 140), left(209, 215), left(210, 215)], [seconds(70), seconds(0), None]);
    }
}
