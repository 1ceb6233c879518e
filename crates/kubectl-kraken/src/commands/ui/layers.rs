//! Resources as a graph by references: each is to the right of everything that it uses. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::live::key;
use crate::graph::{Graph, Node, Via};

/// The number of nodes that a person can still read.
const MAX_NODES: usize = 400;

/// These resources and what they use, in layers: `nodes` with the number of their layer, `edges` from a user to what it uses, and how many
/// resources are left out.
pub(super) fn layers(graph: &Graph, of: &[&Node]) -> Value {
    let shown: BTreeSet<&Node> = of.iter().take(MAX_NODES).copied().collect();
    let mut edges = BTreeSet::new();
    for node in &shown {
        // Everything uses an Account: its edges say nothing.
        let used = graph.uses(node).iter().filter(|used| used.via != Via::Account);
        edges.extend(used.map(|used| (*node, &used.of)));
        // Who uses it is shown only if it is one of them, or else a VPC would have everything beside it.
    }
    let nodes: BTreeSet<&Node> = shown.iter().copied().chain(edges.iter().map(|(_, used)| *used)).collect();
    let depths = depths(&nodes, &edges);
    let node = |node: &&Node| {
        let is_resource = graph.get(node).is_some();
        json!({
            "id": key(node), "key": is_resource.then(|| key(node)), "object": node.to_string(), "layer": depths[*node],
            "isOuter": !shown.contains(*node),
        })
    };
    json!({
        "nodes": nodes.iter().map(node).collect::<Vec<_>>(),
        "edges": edges.iter().map(|(user, used)| [key(user), key(used)]).collect::<Vec<_>>(),
        "more": of.len().saturating_sub(MAX_NODES),
    })
}

/// The longest way from a node that uses nothing. An edge that closes a cycle counts no more.
fn depths<'a>(
    nodes: &BTreeSet<&'a Node>,
    edges: &BTreeSet<(&'a Node, &'a Node)>,
) -> BTreeMap<&'a Node, usize> {
    let mut depths: BTreeMap<&Node, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    // As often as the longest way without a cycle can be.
    for _ in 0..nodes.len().min(32) {
        let mut is_changed = false;
        for (user, used) in edges {
            let depth = depths[used] + 1;
            if depths[user] < depth && depth <= nodes.len() {
                depths.insert(user, depth);
                is_changed = true;
            }
        }
        if !is_changed {
            break;
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, ready, stack, using};

    fn placed(graph: &Graph) -> Vec<(String, u64)> {
        let all: Vec<&Node> = graph.resources().map(|resource| &resource.node).collect();
        let layers = layers(graph, &all);
        let node =
            |node: &Value| (node["object"].as_str().unwrap().to_owned(), node["layer"].as_u64().unwrap());
        layers["nodes"].as_array().unwrap().iter().map(node).collect()
    }

    #[test]
    fn each_is_to_the_right_of_what_it_uses() {
        let placed: BTreeMap<_, _> = placed(&graph(stack())).into_iter().collect();
        assert_eq!(placed["Secret/db"], 0);
        assert_eq!(placed["VPC/shop"], 0);
        assert_eq!(placed["Subnet/a"], 1);
        assert_eq!(placed["EC2Instance/web-a"], 2);
        assert_eq!(placed["ListenerRule/static"], 5);
    }

    #[test]
    fn a_cycle_ends() {
        let group = |name: &str, other: &str| using("SecurityGroup", name, &[("ingress", other)], ready());
        let graph = graph([group("a", "SecurityGroup/b"), group("b", "SecurityGroup/a")]);
        assert_eq!(placed(&graph).len(), 2);
    }
}
