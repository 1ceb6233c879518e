//! `cargo xtask simulate`: the deterministic simulation. It is a binary of its own, so that xtask links no controller.

use std::process::ExitCode;

use anyhow::Result;

use crate::cargo;

/// Builds the simulation and runs it with these arguments.
pub(crate) async fn run(args: Vec<String>) -> Result<ExitCode> {
    let command = ["run", "--quiet", "--package", "kraken-simulation", "--bin", "kraken-simulate", "--"];
    let status = cargo::run(command.into_iter().map(ToOwned::to_owned).chain(args)).await?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
