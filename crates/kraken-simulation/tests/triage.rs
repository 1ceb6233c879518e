//! Manual runs of seeds: `SEEDS=1-50 cargo test -p kraken-simulation --test triage -- --ignored --nocapture`.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use kraken_simulation::check::FullCheck;
use kraken_simulation::coverage::Coverage;
use kraken_simulation::engine::Simulation;
use kraken_simulation::generate::generate;

#[test]
#[ignore = "for triage"]
fn seeds() {
    let seeds = std::env::var("SEEDS").unwrap_or_else(|_| "1-20".to_owned());
    let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
    let mut coverage = Coverage::default();
    let begin = std::time::Instant::now();
    let (mut bad, mut count) = (0, 0_u32);
    for seed in first.parse().unwrap()..=last.parse().unwrap() {
        let schedule = generate(seed);
        let check = FullCheck::new(&schedule);
        let (reached, objects) = (check.reached(), check.objects());
        let report = Simulation::run(&schedule, Box::new(check));
        coverage.add(&schedule, &reached.lock());
        count += 1;
        println!("{seed}: {:?}", report.statistics);
        if let Some(violation) = report.violations.first() {
            bad += 1;
            println!("SEED {seed} {violation}");
            if std::env::var("TRACE").is_ok() {
                let mut text = String::new();
                for step in &schedule.steps {
                    let _ = writeln!(text, "{:?} {}", step.at, step.action);
                }
                let _ = writeln!(text, "{}", report.trace);
                text += &objects();
                std::fs::write(std::env::temp_dir().join(format!("trace-{seed}")), text).unwrap();
            }
        }
    }
    println!("{bad} of {count} in {:?}", begin.elapsed());
    if std::env::var("TABLE").is_ok() {
        println!("{}", coverage.table());
    }
}
