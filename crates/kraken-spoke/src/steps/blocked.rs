//! Who still refers to a resource that is being deleted: they go first. Client required for the list alone.
//!
//! The cloud would refuse in many cases anyway, but it is asked in vain each time, and its words name no resource.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use kraken_api::{
    DependencyRequest,
    names::{owner_kind, referenced_kind},
};
use kraken_runtime::patch::{ApiError, within};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, VersionMatch},
};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long one list of a namespace's references serves all who ask.
const FRESH: Duration = Duration::from_secs(1);

/// A resource: its kind with its group, and its name. In a reference the group may be missing.
pub(crate) type Node = (String, String);
/// Who refers to whom.
type Graph = BTreeMap<Node, BTreeSet<Node>>;

/// The references of each namespace in which something is being deleted, as listed a moment ago.
#[derive(Debug, Default)]
pub(crate) struct References {
    lists: Mutex<HashMap<String, (Instant, Arc<Graph>)>>,
}

impl References {
    /// The resources that refer to this one and must go first, as `kind name`.
    pub(crate) async fn blockers(
        &self,
        client: &Client,
        namespace: &str,
        of: &Node,
    ) -> Result<Vec<String>, ApiError> {
        let graph = self.graph(client, namespace).await?;
        let shown = |(kind, name): Node| format!("{} {name}", kind.split('.').next().unwrap_or_default());
        Ok(blockers(&graph, of).into_iter().map(shown).collect())
    }

    async fn graph(&self, client: &Client, namespace: &str) -> Result<Arc<Graph>, ApiError> {
        let known = self
            .lists
            .lock()
            .get(namespace)
            .filter(|(at, _)| at.elapsed() < FRESH)
            .map(|(_, graph)| graph.clone());
        if let Some(graph) = known {
            return Ok(graph);
        }
        let api: Api<DependencyRequest> = Api::namespaced(client.clone(), namespace);
        // From the API server's own cache: a second of age does no harm, and etcd is not asked.
        let params = ListParams {
            version_match: Some(VersionMatch::NotOlderThan),
            resource_version: Some("0".to_owned()),
            ..ListParams::default()
        };
        let requests = within("list the references of the namespace", api.list(&params)).await?;
        let graph = Arc::new(graph_of(&requests.items));
        let mut lists = self.lists.lock();
        lists.retain(|_, (at, _)| at.elapsed() < FRESH);
        lists.insert(namespace.to_owned(), (Instant::now(), graph.clone()));
        Ok(graph)
    }
}

fn graph_of(requests: &[DependencyRequest]) -> Graph {
    let mut graph = Graph::new();
    for request in requests {
        let owner = request.owner_references().iter().find(|owner| owner.controller == Some(true));
        let Some(owner) = owner else { continue };
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        let to = request.spec.kraken_resource_dependencies.iter();
        let to = to.map(|d| (referenced_kind(&d.kind), d.name.clone()));
        graph.entry((owner_kind(&owner.kind, group), owner.name.clone())).or_default().extend(to);
    }
    graph
}

/// Those that refer to `of`, except those that it refers to in turn: a circle would block itself for ever.
fn blockers(graph: &Graph, of: &Node) -> Vec<Node> {
    let mut reached = BTreeSet::new();
    let mut open = vec![of];
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(graph.get(node).into_iter().flatten().flat_map(|to| meant_by(graph, to)));
        }
    }
    let refers = |(from, to): &(&Node, &BTreeSet<Node>)| {
        !reached.contains(*from) && to.iter().any(|to| may_mean(to, of))
    };
    graph.iter().filter(refers).map(|(from, _)| from.clone()).collect()
}

/// Whether a reference may mean this resource. Without a group it may mean one of any group.
fn may_mean(reference: &Node, resource: &Node) -> bool {
    let kind = &resource.0;
    let is_kind = *kind == reference.0
        || kind.strip_prefix(reference.0.as_str()).is_some_and(|group| group.starts_with('.'));
    is_kind && resource.1 == reference.1
}

/// Those who refer to something themselves among the resources that a reference may mean.
fn meant_by<'a>(graph: &'a Graph, reference: &'a Node) -> impl Iterator<Item = &'a Node> {
    // All kinds that begin with it: what follows in a name is a dot, and a slash is the next character after it.
    let of_kind = (reference.0.clone(), String::new())..(format!("{}/", reference.0), String::new());
    graph.range(of_kind).map(|(node, _)| node).filter(|node| may_mean(reference, node))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Node {
        ("thing".to_owned(), name.to_owned())
    }

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry(node(from)).or_default().insert(node(to));
        }
        graph
    }

    #[test]
    fn who_refers_goes_first() {
        let graph = graph(&[("subnet", "vpc"), ("instance", "subnet")]);
        assert_eq!(blockers(&graph, &node("vpc")), [node("subnet")]);
        assert_eq!(blockers(&graph, &node("subnet")), [node("instance")]);
        assert!(blockers(&graph, &node("instance")).is_empty());
    }

    #[test]
    fn a_reference_without_a_group_may_mean_a_resource_of_any_group() {
        let at = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        let graph = Graph::from([
            (at("subnet.aws", "a"), BTreeSet::from([at("vpc", "main")])),
            (at("subnet.acme", "b"), BTreeSet::from([at("vpc.acme", "main")])),
            (at("vpc.aws", "looped"), BTreeSet::from([at("vpcpeering", "p")])),
            (at("vpcpeering.aws", "p"), BTreeSet::from([at("vpc", "looped")])),
        ]);
        assert_eq!(blockers(&graph, &at("vpc.aws", "main")), [at("subnet.aws", "a")]);
        assert_eq!(
            blockers(&graph, &at("vpc.acme", "main")),
            [at("subnet.acme", "b"), at("subnet.aws", "a")]
        );
        assert!(blockers(&graph, &at("vpc.aws", "looped")).is_empty(), "a circle");
    }

    #[test]
    fn a_circle_blocks_nobody_in_it_and_somebody_outside_still_does() {
        let graph = graph(&[("a", "b"), ("b", "a"), ("outside", "a")]);
        assert_eq!(blockers(&graph, &node("a")), [node("outside")]);
        assert!(blockers(&graph, &node("b")).is_empty());
    }
}
