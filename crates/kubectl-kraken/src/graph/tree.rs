//! The resources as a tree in which each is below one that it uses. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, Node, Via};

/// One line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The lines that connect it to its parent, such as `│ └ `.
    pub(crate) branch: String,
    pub(crate) node: Node,
}

impl Graph {
    /// These resources as a tree: each is once in it, below the one of those that it uses which is deepest.
    pub(crate) fn tree(&self, among: &[Node]) -> Vec<Row> {
        let among: BTreeSet<&Node> = among.iter().collect();
        let mut depths = BTreeMap::new();
        for node in &among {
            self.depth(node, &among, &mut depths, &mut BTreeSet::new());
        }
        let mut children: BTreeMap<Option<Node>, Vec<Node>> = BTreeMap::new();
        for node in &among {
            let parent = self.parent(node, &among, &depths);
            children.entry(parent).or_default().push((*node).clone());
        }
        let mut rows = vec![];
        // A stack and not a recursion: (node, the branch of the node, that of its children).
        let mut left = vec![];
        for node in children.get(&None).into_iter().flatten().rev() {
            left.push((node.clone(), String::new(), String::new()));
        }
        while let Some((node, branch, below)) = left.pop() {
            let inner = children.get(&Some(node.clone())).map_or(&[][..], Vec::as_slice);
            for (index, child) in inner.iter().enumerate().rev() {
                let is_last = index + 1 == inner.len();
                let (corner, bar) = if is_last { ("└ ", "  ") } else { ("├ ", "│ ") };
                left.push((child.clone(), format!("{below}{corner}"), format!("{below}{bar}")));
            }
            rows.push(Row { branch, node });
        }
        rows
    }

    /// The resources that one uses, directly or through what a ConfigExport writes. Accounts are not among them: everything would be
    /// below one.
    fn parents<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        let is_shown = |via: &Via| !matches!(via, Via::Account | Via::InPlace);
        self.uses(node).iter().filter(move |one| is_shown(&one.via)).flat_map(move |one| {
            let writers = self.uses(&one.of).iter().filter(|writer| writer.via == Via::WrittenBy);
            std::iter::once(&one.of).chain(writers.map(|writer| &writer.of))
        })
    }

    fn depth(
        &self,
        node: &Node,
        among: &BTreeSet<&Node>,
        depths: &mut BTreeMap<Node, usize>,
        path: &mut BTreeSet<Node>,
    ) -> usize {
        if let Some(depth) = depths.get(node) {
            return *depth;
        }
        path.insert(node.clone());
        let mut depth = 0;
        for parent in self.parents(node).filter(|parent| among.contains(parent)) {
            if !path.contains(parent) {
                depth = depth.max(1 + self.depth(parent, among, depths, path));
            }
        }
        path.remove(node);
        depths.insert(node.clone(), depth);
        depth
    }

    /// The deepest of the parents, and the first of several; in a cycle, only one that is less deep counts.
    fn parent(&self, node: &Node, among: &BTreeSet<&Node>, depths: &BTreeMap<Node, usize>) -> Option<Node> {
        let own = depths.get(node)?;
        let mut deepest: Option<(usize, &Node)> = None;
        for parent in self.parents(node).filter(|parent| among.contains(parent)) {
            let Some(depth) = depths.get(parent).filter(|depth| *depth < own) else { continue };
            if deepest.is_none_or(|(known, _)| *depth > known) {
                deepest = Some((*depth, parent));
            }
        }
        deepest.map(|(_, parent)| parent.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::*;

    fn lines(objects: Vec<kube::api::DynamicObject>) -> String {
        let graph = graph(objects);
        let all: Vec<Node> = graph.resources().map(|resource| resource.node.clone()).collect();
        graph.tree(&all).iter().map(|row| format!("{}{}\n", row.branch, row.node)).collect()
    }

    #[test]
    fn each_resource_is_below_the_deepest_one_that_it_uses() {
        let expected = "\
VPC/shop
└ Subnet/a
  ├ EC2Instance/web-a
  │ └ TargetGroup/web
  │   └ Listener/https
  │     └ ListenerRule/static
  └ EC2Instance/web-b
";
        assert_eq!(lines(stack()), expected);
    }

    #[test]
    fn a_cycle_is_shown_once() {
        let group = |name: &str, other: &str| using("SecurityGroup", name, &[("ingress", other)], ready());
        let shown = lines(vec![
            group("a", "SecurityGroup/b"),
            group("b", "SecurityGroup/c"),
            group("c", "SecurityGroup/a"),
        ]);
        assert_eq!(shown.lines().count(), 3, "{shown}");
    }
}
