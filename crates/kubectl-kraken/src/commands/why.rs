//! `kubectl kraken why`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::{existing, graph_in_place};
use crate::{
    cluster::Cluster,
    graph::{Graph, Node, Root},
    output::TextOrJson,
    print::{Lines, clean, count, out},
    resource::Ready,
};

pub(super) async fn run(cluster: &Cluster, words: &[String], output: TextOrJson) -> Result<ExitCode> {
    let graph = graph_in_place(cluster).await?;
    let node = existing(cluster, &graph, words).await?;
    match output {
        TextOrJson::Text => out(&text(&graph, &node))?,
        TextOrJson::Json => out(&format!("{:#}\n", json(&graph, &node)))?,
    }
    let is_ready = graph.get(&node).is_some_and(|resource| resource.ready == Ready::Yes);
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The root causes, each with the way to the resource and what to do. Pure.
fn text(graph: &Graph, node: &Node) -> String {
    let Some(resource) = graph.get(node).filter(|resource| resource.ready != Ready::Yes) else {
        let reason = graph.get(node).map(|resource| resource.reason.clone()).unwrap_or_default();
        return format!("{} is ready ({reason}).\n", clean(&node.to_string()));
    };
    let roots = graph.roots(node);
    let mut text = Lines::default();
    text.line(format!("{node} is not ready ({}): {}.", resource.reason, count(roots.len(), "root cause")));
    for (index, root) in roots.iter().enumerate() {
        text.line("");
        text.line(format!("{}. {}: {}", index + 1, root.node.seen_from(node), root.message));
        let way = way(root, node);
        if let Some(blocked) = blocked(graph, root) {
            text.line(format!(
                "   blocks:  {}",
                [vec![blocked.seen_from(node)], way[1..].to_vec()].concat().join(" <- ")
            ));
        } else if !way.is_empty() {
            text.line(format!("   used by: {}", way.join(" <- ")));
        }
        if let Some(remedy) = &root.remedy {
            text.line(format!("   to do:   {remedy}"));
        }
    }
    text.finish()
}

/// The resource whose deletion waits for a root, which uses it: the other way round than for all other causes.
fn blocked<'a>(graph: &Graph, root: &'a Root) -> Option<&'a Node> {
    let first = &root.trail.first()?.node;
    let is_used = graph.users(first).iter().any(|one| one.of == root.node);
    // Two security groups that refer to each other do both.
    let is_user = graph.uses(first).iter().any(|one| one.of == root.node);
    (is_used && !is_user).then_some(first)
}

/// The users on the way from a root, the nearest first, each with its field.
fn way(root: &Root, node: &Node) -> Vec<String> {
    root.trail.iter().map(|hop| format!("{} {}", hop.node.seen_from(node), hop.via)).collect()
}

/// The same for programs. Pure.
pub(super) fn json(graph: &Graph, node: &Node) -> Value {
    let root = |root: Root| {
        let trail: Vec<_> = root
            .trail
            .iter()
            .map(|hop| json!({"object": hop.node.seen_from(node), "via": hop.via.to_string()}))
            .collect();
        json!({"object": root.node.seen_from(node), "message": root.message, "remedy": root.remedy, "usedBy": trail})
    };
    let resource = graph.get(node);
    json!({
        "object": node.to_string(), "namespace": node.namespace,
        "ready": resource.is_some_and(|resource| resource.ready == Ready::Yes),
        "reason": resource.map(|resource| &resource.reason),
        "rootCauses": graph.roots(node).into_iter().map(root).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, node, not_ready, object, request, stack};

    #[test]
    fn each_root_cause_is_printed_with_the_way_and_the_remedy() {
        let expected = r#"ListenerRule/static is not ready (DependenciesNotReady): 2 root causes.

1. ConfigMap/shop: ConfigMap shop has no key "certificate" (it has: env)
   used by: Listener/https spec.certificateARN (its key certificate) <- ListenerRule/static spec.listenerARN
   to do:   kubectl patch configmap shop -n shop --type merge -p '{"data":{"certificate":"..."}}'

2. Secret/db: Secret db does not exist
   used by: EC2Instance/web-a spec.userData (its key password) <- TargetGroup/web spec.targets.value[0] <- Listener/https spec.targetGroupARN <- ListenerRule/static spec.listenerARN
   to do:   kubectl create secret generic db -n shop --from-literal password=...
"#;
        assert_eq!(text(&graph(stack()), &node("ListenerRule", "static")), expected);
    }

    #[test]
    fn a_user_in_another_namespace_that_blocks_a_deletion_is_named_with_it() {
        let message =
            "waiting until these dependents are deleted or no longer refer to this resource: subnet sa:s";
        let mut graph = graph([object("VPC", "main", json!({}), not_ready("DeletionBlocked", message))]);
        let spec = json!({"inPlaceDependencies": [{"kind": "vpc", "name": "main", "namespace": "shop"}]});
        let mut request = request("subnet.aws.s", spec);
        request.metadata.namespace = Some("sa".to_owned());
        let owner = json!([{"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet", "name": "s",
            "uid": "u", "controller": true}]);
        request.metadata.owner_references = serde_json::from_value(owner).unwrap();
        graph.add_from_others(&crate::discovery::tests::kinds(), "shop", &[request]);
        let expected = "VPC/main is not ready (DeletionBlocked): 1 root cause.\n\n\
                        1. Subnet/sa:s: Subnet/sa:s still refers to VPC/main\n   \
                        blocks:  VPC/main\n   \
                        to do:   delete Subnet/sa:s, or remove its reference to VPC/main\n";
        assert_eq!(text(&graph, &node("VPC", "main")), expected);
    }

    #[test]
    fn a_ready_resource_is_said_to_be_ready() {
        assert_eq!(text(&graph(stack()), &node("VPC", "shop")), "VPC/shop is ready (Available).\n");
        assert_eq!(json(&graph(stack()), &node("VPC", "shop"))["ready"], true);
    }
}
