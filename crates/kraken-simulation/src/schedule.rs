//! What happens in one simulation: a seed and a list of steps, each of which can be left out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The whole input of one simulation. The same schedule gives the same trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Decides what no step says: latencies, UIDs, hash orders.
    pub seed: u64,
    /// What people, accidents and faults do, by time.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When, in virtual time since the start.
    pub at: Duration,
    /// What.
    pub action: Action,
}

/// What can happen. Operations are what people and accidents do; faults are what fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Action {}
