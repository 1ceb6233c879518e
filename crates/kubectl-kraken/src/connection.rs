//! The options of all commands, with flags named as those of kubectl.

use std::path::PathBuf;

use clap::Args;

/// Which cluster, which namespace, and as whom.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of all commands")]
pub(crate) struct Connection {
    /// The path of the kubeconfig [default: KUBECONFIG, then ~/.kube/config].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: the current one].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The namespace [default: that of the context].
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// All namespaces.
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    /// The user to impersonate, as with kubectl.
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) impersonate: Option<String>,
}
