//! The command line, with flags named as those of kubectl.

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::{
    commands::{
        lint,
        plan::{self, Selection},
        transfer, ui,
    },
    connection::Connection,
    output::{DepsOutput, InventoryOutput, PlanOutput, TextOrJson},
};

/// See what Kraken does in a cluster, why a resource is not ready, and what depends on what.
#[derive(Parser, Debug)]
#[command(name = "kubectl-kraken", bin_name = "kubectl kraken", version, max_term_width = 110)]
#[command(after_help = "KIND is a name that kubectl accepts: VPC, vpcs, sg, securitygroup.aws, ...\n\
                        Secrets are never read. Colors follow NO_COLOR.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show the resources as a tree of their references, what they wait for, and what to fix first.
    #[command(after_help = "Examples:\n  \
        kubectl kraken status                  # the namespace of the context\n  \
        kubectl kraken status subnet/a         # what it uses, and what uses it\n  \
        kubectl kraken status -A -w            # everything, until Ctrl-C")]
    Status {
        /// Only this resource, what it uses, and what uses it: KIND/NAME.
        target: Vec<String>,
        /// Print again whenever something changes.
        #[arg(short, long)]
        watch: bool,
        #[arg(short, long, default_value = "text")]
        output: TextOrJson,
    },
    /// Show the root causes for which a resource is not ready, and what to do.
    #[command(after_help = "Example:\n  kubectl kraken why listenerrule/static\n\n\
        Exit code: 0 if the resource is ready, 1 if it is not, 2 if that is not known (usage, no such resource, no cluster).")]
    Why {
        /// KIND/NAME.
        #[arg(required = true)]
        target: Vec<String>,
        #[arg(short, long, default_value = "text")]
        output: TextOrJson,
    },
    /// Show what a resource depends on, or what depends on it.
    #[command(after_help = "Examples:\n  \
        kubectl kraken deps targetgroup/web\n  \
        kubectl kraken deps sg/app --reverse\n  \
        kubectl kraken deps vpc/main --reverse -o dot | dot -Tsvg > vpc.svg")]
    Deps {
        /// KIND/NAME.
        #[arg(required = true)]
        target: Vec<String>,
        /// What depends on it.
        #[arg(short, long)]
        reverse: bool,
        #[arg(short, long, default_value = "tree")]
        output: DepsOutput,
    },
    /// Find the resource of a remote object by its id, in all namespaces unless -n is given.
    #[command(
        after_help = "Example:\n  kubectl kraken find sg-0abc1234def567890\n\nExit code: 1 if nothing is found."
    )]
    Find {
        /// An id, an ARN, an address, or another value of the status or the published state.
        id: String,
    },
    /// List all remote objects: id, location, whether adopted, what a deletion does.
    #[command(after_help = "Example:\n  kubectl kraken inventory -A -o csv > inventory.csv")]
    Inventory {
        #[arg(short, long, default_value = "table")]
        output: InventoryOutput,
    },
    /// List the drift that is reported and not reverted, or accept it.
    #[command(after_help = "Examples:\n  \
        kubectl kraken drift -A\n  \
        kubectl kraken drift --accept sg/alb               # the patch by which the spec says what the cloud has\n  \
        kubectl kraken drift --accept sg/alb --apply\n\n\
        Fields that refer to another object, values of Secrets and rules of security groups are named and left alone.\n\n\
        Exit code: 0 without drift, 2 with drift, 1 for errors. With --accept: 0 if all drift is accepted, 1 if a part is left.")]
    Drift {
        /// Only these resources: KIND/NAME...
        targets: Vec<String>,
        /// Print the patch of the spec that accepts the drift of one resource.
        #[arg(long, requires = "targets")]
        accept: bool,
        /// Apply that patch.
        #[arg(long, requires = "accept")]
        apply: bool,
        #[arg(short, long, default_value = "text")]
        output: TextOrJson,
    },
    /// Show what an apply, or a deletion, of a set of objects will do. Nothing is changed.
    #[command(after_help = "Examples:\n  \
        kubectl kraken plan -f network.yaml\n  \
        kubectl kraken plan -k overlays/prod --prune app=shop -o markdown\n  \
        kubectl kraken plan -n shop                # what differs in the cloud\n  \
        kubectl kraken plan --destroy -n shop\n\n\
        Exit code: 0 if nothing changes, 2 if something does, 1 for errors and rejections.\n\
        Every answer is one of admission to a dry run, so that it requires the rights of the apply. Controllers compare with what exists in \
        the cloud, unless --no-refresh. What an edited ConfigMap or a replaced object changes in resources that refer to it is part of the plan.")]
    Plan {
        #[command(flatten)]
        selection: Selection,
        #[arg(short, long, default_value = "text")]
        output: PlanOutput,
    },
    /// Show the plan of a set of objects, ask, apply it, and wait until everything is ready.
    #[command(after_help = "Examples:\n  \
        kubectl kraken apply -f network.yaml\n  \
        kubectl kraken apply -k overlays/prod --yes --timeout 900\n  \
        kubectl kraken plan -f network.yaml -o json > plan.json     # reviewed by somebody, then:\n  \
        kubectl kraken apply -f network.yaml --plan plan.json --approve\n\n\
        Exactly what was planned is applied: an object that changed since then is refused. Only resources of Kraken and ConfigMaps are \
        applied. It ends early with the root causes if a person must act.\n\n\
        Exit code: 0 if everything is ready, 1 if not.")]
    Apply {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        consent: plan::Consent,
        /// How long to wait until everything is ready, in seconds.
        #[arg(long, default_value_t = 600)]
        timeout: u64,
    },
    /// Check files without a cluster: schemas, rules and references, with file and line.
    #[command(after_help = "Examples:\n  \
        kubectl kraken lint network.yaml\n  \
        kubectl kraken lint manifests/ -o json\n  \
        kubectl kraken lint -k overlays/prod\n\n\
        It knows the CRDs of its own version. What the controller of a kind checks beyond them, such as overlaps of items of a list, and \
        what exists in the cloud, is not checked: see plan.\n\n\
        Exit code: 0 without errors, 1 with errors, 2 if the files cannot be read. Warnings and notes are no errors.")]
    Lint {
        #[command(flatten)]
        files: lint::Files,
        #[arg(short, long, default_value = "text")]
        output: TextOrJson,
    },
    /// List what can be referenced of a resource, as references to paste, with types and present values.
    #[command(after_help = "Examples:\n  \
        kubectl kraken paths vpc/main\n  \
        kubectl kraken paths ec2instance          # the paths of all resources of the kind\n  \
        kubectl kraken paths static/network")]
    Paths {
        /// KIND/NAME, or KIND.
        #[arg(required = true)]
        target: Vec<String>,
        #[arg(short, long, default_value = "text")]
        output: TextOrJson,
    },
    /// Cancel the deletion of a resource: its remote object is kept, and the resource created again.
    #[command(after_help = "Example:\n  kubectl kraken undelete vpc/main\n\n\
        It can be interrupted at any point, and continues when it is run again. A remote object whose deletion the provider has \
        accepted cannot be kept.\n\n\
        Exit code: 0 if the resource manages its object again.")]
    Undelete {
        /// KIND/NAME.
        #[arg(required = true)]
        target: Vec<String>,
        #[command(flatten)]
        consent: transfer::Consent,
    },
    /// Rename a resource, and everything that refers to it. Nothing is created again in the cloud.
    #[command(after_help = "Examples:\n  \
        kubectl kraken mv vpc/main net\n  \
        kubectl kraken mv vpc/main net -f manifests/        # the references in the files too; comments stay\n\n\
        It shows what it will do and asks. It can be interrupted at any point, and continues when it is run again.\n\n\
        Exit code: 0 if the new resource manages the object.")]
    Mv {
        #[command(flatten)]
        moved: transfer::Moved,
        #[command(flatten)]
        consent: transfer::Consent,
    },
    /// Show the plans that await approval, and approve them.
    #[command(after_help = "Examples:\n  \
        kubectl kraken approve                             # shows each plan and asks\n  \
        kubectl kraken approve ec2instance/web --yes\n  \
        kubectl kraken approve ec2instance/web --hash a14e9c64\n\n\
        A plan that changed since it was shown is not approved. It requires the verb `approve` (ClusterRole admin or kraken-approve).")]
    Approve {
        /// Only the plans of these resources: KIND/NAME...
        targets: Vec<String>,
        /// Approve all plans without questions.
        #[arg(long, conflicts_with = "targets")]
        all: bool,
        /// Approve without a question.
        #[arg(short, long)]
        yes: bool,
        /// Approve without a question if this is the hash of the plan, which was reviewed elsewhere.
        #[arg(long, value_name = "HASH", requires = "targets")]
        hash: Option<String>,
    },
    /// Write YAML that takes over what exists in the cloud, with references between the objects.
    #[command(after_help = "Examples:\n  \
        kubectl kraken import --vpc vpc-0abc1234def567890 -n legacy > legacy.yaml\n  \
        kubectl kraken import --tags Team=shop,Stage=prod > shop.yaml\n  \
        kubectl kraken import --account --use-account shop > all.yaml\n\n\
        The controllers are asked, with the Account of the namespace. Nothing is changed: afterwards, `kubectl kraken plan -f FILE` \
        says only \"to adopt\". What is not written is said on standard error. It requires the ClusterRole edit.\n\n\
        Exit code: 0, or 1 if a kind could not be read.")]
    Import(crate::commands::import::Selection),
    /// Serve a page on this machine: a list, a map, what to fix first, plans and drift, live.
    #[command(after_help = "Examples:\n  \
        kubectl kraken ui -n shop          # prints the address to open\n  \
        kubectl kraken ui -A --write       # with approvals and previews of deletions\n\n\
        It is served on 127.0.0.1 only, with your kubeconfig, and only to who has the printed address.")]
    Ui(ui::Options),
    /// Run Kraken on this machine, without a cluster.
    #[command(after_help = "Examples:\n  \
        eval \"$(kubectl kraken local up)\"      # kube-apiserver and the controllers, in the background\n  \
        kubectl kraken local status\n  \
        kubectl kraken local down              # what is stored stays\n\n\
        kubectl, plan, apply and ui work with it as with a cluster. There are no nodes, so that pods do not run.")]
    Local(crate::commands::local::Options),
    /// Request a reconcile now.
    #[command(after_help = "Example:\n  kubectl kraken reconcile ec2instance/web vpc/main")]
    Reconcile(Named),
    /// Stop managing resources until they are resumed.
    #[command(after_help = "Example:\n  kubectl kraken pause ec2instance/web")]
    Pause(Named),
    /// Manage paused resources again.
    #[command(after_help = "Example:\n  kubectl kraken resume ec2instance/web")]
    Resume(Named),
    /// Check the installation: CRDs, controllers, leases, webhooks, versions.
    #[command(
        after_help = "Example:\n  kubectl kraken check\n\nExit code: 1 if something is missing or does not work."
    )]
    Check,
    /// Serve the commands that read as tools for assistants (Model Context Protocol, on standard input and output).
    #[command(after_help = "Example, in the configuration of an assistant:\n  \
        {\"mcpServers\": {\"kraken\": {\"command\": \"kubectl-kraken\", \"args\": [\"mcp\", \"--context\", \"test\"]}}}\n\n\
        It is the same as kubectl kraken mcp. No tool changes anything or reads a Secret. For fewer rights use --as, or a kubeconfig of its own.")]
    Mcp,
    /// Print the version of this program and of the controllers.
    #[command(after_help = "Example:\n  kubectl kraken version --client")]
    Version {
        /// Only of this program.
        #[arg(long)]
        client: bool,
    },
    /// Print the script by which kubectl completes `kubectl kraken`.
    #[command(after_help = "Example:\n  \
        kubectl kraken completion > ~/.local/bin/kubectl_complete-kraken && chmod +x ~/.local/bin/kubectl_complete-kraken\n\n\
        The completion of kubectl itself runs it, in any shell.")]
    Completion,
    /// The candidates for the last word, in the format of kubectl's completion.
    #[command(name = "__complete", hide = true)]
    Complete {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// Resources by their names.
#[derive(ClapArgs, Debug)]
pub(crate) struct Named {
    /// KIND/NAME...
    #[arg(required = true)]
    pub(crate) targets: Vec<String>,
}

impl Command {
    /// The exit code of an error: 1, except where 1 is an answer.
    pub(crate) fn code_of_errors(&self) -> u8 {
        if matches!(self, Self::Why { .. } | Self::Lint { .. }) { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_has_an_example() {
        Args::command().debug_assert();
        for command in Args::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("kubectl kraken "), "{}", command.get_name());
        }
    }

    #[test]
    fn flags_are_accepted_before_and_after_the_command() {
        for line in ["-n shop status", "status -n shop", "status --namespace=shop vpc main"] {
            let words = std::iter::once("kubectl-kraken").chain(line.split(' '));
            let args = Args::try_parse_from(words).unwrap();
            assert_eq!(args.connection.namespace.as_deref(), Some("shop"), "{line}");
        }
        assert!(Args::try_parse_from(["kubectl-kraken", "status", "-A", "-n", "shop"]).is_err());
    }

    #[test]
    fn an_error_of_why_is_not_confused_with_a_resource_that_is_not_ready() {
        let why = Args::try_parse_from(["kubectl-kraken", "why", "vpc/main"]).unwrap();
        assert_eq!(why.command.code_of_errors(), 2);
        let drift = Args::try_parse_from(["kubectl-kraken", "drift"]).unwrap();
        assert_eq!(drift.command.code_of_errors(), 1);
    }
}
