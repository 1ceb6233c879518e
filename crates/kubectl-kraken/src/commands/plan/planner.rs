//! The dry runs of a plan: about each object, and about what follows. Client required.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_api::{
    DOMAIN,
    effect::{Effect, NOT_COMPARED},
};
use kube::{
    Resource as _, ResourceExt as _,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

use super::{
    ask,
    documents::Document,
    dry_run::{DryRuns, silence},
    entry::{Action, Entry},
    follow::{Followed, Source, effects},
    judge::{being_deleted, edited, edited_map, edited_plain, in_order, keys, would_wait},
    rejection::why,
    request::Request,
};
use crate::{
    cluster::Cluster,
    discovery::Kind,
    failure::explain,
    graph::{Graph, Node},
    target::Target,
};

/// How many dry runs are made at once.
const AT_ONCE: usize = 50;
/// After how many silences in a row of providers that are asked about one resource at a time no more is asked.
const PATIENCE: usize = 3;

/// The place of a document for a person, its request, and the answer.
type Tried = (String, Request, Result<ask::Answer, kube::Error>);

/// The questions about a plan, and their answers.
pub(super) struct Planner<'a> {
    cluster: &'a Cluster,
    graph: &'a Graph,
    pub(super) entries: Vec<Entry>,
    pub(super) applies: Vec<Request>,
    /// The number of objects that a plan says nothing about.
    pub(super) others: usize,
    /// Whether the controllers compare with what exists in the cloud.
    pub(super) previews: bool,
    /// The resources that they did not compare, by what they said.
    pub(super) not_compared: BTreeMap<String, Vec<Node>>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(cluster: &'a Cluster, graph: &'a Graph) -> Self {
        let (entries, applies, not_compared) = (vec![], vec![], BTreeMap::new());
        Self { cluster, graph, entries, applies, others: 0, previews: false, not_compared }
    }

    /// What an apply of the documents does, and what follows from it.
    pub(super) async fn apply(&mut self, documents: &[Document]) -> Result<()> {
        let mut requests = vec![];
        for document in documents {
            let Some((node, resource)) = self.object(document)? else {
                self.others += 1;
                continue;
            };
            let mut request = Request::new(node, resource, Some(document.object.clone()));
            request.previews = self.previews && self.has_state(&request.node);
            requests.push((document.place.clone(), request));
        }
        self.ask(requests).await
    }

    /// What the controllers will do with resources as they are stored, and what follows from it.
    pub(super) async fn stay(&mut self, nodes: &[Node]) -> Result<()> {
        let mut requests = vec![];
        for node in nodes {
            let resource = self.kind(node)?.resource.clone();
            let mut request = Request::new(node.clone(), resource, None);
            request.previews = true;
            requests.push((node.to_string(), request));
        }
        self.ask(requests).await
    }

    /// Asks about requests, each with its place for a person.
    async fn ask(&mut self, requests: Vec<(String, Request)>) -> Result<()> {
        let (mut specs, mut changed) = (BTreeMap::new(), BTreeMap::new());
        let dry_runs = DryRuns::new(self.cluster, self.graph, requests.iter().map(|(_, request)| request));
        let dry_runs = &dry_runs;
        let tried = stream::iter(requests).map(|(place, mut request)| async move {
            let answer = dry_runs.ask(&mut request).await?;
            anyhow::Ok((place, request, answer))
        });
        // The controllers answer those that come at once with one look at the cloud.
        let mut tried: Vec<Tried> = tried.buffered(AT_ONCE).try_collect().await?;
        // A provider that is too slow for all at once may answer about one at a time, as long as it does.
        let is_silent =
            |(_, request, answer): &Tried| answer.as_ref().is_ok_and(|one| silence(request, one).is_some());
        let mut silent: VecDeque<usize> =
            (0..tried.len()).filter(|index| is_silent(&tried[*index])).collect();
        let mut silences = 0;
        while let Some(index) = silent.pop_front().filter(|_| silences < PATIENCE) {
            let (_, request, answer) = &mut tried[index];
            *answer = dry_runs.ask_alone(request).await?;
            if is_silent(&tried[index]) {
                silences += 1;
                silent.push_back(index);
            } else {
                silences = 0;
            }
        }
        for (place, request, answer) in tried {
            let node = request.node.clone();
            let mut answer = match answer {
                Ok(answer) => answer,
                Err(kube::Error::Api(status)) => {
                    let why = why(&status, request.document.as_ref())?;
                    let lines = why.into_iter().map(|line| format!("{place}: {line}")).collect();
                    self.entries.push(Entry::new(node, Action::Rejected, lines));
                    continue;
                }
                Err(error) => return Err(explain(error, &format!("plan {node}"), &self.cluster.server)),
            };
            let live = request.planned.clone();
            let after = answer.object.unwrap_or_else(|| DynamicObject::new(&node.name, &request.resource));
            if node.kind == "ConfigMap" {
                let keys = keys(live.as_ref(), &after);
                self.add(edited_map(node.clone(), live.as_ref(), &after, &keys), request);
                if !keys.is_empty() {
                    changed.insert(node, Source::Keys(keys));
                }
                continue;
            }
            if !self.has_state(&node) {
                self.add(edited_plain(node, live.as_ref(), &after), request);
                continue;
            }
            let (failed, said): (Vec<_>, Vec<_>) = effects(&node, std::mem::take(&mut answer.warnings))
                .into_iter()
                .partition(|line| line.starts_with(NOT_COMPARED));
            for line in failed {
                let why = line.trim_start_matches(NOT_COMPARED).to_owned();
                self.not_compared.entry(why).or_default().push(node.clone());
            }
            let entry = edited(node.clone(), live.as_ref(), &after, said);
            let id = self.graph.get(&node).and_then(|resource| resource.status.external_ids.first().cloned());
            let is_recreated = entry.lines.iter().any(|line| Effect::of(line) == Some(Effect::Recreates));
            if let Some(id) = id.filter(|_| entry.action == Action::Replace || is_recreated) {
                changed.insert(node.clone(), Source::Replaced { id });
            }
            specs.insert(node, after.data["spec"].clone());
            self.add(entry, request);
        }
        let followed = Followed { cluster: self.cluster, graph: self.graph, specs, changed };
        followed.follow(&mut self.entries).await
    }

    /// Adds what a request does, and the request if it does something.
    fn add(&mut self, mut entry: Entry, request: Request) {
        // Without a document, nobody asks that the object shall exist.
        let asked_for = request.planned.as_ref().filter(|_| request.document.is_some());
        let is_blocked = asked_for.is_some_and(|live| live.metadata.deletion_timestamp.is_some());
        if entry.action.is_some() {
            entry.edit = Some(request.digest());
            self.applies.push(request);
        }
        self.entries.push(if is_blocked { being_deleted(entry) } else { entry });
    }

    /// What the deletion of these resources does, and whether it ends.
    pub(super) async fn delete(&mut self, nodes: &[Node]) -> Result<()> {
        let all: BTreeSet<&Node> = nodes.iter().collect();
        for node in in_order(self.graph, &all) {
            let kind = self.kind(node)?;
            let Some(resource) = self.graph.get(node) else {
                // It does not exist; or it may not be listed, and that is said.
                let (kind, name) = (format!("{}.{}", node.kind, node.group), node.name.clone());
                let cluster = self.cluster.of_namespace(&node.namespace);
                if let Ok((_, object)) = cluster.get(&Target { kind, name }).await {
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
                lines.push(would_wait(node, &others));
            }
            self.entries.push(Entry::new(node.clone(), action, lines));
        }
        Ok(())
    }

    /// The resources of Kraken among the documents.
    pub(super) fn named(&self, documents: &[Document]) -> Result<Vec<Node>> {
        let mut nodes = vec![];
        for document in documents {
            let found = self.object(document)?;
            nodes.extend(found.map(|(node, _)| node).filter(|node| self.has_state(node)));
        }
        Ok(nodes)
    }

    /// The object of a document, if it is a resource of Kraken or a ConfigMap.
    fn object(&self, document: &Document) -> Result<Option<(Node, ApiResource)>> {
        let text = |path: &str| document.object.pointer(path).and_then(Value::as_str);
        let (Some(api_version), Some(kind), Some(name)) =
            (text("/apiVersion"), text("/kind"), text("/metadata/name"))
        else {
            return Ok(None);
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if let Some(why) = self.cluster.kinds.unserved(group, kind, version) {
            bail!("{}: {why}", document.place);
        }
        let namespace = text("/metadata/namespace").unwrap_or(&self.cluster.namespace);
        let node = Node::new(namespace, group, kind, name);
        let resource = if (group, kind) == ("", "ConfigMap") {
            ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&())
        } else if let Some(resource) = self.cluster.kinds.without_state(group, kind, name) {
            resource.clone()
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
        Ok(Some((node, resource)))
    }

    /// Whether it is of a kind that controllers report on: neither a ConfigMap, a ReferenceGrant nor a static state.
    fn has_state(&self, node: &Node) -> bool {
        self.cluster.kinds.has_state(&node.group, &node.kind)
    }

    fn kind(&self, node: &Node) -> Result<&Kind> {
        self.cluster.kind(&format!("{}.{}", node.kind, node.group))
    }
}
