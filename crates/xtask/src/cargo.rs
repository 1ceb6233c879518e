//! Calls of cargo from inside `cargo xtask`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
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
    Command::new(program())
        .args(args)
        .envs(environment.iter().copied())
        .current_dir(root)
        .kill_on_drop(true)
        .status()
        .await
        .context("cannot run cargo; is it on PATH?")
}

/// The output of cargo in a checkout.
pub(crate) async fn output_in(root: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new(program());
    command.args(args).current_dir(root).kill_on_drop(true);
    let output = command.output().await.context("cannot run cargo; is it on PATH?")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo {} failed: {}", args.join(" "), errors.trim());
    String::from_utf8(output.stdout).context("the output of cargo is not valid UTF-8")
}

/// The target triple of this machine.
pub(crate) async fn host() -> Result<String> {
    line(&rustc().await?, "host: ")
}

/// The release of the compiler, whose standard library is linked into every binary.
pub(crate) async fn rust_release() -> Result<String> {
    line(&rustc().await?, "release: ")
}

async fn rustc() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().await.context("cannot run rustc; is it on PATH?")?;
    String::from_utf8(output.stdout).context("the output of rustc is not valid UTF-8")
}

fn line(text: &str, prefix: &str) -> Result<String> {
    let found = text.lines().find_map(|line| line.strip_prefix(prefix));
    found.map(str::to_owned).with_context(|| format!("`rustc -vV` does not print {prefix:?}"))
}

/// Whether this subcommand of cargo is installed.
pub(crate) async fn is_installed(subcommand: &str) -> bool {
    let mut command = Command::new(program());
    let command = command.args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}

/// The cargo that started this process, not the first one on PATH.
fn program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds every binary.
///
/// Always the whole workspace: with a part of it selected, cargo may choose other features for shared
/// dependencies, and compile the AWS SDK (minutes, gigabytes) once more.
pub(crate) async fn build_binaries() -> Result<()> {
    let status = run(["build", "--quiet", "--workspace", "--bins"]).await?;
    if status.success() { Ok(()) } else { bail!("cargo build failed; see the compiler's messages above") }
}
