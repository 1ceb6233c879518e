//! A controller binary with a `main` of one line. This module implements everything from its arguments to its exit
//! code.

use std::{
    fmt::Debug,
    future::Future,
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};

use kraken_webhook::Hook;

use crate::{args::RunArgs, manager::Manager, process, rbac, version, webhooks};

/// A controller binary.
pub trait Program: Send + 'static {
    /// The name of the binary, service account, lease and field manager: `kraken-hub`.
    const NAME: &'static str;
    /// One line for `--help`.
    const ABOUT: &'static str;
    /// The controller's own flags of `run`, in addition to [`RunArgs`].
    type Args: Args + Debug + Clone + Send + Sync;

    /// The time to finish after the first signal. The grace period of its pod must be longer.
    const GRACE: Duration = Duration::from_secs(8);

    /// Its kinds.
    fn crds() -> Vec<CustomResourceDefinition>;

    /// Its cluster-wide permissions, in addition to those of the runtime.
    fn rules() -> Vec<PolicyRule>;

    /// Its permissions in the namespace of the controllers, in addition to those for its lease.
    fn namespace_rules() -> Vec<PolicyRule> {
        Vec::new()
    }

    /// The Secrets in the namespace of the controllers in which it keeps data of its own. The manifests contain them empty, so that
    /// no permission to create Secrets is needed.
    fn secrets() -> &'static [&'static str] {
        &[]
    }

    /// The hub's permissions on its kinds.
    fn hub_rules() -> Vec<PolicyRule> {
        Vec::new()
    }

    /// The admission webhooks. `run` mounts a validator for each in [`Manager::webhooks`].
    fn webhooks() -> Vec<Hook> {
        Vec::new()
    }

    /// Runs the controller. It may start watches at once, registers them with [`Manager::health`] before it waits for
    /// anything, and starts workers after [`Health::ready`](crate::Health::ready) and [`Manager::leading`]. It returns
    /// soon after [`Manager::shutdown`] fires, when none of its tasks is active any more: then the lease is released.
    fn run(manager: Manager, args: Self::Args) -> impl Future<Output = anyhow::Result<()>> + Send;
}

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
pub(crate) mod tests {
    use kube::{CustomResource, CustomResourceExt};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::rbac::rule;

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "test.kraken-iac.eoinfennessy.com", version = "v1alpha1", kind = "Widget", namespaced)]
    pub(crate) struct WidgetSpec {
        /// A word: "yes" is one, and so is "1.0".
        pub(crate) word: String,
    }

    #[derive(Args, Clone, Debug)]
    pub(crate) struct WidgetArgs {
        /// The endpoint that widgets are created at
        #[arg(long, env = "KRAKEN_WIDGET_ENDPOINT")]
        pub(crate) widget_endpoint: Option<String>,
    }

    #[derive(Debug)]
    pub(crate) struct Spoke;

    impl Program for Spoke {
        const NAME: &'static str = "kraken-test";
        const ABOUT: &'static str = "Creates widgets";
        type Args = WidgetArgs;

        fn crds() -> Vec<CustomResourceDefinition> {
            vec![Widget::crd(), Widget::crd()]
        }

        fn rules() -> Vec<PolicyRule> {
            vec![rule(&["test.kraken-iac.eoinfennessy.com"], &["widgets"], &["list", "watch"])]
        }

        fn hub_rules() -> Vec<PolicyRule> {
            vec![rule(&["test.kraken-iac.eoinfennessy.com"], &["widgets"], &["get"])]
        }

        async fn run(_: Manager, _: WidgetArgs) -> anyhow::Result<()> {
            Ok(())
        }
    }

    #[derive(Debug)]
    pub(crate) struct Hub;

    impl Program for Hub {
        const NAME: &'static str = "kraken-hub";
        const ABOUT: &'static str = "Resolves references";
        type Args = WidgetArgs;

        fn crds() -> Vec<CustomResourceDefinition> {
            Vec::new()
        }

        fn rules() -> Vec<PolicyRule> {
            vec![rule(&[""], &["configmaps"], &["list", "watch"])]
        }

        async fn run(_: Manager, _: WidgetArgs) -> anyhow::Result<()> {
            Ok(())
        }
    }

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
