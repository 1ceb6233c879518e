//! How many seeds it takes to find a seeded bug: the proof that the simulation would find a real one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kraken_runtime::mutants::{Asked, Mutant};
use parking_lot::Mutex;

use crate::check::FullCheck;
use crate::engine::{Simulation, Violation};
use crate::generate::generate;

/// What came of the hunt for one mutant.
#[derive(Clone, Debug)]
pub struct Hunt {
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
struct Sound {
    is_good: bool,
    asked: Asked,
}

/// Searches for seeds that find mutants, and caches the result of each seed without one.
#[derive(Debug)]
pub struct Hunter {
    limit: u64,
    threads: usize,
    sound: Mutex<BTreeMap<u64, Sound>>,
}

impl Hunter {
    /// Tries seeds from 1 to `limit`, with `threads` in parallel; the result does not depend on the number of threads.
    pub fn new(limit: u64, threads: usize) -> Self {
        Self { limit, threads: threads.max(1), sound: Mutex::default() }
    }

    /// Runs seeds with a seeded bug in the controllers, until one shows it that is good without it.
    pub fn hunt(&self, mutant: Mutant) -> Hunt {
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
                let sound = self.sound(seed);
                if !sound.asked.contains(mutant) {
                    continue; // the very same run as without it
                }
                reached.fetch_add(1, Ordering::Relaxed);
                if !sound.is_good {
                    continue; // a failure that also occurs without the seeded bug does not count
                }
                let schedule = generate(seed);
                let check = FullCheck::new(&schedule).with(mutant);
                let report = Simulation::run(&schedule, Box::new(check));
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
        Hunt { mutant, found, tried, reached: reached.into_inner() }
    }

    fn sound(&self, seed: u64) -> Sound {
        if let Some(sound) = self.sound.lock().get(&seed) {
            return *sound;
        }
        let schedule = generate(seed);
        let check = FullCheck::new(&schedule);
        let asked = check.asked();
        let is_good = Simulation::run(&schedule, Box::new(check)).is_good();
        let sound = Sound { is_good, asked: *asked.lock() };
        self.sound.lock().insert(seed, sound);
        sound
    }
}

/// As Markdown.
pub fn table(hunts: &[Hunt]) -> String {
    let mut text = "| Mutant | What it does | Seeds | Found as |\n|---|---|---:|---|\n".to_owned();
    for hunt in hunts {
        let (seeds, class) = match &hunt.found {
            Some((seed, violation)) => (seed.to_string(), format!("`{}`", violation.invariant)),
            None => (
                format!("more than {}", hunt.tried),
                format!("not found; its location was reached by {} seeds", hunt.reached),
            ),
        };
        let (name, description) = (hunt.mutant.name(), hunt.mutant.description());
        let _ = writeln!(text, "| `{name}` | {description} | {seeds} | {class} |"); // a String takes everything
    }
    text
}
