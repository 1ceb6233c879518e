//! `cargo xtask check`: the static checks that CI runs before the tests.

mod links;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{cargo, generate, ui};

/// The version of cargo-deny whose settings deny.toml uses.
const CARGO_DENY: &str = "0.20.2";

/// Runs all checks, and reports each that failed: all problems at once.
pub(crate) async fn run() -> Result<ExitCode> {
    let mut failed = vec![];
    let mut record = |name: &'static str, result: Result<()>| {
        if let Err(error) = result {
            eprintln!("{name}: {error:#}");
            failed.push(name);
        }
    };
    record("format", ui::step("checking the format", cargo(&["fmt", "--all", "--check"])).await);
    record("links", ui::step("checking the links of the documentation", async { links::check() }).await);
    let lints = ["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"];
    record("lints", ui::step("running clippy; missing documentation is an error", cargo(&lints)).await);
    record("doc links", ui::step("building the documentation", documentation()).await);
    record(
        "dependencies",
        ui::step("checking licenses, sources and bans of dependencies", dependencies()).await,
    );
    record("generated files", ui::step("checking that generated files are up to date", generated()).await);
    if failed.is_empty() {
        println!("all checks passed");
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("failed checks: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

async fn generated() -> Result<()> {
    cargo::build_binaries().await?;
    generate::check().await
}

async fn cargo(args: &[&str]) -> Result<()> {
    succeeded(cargo::run(args).await?)
}

/// Links between items must resolve.
async fn documentation() -> Result<()> {
    let args = ["doc", "--workspace", "--no-deps", "--document-private-items", "--keep-going"];
    succeeded(
        cargo::run_with(args, &[("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links")]).await?,
    )
}

/// Advisories require a network and are checked by the workflow.
async fn dependencies() -> Result<()> {
    let installed = cargo::is_installed("deny").await;
    if !installed {
        bail!("cargo-deny is not installed: cargo install --locked cargo-deny@{CARGO_DENY}");
    }
    cargo(&["deny", "--log-level", "error", "check", "bans", "licenses", "sources"]).await
}

fn succeeded(status: std::process::ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { bail!("failed; see the messages above") }
}
