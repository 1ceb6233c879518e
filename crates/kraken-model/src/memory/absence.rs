//! How long an object that may exist has been missing from responses. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::ledger::Clock;

/// How long an object that was visible must be missing from responses before it is treated as deleted: a single response may
/// come from a replica that lags. An object that the provider returns as deleted is treated so at once.
pub(crate) const CONFIRMED_AFTER: Duration = Duration::from_secs(10);

/// How many interruptions confirm an absence: a long queue must not prevent that.
const INTERRUPTIONS: u8 = 3;

/// What was missing from every observation since the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    since: Instant,
    last: Instant,
    /// How often two observations were more than [`CONFIRMED_AFTER`] apart, such as the last one before an outage and the first one
    /// after it: each may have met a replica that lagged, so the time starts again.
    interruptions: u8,
}

impl Absence {
    /// The first observation ends now.
    pub fn begin() -> Self {
        let now = Instant::now();
        Self { since: now, last: now, interruptions: 0 }
    }

    /// Adds an observation. `clock` is from before it: a response is not newer because the reconcile waited for a slot before it
    /// continued.
    pub fn extend(&mut self, clock: Clock) {
        if clock.instant.saturating_duration_since(self.last) > CONFIRMED_AFTER {
            self.since = clock.instant;
            self.interruptions = self.interruptions.saturating_add(1);
        }
        self.last = self.last.max(clock.instant);
    }

    /// Whether the object may still exist.
    pub fn is_unconfirmed(self) -> bool {
        self.last - self.since < CONFIRMED_AFTER && self.interruptions < INTERRUPTIONS
    }
}
