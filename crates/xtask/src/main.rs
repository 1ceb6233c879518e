//! The commands for developers: `cargo xtask <command>`.

mod bench;
mod board;
mod cargo;
mod check;
mod crash;
mod demo;
mod e2e;
mod elapsed;
mod fuzz;
mod generate;
mod image;
mod new_kind;
mod node;
mod plugin;
mod release;
mod sbom;
mod signals;
mod simulate;
mod stage;
mod test;
mod ui;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::elapsed::CommandStart;
use crate::signals::{Interrupted, Stop};

/// Generate, try, test, measure and release Kraken.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate crds/ and config/ from the controllers' `crd` and `rbac` commands.
    Gen {
        /// Write nothing; fail and name the files that differ.
        #[arg(long)]
        check: bool,
    },
    /// Create the files of a kind of AWS: `new-kind aws-rds DBInstance`.
    NewKind {
        /// The folder below controllers/. It is created if it does not exist.
        spoke: String,
        /// The name of the kind, in PascalCase.
        kind: String,
    },
    /// Check format, links, lints, documentation, dependencies and generated files, as CI does.
    Check {
        /// What to check. Default: everything.
        #[arg(value_enum)]
        parts: Vec<check::Part>,
    },
    /// Demonstrate Kraken on a local control plane and cloud, and keep it running until Ctrl-C.
    Demo {
        #[command(flatten)]
        args: demo::DemoArgs,
    },
    /// Start control plane, cloud and controllers in the background.
    Up {
        /// With a real node: the controllers run as pods and are installed by config/default. Requires root and a few packages.
        #[arg(long)]
        node: bool,
        /// The background process itself.
        #[arg(long, hide = true)]
        serve: bool,
    },
    /// Stop what `up` started.
    Down,
    /// Build a container image of each controller as an OCI archive, without a daemon.
    Image {
        #[command(flatten)]
        args: image::ImageArgs,
    },
    /// Build `kubectl kraken`, and install it for kubectl.
    Plugin {
        #[command(flatten)]
        args: plugin::PluginArgs,
    },
    /// Write the software bill of materials of a binary.
    Sbom {
        #[command(flatten)]
        args: sbom::SbomArgs,
    },
    /// Build the artifacts of a release: binaries, images, manifests, charts, SBOMs and checksums.
    Release {
        #[command(flatten)]
        args: release::ReleaseArgs,
    },
    /// Install Kraken on a real node, or on the cluster of KUBECONFIG, and test it there.
    E2e {
        #[command(flatten)]
        args: e2e::E2eArgs,
    },
    /// Build everything, run all tests.
    Test {
        #[command(flatten)]
        args: test::TestArgs,
    },
    /// Kill controllers before and after every call, and check for duplicates, leaks and stuck resources.
    Crash {
        #[command(flatten)]
        args: crash::CrashArgs,
    },
    /// Run the controllers in a simulated cluster and cloud, where a seed decides what happens and what fails.
    #[command(disable_help_flag = true)]
    Simulate {
        /// Passed on to the simulation.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run the parsers and decoders on generated and mutated inputs.
    Fuzz {
        #[command(flatten)]
        args: fuzz::FuzzArgs,
    },
    /// Measure.
    Bench {
        #[command(subcommand)]
        what: bench::Command,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command).await {
        Ok(code) => code,
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("interrupted; all started processes are stopped");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    let entered = CommandStart::read();
    let mut stop = Stop::listen()?;
    match command {
        Command::Gen { check } => stop.race(generate::run(check)).await?,
        Command::NewKind { spoke, kind } => new_kind::run(&spoke, &kind)?,
        Command::Check { parts } => return stop.race(check::run(parts)).await,
        Command::Demo { args } => demo::run(&mut stop, args, entered).await?,
        Command::Up { serve: false, node } => stop.race(up::up(node)).await?,
        Command::Up { serve: true, node } => up::serve(&mut stop, node).await?,
        Command::Down => stop.race(up::down()).await?,
        Command::E2e { args } => return stop.race(e2e::run(args)).await,
        Command::Image { args } => stop.race(image::run(args)).await?,
        Command::Plugin { args } => stop.race(plugin::run(args)).await?,
        Command::Sbom { args } => stop.race(sbom::run(args)).await?,
        Command::Release { args } => stop.race(release::run(args)).await?,
        Command::Test { args } => return stop.race(test::run(args)).await,
        Command::Crash { args } => return stop.race(crash::run(args)).await,
        Command::Simulate { args } => return stop.race(simulate::run(args)).await,
        Command::Fuzz { args } => return stop.race(fuzz::run(args)).await,
        Command::Bench { what } => return stop.race(bench::run(what)).await,
    }
    Ok(ExitCode::SUCCESS)
}
