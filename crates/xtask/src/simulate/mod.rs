//! `cargo xtask simulate`: the deterministic simulation. It is a separate binary, so that xtask does not link the
//! controllers.

mod seeded;

use std::process::ExitCode;

use anyhow::Result;
use kraken_testing::paths;

use crate::cargo;

/// A controller returns unused memory at once. A simulation reuses it, which saves a tenth of its processor time.
const ALLOCATOR: (&str, &str) = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:10000,muzzy_decay_ms:10000");

/// Builds the simulation in a profile of its own and runs it with these arguments. With `--mutants`, it is that of a copy of the source with
/// all seeded bugs, which no other binary has.
pub(crate) async fn run(args: Vec<String>) -> Result<ExitCode> {
    let mut command: Vec<String> = ["run", "--profile", "simulation"].map(ToOwned::to_owned).into();
    if args.iter().any(|argument| argument == "--mutants" || argument.starts_with("--mutants=")) {
        let root = paths::workspace_root()?;
        let manifest = seeded::copy(&root).await?.join("Cargo.toml");
        // The dependencies are those of the source itself, and compiled already.
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
        for (option, path) in [("--manifest-path", manifest), ("--target-dir", target)] {
            command.extend([option.to_owned(), path.display().to_string()]);
        }
    }
    command.extend(["--bin", "kraken-simulate", "--"].map(ToOwned::to_owned));
    command.extend(args);
    let status = cargo::run_with(command, &[ALLOCATOR]).await?;
    Ok(cargo::exit_code(status))
}
