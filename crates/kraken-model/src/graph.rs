//! The references between the resources of a namespace, and those from other namespaces to it, and the dependents that are deleted
//! before a resource. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_api::{
    DependencyRequest,
    dependency_request::{InPlaceDependency, ResourceDependency},
    names::{self, owner_kind, referenced_kind},
};
use kube::api::ObjectMeta;

/// A resource, as seen from one namespace: its kind with its group, and its name, `namespace:name` in another namespace. In a
/// reference the group may be missing.
pub type Node = (String, String);
/// The references between resources.
pub type Graph = BTreeMap<Node, BTreeSet<Node>>;

/// The references of these requests. One to another namespace counts if it is permitted, or was: nobody can delay a deletion in a
/// namespace that did not consent.
pub fn graph_of(seen_from: &str, requests: &[DependencyRequest]) -> Graph {
    let mut graph = Graph::new();
    for request in requests {
        let Some(owner) = owner_seen_from(seen_from, request) else { continue };
        let in_place =
            request.spec.in_place_dependencies.iter().map(|used| node_in_place(seen_from, request, used));
        let wanted = request.spec.kraken_resource_dependencies.iter();
        let wanted = wanted.filter(|wanted| request.may_use(&wanted.reference()));
        let to = wanted.map(|wanted| node_of(seen_from, request, wanted)).chain(in_place);
        graph.entry(owner).or_default().extend(to);
    }
    graph
}

/// The resource that remote objects may use although the spec refers to it no more.
pub fn node_in_place(seen_from: &str, request: &DependencyRequest, used: &InPlaceDependency) -> Node {
    node(seen_from, request, &used.kind, used.namespace.as_deref(), &used.name)
}

/// The resource that a reference names.
pub fn node_of(seen_from: &str, request: &DependencyRequest, wanted: &ResourceDependency) -> Node {
    node(seen_from, request, &wanted.kind, wanted.namespace.as_deref(), &wanted.name)
}

fn node(seen_from: &str, of: &DependencyRequest, kind: &str, namespace: Option<&str>, name: &str) -> Node {
    let namespace = namespace.or(of.metadata.namespace.as_deref());
    (referenced_kind(kind), named_from(seen_from, namespace, name))
}

/// The name of a resource as it is written in a namespace.
pub fn named_from(seen_from: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace.filter(|namespace| *namespace != seen_from) {
        Some(namespace) => format!("{namespace}:{name}"),
        None => name.to_owned(),
    }
}

/// The owner of a request.
pub fn owner_seen_from(seen_from: &str, request: &DependencyRequest) -> Option<Node> {
    let (kind, name) = owner_of(&request.metadata)?;
    Some((kind, named_from(seen_from, request.metadata.namespace.as_deref(), &name)))
}

/// The resource that owns a DependencyRequest or a StateDeclaration, by its name: a client can remove or replace the owner
/// reference, as `kubectl delete --cascade=orphan` does, or the label, and its spoke does not restore them during the deletion of
/// the resource.
pub fn owner_of(meta: &ObjectMeta) -> Option<Node> {
    if let Some((kind, name)) = meta.name.as_deref().and_then(names::owner) {
        return Some((kind.to_owned(), name.to_owned()));
    }
    // A truncated name does not contain the one of the owner.
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|reference| reference.controller == Some(true))?;
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    Some((owner_kind(&owner.kind, group), owner.name.clone()))
}

/// The dependents of `of`, except those that `of` depends on in turn: a cycle would block itself forever.
pub fn blockers(graph: &Graph, of: &Node) -> Vec<Node> {
    let mut reached = BTreeSet::new();
    let mut open = vec![of];
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(graph.get(node).into_iter().flatten().flat_map(|to| matches_of(graph, to)));
        }
    }
    let refers = |(from, to): &(&Node, &BTreeSet<Node>)| {
        !reached.contains(*from) && to.iter().any(|to| may_refer_to(to, of))
    };
    graph.iter().filter(refers).map(|(from, _)| from.clone()).collect()
}

/// Whether a reference may refer to this resource. Without a group it may refer to one of any group.
pub fn may_refer_to(reference: &Node, resource: &Node) -> bool {
    let kind = &resource.0;
    let is_kind = *kind == reference.0
        || kind.strip_prefix(reference.0.as_str()).is_some_and(|group| group.starts_with('.'));
    is_kind && resource.1 == reference.1
}

/// The resources with references of their own among those that a reference may refer to.
fn matches_of<'a>(graph: &'a Graph, reference: &'a Node) -> impl Iterator<Item = &'a Node> {
    // All kinds that begin with this name: the next character of the kind is a dot, and a slash follows the dot in
    // ASCII.
    let of_kind = (reference.0.clone(), String::new())..(format!("{}/", reference.0), String::new());
    graph.range(of_kind).map(|(node, _)| node).filter(|node| may_refer_to(reference, node))
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

    #[test]
    fn dependents_are_deleted_first() {
        let graph = graph(&[("subnet", "vpc"), ("instance", "subnet")]);
        assert_eq!(blockers(&graph, &node("vpc")), [node("subnet")]);
        assert_eq!(blockers(&graph, &node("subnet")), [node("instance")]);
        assert!(blockers(&graph, &node("instance")).is_empty());
    }

    #[test]
    fn request_belongs_to_the_resource_in_its_name() {
        let at = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        let other = serde_json::json!([
            {"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "name": "main", "uid": "u", "controller": true},
        ]);
        // A client can remove or replace the owner reference and the label.
        for owners in [serde_json::json!([]), other] {
            let request = serde_json::json!({
                "metadata": {"name": "subnet.aws.a", "ownerReferences": owners},
                "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": "main", "type": "any"}]},
            });
            let graph = graph_of("ns", &[serde_json::from_value(request).unwrap()]);
            assert_eq!(blockers(&graph, &at("vpc.aws", "main")), [at("subnet.aws", "a")]);
        }
    }

    #[test]
    fn request_with_a_truncated_name_belongs_to_its_owner() {
        let at = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        let long = "a".repeat(253);
        let request = serde_json::json!({
            "metadata": {"name": names::owned_name("subnet.aws", &long), "ownerReferences": [
                {"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet", "name": long, "uid": "u",
                    "controller": true}]},
            "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": "main", "type": "any"}]},
        });
        let graph = graph_of("ns", &[serde_json::from_value(request).unwrap()]);
        assert_eq!(blockers(&graph, &at("vpc.aws", "main")), [at("subnet.aws", &long)]);
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

    /// A request of a subnet in this namespace that refers to `vpc platform:main`, with this answer.
    fn request_in(namespace: &str, status: &serde_json::Value) -> DependencyRequest {
        let request = serde_json::json!({
            "metadata": {"name": "subnet.aws.a", "namespace": namespace},
            "spec": {"krakenResourceDependencies": [{"kind": "vpc", "name": "main", "namespace": "platform", "type": "any"}]},
            "status": status,
        });
        serde_json::from_value(request).unwrap()
    }

    fn blockers_of_main(requests: &[DependencyRequest]) -> Vec<Node> {
        blockers(&graph_of("platform", requests), &("vpc.aws".to_owned(), "main".to_owned()))
    }

    #[test]
    fn dependent_in_another_namespace_blocks_if_its_reference_is_or_was_permitted() {
        let unmet = |reason: &str, withdrawn: bool| {
            serde_json::json!({"unmet": [{"kind": "vpc", "name": "platform:main", "entry": "", "reason": reason,
                "message": "m", "withdrawn": withdrawn}]})
        };
        let value = serde_json::json!({"dependentValues": {"fromKrakenResources": {"vpc": {"platform:main": {"": "vpc-1"}}}}});
        for (status, blocks) in [
            (value, true),
            (unmet("StateNotFound", false), true),
            (unmet("RefNotPermitted", true), true),
            (unmet("RefNotPermitted", false), false),
            (serde_json::json!({}), false),
            (serde_json::Value::Null, false),
        ] {
            let expected = blocks.then(|| ("subnet.aws".to_owned(), "shop:a".to_owned()));
            let found = blockers_of_main(&[request_in("shop", &status)]);
            assert_eq!(found, Vec::from_iter(expected), "{status}");
        }
        let own = blockers_of_main(&[request_in("platform", &serde_json::Value::Null)]);
        assert_eq!(own, [("subnet.aws".to_owned(), "a".to_owned())], "a namespace needs no grant of its own");
    }

    #[test]
    fn resource_of_the_same_name_in_another_namespace_is_not_blocked() {
        let mut request = request_in("shop", &serde_json::Value::Null);
        request.spec.kraken_resource_dependencies[0].namespace = None;
        assert!(blockers_of_main(&[request]).is_empty());
    }

    #[test]
    fn cycle_does_not_block_its_members_but_an_outside_dependent_does() {
        let graph = graph(&[("a", "b"), ("b", "a"), ("outside", "a")]);
        assert_eq!(blockers(&graph, &node("a")), [node("outside")]);
        assert!(blockers(&graph, &node("b")).is_empty());
    }
}
