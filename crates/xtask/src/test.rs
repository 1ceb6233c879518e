//! `cargo xtask test`: all tests. `cargo xtask check` compares the generated files.

use std::process::ExitCode;

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

/// Prepares everything that tests would otherwise time out on, then runs them.
pub(crate) async fn run(args: Vec<String>) -> Result<ExitCode> {
    tokio::try_join!(stage::prepare(), programs::ensure())?;
    let command = ["test".to_owned(), "--workspace".to_owned()].into_iter().chain(args);
    let status = cargo::run_with(command, &[(THREADS, &threads())]).await?;
    // Returns the exit code of cargo test, so that its summary is the last output; a signal has none.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
