//! The result of a simulation.

use std::time::Duration;

use kraken_mutants::ReachedMutants;

use super::checker::Violation;
use super::trace::{EventKind, Trace};
use crate::schedule::Side;

/// The result of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What happened.
    pub trace: Trace,
    /// The violation; none if all checks passed.
    pub violations: Vec<Violation>,
    /// How much happened.
    pub statistics: Statistics,
    /// The places of seeded bugs that the controllers passed.
    pub reached_mutants: ReachedMutants,
}

impl Report {
    /// Whether all checks passed.
    pub fn is_passed(&self) -> bool {
        self.violations.is_empty()
    }
}

/// How much happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Requests to the API server.
    pub requests: u64,
    /// Calls to the cloud.
    pub cloud_calls: u64,
    /// How many of both may have changed something.
    pub writes: u64,
    /// The number of operations.
    pub operations: u64,
    /// What failed.
    pub faults: u64,
    /// How many times a process started.
    pub starts: u64,
    /// How much virtual time passed.
    pub time: Duration,
}

impl Statistics {
    pub(super) fn count(&mut self, what: &EventKind) {
        match what {
            EventKind::Call(call) => {
                match call.side {
                    Side::Kube => self.requests += 1,
                    Side::Cloud => self.cloud_calls += 1,
                }
                self.writes += u64::from(call.writes && call.status.is_some());
            }
            EventKind::Operation(_) => self.operations += 1,
            EventKind::Fault(_) => self.faults += 1,
            EventKind::Process(text) => self.starts += u64::from(text.ends_with("starts")),
            EventKind::Phase(_) => {}
        }
    }
}
