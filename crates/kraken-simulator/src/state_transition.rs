//! A state with a scheduled transition.

use std::time::Duration;

use tokio::time::Instant;

/// A transition from one state to the next at a certain time.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateTransition<S> {
    pub(super) from: S,
    pub(super) to: S,
    pub(super) at: Instant,
}

impl<S: Copy> StateTransition<S> {
    pub(super) fn new(from: S, to: S, now: Instant, after: Duration) -> Self {
        Self { from, to, at: now + after }
    }

    pub(super) fn state(self, now: Instant) -> S {
        if now >= self.at { self.to } else { self.from }
    }
}
