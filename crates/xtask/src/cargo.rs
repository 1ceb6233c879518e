//! Calls of cargo from inside `cargo xtask`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Context as _, Result, bail};
use kraken_testing::paths;
use tokio::process::Command;

/// Runs cargo in the workspace's root with inherited output, and returns its exit status.
pub(crate) async fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Result<ExitStatus> {
    run_with(args, &[]).await
}

/// The same with these variables in the environment.
pub(crate) async fn run_with<S: AsRef<OsStr>>(
    args: impl IntoIterator<Item = S>,
    environment: &[(&str, &str)],
) -> Result<ExitStatus> {
    run_in(&paths::workspace_root()?, args, environment).await
}

/// The same in another checkout's root.
pub(crate) async fn run_in<S: AsRef<OsStr>>(
    root: &Path,
    args: impl IntoIterator<Item = S>,
    environment: &[(&str, &str)],
) -> Result<ExitStatus> {
    // The cargo that runs us, not whichever is first on PATH.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Command::new(cargo)
        .args(args)
        .envs(environment.iter().copied())
        .current_dir(root)
        .kill_on_drop(true)
        .status()
        .await
        .context("cannot run cargo; is it on PATH?")
}

/// Builds every binary.
///
/// Always the whole workspace: with a part of it selected, cargo may choose other features for shared
/// dependencies, and compile the AWS SDK (minutes, gigabytes) once more.
pub(crate) async fn build_binaries() -> Result<()> {
    let status = run(["build", "--quiet", "--workspace", "--bins"]).await?;
    if status.success() { Ok(()) } else { bail!("cargo build failed; see the compiler's messages above") }
}
