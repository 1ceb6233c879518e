//! `cargo xtask simulate`: the deterministic simulation. It is a separate binary, so that xtask does not link the
//! controllers.

use std::process::ExitCode;

use anyhow::Result;

use crate::cargo;

/// A controller returns unused memory at once. A simulation reuses it, which saves a tenth of its processor time.
const ALLOCATOR: (&str, &str) = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:10000,muzzy_decay_ms:10000");

/// Builds the simulation and runs it with these arguments.
///
/// It has a separate profile, so that its seeded bugs (which are inactive by default) are in no other binary.
pub(crate) async fn run(args: Vec<String>) -> Result<ExitCode> {
    let command = ["run", "--profile", "simulation", "--bin", "kraken-simulate", "--"];
    let args = command.into_iter().map(ToOwned::to_owned).chain(args);
    let status = cargo::run_with(args, &[("KRAKEN_MUTANTS", "1"), ALLOCATOR]).await?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
