//! The steps of the rotation of the serving certificate, so that no replica ever serves a certificate that the API server does
//! not trust. Pure.
//!
//! 1. When a third of its lifetime remains, the next certificate and its CA are issued; the CA is *published* beside
//!    the old one, and no replica serves the certificate yet.
//! 2. When the API servers had time to load the CA, every replica *serves* the next certificate after reading it.
//! 3. When every replica had time to read it, the old CA is *retired*.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::certificate::Pair;

/// The maximum time between the steps.
const MAX_SPREAD: Duration = Duration::from_mins(5);
/// The maximum time between two reads of the Secret.
const MAX_POLL: Duration = Duration::from_secs(30);

/// The timing of the rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The lifetime of a certificate.
    pub lifetime: Duration,
}

impl Timing {
    /// The remaining lifetime at which the next certificate is issued.
    pub(crate) fn renew_before(self) -> Duration {
        self.lifetime / 3
    }

    /// The time for others to load a step before the next one.
    pub(crate) fn spread(self) -> Duration {
        (self.lifetime / 12).min(MAX_SPREAD)
    }

    /// The interval between reads of the Secret.
    pub(crate) fn poll(self) -> Duration {
        (self.spread() / 4).min(MAX_POLL)
    }
}

/// The metadata in the Secret, in addition to the PEM texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Note {
    /// The names of the certificate.
    #[serde(default)]
    pub(crate) names: Vec<String>,
    /// The expiry of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_after: Option<Timestamp>,
    /// The expiry of the next certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_not_after: Option<Timestamp>,
    /// The time of the previous step, if another follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
}

/// The content of the Secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    /// The served certificate.
    pub(crate) current: Option<Pair>,
    /// The next certificate.
    pub(crate) next: Option<Pair>,
    /// The CA of the previous certificate, while a replica may still serve it.
    pub(crate) previous: Option<String>,
    pub(crate) note: Note,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Keep,
    /// There is no usable certificate: issue one and serve it at once.
    Issue,
    /// Issue the next certificate, and publish its CA.
    Publish,
    /// Serve the next certificate.
    Serve,
    /// Remove the old CA.
    Retire,
}

impl Stored {
    /// The next step. `is_trusted`: whether the configuration has the CA of the next certificate, or there is no
    /// configuration.
    pub(crate) fn step(&self, names: &[String], now: Timestamp, timing: Timing, is_trusted: bool) -> Step {
        let left = |end: Option<Timestamp>| {
            end.and_then(|end| Duration::try_from(end.duration_since(now)).ok()).unwrap_or_default()
        };
        let has_passed = self.note.since.is_none_or(|since| {
            // A clock that was set back must not delay a rotation for long.
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

    /// The content after a step; `made` is a new certificate, which two of the steps require, with its expiry.
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

    /// The current CA bundle.
    pub(crate) fn bundle(&self) -> String {
        let pairs = [&self.current, &self.next].into_iter().flatten().map(|pair| pair.authority.as_str());
        pairs.chain(self.previous.as_deref()).collect()
    }
}

#[cfg(test)]
mod tests;
