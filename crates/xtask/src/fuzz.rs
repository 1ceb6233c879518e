//! `cargo xtask fuzz`: the fuzz targets of the tests, for minutes instead of a number of cases, with new inputs each time.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{cargo, ui};

/// The duration and the targets.
#[derive(Args)]
pub(crate) struct FuzzArgs {
    /// The duration of each target in minutes; targets run in parallel.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Only this target [default: all].
    #[arg(long)]
    target: Option<Target>,
    /// The seed of the inputs [default: the time]. A failure prints it.
    #[arg(long)]
    seed: Option<u64>,
}

/// One target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    Paths,
    Templates,
    Options,
    Reviews,
    States,
}

impl Target {
    /// Its module in `tests/fuzz`.
    fn module(self) -> &'static str {
        match self {
            Self::Paths => "paths::",
            Self::Templates => "templates::",
            Self::Options => "options::",
            Self::Reviews => "reviews::",
            Self::States => "states::",
        }
    }
}

/// Runs the targets; fails if an input fails, whose file is in the output.
pub(crate) async fn run(args: FuzzArgs) -> Result<ExitCode> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = args.seed.unwrap_or(now.as_secs()).to_string();
    let seconds = args.minutes.saturating_mul(60).to_string();
    let environment = [("KRAKEN_FUZZ_SEED", seed.as_str()), ("KRAKEN_FUZZ_SECONDS", seconds.as_str())];
    ui::headline(&format!("fuzzing for {} min, seed {seed}", args.minutes));
    let module = args.target.map_or("", Target::module);
    let mut passed = cargo::run_with(["test", "--test", "fuzz", "--", module], &environment).await?.success();
    // The second part of the target `states`, whose code is private to the hub.
    if args.target.is_none_or(|target| target == Target::States) {
        let hub = ["test", "-p", "kraken-hub", "--lib", "--", "fuzz::"];
        passed &= cargo::run_with(hub, &environment).await?.success();
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
