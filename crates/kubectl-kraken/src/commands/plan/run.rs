//! Asks about everything that is selected, and prints the answers. Client required.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Result, bail};
use kube::{ResourceExt as _, api::ListParams};
use serde_json::Value;

use super::{
    documents::{self, Document},
    entry::{Action, Entry},
    planner::Planner,
    print,
    request::Request,
};
use crate::{
    cluster::Cluster,
    commands::graph_of,
    failure::explain,
    graph::{Graph, Node},
    output::PlanOutput,
    print::{Style, out},
};

/// What a plan is about.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Selection {
    /// A file or a folder with manifests, or `-` for standard input. Can be repeated.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) filename: Vec<PathBuf>,
    /// A folder with a kustomization.
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "filename")]
    pub(crate) kustomize: Option<PathBuf>,
    /// Also delete the resources of the namespace with these labels that are not in the files.
    #[arg(long, value_name = "LABELS", conflicts_with = "destroy")]
    pub(crate) prune: Option<String>,
    /// Delete the resources in the files; without files, those that `-l` selects, or all of the namespace.
    #[arg(long)]
    pub(crate) destroy: bool,
    /// Without files: only resources with these labels.
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with_all = ["filename", "kustomize"])]
    pub(crate) selector: Option<String>,
    /// Do not compare with what exists in the cloud: compare specs only.
    #[arg(long)]
    pub(crate) no_refresh: bool,
}

impl Selection {
    /// Whether objects are named by files.
    pub(super) fn has_files(&self) -> bool {
        !self.filename.is_empty() || self.kustomize.is_some()
    }
}

/// Exit codes as those of `tofu plan -detailed-exitcode`.
const CHANGES: u8 = 2;

pub(in crate::commands) async fn run(
    cluster: &Cluster,
    selection: &Selection,
    output: PlanOutput,
) -> Result<ExitCode> {
    let plan = plan(cluster, selection).await?;
    match output {
        PlanOutput::Text => out(&print::text(&plan.entries, &plan.notes, Style::of_stdout()))?,
        PlanOutput::Markdown => out(&print::markdown(&plan.entries, &plan.notes))?,
        PlanOutput::Yaml => out(&serde_saphyr::to_string(&print::json(&plan.entries, &plan.notes))?)?,
        PlanOutput::Json => out(&format!("{:#}\n", print::json(&plan.entries, &plan.notes)))?,
    }
    Ok(if plan.is_rejected() {
        ExitCode::FAILURE
    } else if plan.entries.iter().any(|entry| entry.action.is_some()) {
        ExitCode::from(CHANGES)
    } else {
        ExitCode::SUCCESS
    })
}

/// A plan, and the requests that carry it out.
pub(super) struct Plan {
    pub(super) entries: Vec<Entry>,
    pub(super) notes: Vec<String>,
    /// In the order of the documents.
    pub(super) applies: Vec<Request>,
    /// The resources that change because of others, with their status before.
    pub(super) followers: BTreeMap<Node, Value>,
    /// The cluster, for each namespace of the plan.
    pub(super) scopes: Vec<Cluster>,
}

impl Plan {
    /// Whether a request of it is rejected.
    pub(super) fn is_rejected(&self) -> bool {
        self.entries.iter().any(|entry| entry.action == Action::Rejected)
    }
}

/// Asks about everything that is selected.
pub(super) async fn plan(cluster: &Cluster, selection: &Selection) -> Result<Plan> {
    let has_files = selection.has_files();
    if !has_files && !selection.destroy && selection.no_refresh {
        bail!(
            "without files, a plan is of what differs in the cloud: name files with -f or a kustomization with -k, or leave \
             --no-refresh out"
        );
    }
    let documents = documents::read(&selection.filename, selection.kustomize.as_deref(), &cluster.namespace)?;
    let scopes = scopes(cluster, &documents)?;
    let graph = graph_of(&scopes).await?;
    let mut plan = Planner::new(cluster, &graph);
    plan.previews = !selection.no_refresh;
    if has_files {
        let named = plan.named(&documents)?;
        if selection.destroy {
            plan.delete(&named).await?;
        } else {
            plan.apply(&documents).await?;
        }
        if let Some(labels) = &selection.prune {
            let kept: BTreeSet<Node> = named.into_iter().collect();
            let pruned =
                labelled(&scopes, Some(labels)).await?.into_iter().filter(|node| !kept.contains(node));
            plan.delete(&pruned.collect::<Vec<_>>()).await?;
        }
    } else {
        let nodes = labelled(&scopes, selection.selector.as_deref()).await?;
        if selection.destroy { plan.delete(&nodes).await? } else { plan.stay(&nodes).await? }
    }
    let Planner { entries, applies, others, not_compared: unknown, .. } = plan;
    let noun = if others == 1 { "object is" } else { "objects are" };
    let note =
        format!("{others} other {noun} not part of the plan: only resources of Kraken and ConfigMaps are.");
    let mut notes: Vec<_> = unknown.iter().map(|(why, nodes)| not_compared(nodes, why)).collect();
    notes.extend((others > 0).then_some(note));
    let follows = entries.iter().filter(|entry| !entry.because.is_empty()).map(|entry| &entry.node);
    let status = |node: &Node| {
        graph.get(node).map(|resource| serde_json::to_value(&resource.status).unwrap_or_default())
    };
    let followers = follows.filter_map(|node| Some((node.clone(), status(node)?))).collect();
    Ok(Plan { entries, notes, applies, followers, scopes })
}

/// The namespaces of the documents; without any, that of the flags or the context, or all.
fn scopes(cluster: &Cluster, documents: &[Document]) -> Result<Vec<Cluster>> {
    let mut namespaces = BTreeSet::new();
    for document in documents {
        let namespace = document.object["metadata"]["namespace"].as_str().unwrap_or(&cluster.namespace);
        if cluster.is_chosen && namespace != cluster.namespace {
            bail!(
                "{}: the object is in namespace {namespace}, and -n is {}: leave -n out, or use -n {namespace}",
                document.place,
                cluster.namespace
            );
        }
        namespaces.insert(namespace);
    }
    if namespaces.is_empty() || cluster.scope.is_none() {
        return Ok(vec![cluster.clone()]);
    }
    Ok(namespaces.into_iter().map(|namespace| cluster.of_namespace(namespace)).collect())
}

/// The resources with these labels, or all of them.
async fn labelled(scopes: &[Cluster], labels: Option<&str>) -> Result<Vec<Node>> {
    let params = labels.map_or_else(ListParams::default, |labels| ListParams::default().labels(labels));
    let mut found = vec![];
    for cluster in scopes {
        for kind in cluster.kinds.users() {
            let listed = cluster.api(kind, cluster.scope.as_deref()).list_metadata(&params).await;
            let doing = format!("list {}", kind.full_name());
            let listed = listed.map_err(|error| explain(error, &doing, &cluster.server))?;
            found.extend(listed.items.into_iter().map(|object| {
                let namespace = object.namespace().unwrap_or_default();
                Node::new(&namespace, &kind.resource.group, &kind.resource.kind, &object.name_any())
            }));
        }
    }
    Ok(found)
}

/// What the deletion of these resources does, for programs. Dry runs only.
pub(in crate::commands) async fn deletion(cluster: &Cluster, graph: &Graph, nodes: &[Node]) -> Result<Value> {
    let mut plan = Planner::new(cluster, graph);
    plan.delete(nodes).await?;
    Ok(print::json(&plan.entries, &[]))
}

/// `Not compared with the cloud: VPC/main and 2 others: it did not answer in 3 s`.
fn not_compared(nodes: &[Node], why: &str) -> String {
    let others = match nodes.len() {
        0 | 1 => String::new(),
        2 => " and 1 other".to_owned(),
        count => format!(" and {} others", count - 1),
    };
    let first = nodes.first().map(ToString::to_string).unwrap_or_default();
    format!("Not compared with the cloud: {first}{others}: {why}")
}
