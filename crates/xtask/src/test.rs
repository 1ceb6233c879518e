//! `cargo xtask test`: all tests. `cargo xtask check` compares the generated files.

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use kraken_testing::programs;

use crate::{cargo, stage};

/// The number of tests at once.
const THREADS: &str = "RUST_TEST_THREADS";
/// The most of them: each can have an API server, of 700 MB.
const MAX_THREADS: usize = 8;

/// Twice as many as cores, because most of the time of a test with a cluster is waiting.
fn threads() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::env::var(THREADS).unwrap_or_else(|_| (2 * cores).min(MAX_THREADS).to_string())
}

/// The module of the tests that run programs of other projects.
const OTHERS: &str = "other_projects::";
/// How long they take on 2 cores, in minutes, and how long a new machine compiles the programs before.
const TAKE: u64 = 7;
const COMPILE: u64 = 18;

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// How many minutes all tests may take: those with programs of other projects (Argo CD, Flux, kro, cert-manager, Prometheus) come
    /// last, and are not run if they would take longer. Without it, everything is run at once.
    #[arg(long, value_name = "MINUTES")]
    within: Option<u64>,
    /// Passed on to `cargo test --workspace`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Prepares everything that tests would otherwise time out on, then runs them.
pub(crate) async fn run(TestArgs { within, args }: TestArgs) -> Result<ExitCode> {
    let Some(within) = within else {
        tokio::try_join!(stage::prepare(), programs::ensure())?;
        return test(&args, &[]).await;
    };
    let start = Instant::now();
    tokio::try_join!(stage::prepare(), programs::ensure_packaging())?;
    let first = test(&args, &["--", "--skip", OTHERS]).await?;
    let compile = if programs::are_built() { 0 } else { COMPILE };
    let minutes = start.elapsed().as_secs() / 60;
    if minutes + compile + TAKE > within {
        eprintln!("NOT RUN: tests with programs of other projects: those before took {minutes} minutes");
        return Ok(first);
    }
    programs::ensure().await?;
    let second = test(&args, &["--test", "cluster", "--", OTHERS]).await?;
    Ok(if first == ExitCode::SUCCESS { second } else { first })
}

/// Returns the exit code of cargo test, so that its summary is the last output; a signal has none.
async fn test(args: &[String], more: &[&str]) -> Result<ExitCode> {
    let command = ["test", "--workspace"].into_iter().chain(args.iter().map(String::as_str));
    let command = command.chain(more.iter().copied());
    let status = cargo::run_with(command, &[(THREADS, &threads())]).await?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
