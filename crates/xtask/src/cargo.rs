//! Calls of cargo from inside `cargo xtask`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use kraken_testing::{paths, progress};
use tokio::process::Command;

/// Lines of other programs would break cargo's progress bar.
const NO_BAR: (&str, &str) = ("CARGO_TERM_PROGRESS_WHEN", "never");

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

/// The exit code of cargo, for the command that ran it; a signal has none.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
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

/// The arguments of a build in the profile of this program, which is started by the name of its folder: `bench` is `measured`.
fn build<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Vec<String> {
    let folder = paths::bin_dir().ok().and_then(|folder| folder.file_name()?.to_str().map(str::to_owned));
    let profile = folder.filter(|name| name != "debug").map(|name| ["--profile".to_owned(), name]);
    let profile = profile.into_iter().flatten();
    ["build".to_owned()].into_iter().chain(profile).chain(args.into_iter().map(Into::into)).collect()
}

/// Builds every binary, and shows cargo's progress.
///
/// Always the whole workspace: with a part of it selected, cargo may choose other features for shared
/// dependencies, and compile the AWS SDK (minutes, gigabytes) once more.
pub(crate) async fn build_binaries() -> Result<()> {
    built(run(build(["--workspace", "--bins"])).await?)
}

/// The same, while other work prints its own progress: a line for each crate instead of a progress bar.
pub(crate) async fn build_binaries_beside() -> Result<()> {
    let all = build(["--workspace", "--bins"]);
    progress::while_running("building the controllers", run_with(all, &[NO_BAR])).await.and_then(built)
}

/// Builds the binaries of these controllers, named by their folders, as [`build_binaries_beside`] does.
///
/// Binaries and not packages are selected: the features are then those of the whole workspace.
pub(crate) async fn build_controllers_beside(controllers: &[&str]) -> Result<()> {
    let binaries = controllers.iter().flat_map(|name| ["--bin".to_owned(), format!("kraken-{name}")]);
    let what = format!("building {}", controllers.join(" and "));
    progress::while_running(&what, run_with(build(binaries), &[NO_BAR])).await.and_then(built)
}

/// Builds every binary at the lowest priority, so that programs that run meanwhile are not delayed. Prints warnings and
/// errors only.
pub(crate) async fn build_binaries_in_background() -> Result<()> {
    let status = Command::new("nice")
        .args(["-n", "19"])
        .arg(program())
        .args(build(["--quiet", "--workspace", "--bins"]))
        .current_dir(paths::workspace_root()?)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await
        .context("cannot run `nice cargo build`; are both on PATH?")?;
    built(status)
}

fn built(status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { bail!("cargo build failed; see the compiler's messages above") }
}
