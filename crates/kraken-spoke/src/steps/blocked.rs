//! The dependents of a resource that is being deleted: they are deleted first. Client required only to list them.
//!
//! In many cases the provider would reject the deletion anyway, but each attempt costs a call, and its message names no
//! resource.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kraken_runtime::hash::HashMap;

use kraken_api::{
    DependencyRequest, OWNER_KIND_LABEL,
    names::{owner_kind, owner_name, referenced_kind},
};
use kraken_runtime::patch::{ApiError, within};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, VersionMatch},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::releases::Releases;

/// The maximum age of a list without dependents: remote objects are deleted because of it.
const FRESH: Duration = Duration::from_secs(1);
/// The maximum age of a list with dependents. It starts at `FRESH` and doubles while the list does not change: a
/// protected resource may block others for days.
const STALE: Duration = Duration::from_secs(8);

/// A resource: its kind with its group, and its name. In a reference the group may be missing.
pub(crate) type Node = (String, String);
/// The references between resources.
type Graph = BTreeMap<Node, BTreeSet<Node>>;

/// The recently listed references of each namespace with a deletion in progress; shared by all kinds of the process.
/// Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    namespaces: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<Listed>>>>>,
    /// The deletions that wait for dependents to be deleted.
    pub(crate) releases: Releases,
}

/// The latest list of one namespace.
#[derive(Debug, Default)]
struct Listed {
    newest: Option<(Instant, Arc<Graph>)>,
    /// How long the list is valid while it shows dependents.
    serves: Duration,
}

impl References {
    /// The resources that refer to this one and must be deleted first, as `kind name`.
    pub(crate) async fn blockers(
        &self,
        client: &Client,
        namespace: &str,
        of: &Node,
    ) -> Result<Vec<String>, ApiError> {
        let listed = self.of(namespace);
        // Held during the list call: other callers wait for its result instead of making their own call.
        let mut listed = listed.lock().await;
        if let Some((at, graph)) = &listed.newest {
            let blockers = blockers(graph, of);
            // A list that shows dependents too long delays a deletion; a list without dependents must be current.
            let serves = if blockers.is_empty() { FRESH } else { listed.serves };
            let is_outdated = self.releases.last(namespace).is_some_and(|released| released >= *at);
            if at.elapsed() < serves && !is_outdated {
                return Ok(named(blockers));
            }
        }
        let graph = Arc::new(list(client, namespace).await?);
        let is_same = listed.newest.as_ref().is_some_and(|(_, before)| *before == graph);
        listed.serves = if is_same { (listed.serves * 2).clamp(FRESH, STALE) } else { FRESH };
        listed.newest = Some((Instant::now(), graph.clone()));
        Ok(named(blockers(&graph, of)))
    }

    fn of(&self, namespace: &str) -> Arc<tokio::sync::Mutex<Listed>> {
        let mut namespaces = self.namespaces.lock();
        // Lists that were not used for a while are dropped; a locked list is in use.
        let is_in_use = |listed: &Arc<tokio::sync::Mutex<Listed>>| {
            let Ok(listed) = listed.try_lock() else { return true };
            listed.newest.as_ref().is_some_and(|(at, _)| at.elapsed() < STALE * 2)
        };
        namespaces.retain(|name, listed| name == namespace || is_in_use(listed));
        namespaces.entry(namespace.to_owned()).or_default().clone()
    }
}

async fn list(client: &Client, namespace: &str) -> Result<Graph, ApiError> {
    let api: Api<DependencyRequest> = Api::namespaced(client.clone(), namespace);
    // Served from the API server's cache: a second of staleness is acceptable, and etcd is not read.
    let params = ListParams {
        version_match: Some(VersionMatch::NotOlderThan),
        resource_version: Some("0".to_owned()),
        ..ListParams::default()
    };
    let requests = within("list the references of the namespace", api.list(&params)).await?;
    Ok(graph_of(&requests.items))
}

fn named(blockers: Vec<Node>) -> Vec<String> {
    let shown = |(kind, name): Node| format!("{} {name}", kind.split('.').next().unwrap_or_default());
    blockers.into_iter().map(shown).collect()
}

fn graph_of(requests: &[DependencyRequest]) -> Graph {
    let mut graph = Graph::new();
    for request in requests {
        let Some(owner) = owner_of(request) else { continue };
        let to = request.spec.kraken_resource_dependencies.iter();
        let to = to.map(|d| (referenced_kind(&d.kind), d.name.clone()));
        graph.entry(owner).or_default().extend(to);
    }
    graph
}

/// The resource whose references a request contains. After `kubectl delete --cascade=orphan` only the request's name
/// and label identify it.
fn owner_of(request: &DependencyRequest) -> Option<Node> {
    if let Some(owner) = request.owner_references().iter().find(|owner| owner.controller == Some(true)) {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        return Some((owner_kind(&owner.kind, group), owner.name.clone()));
    }
    let kind = request.labels().get(OWNER_KIND_LABEL)?;
    Some((kind.clone(), owner_name(kind, &request.name_any())?.to_owned()))
}

/// The dependents of `of`, except those that `of` depends on in turn: a cycle would block itself forever.
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

/// Whether a reference may refer to this resource. Without a group it may refer to one of any group.
fn may_mean(reference: &Node, resource: &Node) -> bool {
    let kind = &resource.0;
    let is_kind = *kind == reference.0
        || kind.strip_prefix(reference.0.as_str()).is_some_and(|group| group.starts_with('.'));
    is_kind && resource.1 == reference.1
}

/// The resources with references of their own among those that a reference may refer to.
fn meant_by<'a>(graph: &'a Graph, reference: &'a Node) -> impl Iterator<Item = &'a Node> {
    // All kinds that begin with this name: the next character of the kind is a dot, and a slash follows the dot in
    // ASCII.
    let of_kind = (reference.0.clone(), String::new())..(format!("{}/", reference.0), String::new());
    graph.range(of_kind).map(|(node, _)| node).filter(|node| may_mean(reference, node))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Node {
        ("gadget".to_owned(), name.to_owned())
    }

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry(node(from)).or_default().insert(node(to));
        }
        graph
    }

    /// An API server on which `subnet a` refers to `vpc a`, and which counts its list calls.
    fn server() -> (Client, Arc<std::sync::atomic::AtomicUsize>) {
        let lists = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = lists.clone();
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let body = serde_json::json!({"metadata": {}, "items": [{
                "metadata": {"name": "subnet-a", "ownerReferences": [
                    {"apiVersion": "a/v1", "kind": "Subnet", "name": "a", "uid": "u", "controller": true}]},
                "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": "a", "type": "any"}]},
            }]});
            async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let body = kube::client::Body::from(body.to_string().into_bytes());
                Ok::<_, std::io::Error>(http::Response::new(body))
            }
        });
        (Client::new(service, "default"), lists)
    }

    #[tokio::test(start_paused = true)]
    async fn deletions_of_all_kinds_share_a_list_and_a_long_block_is_listed_rarely() {
        let (client, lists) = server();
        let (vpc, references) = (("vpc".to_owned(), "a".to_owned()), References::default());
        let other_kind = references.clone();
        let all = (0..1000).map(|n| {
            let references = if n % 2 == 0 { &references } else { &other_kind };
            references.blockers(&client, "ns", &vpc)
        });
        for blockers in futures::future::join_all(all).await {
            assert_eq!(blockers.unwrap(), ["subnet a"]);
        }
        assert_eq!(lists.load(std::sync::atomic::Ordering::SeqCst), 1);
        for _ in 0..300 {
            references.blockers(&client, "ns", &vpc).await.unwrap();
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        let listed = lists.load(std::sync::atomic::Ordering::SeqCst);
        assert!((60..90).contains(&listed), "{listed} lists in ten minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn absence_of_dependents_requires_a_fresh_list() {
        let (client, lists) = server();
        let (vpc, subnet) = (("vpc".to_owned(), "a".to_owned()), ("subnet".to_owned(), "a".to_owned()));
        let references = References::default();
        for _ in 0..5 {
            references.blockers(&client, "ns", &vpc).await.unwrap();
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        references.blockers(&client, "ns", &vpc).await.unwrap();
        let before = lists.load(std::sync::atomic::Ordering::SeqCst);
        tokio::time::sleep(FRESH).await;
        assert!(references.blockers(&client, "ns", &subnet).await.unwrap().is_empty());
        assert_eq!(lists.load(std::sync::atomic::Ordering::SeqCst), before + 1);
    }

    #[test]
    fn dependents_are_deleted_first() {
        let graph = graph(&[("subnet", "vpc"), ("instance", "subnet")]);
        assert_eq!(blockers(&graph, &node("vpc")), [node("subnet")]);
        assert_eq!(blockers(&graph, &node("subnet")), [node("instance")]);
        assert!(blockers(&graph, &node("instance")).is_empty());
    }

    #[test]
    fn request_without_owner_reference_belongs_to_the_resource_in_its_name() {
        let request = serde_json::json!({
            "metadata": {"name": "subnet.aws.a", "labels": {OWNER_KIND_LABEL: "subnet.aws"}},
            "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": "main", "type": "any"}]},
        });
        let graph = graph_of(&[serde_json::from_value(request).unwrap()]);
        let at = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        assert_eq!(blockers(&graph, &at("vpc.aws", "main")), [at("subnet.aws", "a")]);
    }

    #[test]
    fn reference_without_group_matches_a_resource_of_any_group() {
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
        assert!(blockers(&graph, &at("vpc.aws", "looped")).is_empty(), "a cycle");
    }

    #[test]
    fn cycle_does_not_block_its_members_but_an_outside_dependent_does() {
        let graph = graph(&[("a", "b"), ("b", "a"), ("outside", "a")]);
        assert_eq!(blockers(&graph, &node("a")), [node("outside")]);
        assert!(blockers(&graph, &node("b")).is_empty());
    }
}
