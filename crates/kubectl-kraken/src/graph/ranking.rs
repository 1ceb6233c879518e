//! What to fix first: the root causes, ranked by the number of resources that they hold back. Pure.

use std::cmp::Reverse;

use super::{Graph, Node, Root};
use crate::resource::Ready;

/// A root cause, and the resources that it holds back, itself included if it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranked {
    pub(crate) root: Root,
    pub(crate) holds_back: Vec<Node>,
}

impl Graph {
    /// All root causes of the resources that are not ready: those that require a person first, then by the number of resources.
    pub(crate) fn ranked<'a>(&self, among: impl IntoIterator<Item = &'a Node>) -> Vec<Ranked> {
        let mut ranked: Vec<Ranked> = vec![];
        let waiting =
            among.into_iter().filter(|node| self.get(node).is_some_and(|one| one.ready != Ready::Yes));
        for node in waiting {
            for root in self.roots(node) {
                let known = ranked
                    .iter_mut()
                    .find(|known| known.root.node == root.node && known.root.message == root.message);
                match known {
                    Some(known) => known.holds_back.push(node.clone()),
                    None => ranked.push(Ranked { root, holds_back: vec![node.clone()] }),
                }
            }
        }
        ranked.sort_by_key(|one| (one.root.next, Reverse(one.holds_back.len())));
        ranked
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::graph::{Node, fixtures::*};

    #[test]
    fn what_holds_back_most_is_first_and_progress_is_last() {
        let mut objects = stack();
        objects.push(object("VPC", "new", json!({}), not_ready("Creating", "created vpc-1")));
        for name in ["a", "b", "c", "d", "e", "f"] {
            let waiting = not_ready(
                "DependenciesNotReady",
                "spec.vpcID: vpc new exists and has not published a state yet",
            );
            objects.push(using("SecurityGroup", name, &[("vpcID", "VPC/new")], waiting));
        }
        let graph = graph(objects);
        let all: Vec<Node> = graph.resources().map(|resource| resource.node.clone()).collect();
        let ranked = graph.ranked(&all);
        let lines: Vec<_> =
            ranked.iter().map(|one| format!("{} {}", one.root.node, one.holds_back.len())).collect();
        assert_eq!(lines, ["Secret/db 5", "ConfigMap/shop 2", "VPC/new 7"]);
    }

    #[test]
    fn ten_thousand_resources_are_ranked_quickly() {
        let mut objects = vec![object("VPC", "x", json!({}), not_ready("CloudRefused", "limit"))];
        for index in 0..10_000 {
            let on = if index == 0 { "VPC/x".to_owned() } else { format!("Subnet/s{}", (index - 1) / 10) };
            let name = on.split_once('/').unwrap().1.to_owned();
            let message = format!("spec.of: subnet {name} exists and has not published a state yet");
            objects.push(using(
                "Subnet",
                &format!("s{index}"),
                &[("of", &on)],
                not_ready("DependenciesNotReady", &message),
            ));
        }
        let start = std::time::Instant::now();
        let graph = graph(objects);
        let all: Vec<Node> = graph.resources().map(|resource| resource.node.clone()).collect();
        let ranked = graph.ranked(&all);
        assert_eq!(ranked[0].holds_back.len(), 10_001);
        let rows = graph.tree(&all);
        assert_eq!(rows.len(), 10_001);
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
