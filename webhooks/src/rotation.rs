//! When the serving certificate is replaced, and how, so that at no moment a replica serves what the API server does not trust.
//! Pure.
//!
//! 1. A third of its life before the end, the next certificate and its authority are made; the authority is *published*
//!    beside the old one, and nobody serves the certificate.
//! 2. When the API servers had time to learn of the authority, every replica *serves* the next certificate as it reads it.
//! 3. When every replica had time to read it, the old authority is *retired*.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::certificate::Pair;

/// The longest time between the steps.
const MAX_SPREAD: Duration = Duration::from_mins(5);
/// The longest time between two looks at the Secret.
const MAX_POLL: Duration = Duration::from_secs(30);

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a certificate is good for.
    pub lifetime: Duration,
}

impl Timing {
    /// How long before the end the next certificate is made.
    pub(crate) fn renew_before(self) -> Duration {
        self.lifetime / 3
    }

    /// How long others have to learn of a step before the next.
    pub(crate) fn spread(self) -> Duration {
        (self.lifetime / 12).min(MAX_SPREAD)
    }

    /// How often the Secret is read.
    pub(crate) fn poll(self) -> Duration {
        (self.spread() / 4).min(MAX_POLL)
    }
}

/// What is noted in the Secret beside the PEM texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Note {
    /// The names that the certificate is for.
    #[serde(default)]
    pub(crate) names: Vec<String>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_after: Option<Timestamp>,
    /// When the next one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_not_after: Option<Timestamp>,
    /// When the step before was done, if another follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
}

/// The content of the Secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    /// What is served.
    pub(crate) current: Option<Pair>,
    /// What will be served.
    pub(crate) next: Option<Pair>,
    /// The authority of what was served before, while a replica may still serve it.
    pub(crate) previous: Option<String>,
    pub(crate) note: Note,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Keep,
    /// There is nothing that could be served: a certificate is made and served at once.
    Issue,
    /// The next certificate is made, and its authority published.
    Publish,
    /// The next certificate is served.
    Serve,
    /// The old authority is trusted no longer.
    Retire,
}

impl Stored {
    /// The next step. `is_trusted`: whether the configuration has the authority of the next certificate, or there is none.
    pub(crate) fn step(&self, names: &[String], now: Timestamp, timing: Timing, is_trusted: bool) -> Step {
        let left = |end: Option<Timestamp>| {
            end.and_then(|end| Duration::try_from(end.duration_since(now)).ok()).unwrap_or_default()
        };
        let has_passed = self.note.since.is_none_or(|since| {
            // A clock that was put back must not hold a rotation up for long.
            let passed = now.duration_since(since);
            passed.is_negative() || passed.unsigned_abs() >= timing.spread()
        });
        let life = left(self.note.not_after);
        if self.current.is_none() || life.is_zero() {
            return Step::Issue;
        }
        if self.next.is_some() {
            return if has_passed && is_trusted { Step::Serve } else { Step::Keep };
        }
        if self.previous.is_some() {
            return if has_passed { Step::Retire } else { Step::Keep };
        }
        if life <= timing.renew_before() || self.note.names != names {
            return Step::Publish;
        }
        Step::Keep
    }

    /// The content after a step; `made` is a new certificate, which two of them need, and when it ends.
    pub(crate) fn after(
        self,
        step: Step,
        made: Option<(Pair, Timestamp)>,
        names: &[String],
        now: Timestamp,
    ) -> Self {
        let Self { current, next, previous, note } = self;
        match (step, made) {
            (Step::Issue, Some((pair, end))) => Self {
                current: Some(pair),
                next: None,
                previous: None,
                note: Note { names: names.to_vec(), not_after: Some(end), next_not_after: None, since: None },
            },
            (Step::Publish, Some((pair, end))) => Self {
                current,
                next: Some(pair),
                previous,
                note: Note { names: names.to_vec(), next_not_after: Some(end), since: Some(now), ..note },
            },
            (Step::Serve, _) => Self {
                previous: current.map(|pair| pair.authority),
                current: next,
                next: None,
                note: Note { not_after: note.next_not_after, next_not_after: None, since: Some(now), ..note },
            },
            (Step::Retire, _) => Self { current, next, previous: None, note: Note { since: None, ..note } },
            _ => Self { current, next, previous, note },
        }
    }

    /// Everything by which certificates are trusted now.
    pub(crate) fn bundle(&self) -> String {
        let pairs = [&self.current, &self.next].into_iter().flatten().map(|pair| pair.authority.as_str());
        pairs.chain(self.previous.as_deref()).collect()
    }
}

#[cfg(test)]
mod tests;
