//! One file for each command: what it requests, and how it prints the answer.

mod accept;
mod approve;
mod change;
mod check;
mod completion;
mod deps;
mod drift;
mod find;
pub(crate) mod import;
mod inventory;
pub(crate) mod lint;
pub(crate) mod local;
mod mcp;
mod paths;
pub(crate) mod plan;
mod question;
mod scope;
mod status;
pub(crate) mod transfer;
pub(crate) mod ui;
mod version;
mod watch;
mod why;

use std::{process::ExitCode, time::Duration};

use anyhow::Result;

use self::{
    question::answer,
    scope::{existing, graph, graph_in_place, graph_of, selected},
};
use crate::{
    args::{Args, Command},
    cluster::Cluster,
};

/// Runs the command.
pub(crate) async fn run(args: Args) -> Result<ExitCode> {
    let connection = &args.connection;
    match args.command {
        Command::Check => return check::run(connection).await,
        Command::Version { client } => return version::run(connection, client).await,
        Command::Completion => return completion::script(),
        Command::Mcp => return mcp::run(connection).await,
        Command::Lint { files, output } => {
            return lint::run(&files, connection.namespace.as_deref(), output);
        }
        Command::Complete { words } => return completion::run(words).await,
        Command::Local(options) => return local::run(options).await,
        // Of all namespaces: the question is which one has it.
        Command::Find { id } => return find::run(connection, &id).await,
        _ => {}
    }
    let cluster = Cluster::connect(connection).await?;
    match args.command {
        Command::Status { target, watch: true, output } => watch::run(&cluster, &target, output).await,
        Command::Status { target, watch: false, output } => status::run(&cluster, &target, output).await,
        Command::Why { target, output } => why::run(&cluster, &target, output).await,
        Command::Deps { target, reverse, output } => deps::run(&cluster, &target, reverse, output).await,
        Command::Inventory { output } => inventory::run(&cluster, output).await,
        Command::Drift { targets, accept: true, apply, .. } => accept::run(&cluster, &targets, apply).await,
        Command::Drift { targets, output, .. } => drift::run(&cluster, &targets, output).await,
        Command::Approve { targets, all, yes, hash } => {
            approve::run(&cluster, &targets, approve::Consent::of(all || yes, hash)).await
        }
        Command::Paths { target, output } => paths::run(&cluster, &target, output).await,
        Command::Undelete { target, consent } => transfer::undelete(&cluster, &target, consent).await,
        Command::Mv { moved, consent } => transfer::mv(&cluster, &moved, consent).await,
        Command::Plan { selection, output } => plan::run(&cluster, &selection, output).await,
        Command::Apply { selection, consent, timeout } => {
            plan::apply(&cluster, &selection, &consent, Duration::from_secs(timeout)).await
        }
        Command::Import(selection) => import::run(&cluster, &selection).await,
        Command::Ui(options) => ui::run(cluster, &options).await,
        Command::Reconcile(named) => change::run(&cluster, &named.targets, change::Change::Reconcile).await,
        Command::Pause(named) => change::run(&cluster, &named.targets, change::Change::Pause).await,
        Command::Resume(named) => change::run(&cluster, &named.targets, change::Change::Resume).await,
        Command::Check
        | Command::Version { .. }
        | Command::Completion
        | Command::Mcp
        | Command::Lint { .. }
        | Command::Local(_)
        | Command::Complete { .. }
        | Command::Find { .. } => Ok(ExitCode::SUCCESS),
    }
}
