//! How many seeds it takes to find a seeded bug: the proof that the simulation would find a real one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kraken_mutants::{Mutant, ReachedMutants};
use parking_lot::Mutex;

use crate::batch::generated;
use crate::engine::Violation;
use crate::run::run_with;
use crate::schedule::Suite;

/// The result of the search for one mutant.
#[derive(Clone, Debug)]
pub struct MutantResult {
    /// The seeded bug.
    pub mutant: Mutant,
    /// The first seed that showed it, and how; none within the limit.
    pub found: Option<(u64, Violation)>,
    /// How many seeds were tried.
    pub tried: u64,
    /// In how many of them its place in the code was reached.
    pub reached: u64,
}

/// The result of a seed without a seeded bug.
#[derive(Clone, Copy, Debug)]
struct Baseline {
    is_passed: bool,
    reached_mutants: ReachedMutants,
}

/// Searches for seeds that find mutants, and caches the result of each seed without one.
#[derive(Debug)]
pub struct MutantSearch {
    limit: u64,
    threads: usize,
    baseline: Mutex<BTreeMap<(Suite, u64), Baseline>>,
}

impl MutantSearch {
    /// Tries seeds from 1 to `limit`, with `threads` in parallel; the result does not depend on the number of threads.
    pub fn new(limit: u64, threads: usize) -> Self {
        Self { limit, threads: threads.max(1), baseline: Mutex::default() }
    }

    /// Runs seeds with a seeded bug in the controllers, until one shows it that passes without it.
    pub fn run(&self, mutant: Mutant) -> MutantResult {
        let suite = suite_of(mutant);
        let (next, reached) = (AtomicU64::new(1), AtomicU64::new(0));
        // The smallest seed that showed it.
        let best: Mutex<Option<(u64, Violation)>> = Mutex::new(None);
        let search = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                let is_beaten = best.lock().as_ref().is_some_and(|(best, _)| *best < seed);
                if seed > self.limit || is_beaten {
                    return;
                }
                let baseline = self.baseline(suite, seed);
                if !baseline.reached_mutants.contains(mutant) {
                    continue; // the very same run as without it
                }
                reached.fetch_add(1, Ordering::Relaxed);
                if !baseline.is_passed {
                    continue; // a failure that also occurs without the seeded bug does not count
                }
                let report = run_with(&generated(suite, seed), Some(mutant));
                let Some(violation) = report.violations.first() else { continue };
                let mut best = best.lock();
                if best.as_ref().is_none_or(|(best, _)| seed < *best) {
                    *best = Some((seed, violation.clone()));
                }
            }
        };
        thread::scope(|scope| (0..self.threads).for_each(|_| drop(scope.spawn(search))));
        let found = best.into_inner();
        let tried = found.as_ref().map_or(self.limit, |(seed, _)| *seed);
        MutantResult { mutant, found, tried, reached: reached.into_inner() }
    }

    fn baseline(&self, suite: Suite, seed: u64) -> Baseline {
        if let Some(baseline) = self.baseline.lock().get(&(suite, seed)) {
            return *baseline;
        }
        let report = run_with(&generated(suite, seed), None);
        let baseline = Baseline { is_passed: report.is_passed(), reached_mutants: report.reached_mutants };
        self.baseline.lock().insert((suite, seed), baseline);
        baseline
    }
}

/// The schedules that reach the place of this seeded bug.
fn suite_of(mutant: Mutant) -> Suite {
    match mutant {
        Mutant::JournalNotHeld | Mutant::JournalUnversioned | Mutant::RejectionBelieved => Suite::Provider,
        _ => Suite::Aws,
    }
}

/// As Markdown.
pub fn table(results: &[MutantResult]) -> String {
    let mut text = "| Mutant | What it does | Seeds | Found as |\n|---|---|---:|---|\n".to_owned();
    for result in results {
        let (seeds, class) = match &result.found {
            Some((seed, violation)) => (seed.to_string(), format!("`{}`", violation.invariant)),
            None => (
                format!("more than {}", result.tried),
                format!("not found; its location was reached by {} seeds", result.reached),
            ),
        };
        let (name, description) = (result.mutant.name(), result.mutant.description());
        let _ = writeln!(text, "| `{name}` | {description} | {seeds} | {class} |"); // a String takes everything
    }
    text
}
