//! `cargo xtask check`: the static checks that CI runs before the tests.

mod links;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::{cargo, generate, ui};

/// The version of cargo-deny whose settings deny.toml uses.
const CARGO_DENY: &str = "0.20.2";

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The format of the code.
    Format,
    /// The links of the documentation.
    Links,
    /// Lints of clippy; missing documentation is one.
    Lints,
    /// Links between items of the code.
    Docs,
    /// Licenses, sources and bans of dependencies.
    Dependencies,
    /// Whether generated files are up to date.
    Generated,
}

impl Part {
    async fn check(self) -> Result<()> {
        match self {
            Self::Format => ui::step("checking the format", cargo(&["fmt", "--all", "--check"])).await,
            Self::Links => {
                ui::step("checking the links of the documentation", async { links::check() }).await
            }
            Self::Lints => ui::step("running clippy; missing documentation is an error", lints()).await,
            Self::Docs => ui::step("building the documentation", documentation()).await,
            Self::Dependencies => {
                ui::step("checking licenses, sources and bans of dependencies", dependencies()).await
            }
            Self::Generated => ui::step("checking that generated files are up to date", generated()).await,
        }
    }
}

/// Runs these checks, or all, and reports each that failed: all problems at once.
pub(crate) async fn run(parts: Vec<Part>) -> Result<ExitCode> {
    let parts = if parts.is_empty() { Part::value_variants() } else { &parts };
    let mut failed = vec![];
    for part in parts {
        let name = part.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        if let Err(error) = part.check().await {
            eprintln!("{name}: {error:#}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        println!("all checks passed");
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("failed checks: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Where clippy compiles everything, as in CI (decision 174), a build reports its lints, and the tests run what it has built.
async fn lints() -> Result<()> {
    let compiles =
        env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.ends_with("clippy-driver"));
    if compiles {
        return cargo(&["build", "--workspace", "--all-targets", "--keep-going"]).await;
    }
    cargo(&["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"]).await
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
