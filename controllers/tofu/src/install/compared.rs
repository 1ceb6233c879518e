//! What the plans of another program said, and how long that is believed.

use std::time::{Duration, Instant};

use crate::{api::Switch, provider::ProgramOptions};

/// How long plans are believed. Then the resources are compared again, if the switch still waits.
pub(super) const COMPARED_EVERY: Duration = Duration::from_mins(5);

/// Plans of a program for the resources.
#[derive(Clone)]
pub(super) struct Compared {
    pub(super) options: ProgramOptions,
    pub(super) at: Instant,
    pub(super) switch: Switch,
}
