//! Asks about each object, then about what follows, and prints the answers. Client required.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Result, bail};
use kraken_options::Dependency;
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{DynamicObject, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

use super::{
    ask,
    documents::{self, Document},
    entry::{Action, Entry},
    follow::{ABSENT, Followed, Source, effects},
    patch, print,
};
use crate::{
    args::PlanOutput,
    cluster::Cluster,
    commands::graph_in_place,
    discovery::Kind,
    failure::explain,
    graph::{Graph, Node, walk},
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
    pub(super) applies: Vec<Applied>,
    /// The resources that change because of others, with their status before.
    pub(super) followers: BTreeMap<Node, Value>,
}

/// The request that applies one document.
pub(super) struct Applied {
    pub(super) node: Node,
    pub(super) path: String,
    pub(super) apply: patch::Apply,
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
    let documents = documents::read(&selection.filename, selection.kustomize.as_deref())?;
    let graph = graph_in_place(cluster).await?;
    let mut plan = Planner { cluster, namespace, graph: &graph, entries: vec![], applies: vec![], others: 0 };
    if selection.destroy {
        let all = || graph.resources().map(|resource| resource.node.clone()).collect();
        let nodes = if has_files { plan.named(&documents) } else { all() };
        plan.delete(&nodes).await?;
    } else {
        plan.apply(&documents).await?;
        if let Some(labels) = &selection.prune {
            let kept: BTreeSet<Node> = plan.named(&documents).into_iter().collect();
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

struct Planner<'a> {
    cluster: &'a Cluster,
    namespace: String,
    graph: &'a Graph,
    entries: Vec<Entry>,
    applies: Vec<Applied>,
    /// The number of objects that a plan says nothing about.
    others: usize,
}

impl Planner<'_> {
    /// What an apply of the documents does, and what follows from it.
    async fn apply(&mut self, documents: &[Document]) -> Result<()> {
        let (mut specs, mut changed) = (BTreeMap::new(), BTreeMap::new());
        for document in documents {
            let Some((node, resource)) = self.object(document) else {
                self.others += 1;
                continue;
            };
            if node.namespace != self.namespace {
                bail!(
                    "{}: {node} is in namespace {}, and the plan is of {}: use -n {}",
                    document.place,
                    node.namespace,
                    self.namespace,
                    node.namespace
                );
            }
            let path = DynamicObject::url_path(&resource, Some(&self.namespace));
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.cluster.client.clone(), &self.namespace, &resource);
            let live = api.get_opt(&node.name).await;
            let live = live.map_err(|error| explain(error, &format!("get {node}"), &self.cluster.server))?;
            let apply = patch::apply(&document.object, live.as_ref());
            let params = PatchParams { dry_run: true, ..apply.params.clone() };
            let answer = ask::patch(&self.cluster.client, &path, &node.name, &params, &apply.patch).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(kube::Error::Api(status)) => {
                    let why = format!("{}: {}", document.place, status.message);
                    self.entries.push(Entry::new(node, Action::Rejected, vec![why]));
                    continue;
                }
                Err(error) => return Err(explain(error, &format!("plan {node}"), &self.cluster.server)),
            };
            let applied = Applied { node: node.clone(), path, apply };
            let after = answer.object.unwrap_or_else(|| DynamicObject::new(&node.name, &resource));
            if node.kind == "ConfigMap" {
                let keys = keys(live.as_ref(), &after);
                let action = match &live {
                    None => Action::Create,
                    Some(_) if keys.is_empty() => Action::None,
                    Some(_) => Action::Change,
                };
                let lines =
                    keys.iter().map(|(key, (have, want))| format!("{key} {have} -> {want}")).collect();
                self.entries.push(Entry::new(node.clone(), action, lines));
                if action.is_some() {
                    self.applies.push(applied);
                }
                changed.insert(node, Source::Keys(keys));
                continue;
            }
            let entry = edited(node.clone(), live.as_ref(), &after, effects(&node, answer.warnings));
            let id = self.graph.get(&node).and_then(|resource| resource.status.external_ids.first().cloned());
            if let (Action::Replace, Some(id)) = (entry.action, id) {
                changed.insert(node.clone(), Source::Replaced { id });
            }
            if entry.action.is_some() {
                self.applies.push(applied);
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
            let Some(resource) = self.graph.get(node) else {
                self.entries.push(Entry::new(node.clone(), Action::None, vec![]));
                continue;
            };
            let kind = self.kind(node)?;
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
    fn named(&self, documents: &[Document]) -> Vec<Node> {
        let nodes = documents.iter().filter_map(|document| self.object(document));
        nodes.map(|(node, _)| node).filter(|node| node.kind != "ConfigMap").collect()
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

    /// The object of a document, if it is a resource of Kraken or a ConfigMap.
    fn object(&self, document: &Document) -> Option<(Node, ApiResource)> {
        let text = |path: &str| document.object.pointer(path).and_then(Value::as_str);
        let (api_version, kind) = (text("/apiVersion")?, text("/kind")?);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let namespace = text("/metadata/namespace").unwrap_or(&self.namespace);
        let node = Node::new(namespace, group, kind, text("/metadata/name")?);
        if (group, kind) == ("", "ConfigMap") {
            return Some((node, ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&())));
        }
        let known = self
            .cluster
            .kinds
            .users()
            .find(|known| known.resource.group == group && known.resource.kind == kind)?;
        let gvk = GroupVersionKind::gvk(group, version, kind);
        Some((node, ApiResource::from_gvk_with_plural(&gvk, &known.resource.plural)))
    }

    fn kind(&self, node: &Node) -> Result<&Kind> {
        self.cluster.kind(&format!("{}.{}", node.kind, node.group))
    }
}

/// The resources in the order in which they are deleted: what uses others first.
fn in_order<'a>(graph: &Graph, nodes: &BTreeSet<&'a Node>) -> Vec<&'a Node> {
    let (mut left, mut order): (BTreeSet<&Node>, Vec<&Node>) = (nodes.clone(), vec![]);
    while !left.is_empty() {
        let is_free = |node: &&&Node| !graph.delays_deletion(node).iter().any(|user| left.contains(*user));
        let mut next: Vec<&Node> = left.iter().filter(is_free).copied().collect();
        if next.is_empty() {
            // Two security groups that refer to each other.
            next.extend(left.iter().copied());
        }
        left.retain(|node| !next.contains(node));
        order.extend(next);
    }
    order
}

/// What an edit does, from what admission announces. Pure.
fn edited(node: Node, live: Option<&DynamicObject>, after: &DynamicObject, effects: Vec<String>) -> Entry {
    let spec = &after.data["spec"];
    let Some(live) = live else {
        let adopts = &spec["lifecycle"]["adopt"];
        let action = if adopts.is_object() { Action::Adopt } else { Action::Create };
        let lines = if adopts.is_object() { vec![format!("takes over {adopts}")] } else { uses(spec) };
        return Entry::new(node, action, lines);
    };
    if live.data["spec"] == *spec {
        let is_same = metadata(live) == metadata(after);
        let edit =
            || Entry::new(node.clone(), Action::Edit, vec!["changes only labels or annotations".to_owned()]);
        return if is_same { Entry::new(node.clone(), Action::None, vec![]) } else { edit() };
    }
    // Other warnings are about what is wrong in the spec: they stay, after the effects.
    let action = Action::of(&effects);
    let is_there = live.data["status"]["externalIds"].as_array().is_some_and(|ids| !ids.is_empty());
    match action {
        Some(action) => Entry::new(node, action, effects),
        None if is_there => {
            let why = "changes nothing in the cloud; or its controller does not review edits (kubectl kraken check)";
            Entry::new(node, Action::Edit, [effects, vec![why.to_owned()]].concat())
        }
        None => {
            let why = "has no object in the cloud yet: the creation uses the edit";
            Entry::new(node, Action::Edit, [effects, vec![why.to_owned()]].concat())
        }
    }
}

/// The labels and annotations, without the record of the last apply.
fn metadata(of: &DynamicObject) -> [BTreeMap<String, String>; 2] {
    let mut annotations = of.metadata.annotations.clone().unwrap_or_default();
    annotations.remove(patch::LAST_APPLIED);
    [of.metadata.labels.clone().unwrap_or_default(), annotations]
}

/// The fields of a new resource whose values only the apply will bring. Pure.
fn uses(spec: &Value) -> Vec<String> {
    let references = walk::references(spec).into_iter();
    let of_resources = references.filter(|one| matches!(one.dependency, Dependency::Resource(_)));
    of_resources.map(|one| format!("{}: {} (known after apply)", one.field, one.dependency)).collect()
}

/// The keys of a ConfigMap that differ, with both values. Pure.
fn keys(live: Option<&DynamicObject>, after: &DynamicObject) -> BTreeMap<String, (String, String)> {
    let data = |of: &DynamicObject| {
        let data = of.data["data"].as_object().cloned().unwrap_or_default();
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        data.into_iter().map(|(key, value)| (key, text(value))).collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (live.map(data).unwrap_or_default(), data(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let value = |of: &BTreeMap<String, String>, key: &String| {
        of.get(key).cloned().unwrap_or_else(|| ABSENT.to_owned())
    };
    let both = names.into_iter().map(|key| (key.clone(), (value(&before, key), value(&after, key))));
    both.filter(|(_, (before, after))| before != after).collect()
}
