//! Decisions about an observed lease. No client and no clock: times are passed in.
//!
//! A lease has expired when *this replica* has observed it unchanged for its whole duration on its *own* monotonic clock, as
//! in Kubernetes' components. `renewTime` is the wall clock of another machine and proves nothing. But if the lease expired
//! a whole duration ago according to `renewTime`, its holder was probably killed. In this case it is sufficient to observe
//! it unchanged for longer than its holder, which renews every third of the duration, would leave it. Two replicas could
//! hold it only if their clocks differ by a duration **and** the holder is delayed, and then the writes' own preconditions
//! remain. A lease that expired longer ago than any possible clock skew is acquired at once.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use tokio::time::Instant;

use super::holder::{is_unused, unused_annotation};

/// The duration of a released lease: the next candidate does not wait.
const RELEASED_SECONDS: i32 = 1;

/// More than the clock skew of any working cluster: certificates and tokens would be rejected.
const CLOCKS_APART: Duration = Duration::from_mins(10);

/// The action of a candidate for an observed lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It does not exist: create it.
    Create,
    /// This replica holds it: renew it.
    Renew,
    /// It is released or expired: acquire it.
    Take,
    /// Another replica holds it.
    Wait {
        /// Its identity.
        holder: String,
        /// The time of its expiry if it is not renewed.
        left: Duration,
    },
}

/// Decides about a lease that has been observed unchanged for this time, by a candidate with the wall clock time `clock`.
/// `usual` is the duration of a lease without one.
pub(super) fn decide(
    found: Option<&Lease>,
    me: &str,
    usual: Duration,
    unchanged: Duration,
    clock: Timestamp,
) -> Decision {
    let Some(lease) = found else { return Decision::Create };
    let spec = lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
    if holder.is_empty() {
        return Decision::Take;
    }
    if holder == me {
        return Decision::Renew;
    }
    let duration = duration_of(lease, usual);
    let silent = renewal_of(lease).and_then(|renewed| Duration::try_from(clock.duration_since(renewed)).ok());
    let enough = match silent.unwrap_or_default() {
        silent if silent > duration + CLOCKS_APART => Duration::ZERO,
        // Longer than the renewal interval, a third of the duration, plus a fifth of it for the request.
        silent if silent > duration * 2 => duration * 2 / 5,
        _ => duration,
    };
    let left = enough.saturating_sub(unchanged);
    if left.is_zero() { Decision::Take } else { Decision::Wait { holder: holder.to_owned(), left } }
}

fn duration_of(lease: &Lease, usual: Duration) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
    seconds.map_or(usual, Duration::from_secs)
}

fn renewal_of(lease: &Lease) -> Option<Timestamp> {
    lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|renewed| renewed.0)
}

/// The latest time at which a former process can have worked, according to an observed lease that this replica can acquire:
/// `now` if the lease has no renewal time or was not used. If there is no lease, there was no former process.
pub(super) fn worked_until(found: Option<&Lease>, usual: Duration, now: Timestamp) -> Timestamp {
    let Some(lease) = found else { return Timestamp::MIN };
    let Some(renewed) = renewal_of(lease).filter(|_| !is_unused(lease)) else { return now };
    let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
    let is_held = holder.is_some_and(|holder| !holder.is_empty());
    // A holder stops after two thirds of the duration without a renewal.
    let rest = if is_held { duration_of(lease, usual) * 2 / 3 } else { Duration::ZERO };
    renewed.checked_add(rest).map_or(now, |worked| worked.min(now))
}

/// Remembers when the lease was last observed to change.
#[derive(Debug, Default)]
pub(super) struct Observer {
    last: Option<(String, Instant)>,
    /// The latest time at which a former process can have worked, according to the lease before the last attempt to acquire it.
    pub(super) predecessor_ended_at: Option<Timestamp>,
}

impl Observer {
    /// Records the observed lease and returns since when it has been unchanged.
    pub(super) fn record(&mut self, found: Option<&Lease>, now: Instant) -> Instant {
        let version = found.and_then(|lease| lease.metadata.resource_version.clone()).unwrap_or_default();
        match &self.last {
            Some((last, since)) if *last == version => *since,
            _ => {
                self.last = Some((version, now));
                now
            }
        }
    }
}

/// The lease that `me` writes to acquire or renew it, with the observed version as the precondition.
pub(super) fn claim(
    found: Option<Lease>,
    name: &str,
    me: &str,
    duration: Duration,
    clock: MicroTime,
) -> Lease {
    let mut lease = found.unwrap_or_default();
    lease.metadata.name = Some(name.to_owned());
    lease.metadata.managed_fields = None;
    if let Some(annotations) = &mut lease.metadata.annotations {
        annotations.remove(&unused_annotation());
    }
    let old = lease.spec.take().unwrap_or_default();
    let renews = old.holder_identity.as_deref() == Some(me);
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: Some(i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)),
        acquire_time: if renews { old.acquire_time } else { Some(clock.clone()) },
        renew_time: Some(clock),
        lease_transitions: match old.lease_transitions {
            Some(count) if !renews => Some(count.saturating_add(1)),
            count => count.or(Some(0)),
        },
        ..LeaseSpec::default()
    });
    lease
}

/// The lease after its release.
pub(super) fn released(mut lease: Lease, clock: MicroTime) -> Lease {
    lease.metadata.managed_fields = None;
    if let Some(spec) = &mut lease.spec {
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(RELEASED_SECONDS);
        spec.renew_time = Some(clock);
    }
    lease
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    const USUAL: Duration = Duration::from_secs(15);

    fn second(n: u64) -> MicroTime {
        MicroTime(jiff::Timestamp::UNIX_EPOCH + Duration::from_secs(n))
    }

    fn held_by(holder: &str) -> Lease {
        claim(None, "kraken-test", holder, Duration::from_secs(30), second(0))
    }

    /// The decision of a candidate whose clock equals the holder's.
    fn decide_after(lease: &Lease, seconds: u64) -> Decision {
        decide_at(lease, seconds, 0)
    }

    /// The decision of a candidate with this wall clock time in seconds.
    fn decide_at(lease: &Lease, seconds: u64, clock: u64) -> Decision {
        decide(Some(lease), "me", USUAL, Duration::from_secs(seconds), second(clock).0)
    }

    fn version(text: &str) -> Lease {
        let metadata = ObjectMeta { resource_version: Some(text.to_owned()), ..ObjectMeta::default() };
        Lease { metadata, ..Lease::default() }
    }

    #[test]
    fn a_missing_lease_is_created() {
        assert_eq!(decide(None, "me", USUAL, Duration::ZERO, Timestamp::UNIX_EPOCH), Decision::Create);
    }

    #[test]
    fn a_candidate_waits_for_the_duration_of_a_held_lease() {
        let left = Duration::from_secs(10);
        assert_eq!(decide_after(&held_by("you"), 20), Decision::Wait { holder: "you".to_owned(), left });
        assert_eq!(decide_after(&held_by("you"), 30), Decision::Take);
    }

    #[test]
    fn a_candidate_waits_less_for_a_lease_that_expired_long_ago() {
        // Held for 30 s and renewed at second 0.
        let lease = held_by("you");
        let waits = |left| Decision::Wait { holder: "you".to_owned(), left: Duration::from_secs(left) };
        assert_eq!(decide_at(&lease, 0, 29), waits(30));
        assert_eq!(decide_at(&lease, 0, 60), waits(30), "one duration is allowed for clock skew");
        assert_eq!(decide_at(&lease, 0, 61), waits(12), "longer than a live holder would leave it unchanged");
        assert_eq!(decide_at(&lease, 11, 72), waits(1));
        assert_eq!(decide_at(&lease, 12, 73), Decision::Take);
        assert_eq!(decide_at(&lease, 0, 3600), Decision::Take);
    }

    #[test]
    fn a_candidate_waits_if_the_holders_clock_is_ahead_or_unknown() {
        let mut lease = held_by("you");
        lease.spec.as_mut().unwrap().renew_time = Some(second(7200));
        assert!(matches!(decide_at(&lease, 29, 3600), Decision::Wait { .. }));
        lease.spec.as_mut().unwrap().renew_time = None;
        assert!(matches!(decide_at(&lease, 29, 3600), Decision::Wait { .. }));
    }

    #[test]
    fn a_lease_without_a_duration_has_the_default_duration() {
        for odd in [None, Some(0), Some(-5)] {
            let mut lease = held_by("you");
            lease.spec.as_mut().unwrap().lease_duration_seconds = odd;
            assert!(matches!(decide_after(&lease, 14), Decision::Wait { .. }), "{odd:?}");
            assert_eq!(decide_after(&lease, 15), Decision::Take, "{odd:?}");
        }
    }

    #[test]
    fn a_held_lease_is_renewed_and_a_released_one_acquired_at_once() {
        assert_eq!(decide_after(&held_by("me"), 1000), Decision::Renew);
        assert_eq!(decide_after(&released(held_by("you"), second(1)), 0), Decision::Take);
        assert_eq!(decide_after(&Lease::default(), 0), Decision::Take);
    }

    #[test]
    fn only_a_change_restarts_the_expiry() {
        let mut observer = Observer::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(observer.record(Some(&version("1")), at(0)), at(0));
        assert_eq!(observer.record(Some(&version("1")), at(14)), at(0));
        assert_eq!(observer.record(Some(&version("2")), at(15)), at(15));
        assert_eq!(observer.record(None, at(16)), at(16));
    }

    #[test]
    fn a_former_process_worked_until_its_lease_was_released_or_it_had_to_stop() {
        let (held, now) = (held_by("you"), second(1000).0);
        let until = |found: Option<&Lease>, now| worked_until(found, USUAL, now);
        assert_eq!(
            until(Some(&held), now),
            second(20).0,
            "two thirds of its duration after the last renewal"
        );
        assert_eq!(until(Some(&released(held.clone(), second(5))), now), second(5).0);
        assert_eq!(until(Some(&held), second(3).0), second(3).0, "it was deleted, or another clock differs");
        assert_eq!(until(None, now), Timestamp::MIN);
        assert_eq!(until(Some(&Lease::default()), now), now, "it has no renewal time");
        let mut unused = held;
        unused.metadata.annotations = Some([(unused_annotation(), String::new())].into());
        assert_eq!(until(Some(&unused), now), now, "its controller ran without leader election since");
    }

    #[test]
    fn only_acquiring_increments_the_transitions() {
        let taken = claim(Some(held_by("you")), "kraken-test", "me", USUAL, second(9)).spec.unwrap();
        assert_eq!(taken.lease_transitions, Some(1));
        assert_eq!(taken.acquire_time, Some(second(9)));
        let renewed = claim(Some(held_by("me")), "kraken-test", "me", USUAL, second(9)).spec.unwrap();
        assert_eq!(renewed.lease_transitions, Some(0));
        assert_eq!((renewed.acquire_time, renewed.renew_time), (Some(second(0)), Some(second(9))));
    }

    #[test]
    fn a_claim_has_the_observed_version_as_precondition() {
        let lease = claim(Some(version("7")), "kraken-test", "me", USUAL, second(0));
        assert_eq!(lease.metadata.resource_version.as_deref(), Some("7"));
    }
}
