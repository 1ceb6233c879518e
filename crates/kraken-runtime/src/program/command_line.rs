//! The command line of a controller binary: `run`, and the subcommands that print its manifests.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::Program;
use crate::{args::RunArgs, process, rbac, version, webhooks};

#[derive(Debug, Parser)]
struct Cli<A: Args> {
    #[command(subcommand)]
    command: Command<A>,
}

#[derive(Debug, Subcommand)]
enum Command<A: Args> {
    /// Run the controller, in a pod or with KUBECONFIG
    Run(Box<Run<A>>),
    /// Print the CRDs as YAML
    Crd,
    /// Print the service account and its RBAC rules as YAML
    Rbac,
    /// Print the admission webhooks as YAML
    Webhook,
}

#[derive(Debug, Args)]
struct Run<A: Args> {
    #[command(flatten)]
    shared: RunArgs,
    #[command(flatten)]
    own: A,
}

/// The `main` of a controller: `fn main() -> ExitCode { kraken_runtime::main::<Hub>() }`.
///
/// Exit code 0 after a clean stop, 1 after a failure (one line names it), 2 for invalid arguments, 128 plus the
/// signal's number after a second signal.
pub fn main<P: Program>() -> ExitCode {
    let cli = Cli::<P::Args>::from_arg_matches(&command::<P>().get_matches());
    match cli.unwrap_or_else(|error| error.exit()).command {
        Command::Run(run) => process::run::<P>(run.shared, run.own),
        Command::Crd => print(crd_yaml::<P>()),
        Command::Rbac => print(rbac::yaml::<P>()),
        Command::Webhook => print(webhooks::yaml::<P>()),
    }
}

/// The CRDs of a controller as YAML documents.
///
/// # Errors
/// If serialization fails.
pub fn crd_yaml<P: Program>() -> Result<String, serde_saphyr::ser::Error> {
    P::crds().iter().map(rbac::document).collect()
}

fn command<P: Program>() -> clap::Command {
    Cli::<P::Args>::command().name(P::NAME).about(P::ABOUT).version(version::long())
}

fn print(text: Result<String, serde_saphyr::ser::Error>) -> ExitCode {
    let written =
        text.map_err(io::Error::other).and_then(|text| io::stdout().lock().write_all(text.as_bytes()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, such as `head`, closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed to print: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use kube::CustomResourceExt;

    use super::*;
    use crate::program::fixtures::{Spoke, Widget, WidgetArgs};

    fn parse(arguments: &[&str]) -> Result<Cli<WidgetArgs>, clap::Error> {
        let matches = command::<Spoke>().try_get_matches_from([&["kraken-test"], arguments].concat())?;
        Cli::from_arg_matches(&matches)
    }

    #[test]
    fn the_command_line_is_consistent() {
        command::<Spoke>().debug_assert();
    }

    #[test]
    fn run_takes_the_shared_flags_and_the_controllers_own() {
        let cli = parse(&["run", "--concurrency", "4", "--widget-endpoint", "http://x"]).unwrap();
        let Command::Run(run) = cli.command else { panic!("not run") };
        assert_eq!(run.shared.concurrency, 4);
        assert_eq!(run.own.widget_endpoint.as_deref(), Some("http://x"));
    }

    #[test]
    fn version_and_name_are_those_of_the_binary() {
        let text = parse(&["--version"]).unwrap_err().to_string();
        assert_eq!(text.trim(), format!("kraken-test {}", version::long()));
        assert!(parse(&["--help"]).unwrap_err().to_string().contains("Creates widgets"));
    }

    #[test]
    fn a_subcommand_is_required() {
        assert!(parse(&[]).is_err());
        assert!(parse(&["crd"]).is_ok_and(|cli| matches!(cli.command, Command::Crd)));
        assert!(parse(&["rbac"]).is_ok_and(|cli| matches!(cli.command, Command::Rbac)));
    }

    #[test]
    fn crds_survive_a_yaml_round_trip() {
        let read: Vec<CustomResourceDefinition> =
            serde_saphyr::from_multiple(&crd_yaml::<Spoke>().unwrap()).unwrap();
        assert_eq!(read, [Widget::crd(), Widget::crd()]);
    }
}
