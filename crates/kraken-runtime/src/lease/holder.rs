//! Detects whether the holder of a lease is alive, for a process that only reads the lease. No client and no clock: times
//! are passed in.
//!
//! The time without a renewal is measured with our monotonic clock, as for a candidate. It must exceed the lease's
//! duration: a successor can take over only after the expiry, and must have time to do so before the holder is reported
//! as dead.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kraken_api::DOMAIN;

use crate::clock::Instant;

/// The time after its expiry or release until a lease that was not acquired counts as without a holder.
const GRACE: Duration = Duration::from_secs(10);
/// The interval between reads of a lease.
const READ: Duration = Duration::from_secs(10);
/// The duration of a lease without one.
const USUAL: Duration = Duration::from_secs(15);

/// Whether a lease has a live holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holder {
    /// It has not been observed for long enough.
    #[default]
    Unknown,
    /// It is renewed, or its controller runs without leader election.
    Alive,
    /// It has not been renewed since this time on the holder's clock, if the lease has one.
    Silent(Option<Timestamp>),
}

/// Evaluates successive reads of one lease.
#[derive(Debug, Default)]
pub struct Reader {
    holder: Holder,
    /// The last observed version, or none, and since when it has been unchanged.
    last: Option<(Option<String>, Instant)>,
    /// The last observed renewal time.
    renewed: Option<Timestamp>,
    /// Whether the lease ever existed.
    existed: bool,
}

impl Reader {
    /// Records a successful read, and returns the delay before the next.
    pub fn record(&mut self, found: Option<&Lease>, now: Instant) -> (Holder, Duration) {
        // Without leader election there is no lease, or an old one with a mark.
        if found.map_or(!self.existed, is_unused) {
            *self = Self { holder: Holder::Alive, ..Self::default() };
            return (self.holder, READ);
        }
        self.existed = true;
        let spec = found.and_then(|lease| lease.spec.as_ref());
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
        self.renewed = renewed.or(self.renewed);
        let version = found.map(|lease| lease.metadata.resource_version.clone().unwrap_or_default());
        let is_held = spec.and_then(|spec| spec.holder_identity.as_ref()).is_some_and(|id| !id.is_empty());
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
        let duration = seconds.filter(|s| *s > 0).map_or(USUAL, Duration::from_secs);
        let enough = if is_held { duration + GRACE } else { GRACE };
        let since = match &self.last {
            Some((last, since)) if *last == version => *since,
            before => {
                if before.is_some() && is_held {
                    self.holder = Holder::Alive;
                }
                self.last = Some((version, now));
                now
            }
        };
        let left = enough.saturating_sub(now.duration_since(since));
        if left.is_zero() {
            self.holder = Holder::Silent(self.renewed);
        }
        // Often enough to observe a renewal before the time expires.
        (self.holder, if left.is_zero() { READ.min(duration) } else { READ.min(duration).min(left) })
    }

    /// Records a failed read: it is unknown what happened in the meantime, so the time without a renewal starts again.
    pub fn failed(&mut self) -> (Holder, Duration) {
        self.last = None;
        (self.holder, READ)
    }
}

/// The annotation of a lease that its controller does not use, because leader election is disabled.
pub(super) fn unused_annotation() -> String {
    format!("{DOMAIN}/leader-election-off")
}

/// Whether its controller runs without it.
pub(super) fn is_unused(lease: &Lease) -> bool {
    lease.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(&unused_annotation()))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    use super::*;
    use crate::lease::record::{claim, released};

    fn lease(version: u64) -> Lease {
        let renewed = MicroTime(Timestamp::UNIX_EPOCH + Duration::from_secs(version));
        let mut lease = claim(None, "kraken-hub", "hub-1", Duration::from_secs(15), renewed);
        lease.metadata.resource_version = Some(version.to_string());
        lease
    }

    fn second(n: u64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(n)
    }

    /// The results of a reader for these reads, each after this number of seconds.
    fn read(reads: &[(u64, Option<Lease>)]) -> Vec<Holder> {
        let (start, mut reader) = (Instant::now(), Reader::default());
        let at = |seconds: &u64| start + Duration::from_secs(*seconds);
        reads.iter().map(|(seconds, found)| reader.record(found.as_ref(), at(seconds)).0).collect()
    }

    #[test]
    fn a_lease_without_renewal_has_no_holder_after_expiry_and_grace_period() {
        let reads = [(0, 1), (10, 2), (20, 2), (34, 2), (35, 2), (45, 2), (55, 3)];
        let reads: Vec<_> = reads.into_iter().map(|(at, version)| (at, Some(lease(version)))).collect();
        let silent = Holder::Silent(Some(second(2)));
        let alive = Holder::Alive;
        assert_eq!(read(&reads), [Holder::Unknown, alive, alive, alive, silent, silent, alive]);
    }

    #[test]
    fn a_lease_that_was_stale_before_the_first_read_is_not_reported_at_once() {
        let reads = [(0, Some(lease(1))), (10, Some(lease(1))), (25, Some(lease(1)))];
        assert_eq!(read(&reads), [Holder::Unknown, Holder::Unknown, Holder::Silent(Some(second(1)))]);
    }

    #[test]
    fn a_released_lease_has_a_grace_period() {
        let mut left = released(lease(2), MicroTime(second(7)));
        left.metadata.resource_version = Some("3".into());
        let mut taken = lease(9);
        taken.metadata.resource_version = Some("4".into());
        let handed_over =
            [(0, Some(lease(1))), (5, Some(lease(2))), (9, Some(left.clone())), (12, Some(taken))];
        assert_eq!(read(&handed_over)[1..], [Holder::Alive; 3]);
        let stopped =
            [(0, Some(lease(2))), (9, Some(left.clone())), (18, Some(left.clone())), (19, Some(left))];
        assert_eq!(read(&stopped)[2..], [Holder::Unknown, Holder::Silent(Some(second(7)))]);
    }

    #[test]
    fn without_leader_election_the_holder_counts_as_alive() {
        assert_eq!(read(&[(0, None), (60, None)]), [Holder::Alive; 2], "the lease never existed");
        let mut unused = lease(1);
        unused.metadata.annotations = Some([(unused_annotation(), String::new())].into());
        assert_eq!(read(&[(0, Some(unused.clone())), (60, Some(unused))]), [Holder::Alive; 2]);
    }

    #[test]
    fn a_deleted_lease_has_no_holder_until_it_is_recreated() {
        let reads = [(0, Some(lease(1))), (5, Some(lease(2))), (10, None), (20, None), (30, Some(lease(3)))];
        assert_eq!(read(&reads)[2..], [Holder::Alive, Holder::Silent(Some(second(2))), Holder::Alive]);
    }

    #[test]
    fn a_failed_read_restarts_the_time_without_renewal() {
        let (start, mut reader) = (Instant::now(), Reader::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        reader.record(Some(&lease(1)), at(0));
        reader.record(Some(&lease(2)), at(10));
        reader.failed();
        // The API server is available again after an hour, and the holder has not renewed yet.
        assert_eq!(reader.record(Some(&lease(2)), at(3600)).0, Holder::Alive);
        assert_eq!(reader.record(Some(&lease(3)), at(3605)).0, Holder::Alive);
    }

    #[test]
    fn the_read_interval_is_sufficient_to_observe_a_renewal() {
        let (start, mut reader) = (Instant::now(), Reader::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(reader.record(Some(&lease(1)), at(0)).1, READ);
        assert_eq!(reader.record(Some(&lease(2)), at(10)).1, READ);
        assert_eq!(reader.record(Some(&lease(2)), at(20)).1, READ);
        assert_eq!(reader.record(Some(&lease(2)), at(30)).1, Duration::from_secs(5));
    }
}
