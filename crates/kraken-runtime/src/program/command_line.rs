//! The command line of a controller binary: `run`, and the subcommands that print its manifests. That of a shared process has only
//! `run`: each of its controllers has a binary that prints its manifests.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

use super::Program;
use crate::{
    args::RunArgs,
    hosted::{Hosted, SharedProcess},
    process, rbac, version, webhooks,
};

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
        Command::Run(run) => process::run(P::NAME, run.shared, vec![Hosted::new::<P>(run.own)]),
        Command::Crd => print(crd_yaml::<P>()),
        Command::Rbac => print(rbac::yaml::<P>()),
        Command::Webhook => print(webhooks::yaml::<P>()),
    }
}

#[derive(Debug, Parser)]
struct SharedCli<A: Args> {
    #[command(subcommand)]
    command: SharedCommand<A>,
}

#[derive(Debug, Subcommand)]
enum SharedCommand<A: Args> {
    /// Run the controllers, in a pod or with KUBECONFIG
    Run(Box<SharedRun<A>>),
}

#[derive(Debug, Args)]
struct SharedRun<A: Args> {
    /// The controllers to run, separated by commas, such as aws-vpc,aws-ec2-instance; empty for all. Each needs its CRDs and its
    /// permissions
    #[arg(
        long,
        env = "KRAKEN_CONTROLLERS",
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true
    )]
    controllers: String,
    #[command(flatten)]
    run: Run<A>,
}

/// The `main` of a process that several controllers share. Exit codes as of [`main`].
pub fn main_of_shared<S: SharedProcess>() -> ExitCode {
    let mut command = shared_command::<S>();
    let cli = SharedCli::<S::Args>::from_arg_matches(&command.get_matches_mut());
    let SharedCommand::Run(run) = cli.unwrap_or_else(|error| error.exit()).command;
    let controllers = chosen(S::controllers(&run.run.own), &run.controllers)
        .unwrap_or_else(|unknown| command.error(ErrorKind::InvalidValue, unknown).exit());
    process::run(S::NAME, run.run.shared, controllers)
}

fn shared_command<S: SharedProcess>() -> clap::Command {
    SharedCli::<S::Args>::command().name(S::NAME).about(S::ABOUT).version(version::long())
}

/// Those of the controllers whose names are in the list, without the prefix of all names; all if it is empty.
fn chosen(mut controllers: Vec<Hosted>, list: &str) -> Result<Vec<Hosted>, String> {
    let short = |controller: &Hosted| controller.name().trim_start_matches("kraken-");
    let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = names.iter().find(|name| controllers.iter().all(|one| short(one) != **name)) {
        let all: Vec<&str> = controllers.iter().map(short).collect();
        return Err(format!(
            "--controllers: there is no controller {unknown:?}; there are {}",
            all.join(", ")
        ));
    }
    if !names.is_empty() {
        controllers.retain(|one| names.contains(&short(one)));
    }
    Ok(controllers)
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
    use crate::program::fixtures::{Hub, Spoke, Widget, WidgetArgs};

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
    fn a_shared_process_runs_the_controllers_of_the_list() {
        let all = || {
            let own = WidgetArgs { widget_endpoint: None };
            vec![Hosted::new::<Spoke>(own.clone()), Hosted::new::<Hub>(own)]
        };
        let names = |list| chosen(all(), list).map(|all| all.iter().map(Hosted::name).collect::<Vec<_>>());
        assert_eq!(names("").unwrap(), ["kraken-test", "kraken-hub"]);
        assert_eq!(names(" hub, ").unwrap(), ["kraken-hub"]);
        let error = names("hub,tests").unwrap_err();
        assert_eq!(error, "--controllers: there is no controller \"tests\"; there are test, hub");
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
