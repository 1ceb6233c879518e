//! Runs many seeds on all cores, with statistics and failures.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::coverage::Coverage;
use crate::engine::{Report, Statistics};
use crate::generate::generate;
use crate::schedule::{Schedule, Suite};
use crate::{providers, run};

/// One of this number of seeds is run twice, and both traces must be equal.
const TWICE: u64 = 100;

/// The seeds to run.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// The first seed.
    pub first: u64,
    /// How many seeds; all there are unless set.
    pub seeds: Option<u64>,
    /// Until when.
    pub limit: Option<Duration>,
    /// How many at once.
    pub jobs: usize,
    /// The number of failures after which no further seed is started.
    pub failures: usize,
    /// Only those of the seeds that begin with this opening.
    pub opening: Option<String>,
    /// Which controllers run.
    pub suite: Suite,
}

impl Default for BatchOptions {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            first: 0,
            seeds: None,
            limit: None,
            jobs,
            failures: usize::MAX,
            opening: None,
            suite: Suite::Aws,
        }
    }
}

/// A seed that failed.
#[derive(Clone, Debug)]
pub struct FailedSeed {
    /// The seed.
    pub seed: u64,
    /// Its schedule.
    pub schedule: Schedule,
    /// What came of it.
    pub report: Report,
}

/// What came of all.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How many seeds were run.
    pub seeds: u64,
    /// The sum of their figures.
    pub statistics: Statistics,
    /// Which variants of decisions and outcomes were reached, and how often.
    pub coverage: Coverage,
    /// Those that failed, in the order of seeds.
    pub failures: Vec<FailedSeed>,
    /// How long it took.
    pub took: Duration,
}

impl Summary {
    /// A progress line.
    pub fn line(&self) -> String {
        let seconds = self.took.as_secs_f64().max(0.001);
        let Statistics { operations, faults, requests, cloud_calls, .. } = self.statistics;
        let (reached, all) = self.coverage.share();
        format!(
            "{} seeds, {:.1}/s; {operations} operations, {faults} faults, {} calls; {reached} of {all} variants reached; \
             {} failed",
            self.seeds,
            f64::from(u32::try_from(self.seeds).unwrap_or(u32::MAX)) / seconds,
            requests + cloud_calls,
            self.failures.len(),
        )
    }
}

/// Runs them; `report` gets each failure, and the progress every second.
pub fn batch(options: &BatchOptions, report: impl Fn(&Summary, Option<&FailedSeed>) + Sync) -> Summary {
    let begin = Instant::now();
    let (next, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
    let summary = Mutex::new(Summary::default());
    let reported = Mutex::new(Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = options.seeds.is_some_and(|seeds| number >= seeds)
                        || options.limit.is_some_and(|limit| begin.elapsed() >= limit)
                        || stopped.load(Ordering::Relaxed);
                    if is_over {
                        return;
                    }
                    let schedule = generated(options.suite, options.first + number);
                    if options.opening.is_some() && schedule.opening != options.opening {
                        continue;
                    }
                    let failure = one(schedule, &summary, begin);
                    let summary = summary.lock();
                    if summary.failures.len() >= options.failures {
                        stopped.store(true, Ordering::Relaxed);
                    }
                    let mut reported = reported.lock();
                    if failure.is_some() || reported.elapsed() >= Duration::from_secs(1) {
                        *reported = Instant::now();
                        report(&summary, failure.as_ref());
                    }
                }
            });
        }
    });
    let mut summary = summary.into_inner();
    summary.took = begin.elapsed();
    summary.failures.sort_by_key(|failure| failure.seed);
    summary
}

/// The schedule of a seed.
pub fn generated(suite: Suite, seed: u64) -> Schedule {
    match suite {
        Suite::Aws => generate(seed),
        Suite::Provider => providers::generate(seed),
    }
}

fn one(schedule: Schedule, summary: &Mutex<Summary>, begin: Instant) -> Option<FailedSeed> {
    let seed = schedule.seed;
    let (mut report, reached) = run::run(&schedule);
    if seed.is_multiple_of(TWICE) && report.is_passed() {
        report.violations.extend(unequal(&schedule, &report));
    }
    let mut summary = summary.lock();
    summary.seeds += 1;
    add(&mut summary.statistics, &report.statistics);
    summary.coverage.add(&schedule, &reached);
    summary.took = begin.elapsed();
    if report.is_passed() {
        return None;
    }
    let failure = FailedSeed { seed, schedule, report };
    summary.failures.push(failure.clone());
    Some(failure)
}

fn add(sum: &mut Statistics, one: &Statistics) {
    sum.requests += one.requests;
    sum.cloud_calls += one.cloud_calls;
    sum.writes += one.writes;
    sum.operations += one.operations;
    sum.faults += one.faults;
    sum.starts += one.starts;
    sum.time += one.time;
}

/// Runs a schedule again, and returns where the trace differs.
pub fn unequal(schedule: &Schedule, report: &Report) -> Option<crate::engine::Violation> {
    let (again, _) = run::run(schedule);
    let differing = report.trace.0.iter().zip(&again.trace.0).find(|(one, other)| one != other);
    let (at, message) = match differing {
        Some((one, other)) => (one.at, format!("first {one}, then {other}")),
        None if report.trace.0.len() == again.trace.0.len() => return None,
        None => (Duration::ZERO, format!("{} events, then {}", report.trace.0.len(), again.trace.0.len())),
    };
    Some(crate::engine::Violation { at, invariant: "the same seed gives the same trace".to_owned(), message })
}
