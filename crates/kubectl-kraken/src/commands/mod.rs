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
mod status;
pub(crate) mod transfer;
pub(crate) mod ui;
mod version;
mod watch;
mod why;

use std::{
    io::{BufRead as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Result, bail};
use kraken_api::REFERENCES_PREFIX;
use kube::api::{DynamicObject, ListParams};

use crate::{
    args::{Args, Command},
    cluster::Cluster,
    graph::{Graph, Node},
    target,
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

/// All resources of the scope as a graph.
async fn graph(cluster: &Cluster) -> Result<Graph> {
    let listed = cluster.resources().await?;
    listed.warn();
    Ok(Graph::of(&cluster.kinds, listed.objects))
}

/// The resources that the words of a command line name, or else all of the scope.
async fn selected(cluster: &Cluster, words: &[String]) -> Result<Graph> {
    let targets = target::parse(words)?;
    if targets.is_empty() {
        return graph(cluster).await;
    }
    let mut objects = vec![];
    for target in &targets {
        objects.push(cluster.get(target).await?.1);
    }
    Ok(Graph::of(&cluster.kinds, objects))
}

/// All resources of the scope, with what is still in use in the cloud.
async fn graph_in_place(cluster: &Cluster) -> Result<Graph> {
    graph_of(std::slice::from_ref(cluster)).await
}

/// The same of several scopes of one cluster.
async fn graph_of(scopes: &[Cluster]) -> Result<Graph> {
    let (mut objects, mut requests, mut from_others) = (vec![], vec![], vec![]);
    for cluster in scopes {
        let kind = cluster.kinds.named("DependencyRequest");
        let found = async {
            match kind {
                // Without the right to list them the answer lacks only what an edit removed.
                Some(kind) => cluster.list(&[kind]).await.map(|listed| listed.objects),
                None => Ok(Vec::<DynamicObject>::new()),
            }
        };
        let (listed, found) = futures::try_join!(cluster.resources(), found)?;
        listed.warn();
        objects.extend(listed.objects);
        requests.extend(found);
        if let (Some(namespace), Some(kind)) = (&cluster.scope, kind) {
            let label = format!("{REFERENCES_PREFIX}{namespace}");
            // Without the right to list those of all namespaces, the answer lacks users in others.
            let params = ListParams::default().labels(&label);
            if let Ok(list) = cluster.api(kind, None).list(&params).await {
                from_others.push((namespace, list.items));
            }
        }
    }
    let kinds = scopes.first().map(|cluster| cluster.kinds.clone()).unwrap_or_default();
    let mut graph = Graph::of(&kinds, objects);
    graph.add_in_place(&kinds, &requests);
    for (namespace, requests) in from_others {
        graph.add_from_others(&kinds, namespace, &requests);
    }
    Ok(graph)
}

/// What a person answers to a question; `nobody` is the error if standard input has ended.
fn answer(question: &str, nobody: &str) -> Result<String> {
    let mut stdout = std::io::stdout().lock();
    write!(stdout, "{question}")?;
    stdout.flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        writeln!(stdout)?;
        bail!("{nobody}");
    }
    Ok(line)
}

/// The resource that the words of a command line name; it must exist.
async fn existing(cluster: &Cluster, graph: &Graph, words: &[String]) -> Result<Node> {
    let target = target::one(words)?;
    let kind = cluster.kind(&target.kind)?;
    let node = Node::new(&cluster.namespace, &kind.resource.group, &kind.resource.kind, &target.name);
    if graph.get(&node).is_none() {
        // With an error that says whether it does not exist or may not be read.
        cluster.get(&target).await?;
    }
    Ok(node)
}
