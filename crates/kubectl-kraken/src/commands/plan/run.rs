//! Asks about each object, then about what follows, and prints the answers. Client required.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail};
use kraken_api::DOMAIN;
use kube::{
    Resource as _, ResourceExt as _,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

use super::{
    ask,
    documents::{self, Document},
    entry::{Action, Entry},
    follow::{Followed, Source, effects},
    judge::{edited, edited_map, in_order, keys},
    print,
    request::Request,
};
use crate::{
    args::PlanOutput,
    cluster::Cluster,
    commands::graph_in_place,
    discovery::Kind,
    failure::explain,
    graph::{Graph, Node},
    print::{Style, out},
    target::Target,
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
    /// Delete the resources in the files; without files, all resources of the namespace.
    #[arg(long)]
    pub(crate) destroy: bool,
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
}

impl Plan {
    /// Whether a request of it is rejected.
    pub(super) fn is_rejected(&self) -> bool {
        self.entries.iter().any(|entry| entry.action == Action::Rejected)
    }
}

/// Asks about everything that is selected.
pub(super) async fn plan(cluster: &Cluster, selection: &Selection) -> Result<Plan> {
    let Some(namespace) = cluster.scope.clone() else {
        bail!("a plan is of one namespace: use -n instead of -A");
    };
    let has_files = !selection.filename.is_empty() || selection.kustomize.is_some();
    if !has_files && !selection.destroy {
        bail!("which objects? Name files with -f or a kustomization with -k, or use --destroy");
    }
    let documents = documents::read(&selection.filename, selection.kustomize.as_deref(), &namespace)?;
    let graph = graph_in_place(cluster).await?;
    let mut plan = Planner { cluster, namespace, graph: &graph, entries: vec![], applies: vec![], others: 0 };
    if selection.destroy {
        let all = || graph.resources().map(|resource| resource.node.clone()).collect();
        let nodes = if has_files { plan.named(&documents)? } else { all() };
        plan.delete(&nodes).await?;
    } else {
        plan.apply(&documents).await?;
        if let Some(labels) = &selection.prune {
            let kept: BTreeSet<Node> = plan.named(&documents)?.into_iter().collect();
            let pruned = plan.labelled(labels).await?.into_iter().filter(|node| !kept.contains(node));
            let pruned: Vec<Node> = pruned.collect();
            plan.delete(&pruned).await?;
        }
    }
    let Planner { entries, applies, others, .. } = plan;
    let noun = if others == 1 { "object is" } else { "objects are" };
    let note =
        format!("{others} other {noun} not part of the plan: only resources of Kraken and ConfigMaps are.");
    let notes = if others > 0 { vec![note] } else { vec![] };
    let follows = entries.iter().filter(|entry| !entry.because.is_empty()).map(|entry| &entry.node);
    let status = |node: &Node| {
        graph.get(node).map(|resource| serde_json::to_value(&resource.status).unwrap_or_default())
    };
    let followers = follows.filter_map(|node| Some((node.clone(), status(node)?))).collect();
    Ok(Plan { entries, notes, applies, followers })
}

/// What the deletion of these resources of one namespace does, for programs. Dry runs only.
pub(in crate::commands) async fn deletion(cluster: &Cluster, graph: &Graph, nodes: &[Node]) -> Result<Value> {
    let namespace = nodes.first().map(|node| node.namespace.clone()).unwrap_or_default();
    let mut plan = Planner { cluster, namespace, graph, entries: vec![], applies: vec![], others: 0 };
    plan.delete(nodes).await?;
    Ok(print::json(&plan.entries, &[]))
}

struct Planner<'a> {
    cluster: &'a Cluster,
    namespace: String,
    graph: &'a Graph,
    entries: Vec<Entry>,
    applies: Vec<Request>,
    /// The number of objects that a plan says nothing about.
    others: usize,
}

impl Planner<'_> {
    /// What an apply of the documents does, and what follows from it.
    async fn apply(&mut self, documents: &[Document]) -> Result<()> {
        let (mut specs, mut changed) = (BTreeMap::new(), BTreeMap::new());
        for document in documents {
            let Some((node, resource)) = self.object(document)? else {
                self.others += 1;
                continue;
            };
            let mut request = Request::new(node.clone(), resource, document.object.clone());
            let answer = match request.try_out(self.cluster).await? {
                Ok(answer) => answer,
                Err(kube::Error::Api(status)) => {
                    let why = format!("{}: {}", document.place, status.message);
                    self.entries.push(Entry::new(node, Action::Rejected, vec![why]));
                    continue;
                }
                Err(error) => return Err(explain(error, &format!("plan {node}"), &self.cluster.server)),
            };
            let live = request.planned.clone();
            let after = answer.object.unwrap_or_else(|| DynamicObject::new(&node.name, &request.resource));
            if node.kind == "ConfigMap" {
                let keys = keys(live.as_ref(), &after);
                let mut entry = edited_map(node.clone(), live.as_ref(), &after, &keys);
                if entry.action.is_some() {
                    entry.edit = Some(request.digest());
                    self.applies.push(request);
                }
                self.entries.push(entry);
                if !keys.is_empty() {
                    changed.insert(node, Source::Keys(keys));
                }
                continue;
            }
            let mut entry = edited(node.clone(), live.as_ref(), &after, effects(&node, answer.warnings));
            let id = self.graph.get(&node).and_then(|resource| resource.status.external_ids.first().cloned());
            if let (Action::Replace, Some(id)) = (entry.action, id) {
                changed.insert(node.clone(), Source::Replaced { id });
            }
            if entry.action.is_some() {
                entry.edit = Some(request.digest());
                self.applies.push(request);
            }
            specs.insert(node, after.data["spec"].clone());
            self.entries.push(entry);
        }
        let followed = Followed { cluster: self.cluster, graph: self.graph, specs, changed };
        followed.follow(&mut self.entries).await
    }

    /// What the deletion of these resources does, and whether it ends.
    async fn delete(&mut self, nodes: &[Node]) -> Result<()> {
        let all: BTreeSet<&Node> = nodes.iter().collect();
        for node in in_order(self.graph, &all) {
            let kind = self.kind(node)?;
            let Some(resource) = self.graph.get(node) else {
                // It does not exist; or it may not be listed, and that is said.
                let (kind, name) = (format!("{}.{}", node.kind, node.group), node.name.clone());
                if let Ok((_, object)) = self.cluster.get(&Target { kind, name }).await {
                    bail!("{node} exists and is not listed: {}", object.name_any());
                }
                self.entries.push(Entry::new(node.clone(), Action::None, vec![]));
                continue;
            };
            let path = DynamicObject::url_path(&kind.resource, Some(&node.namespace));
            let (mut action, mut lines) = match ask::deletion(&self.cluster.client, &path, &node.name).await {
                Ok(answer) => (Action::Delete, effects(node, answer.warnings)),
                Err(kube::Error::Api(status)) => (Action::Rejected, vec![status.message.clone()]),
                Err(error) => {
                    return Err(explain(
                        error,
                        &format!("plan the deletion of {node}"),
                        &self.cluster.server,
                    ));
                }
            };
            if lines.is_empty() && resource.status.external_ids.is_empty() {
                lines.push("has no object in the cloud".to_owned());
            }
            let others: Vec<_> =
                self.graph.delays_deletion(node).into_iter().filter(|user| !all.contains(*user)).collect();
            if !others.is_empty() && action == Action::Delete {
                action = Action::Blocked;
                let names: Vec<_> = others.iter().map(ToString::to_string).collect();
                lines.push(format!(
                    "would wait: {} uses it, and is not deleted by this plan",
                    names.join(", ")
                ));
            }
            self.entries.push(Entry::new(node.clone(), action, lines));
        }
        Ok(())
    }

    /// The resources of Kraken among the documents.
    fn named(&self, documents: &[Document]) -> Result<Vec<Node>> {
        let mut nodes = vec![];
        for document in documents {
            let found = self.object(document)?;
            nodes.extend(found.map(|(node, _)| node).filter(|node| node.kind != "ConfigMap"));
        }
        Ok(nodes)
    }

    /// The resources of the namespace with these labels.
    async fn labelled(&self, labels: &str) -> Result<Vec<Node>> {
        let params = kube::api::ListParams::default().labels(labels);
        let mut found = vec![];
        for kind in self.cluster.kinds.users() {
            let listed = self.cluster.api(kind, Some(&self.namespace)).list_metadata(&params).await;
            let doing = format!("list {}", kind.full_name());
            let listed = listed.map_err(|error| explain(error, &doing, &self.cluster.server))?;
            let node =
                |name: String| Node::new(&self.namespace, &kind.resource.group, &kind.resource.kind, &name);
            found.extend(listed.items.into_iter().map(|object| node(object.name_any())));
        }
        Ok(found)
    }

    /// The object of a document, if it is a resource of Kraken or a ConfigMap. It must be in the namespace of the plan.
    fn object(&self, document: &Document) -> Result<Option<(Node, ApiResource)>> {
        let text = |path: &str| document.object.pointer(path).and_then(Value::as_str);
        let (Some(api_version), Some(kind), Some(name)) =
            (text("/apiVersion"), text("/kind"), text("/metadata/name"))
        else {
            return Ok(None);
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let namespace = text("/metadata/namespace").unwrap_or(&self.namespace);
        let node = Node::new(namespace, group, kind, name);
        let resource = if (group, kind) == ("", "ConfigMap") {
            ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&())
        } else if group.ends_with(DOMAIN) {
            // With an error that says what is similar.
            let known = self.cluster.kind(&format!("{kind}.{group}"));
            let known = known.with_context(|| document.place.clone())?;
            ApiResource::from_gvk_with_plural(
                &GroupVersionKind::gvk(group, version, kind),
                &known.resource.plural,
            )
        } else {
            return Ok(None);
        };
        if node.namespace != self.namespace {
            bail!(
                "{}: {node} is in namespace {namespace}, and the plan is of {}: use -n {namespace}",
                document.place,
                self.namespace
            );
        }
        Ok(Some((node, resource)))
    }

    fn kind(&self, node: &Node) -> Result<&Kind> {
        self.cluster.kind(&format!("{}.{}", node.kind, node.group))
    }
}
