//! The parts of the in-memory record of a resource.

use std::time::Duration;

use kraken_kind::dynamic::{Desired, Kind, Observed};
use tokio::time::Instant;

use crate::{delay::doubling, ledger::Clock};

/// A launch that the provider rejects because its token or its name is in use: it was not made, so a search by tag
/// finds nothing new unless an earlier call of the same launch becomes visible.
#[derive(Clone, Copy, Debug)]
pub struct TokenUsed {
    /// The number of the launch.
    pub epoch: i64,
    /// When it was last searched for since then, and how many times.
    searched: Option<(Instant, u32)>,
}

impl TokenUsed {
    /// A launch that was not searched for yet.
    pub fn new(epoch: i64) -> Self {
        Self { epoch, searched: None }
    }

    /// Records a search by tag.
    pub fn searched(&mut self) {
        let times = self.searched.map_or(0, |(_, times)| times);
        self.searched = Some((Instant::now(), times.saturating_add(1)));
    }

    /// Whether another search is due: after 10, 20, 40 s and so on, at most ten minutes. A search may list all objects
    /// of a kind in the account.
    pub fn is_search_due(&self) -> bool {
        const FIRST: Duration = Duration::from_secs(10);
        const LONGEST: Duration = Duration::from_mins(10);
        self.searched.is_none_or(|(at, times)| at.elapsed() >= doubling(FIRST, times, LONGEST))
    }
}

/// The search for remote objects of a resource that has no record of any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// It was not made yet.
    #[default]
    Open,
    /// It is repeated at this time: it failed, or an object may not have been visible.
    Again(Instant),
    /// No object exists.
    Done,
}

impl Search {
    /// One that is repeated after this time.
    pub fn again(after: Duration) -> Self {
        Self::Again(Instant::now() + after)
    }

    /// Whether it is to be made now.
    pub fn is_due(self) -> bool {
        match self {
            Self::Open => true,
            Self::Again(at) => at <= Instant::now(),
            Self::Done => false,
        }
    }

    /// How long until it is repeated, if it is.
    pub fn left(self) -> Option<Duration> {
        match self {
            Self::Again(at) => Some(at.saturating_duration_since(Instant::now())),
            Self::Open | Self::Done => None,
        }
    }
}

/// The delay before a change without visible effect is repeated, and before objects are claimed again. It doubles each time.
const REPEAT: Duration = Duration::from_secs(1);
/// The longest of these delays.
const REPEAT_MAX: Duration = Duration::from_secs(64);

/// How often a change without effect is made before it is reported.
const TRIES: u32 = 5;

/// A change in place that the provider accepted or rejected, and that is still due.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The field with its old and its new value.
    pub what: String,
    /// How many times in a row the provider accepted it.
    pub times: u32,
    /// Whether the provider rejected it the last time.
    pub is_rejected: bool,
    /// When it was made last.
    pub at: Instant,
}

impl Changed {
    /// Whether it has had no effect for so long that changes of other fields go first.
    pub fn is_stuck(&self) -> bool {
        self.is_rejected || self.times >= TRIES
    }

    /// How long the provider may still return the old value before the change is repeated.
    pub fn left(&self) -> Option<Duration> {
        let delay = doubling(REPEAT, self.times, REPEAT_MAX);
        delay.checked_sub(self.at.elapsed()).filter(|left| !self.is_rejected && !left.is_zero())
    }

    /// The message that it has no effect. The same each time, so that it is one event.
    pub fn had_no_effect(&self) -> String {
        format!(
            "{}: the provider accepted the change {TRIES} times or more and still returns the old value; check that no other \
             client reverts it",
            self.what
        )
    }
}

/// A change in place that was not seen yet. Until it is, reads return the former value, which an edit may require again: nothing
/// differs then, although the change removed it.
#[derive(Clone, Debug)]
pub struct Unseen {
    /// The field.
    pub path: String,
    /// The field with its old and its new value.
    pub what: String,
    /// The desired state for which it was made.
    pub desired: Desired,
    /// When it was made.
    pub at: Instant,
}

impl Unseen {
    /// Whether these objects still have the former value.
    pub fn is_hidden(&self, kind: &dyn Kind, current: &Observed) -> bool {
        kind.compare(&self.desired, current)
            .differences
            .iter()
            .any(|difference| self.is_of(&difference.field.path))
    }

    /// Whether this is the path of the change. The item of a list is not named if it may be secret.
    pub fn is_of(&self, path: &str) -> bool {
        path.strip_prefix(&*self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    }

    /// How long until it is observed again, if it may become visible. `clock` is from before the last observation.
    pub fn left(&self, clock: Clock) -> Option<Duration> {
        let age = clock.instant.saturating_duration_since(self.at);
        Some(clock.next_read(age)).filter(|delay| !delay.is_zero())
    }
}

/// A claim of objects whose tags were missing. Tags may become visible with a delay.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Their ids.
    pub ids: Vec<String>,
    /// When their tags were last set.
    pub at: Instant,
    /// How many times in a row.
    pub times: u32,
    /// Whether the call succeeded. One that failed may have set the tags, too, but is repeated without waiting for them.
    pub is_confirmed: bool,
}

impl Claimed {
    /// Whether it is too early to claim these again: the delay doubles each time.
    pub fn is_recent(&self, ids: &[String]) -> bool {
        let delay = doubling(REPEAT, self.times.saturating_add(1), REPEAT_MAX);
        self.is_confirmed && self.ids == ids && self.at.elapsed() < delay
    }
}

/// Progress that was not reported yet. Waiting for the hub is distinguished from other progress: after a long wait for
/// the hub, the operation may still complete quickly.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    since: Instant,
    /// How long it need not be reported.
    grace: Duration,
    /// Whether the resource waits for the hub.
    for_hub: bool,
}

impl Progress {
    /// One that begins now.
    pub fn begin(grace: Duration, for_hub: bool) -> Self {
        Self { since: Instant::now(), grace, for_hub }
    }

    /// How long it has taken so far.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether it is progress of the same kind.
    pub fn is_same(&self, grace: Duration, for_hub: bool) -> bool {
        self.grace == grace && self.for_hub == for_hub
    }

    /// Whether it may complete before it needs to be reported.
    pub fn is_fresh(&self) -> bool {
        self.since.elapsed() < self.grace
    }
}
