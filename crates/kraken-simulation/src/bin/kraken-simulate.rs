//! What `cargo xtask simulate` runs: one seed or schedule with its story, or many seeds on all cores.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use kraken_mutants::{BUILT_IN, Mutant};
use kraken_simulation::batch::{BatchOptions, FailedSeed, Summary, batch, generated, unequal};
use kraken_simulation::generate::OPENINGS;
use kraken_simulation::mutant_search::{self, MutantSearch};
use kraken_simulation::run::{self, SHRINKING};
use kraken_simulation::schedule::{Schedule, Suite};
use kraken_simulation::story;

/// Run Kraken in a simulated cluster and cloud, where a seed decides what happens.
#[derive(Parser)]
#[command(name = "kraken-simulate", max_term_width = 110)]
#[allow(clippy::struct_excessive_bools)] // flags
struct Cli {
    /// Run this seed, and print its story if it fails.
    #[arg(long)]
    seed: Option<u64>,
    /// Run the schedule in this file, and print its story.
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    schedule: Option<PathBuf>,
    /// Print every call, operation and fault of the run.
    #[arg(long)]
    trace: bool,
    /// Print the request and response bodies of each write of the run.
    #[arg(long)]
    bodies: bool,
    /// Print the story even if no check fails.
    #[arg(long)]
    story: bool,
    /// Run seeds for this number of minutes.
    #[arg(long)]
    minutes: Option<f64>,
    /// Run this number of seeds.
    #[arg(long)]
    seeds: Option<u64>,
    /// The first of many seeds.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Of these seeds, only those that begin with this opening, such as `restored_resource`.
    #[arg(long, value_name = "NAME")]
    opening: Option<String>,
    /// Run the controller of a simulated OpenTofu provider, instead of the spokes of AWS.
    #[arg(long)]
    providers: bool,
    /// Simulations at once [default: one for each core]
    #[arg(long)]
    jobs: Option<usize>,
    /// Do not search for a shorter schedule that fails.
    #[arg(long)]
    no_shrink: bool,
    /// Search for the seeded bugs instead, each in seeds from 1 on, and print a table: all of them, or those with these names.
    #[arg(long, value_name = "NAME", num_args = 0.., value_delimiter = ',')]
    mutants: Option<Vec<String>>,
    /// How many seeds are tried for each seeded bug.
    #[arg(long, default_value_t = 5000)]
    limit: u64,
    /// Also write the coverage table, which is printed at the end, to this file.
    #[arg(long, value_name = "FILE")]
    coverage: Option<PathBuf>,
    /// Where schedules that fail are written.
    #[arg(long, value_name = "FOLDER", default_value = "target/simulation")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match started(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn started(cli: &Cli) -> Result<bool> {
    if let Some(file) = &cli.schedule {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
        let schedule: Schedule =
            serde_json::from_str(&text).with_context(|| format!("invalid schedule {}", file.display()))?;
        return one(cli, &schedule, &file.display().to_string());
    }
    if let Some(seed) = cli.seed {
        return one(cli, &generated(suite(cli), seed), &format!("seed {seed}"));
    }
    if let Some(names) = &cli.mutants {
        return mutants(cli, names);
    }
    many(cli)
}

fn suite(cli: &Cli) -> Suite {
    if cli.providers { Suite::Provider } else { Suite::Aws }
}

/// How many seeds each seeded bug takes.
fn mutants(cli: &Cli, names: &[String]) -> Result<bool> {
    anyhow::ensure!(BUILT_IN, "this build has no seeded bugs: run `cargo xtask simulate --mutants`");
    if let Some(name) = names.iter().find(|name| !Mutant::ALL.iter().any(|mutant| mutant.name() == *name)) {
        let known: Vec<_> = Mutant::ALL.iter().map(|mutant| mutant.name()).collect();
        anyhow::bail!("no seeded bug is called {name}; there are {}", known.join(", "));
    }
    let is_meant = |mutant: &&Mutant| names.is_empty() || names.iter().any(|name| name == mutant.name());
    let search = MutantSearch::new(cli.limit, cli.jobs.unwrap_or(BatchOptions::default().jobs));
    let mut results = vec![];
    for mutant in Mutant::ALL.iter().filter(is_meant) {
        let begin = Instant::now();
        let result = search.run(*mutant);
        let (name, took) = (mutant.name(), begin.elapsed().as_secs_f64());
        match &result.found {
            Some((seed, violation)) => println!("{name}: found by seed {seed} in {took:.1} s: {violation}"),
            None => println!(
                "{name}: not found by {} seeds in {took:.1} s; its location was reached by {}",
                result.tried, result.reached
            ),
        }
        results.push(result);
    }
    let found = results.iter().filter(|result| result.found.is_some()).count();
    println!("\n{}\n{found} of {} seeded bugs were found.", mutant_search::table(&results), results.len());
    Ok(found == results.len())
}

/// One schedule: its trace, and its story if it fails.
fn one(cli: &Cli, schedule: &Schedule, title: &str) -> Result<bool> {
    let (mut report, _) = if cli.bodies { run::with_bodies(schedule) } else { run::run(schedule) };
    if report.is_passed() {
        report.violations.extend(unequal(schedule, &report));
    }
    if cli.trace {
        println!("{}", report.trace);
    }
    if report.is_passed() {
        if cli.story {
            println!("{}", story::story(&report));
        }
        let statistics = report.statistics;
        println!("{title}: passed; {statistics:?}");
        return Ok(true);
    }
    explain(cli, schedule, &report, title)?;
    Ok(false)
}

/// Many seeds; each class of failure is explained once.
fn many(cli: &Cli) -> Result<bool> {
    if let Some(name) = cli.opening.as_deref().filter(|name| !OPENINGS.contains(name)) {
        anyhow::bail!("no opening is called {name}; there are {}", OPENINGS.join(", "));
    }
    let mut options = BatchOptions { first: cli.from, seeds: cli.seeds, ..BatchOptions::default() };
    options.opening.clone_from(&cli.opening);
    options.suite = suite(cli);
    options.limit = cli.minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    if options.seeds.is_none() && options.limit.is_none() {
        options.limit = Some(Duration::from_mins(1));
    }
    options.jobs = cli.jobs.unwrap_or(options.jobs);
    let summary = batch(&options, |summary, failure| {
        if let Some(failure) = failure {
            let first = failure.report.violations.first().map(ToString::to_string).unwrap_or_default();
            println!("seed {} failed: {first}", failure.seed);
        }
        println!("{}", summary.line());
    });
    println!("{}", summary.line());
    tabulate(&summary);
    let text = summary.coverage.table();
    println!("\n{text}");
    if let Some(file) = &cli.coverage {
        std::fs::write(file, text).with_context(|| format!("failed to write {}", file.display()))?;
    }
    let mut explained: Vec<&str> = vec![];
    for failure in &summary.failures {
        let Some(class) = run::class(&failure.report) else { continue };
        if !explained.contains(&class) {
            explained.push(class);
            let FailedSeed { seed, schedule, report } = failure;
            explain(cli, schedule, report, &format!("seed {seed}"))?;
        }
    }
    Ok(summary.failures.is_empty())
}

/// How often each class failed.
fn tabulate(summary: &Summary) {
    let mut classes: std::collections::BTreeMap<&str, Vec<u64>> = std::collections::BTreeMap::new();
    for failure in &summary.failures {
        classes.entry(run::class(&failure.report).unwrap_or_default()).or_default().push(failure.seed);
    }
    for (class, seeds) in classes {
        println!("  {} failed with \"{class}\": seeds {:?}", seeds.len(), &seeds[..seeds.len().min(12)]);
    }
}

/// Shrinks a schedule, writes it to a file and prints its story.
fn explain(
    cli: &Cli,
    schedule: &Schedule,
    report: &kraken_simulation::engine::Report,
    title: &str,
) -> Result<()> {
    let class = run::class(report).unwrap_or_default().to_owned();
    let (schedule, report) = if cli.no_shrink {
        (schedule.clone(), report.clone())
    } else {
        let shrunk = run::shortened(schedule, &class, SHRINKING);
        println!(
            "{title}: {} of {} steps remain after {} runs",
            shrunk.schedule.steps.len(),
            schedule.steps.len(),
            shrunk.runs
        );
        let (report, _) = run::run(&shrunk.schedule);
        (shrunk.schedule, report)
    };
    let file = written(&cli.out, title, &schedule)?;
    let replay = format!("cargo xtask simulate --schedule {}", file.display());
    println!("{}", story::explain(title, &schedule, &report, &replay));
    Ok(())
}

fn written(folder: &Path, title: &str, schedule: &Schedule) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let name: String =
        title.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let file = folder.join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(schedule)?;
    std::fs::write(&file, text).with_context(|| format!("failed to write {}", file.display()))?;
    Ok(file)
}
