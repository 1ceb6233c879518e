//! `cargo xtask simulate`: the deterministic simulation. It is a binary of its own, so that xtask links no controller.

use std::process::ExitCode;

use anyhow::Result;

use crate::cargo;

/// Builds the simulation and runs it with these arguments.
///
/// It has a profile of its own, so that its seeded bugs (which are off unless asked for) are in no other binary.
pub(crate) async fn run(args: Vec<String>) -> Result<ExitCode> {
    let command = ["run", "--quiet", "--profile", "simulation", "--bin", "kraken-simulate", "--"];
    let args = command.into_iter().map(ToOwned::to_owned).chain(args);
    let status = cargo::run_with(args, &[("KRAKEN_MUTANTS", "1")]).await?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
