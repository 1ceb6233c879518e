//! `cargo xtask crash`: the crash test, which kills controllers at every call and reports violations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use kraken_testing::ControlPlane;
use kraken_testing::crash_test::{self, Fault, Options, RunResult};
use serde_json::json;

use crate::stage;
use crate::ui::{self, Colour, paint};

/// How much of the journal before and after a violation is shown.
const AROUND: usize = 30;

/// The selected scenarios and faults.
#[derive(Args)]
pub(crate) struct CrashArgs {
    /// Only these scenarios [default: all].
    #[arg(long)]
    scenario: Vec<String>,
    /// Only these faults: kill, lose, conflict, storm, cut, reset, stop, both, restart [default: all].
    #[arg(long, value_parser = fault)]
    fault: Vec<Fault>,
    /// The step between injection points: 3 selects every third one.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Run a sample of this number of injection points, selected by the seed; every pair of scenario and fault occurs once
    /// before any occurs twice. Excludes runs without injection points (throttle, outage).
    #[arg(long, value_name = "NUMBER")]
    sample: Option<usize>,
    /// The seed that selects the sample.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The number of parallel runs; a run mostly waits, and ten keep two cores busy.
    #[arg(long, default_value_t = 10)]
    parallel: usize,
    /// Use the controllers of the last build.
    #[arg(long)]
    no_build: bool,
    /// Write every result to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn fault(name: &str) -> Result<Fault, String> {
    let known = Fault::ALL.into_iter().find(|fault| fault.name() == name);
    known.ok_or_else(|| format!("there is no fault `{name}`"))
}

/// Runs the crash test; fails on any violation.
pub(crate) async fn run(args: CrashArgs) -> Result<ExitCode> {
    if !args.no_build {
        stage::prepare().await?;
    }
    let control_plane = ui::step("starting the control plane", ControlPlane::start()).await?;
    let faults = if args.fault.is_empty() { Fault::ALL.to_vec() } else { args.fault };
    let options = Options {
        scenarios: args.scenario,
        faults,
        every: args.every,
        sample: args.sample,
        seed: args.seed,
        parallel: args.parallel,
    };
    let started = Instant::now();
    let results = crash_test::run_crash_test(&control_plane, &options, report).await?;
    let wrong: Vec<&RunResult> = results.iter().filter(|result| !result.violations.is_empty()).collect();
    for result in &wrong {
        explain(result);
    }
    summarize(&results, started.elapsed());
    if let Some(file) = &args.json {
        let all: Vec<_> = results.iter().map(as_json).collect();
        let text = serde_json::to_string_pretty(&all).context("cannot encode the results")?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn title(result: &RunResult) -> String {
    match &result.point {
        Some(point) => point.to_string(),
        None => format!("{} without faults, {} calls", result.scenario, result.calls.len()),
    }
}

fn word(result: &RunResult) -> String {
    match (result.violations.is_empty(), result.reached) {
        (false, _) => paint(Colour::Red, "WRONG"),
        (true, true) => paint(Colour::Green, "good"),
        (true, false) => paint(Colour::Yellow, "not reached"),
    }
}

fn report(result: &RunResult) {
    let recovery = result.recovery.map(|took| format!(", recovered after {:.1} s", took.as_secs_f64()));
    println!(
        "{}: {} in {:.1} s{}",
        title(result),
        word(result),
        result.took.as_secs_f64(),
        recovery.unwrap_or_default()
    );
    for violation in &result.violations {
        println!("    {violation}");
    }
}

/// The journal around the violation.
fn explain(result: &RunResult) {
    ui::headline(&title(result));
    let place = |text: &str| result.journal.iter().position(|entry| entry.text.contains(text));
    let centre = place("VIOLATION").unwrap_or_default();
    let first = centre.saturating_sub(AROUND).min(place("armed").unwrap_or(centre));
    for entry in result.journal.iter().take(centre + AROUND).skip(first) {
        println!("{:>8.3} s  {}", entry.at.as_secs_f64(), entry.text);
    }
    println!("{}", result.log.as_deref().unwrap_or_default());
}

fn summarize(results: &[RunResult], took: Duration) {
    let mut rows: BTreeMap<(&str, &str), [usize; 4]> = BTreeMap::new();
    let mut slowest: BTreeMap<(&str, &str), Duration> = BTreeMap::new();
    for result in results {
        let key = (result.scenario, result.point.as_ref().map_or("none", |point| point.fault.name()));
        let [points, good, wrong, missed] = rows.entry(key).or_default();
        *points += 1;
        *good += usize::from(result.violations.is_empty() && result.reached);
        *wrong += usize::from(!result.violations.is_empty());
        *missed += usize::from(result.violations.is_empty() && !result.reached);
        let slow = slowest.entry(key).or_default();
        *slow = result.recovery.unwrap_or_default().max(*slow);
    }
    let table = rows.iter().map(|((scenario, fault), numbers)| {
        let slowest = slowest.get(&(*scenario, *fault)).copied().unwrap_or_default();
        let mut row = vec![(*scenario).to_owned(), (*fault).to_owned()];
        row.extend(numbers.iter().map(ToString::to_string));
        row.push(format!("{:.1} s", slowest.as_secs_f64()));
        row
    });
    ui::headline("Crash points");
    let header = ["SCENARIO", "FAULT", "POINTS", "GOOD", "WRONG", "NOT REACHED", "SLOWEST RECOVERY"];
    print!("{}", ui::table(&header, table));
    println!("{}", summary(results, took));
}

/// One line: the number of runs, their duration, and their violations.
fn summary(results: &[RunResult], took: Duration) -> String {
    let count = |is_counted: fn(&RunResult) -> bool| results.iter().filter(|one| is_counted(one)).count();
    let wrong = count(|result| !result.violations.is_empty());
    let missed = count(|result| result.violations.is_empty() && !result.reached);
    let runs = u32::try_from(results.len().max(1)).unwrap_or(u32::MAX);
    let each = took.as_secs_f64() / f64::from(runs);
    format!(
        "{} runs in {:.0} s, {each:.2} s per run (1,000 take {:.0} min); {wrong} with violations, {missed} not reached",
        results.len(),
        took.as_secs_f64(),
        each * 1000.0 / 60.0
    )
}

fn as_json(result: &RunResult) -> serde_json::Value {
    json!({
        "scenario": result.scenario,
        "point": result.point.as_ref().map(ToString::to_string),
        "reached": result.reached,
        "violations": result.violations,
        "recoverySeconds": result.recovery.map(|took| took.as_secs_f64()),
        "seconds": result.took.as_secs_f64(),
        "journal": result.journal.iter()
            .map(|entry| format!("{:.3} {}", entry.at.as_secs_f64(), entry.text))
            .collect::<Vec<_>>(),
    })
}
