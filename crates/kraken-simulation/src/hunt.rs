//! How many seeds it takes to find a seeded bug: the proof that the simulation would find a real one.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kraken_runtime::mutants::Mutant;
use parking_lot::Mutex;

use crate::check::FullCheck;
use crate::generate::generate;
use crate::world::{Violation, World};

/// What came of the hunt for one mutant.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The seeded bug.
    pub mutant: Mutant,
    /// The first seed that showed it, and how; none within the limit.
    pub found: Option<(u64, Violation)>,
    /// How many seeds were tried.
    pub tried: u64,
}

/// Runs seeds from 1 with a seeded bug in the controllers, until one shows it. `threads` at once; the result does not depend on
/// how many.
pub fn hunt(mutant: Mutant, limit: u64, threads: usize) -> Hunt {
    let next = AtomicU64::new(1);
    // The smallest seed that showed it.
    let best: Mutex<Option<(u64, Violation)>> = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_beaten = best.lock().as_ref().is_some_and(|(best, _)| *best < seed);
                    if seed > limit || is_beaten {
                        return;
                    }
                    let schedule = generate(seed);
                    let check = FullCheck::new(&schedule).with(mutant);
                    let report = World::run(&schedule, Box::new(check));
                    let Some(violation) = report.violations.first() else { continue };
                    // What fails without the seeded bug too says nothing of it.
                    let sound = World::run(&schedule, Box::new(FullCheck::new(&schedule)));
                    if !sound.violations.is_empty() {
                        continue;
                    }
                    let mut best = best.lock();
                    if best.as_ref().is_none_or(|(best, _)| seed < *best) {
                        *best = Some((seed, violation.clone()));
                    }
                }
            });
        }
    });
    let found = best.into_inner();
    let tried = found.as_ref().map_or(limit, |(seed, _)| *seed);
    Hunt { mutant, found, tried }
}

/// As Markdown.
pub fn table(hunts: &[Hunt]) -> String {
    let mut text = "| Mutant | What it does | Seeds | Found as |\n|---|---|---:|---|\n".to_owned();
    for hunt in hunts {
        let (seeds, class) = match &hunt.found {
            Some((seed, violation)) => (seed.to_string(), format!("`{}`", violation.invariant)),
            None => (format!("more than {}", hunt.tried), "not found".to_owned()),
        };
        let (name, description) = (hunt.mutant.name(), hunt.mutant.description());
        let _ = writeln!(text, "| `{name}` | {description} | {seeds} | {class} |"); // a String takes everything
    }
    text
}
