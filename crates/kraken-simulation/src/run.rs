//! One schedule from its beginning to its end, with all checks.

use kraken_runtime::coverage::Reached;

use crate::check::FullCheck;
use crate::generate;
use crate::schedule::Schedule;
use crate::shrink::{Shrunk, shrink};
use crate::world::{Report, World};

/// How many runs making a schedule short may take.
pub const SHRINKING: usize = 400;

/// Runs a schedule with every check.
pub fn run(schedule: &Schedule) -> (Report, Reached) {
    let check = FullCheck::new(schedule);
    let reached = check.reached();
    let report = World::run(schedule, Box::new(check));
    let reached = std::mem::take(&mut *reached.lock());
    (report, reached)
}

/// The schedule of a seed, and what came of it.
pub fn seed(seed: u64) -> (Schedule, Report, Reached) {
    let schedule = generate::generate(seed);
    let (report, reached) = run(&schedule);
    (schedule, report, reached)
}

/// What failed first: the name of the invariant. Schedules of one class fail in the same way.
pub fn class(report: &Report) -> Option<&str> {
    report.violations.first().map(|violation| violation.invariant.as_str())
}

/// The shortest schedule that is found and fails in the same way.
pub fn shortened(schedule: &Schedule, class: &str, budget: usize) -> Shrunk {
    shrink(schedule, budget, |candidate| self::class(&run(candidate).0) == Some(class))
}
