//! `kubectl kraken status --watch`: on a terminal the whole tree again, in a pipe a line for each change.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Result, bail};
use futures::{Stream, StreamExt as _, stream};
use kube::{
    api::DynamicObject,
    runtime::watcher::{Config, Event, watcher},
};
use tokio::time::{Instant, timeout_at};

use super::status;
use crate::{
    cluster::Cluster,
    discovery::Kind,
    graph::{Graph, Node},
    output::TextOrJson,
    print::{Lines, Style, clean, out},
    resource::Resource,
};

/// Changes within this time after the first one are shown together.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// A failing watch is retried after this time.
const RETRY: Duration = Duration::from_secs(2);
/// The cursor at the top left, and nothing below.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// What the watches know.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) known: BTreeMap<Node, Arc<DynamicObject>>,
    /// The objects of each list that is in progress, by group and kind: what is not in a complete list was deleted.
    listed: BTreeMap<(String, String), BTreeSet<Node>>,
    /// Why a watch failed, until a list is complete again.
    pub(super) problem: Option<String>,
}

/// What a watch of one kind reports.
pub(super) enum Change {
    Applied(Box<DynamicObject>),
    Deleted(Box<DynamicObject>),
    /// A list of this group and kind begins.
    ListBegins(String, String),
    /// It is complete.
    ListEnds(String, String),
    Failed(String),
}

pub(super) async fn run(cluster: &Cluster, words: &[String], output: TextOrJson) -> Result<ExitCode> {
    if output == TextOrJson::Json {
        bail!("-w prints text only: use -o json without it");
    }
    // Errors such as missing rights are reported once, before the watch.
    let listed = cluster.resources().await?;
    listed.warn();
    let forbidden = listed.forbidden;
    let mut objects = Objects::of(listed.objects);
    let style = Style::of_stdout();
    let mut before = BTreeMap::new();
    let kinds = cluster.kinds.users().filter(|kind| !forbidden.contains(&kind.resource.plural));
    let mut changes = pin!(changes(cluster, kinds.cloned()));
    loop {
        let graph = Graph::of(&cluster.kinds, objects.known.values().map(|object| (**object).clone()));
        let nodes = status::shown(cluster, &graph, words).await?;
        if style.is_terminal {
            out(&format!("{CLEAR}{}", status::text(&graph, &nodes, style)))?;
        } else {
            let now = lines(&graph, &nodes);
            let is_new = |(node, line): &(&Node, &String)| before.get(*node) != Some(*line);
            let mut text = Lines::default();
            now.iter().filter(is_new).for_each(|(_, line)| text.line(line));
            for node in before.keys().filter(|node| !now.contains_key(*node)) {
                text.line(format!("{}  {node}  deleted", node.namespace));
            }
            out(&text.finish())?;
            before = now;
        }
        if !objects.follow(&mut changes).await {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// All changes of these kinds, which the user may list.
pub(super) fn changes(cluster: &Cluster, kinds: impl Iterator<Item = Kind>) -> impl Stream<Item = Change> {
    let each = kinds.map(|kind| {
        let api = cluster.api(&kind, cluster.scope.as_deref());
        let events = watcher(api, Config::default()).then(move |event| {
            let change = match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => {
                    Change::Applied(Box::new(kind.typed(object)))
                }
                Ok(Event::Delete(object)) => Change::Deleted(Box::new(kind.typed(object))),
                Ok(Event::Init) => {
                    Change::ListBegins(kind.resource.group.clone(), kind.resource.kind.clone())
                }
                Ok(Event::InitDone) => {
                    Change::ListEnds(kind.resource.group.clone(), kind.resource.kind.clone())
                }
                Err(error) => Change::Failed(format!("{}: {error}", kind.resource.plural)),
            };
            async move {
                if matches!(change, Change::Failed(_)) {
                    tokio::time::sleep(RETRY).await;
                }
                change
            }
        });
        events.boxed()
    });
    stream::select_all(each)
}

impl Objects {
    pub(super) fn of(objects: Vec<DynamicObject>) -> Self {
        Self { known: objects.into_iter().filter_map(keyed).collect(), ..Self::default() }
    }

    /// Waits for a change, and takes those that follow at once with it; false if the watches ended.
    pub(super) async fn follow(&mut self, changes: &mut (impl Stream<Item = Change> + Unpin)) -> bool {
        let Some(first) = changes.next().await else { return false };
        self.apply(first);
        // Not the time since the last change: in a cluster that changes all the time nothing would be shown.
        let end = Instant::now() + DEBOUNCE;
        while Instant::now() < end
            && let Ok(Some(next)) = timeout_at(end, changes.next()).await
        {
            self.apply(next);
        }
        true
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Applied(object) => {
                let Some((node, object)) = keyed(*object) else { return };
                if let Some(listed) = self.listed.get_mut(&(node.group.clone(), node.kind.clone())) {
                    listed.insert(node.clone());
                }
                self.known.insert(node, object);
            }
            Change::Deleted(object) => {
                if let Some((node, _)) = keyed(*object) {
                    self.known.remove(&node);
                }
            }
            Change::ListBegins(group, kind) => {
                self.listed.insert((group, kind), BTreeSet::new());
            }
            Change::ListEnds(group, kind) => {
                self.problem = None;
                let key = (group, kind);
                let Some(listed) = self.listed.remove(&key) else { return };
                let is_of_kind = |node: &Node| node.group == key.0 && node.kind == key.1;
                self.known.retain(|node, _| !is_of_kind(node) || listed.contains(node));
            }
            Change::Failed(why) => {
                // Once, and not for every watch every two seconds while the cluster is away.
                if self.problem.is_none() {
                    eprintln!("the watch failed and is repeated: {}", clean(&why));
                }
                self.problem = Some(why);
            }
        }
    }
}

fn keyed(mut object: DynamicObject) -> Option<(Node, Arc<DynamicObject>)> {
    // Half of the memory, and nothing reads it.
    object.metadata.managed_fields = None;
    Resource::of(object.clone()).map(|resource| (resource.node, Arc::new(object)))
}

/// A line for each resource, as `kubectl get --watch` prints them.
fn lines(graph: &Graph, nodes: &[Node]) -> BTreeMap<Node, String> {
    let line = |node: &Node| {
        let resource = graph.get(node)?;
        let cells = [
            node.namespace.clone(),
            node.to_string(),
            status::state(resource).0.to_owned(),
            resource.reason.clone(),
            resource.ids().first().cloned().unwrap_or_else(|| "-".to_owned()),
            graph.note(resource),
        ];
        Some((node.clone(), cells.join("  ")))
    };
    nodes.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::graph::fixtures::{object, ready};

    #[test]
    fn what_a_new_list_lacks_was_deleted_while_the_watch_was_interrupted() {
        let applied = |name: &str| Change::Applied(Box::new(object("VPC", name, json!({}), ready())));
        let key = || ("aws.kraken-iac.eoinfennessy.com".to_owned(), "VPC".to_owned());
        let mut objects = Objects::default();
        objects.apply(applied("a"));
        objects.apply(applied("b"));
        objects.apply(Change::Applied(Box::new(object("Subnet", "s", json!({}), ready()))));
        objects.apply(Change::ListBegins(key().0, key().1));
        objects.apply(applied("b"));
        assert_eq!(objects.known.len(), 3, "nothing disappears before the list is complete");
        objects.apply(Change::ListEnds(key().0, key().1));
        let names: Vec<_> = objects.known.keys().map(ToString::to_string).collect();
        assert_eq!(names, ["Subnet/s", "VPC/b"]);
        objects.apply(Change::Deleted(Box::new(object("VPC", "b", json!({}), ready()))));
        assert_eq!(objects.known.len(), 1);
    }
}
