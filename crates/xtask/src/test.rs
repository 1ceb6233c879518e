//! `cargo xtask test`: all tests. `cargo xtask check` compares the generated files.

use std::process::ExitCode;

use anyhow::Result;
use kraken_testing::programs;

use crate::{cargo, stage};

/// Prepares everything that tests would otherwise time out on, then runs them.
pub(crate) async fn run(args: Vec<String>) -> Result<ExitCode> {
    tokio::try_join!(stage::prepare(), programs::ensure())?;
    let command = ["test".to_owned(), "--workspace".to_owned()].into_iter().chain(args);
    let status = cargo::run(command).await?;
    // Returns the exit code of cargo test, so that its summary is the last output; a signal has none.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
