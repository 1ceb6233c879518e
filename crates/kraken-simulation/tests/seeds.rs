//! Seeds of the simulation: shrunk schedules of earlier failures, and new seeds.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kraken_simulation::batch::{BatchOptions, batch, unequal};
use kraken_simulation::run;
use kraken_simulation::schedule::{Schedule, Suite};
use kraken_simulation::story;

/// `KRAKEN_SIMULATION_SEEDS` overrides it. Known failures of later seeds are listed in `docs/performance/simulation.md`.
/// In the dev profile, which is not optimized; `cargo xtask simulate` has a profile for many.
const SEEDS: u64 = 200;
/// Of the simulated provider.
const PROVIDER_SEEDS: u64 = 60;

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

#[test]
fn schedules_that_once_failed_do_not_fail() {
    let mut failed = String::new();
    for file in corpus() {
        let schedule: Schedule = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let (mut report, _) = run::run(&schedule);
        if report.is_passed() {
            report.violations.extend(unequal(&schedule, &report));
        }
        if !report.is_passed() {
            let title = file.file_name().unwrap().to_string_lossy();
            let replay = format!("cargo xtask simulate --schedule {}", file.display());
            writeln!(failed, "{}", story::explain(&title, &schedule, &report, &replay)).unwrap();
        }
    }
    assert_eq!(failed, "");
}

#[test]
fn the_first_seeds_do_not_fail() {
    let seeds = std::env::var("KRAKEN_SIMULATION_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    do_not_fail(Suite::Aws, seeds);
}

#[test]
fn the_first_seeds_of_a_provider_do_not_fail() {
    do_not_fail(Suite::Provider, PROVIDER_SEEDS);
}

fn do_not_fail(suite: Suite, seeds: u64) {
    let options = BatchOptions { seeds: Some(seeds), failures: 3, suite, ..BatchOptions::default() };
    let summary = batch(&options, |_, _| {});
    println!("{}", summary.line());
    let mut failed = String::new();
    for failure in &summary.failures {
        let class = run::class(&failure.report).unwrap();
        let shrunk = run::shortened(&failure.schedule, class, 100).schedule;
        let (report, _) = run::run(&shrunk);
        let of_providers = if suite == Suite::Provider { " --providers" } else { "" };
        let replay = format!("cargo xtask simulate{of_providers} --seed {}", failure.seed);
        let title = format!("seed {}", failure.seed);
        writeln!(failed, "{}", story::explain(&title, &shrunk, &report, &replay)).unwrap();
    }
    assert!(summary.failures.is_empty(), "{failed}");
}
