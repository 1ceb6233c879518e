//! Cycles of references: no member of one ever gets a value. As in the hub's graph, a ConfigExport stands for the ConfigMap or Secret that it
//! writes. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_options::{Dependency, KeyRef};

use super::{
    finding::Level,
    set::{Found, Member, Set},
};
use crate::graph::{Node, walk};

/// A reference between two members.
struct Edge<'a> {
    to: Node,
    field: String,
    /// The object with the field.
    at: &'a Node,
}

type Edges<'a> = BTreeMap<Node, Vec<Edge<'a>>>;

/// Each cycle, at a field of one of its members.
pub(super) fn cycles<'a>(set: &Set<'a>) -> Vec<(&'a Node, Found)> {
    let written: BTreeSet<Node> = set.members.iter().filter_map(Member::target).collect();
    let mut edges = Edges::new();
    for member in set.members {
        let at = &member.node;
        for reference in walk::references(&member.object["spec"]) {
            let top = reference.field.split(['.', '[']).next().unwrap_or_default();
            if member.follows.iter().any(|field| field == top) {
                continue;
            }
            let map = |kind: &str, key: &KeyRef| {
                Some(Node::new(&at.namespace, "", kind, &key.name)).filter(|map| written.contains(map))
            };
            let to = match &reference.dependency {
                Dependency::ConfigMap(key) => map("ConfigMap", key),
                Dependency::Secret(key) => map("Secret", key),
                Dependency::Resource(of) => set.member(at, of).map(|used| used.node.clone()),
            };
            let from = member.target().unwrap_or_else(|| at.clone());
            let edge = to.map(|to| Edge { to, field: reference.field, at });
            edges.entry(from).or_default().extend(edge);
        }
    }
    let (mut found, mut done) = (vec![], BTreeSet::new());
    for node in edges.keys() {
        visit(node, &edges, &mut vec![], &mut done, &mut found);
    }
    found
}

/// A depth-first search; an edge to an object on the way is a cycle.
fn visit<'a, 'e>(
    node: &'e Node,
    edges: &'e Edges<'a>,
    way: &mut Vec<&'e Node>,
    done: &mut BTreeSet<&'e Node>,
    found: &mut Vec<(&'a Node, Found)>,
) {
    if done.contains(node) {
        return;
    }
    way.push(node);
    for Edge { to, field, at } in edges.get(node).into_iter().flatten() {
        if let Some(start) = way.iter().position(|on| *on == to) {
            let names: Vec<_> = way[start..].iter().copied().chain([to]).map(name).collect();
            let text = format!("reference cycle: {}: none of them ever gets a value", names.join(" -> "));
            found.push((*at, (Level::Error, field.clone(), text)));
        } else {
            visit(to, edges, way, done, found);
        }
    }
    way.pop();
    done.insert(node);
}

/// As the hub names it.
fn name(node: &Node) -> String {
    let kind = if node.group.is_empty() { node.kind.clone() } else { node.kind.to_lowercase() };
    format!("{kind} {}", node.name)
}
