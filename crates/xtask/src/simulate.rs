//! `cargo xtask simulate`: the deterministic simulation. It is a separate binary, so that xtask does not link the
//! controllers.

use std::process::ExitCode;

use anyhow::Result;

use crate::cargo;

/// Builds the simulation and runs it with these arguments.
///
/// It has a separate profile, so that its seeded bugs (which are inactive by default) are in no other binary.
pub(crate) async fn run(args: Vec<String>) -> Result<ExitCode> {
    let command = ["run", "--profile", "simulation", "--bin", "kraken-simulate", "--"];
    let args = command.into_iter().map(ToOwned::to_owned).chain(args);
    let status = cargo::run_with(args, &[("KRAKEN_MUTANTS", "1")]).await?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
