//! `kubectl kraken deps`.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
};

use anyhow::Result;
use kraken_api::state_declaration::STATIC_KIND;
use serde_json::{Value, json};

use super::{existing, graph_in_place};
use crate::{
    cluster::Cluster,
    graph::{Graph, Node, Use, Via},
    output::DepsOutput,
    print::{Lines, clean, out},
    resource::{Ready, Resource},
    target::{self, Target},
};

pub(super) async fn run(
    cluster: &Cluster,
    words: &[String],
    is_reverse: bool,
    output: DepsOutput,
) -> Result<ExitCode> {
    let graph = graph_in_place(cluster).await?;
    let node = match source(&target::one(words)?, &cluster.namespace) {
        // Neither is read: only whether a reference names it is known.
        Some(node) => node,
        None => existing(cluster, &graph, words).await?,
    };
    let view = View { graph: &graph, is_reverse };
    let text = match output {
        DepsOutput::Tree => view.tree(&node),
        DepsOutput::Dot => view.dot(&node),
        DepsOutput::Mermaid => view.mermaid(&node),
        DepsOutput::Json => format!("{:#}\n", view.json(&node)),
    };
    out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A ConfigMap, a Secret or a static state, which are no kinds of Kraken and can be used by its resources.
fn source(target: &Target, namespace: &str) -> Option<Node> {
    let kind = match target.kind.to_lowercase().as_str() {
        "configmap" | "configmaps" | "cm" => "ConfigMap",
        "secret" | "secrets" => "Secret",
        STATIC_KIND => STATIC_KIND,
        _ => return None,
    };
    Some(Node::new(namespace, "", kind, &target.name))
}

/// The number of users that the line about a deletion names.
const MAX_NAMES: usize = 10;

/// The graph from one object, in one direction.
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    pub(super) is_reverse: bool,
}

/// An edge of the picture: the user, what it uses, and how.
struct Edge {
    user: Node,
    used: Node,
    via: BTreeSet<Via>,
}

impl View<'_> {
    /// The next objects, each once with all fields.
    pub(super) fn next(&self, node: &Node) -> Vec<(Node, BTreeSet<Via>)> {
        let uses = if self.is_reverse { self.graph.users(node) } else { self.graph.uses(node) };
        let mut next: Vec<(Node, BTreeSet<Via>)> = vec![];
        for Use { of, via } in uses {
            match next.iter_mut().find(|(known, _)| known == of) {
                Some((_, vias)) => {
                    vias.insert(via.clone());
                }
                None => next.push((of.clone(), BTreeSet::from([via.clone()]))),
            }
        }
        next
    }

    fn tree(&self, root: &Node) -> String {
        let mut text = Lines::default();
        text.line(format!("{root}{}", self.state(root)));
        let mut seen = BTreeSet::from([root.clone()]);
        self.branches(root, root, "", &mut seen, &mut text);
        if seen.len() == 1 {
            text.line(if self.is_reverse { "└ nothing uses it" } else { "└ uses nothing" });
        }
        if self.is_reverse
            && let Some(resource) = self.graph.get(root)
        {
            text.line(format!("Deletion: {}", self.deletion(resource)));
        }
        text.finish()
    }

    /// What a deletion would do now.
    pub(super) fn deletion(&self, resource: &Resource) -> String {
        let users = self.graph.delays_deletion(&resource.node);
        let names: Vec<_> = users.iter().take(MAX_NAMES).map(|user| user.seen_from(&resource.node)).collect();
        let more = match users.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match names.as_slice() {
            _ if resource.is_protected() => "refused, because spec.lifecycle.protect is true.".to_owned(),
            [] => "nothing delays it.".to_owned(),
            names => format!("waits for {}{more}.", names.join(", ")),
        }
    }

    fn branches(&self, root: &Node, node: &Node, indent: &str, seen: &mut BTreeSet<Node>, text: &mut Lines) {
        let next = self.next(node);
        for (index, (other, vias)) in next.iter().enumerate() {
            let (corner, bar) = if index + 1 == next.len() { ("└ ", "  ") } else { ("├ ", "│ ") };
            let is_new = seen.insert(other.clone());
            // What is below an object is printed once.
            let again = if !is_new && !self.next(other).is_empty() { "  (see above)" } else { "" };
            let line = format!("{}{}  {}{again}", other.seen_from(root), self.state(other), fields(vias));
            text.line(format!("{indent}{corner}{line}"));
            if is_new {
                self.branches(root, other, &format!("{indent}{bar}"), seen, text);
            }
        }
    }

    /// Only what is remarkable; whether ConfigMaps and Secrets exist is not read.
    fn state(&self, node: &Node) -> String {
        match self.graph.get(node) {
            Some(resource) if resource.ready == Ready::Yes => String::new(),
            Some(resource) => format!(" [{}]", resource.reason),
            None if node.group.is_empty() || !self.graph.is_missing(node) => String::new(),
            None => " [does not exist]".to_owned(),
        }
    }

    fn edges(&self, root: &Node) -> (BTreeSet<Node>, Vec<Edge>) {
        let nodes = self.graph.reached(root, self.is_reverse);
        let edges = nodes.iter().flat_map(|node| {
            self.next(node).into_iter().map(|(other, via)| {
                let (user, used) =
                    if self.is_reverse { (other, node.clone()) } else { (node.clone(), other) };
                Edge { user, used, via }
            })
        });
        let edges = edges.collect();
        (nodes, edges)
    }

    fn dot(&self, root: &Node) -> String {
        let (nodes, edges) = self.edges(root);
        let quoted = |text: &str| format!("{:?}", clean(text));
        let mut text = Lines::default();
        text.rendered("digraph kraken {\n  rankdir=LR;\n  node [shape=box];\n");
        for node in &nodes {
            let style = if node == root { " [style=bold]" } else { "" };
            text.line(format!("  {}{style};", quoted(&node.seen_from(root))));
        }
        for edge in edges {
            let (user, used) = (quoted(&edge.user.seen_from(root)), quoted(&edge.used.seen_from(root)));
            text.line(format!("  {user} -> {used} [label={}];", quoted(&fields(&edge.via))));
        }
        text.line("}");
        text.finish()
    }

    fn mermaid(&self, root: &Node) -> String {
        let (nodes, edges) = self.edges(root);
        let ids: BTreeMap<&Node, usize> =
            nodes.iter().enumerate().map(|(index, node)| (node, index)).collect();
        // The syntax has no escapes in texts but entities.
        let text_of = |text: &str| clean(text).replace('"', "#quot;").replace('|', "#124;");
        let mut text = Lines::default();
        text.line("flowchart LR");
        for (node, id) in &ids {
            text.line(format!("  n{id}[\"{}\"]", text_of(&node.seen_from(root))));
        }
        for edge in edges {
            if let (Some(user), Some(used)) = (ids.get(&edge.user), ids.get(&edge.used)) {
                text.line(format!("  n{user} -->|\"{}\"| n{used}", text_of(&fields(&edge.via))));
            }
        }
        text.finish()
    }

    pub(super) fn json(&self, root: &Node) -> Value {
        let (nodes, edges) = self.edges(root);
        let node = |node: &Node| {
            let resource = self.graph.get(node);
            json!({
                "namespace": node.namespace, "group": node.group, "kind": node.kind, "name": node.name,
                "ready": resource.map(|resource| resource.ready == Ready::Yes),
            })
        };
        let edge = |edge: &Edge| {
            let via: Vec<_> = edge.via.iter().map(ToString::to_string).collect();
            json!({"from": edge.user.seen_from(root), "to": edge.used.seen_from(root), "via": via})
        };
        json!({
            "root": root.to_string(),
            "nodes": nodes.iter().map(node).collect::<Vec<_>>(),
            "edges": edges.iter().map(edge).collect::<Vec<_>>(),
        })
    }
}

pub(super) fn fields(vias: &BTreeSet<Via>) -> String {
    vias.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, node, stack};

    #[test]
    fn dependencies_are_a_tree_with_the_fields() {
        let graph = graph(stack());
        let view = View { graph: &graph, is_reverse: false };
        let expected = "\
TargetGroup/web [DependenciesNotReady]
├ EC2Instance/web-a [DependenciesNotReady]  spec.targets.value[0]
│ ├ Subnet/a  spec.subnetID
│ │ └ VPC/shop  spec.vpcID
│ └ Secret/db  spec.userData (its key password)
├ EC2Instance/web-b [DependenciesNotReady]  spec.targets.value[1]
│ ├ Subnet/a  spec.subnetID  (see above)
│ └ Secret/db  spec.userData (its key password)
└ VPC/shop  spec.vpcID
";
        assert_eq!(view.tree(&node("TargetGroup", "web")), expected);
        assert_eq!(view.tree(&node("VPC", "shop")), "VPC/shop\n└ uses nothing\n");
    }

    #[test]
    fn dependents_are_found_from_a_secret_too() {
        let graph = graph(stack());
        let view = View { graph: &graph, is_reverse: true };
        let tree = view.tree(&node("Secret", "db"));
        for line in ["Secret/db\n├ EC2Instance/web-a", "spec.listenerARN"] {
            assert!(tree.contains(line), "{tree}");
        }
        assert_eq!(
            view.tree(&node("ListenerRule", "static")),
            "ListenerRule/static [DependenciesNotReady]\n└ nothing uses it\nDeletion: nothing delays it.\n"
        );
        let last = "Deletion: waits for EC2Instance/web-a, EC2Instance/web-b.";
        assert_eq!(view.tree(&node("Subnet", "a")).lines().last(), Some(last));
    }

    #[test]
    fn pictures_have_all_nodes_and_edges() {
        let graph = graph(stack());
        let view = View { graph: &graph, is_reverse: true };
        let root = node("Subnet", "a");
        let dot = view.dot(&root);
        assert!(dot.contains(r#"  "EC2Instance/web-a" -> "Subnet/a" [label="spec.subnetID"];"#), "{dot}");
        let mermaid = view.mermaid(&root);
        assert!(mermaid.starts_with("flowchart LR\n") && mermaid.contains("[\"Subnet/a\"]"), "{mermaid}");
        assert_eq!(mermaid.matches("-->").count(), dot.matches("->").count());
        let json = view.json(&root);
        assert_eq!(json["edges"].as_array().map(Vec::len), Some(dot.matches("->").count()));
    }
}
