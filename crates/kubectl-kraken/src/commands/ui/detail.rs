//! One resource with everything that is known about it. Pure.

use serde_json::{Value, json};

use super::{
    live::{Snapshot, key},
    manifest,
};
use crate::{
    commands::{
        deps::{View, fields},
        status::resource_json,
        why,
    },
    graph::{Graph, Node},
    resource::Ready,
};

/// The objects of each direction that are named.
const MAX_USES: usize = 200;

/// `None` if the resource does not exist any more.
pub(super) fn detail(snapshot: &Snapshot, node: &Node) -> Option<Value> {
    let graph = &snapshot.graph;
    let resource = graph.get(node)?;
    let object = snapshot.objects.get(node)?;
    Some(json!({
        "key": key(node),
        "resource": resource_json(graph, resource),
        "why": why::json(graph, node),
        "conditions": object.data["status"]["conditions"],
        "created": object.metadata.creation_timestamp,
        "location": resource.status.location.as_ref().map(ToString::to_string),
        "uses": uses(graph, node, false),
        "usedBy": uses(graph, node, true),
        "deletion": View { graph, is_reverse: true }.deletion(resource),
        "plan": resource.pending_plan(),
        "drift": resource.status.drift,
        "manifest": manifest::manifest(object),
        "status": manifest::status(object),
    }))
}

/// What a resource uses, or what uses it, one step far.
fn uses(graph: &Graph, node: &Node, is_reverse: bool) -> Value {
    let next = View { graph, is_reverse }.next(node);
    let one = |(other, vias): &(Node, _)| {
        let resource = graph.get(other);
        json!({
            "key": resource.map(|_| key(other)), "object": other.to_string(), "via": fields(vias),
            "ready": resource.map(|resource| resource.ready == Ready::Yes),
        })
    };
    json!({
        "objects": next.iter().take(MAX_USES).map(one).collect::<Vec<_>>(),
        "more": next.len().saturating_sub(MAX_USES),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        commands::ui::live::snapshot,
        graph::fixtures::{node, stack},
    };

    #[test]
    fn a_resource_has_its_root_causes_and_its_neighbours() {
        let detail = detail(&snapshot(stack()), &node("TargetGroup", "web")).unwrap();
        assert_eq!(detail["why"]["rootCauses"][0]["object"], "Secret/db");
        let objects = |direction: &str| -> Vec<_> {
            let objects = detail[direction]["objects"].as_array().unwrap();
            objects.iter().map(|one| one["object"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(objects("uses"), ["EC2Instance/web-a", "EC2Instance/web-b", "VPC/shop"]);
        assert_eq!(objects("usedBy"), ["Listener/https"]);
        assert_eq!(detail["deletion"], "waits for Listener/https.");
        assert_eq!(detail["conditions"][0]["reason"], "DependenciesNotReady");
    }

    #[test]
    fn a_secret_has_a_name_and_no_key_to_open_it() {
        let detail = detail(&snapshot(stack()), &node("EC2Instance", "web-a")).unwrap();
        let secret = &detail["uses"]["objects"][1];
        assert_eq!((secret["object"].as_str(), secret["key"].as_str()), (Some("Secret/db"), None));
    }

    #[test]
    fn what_does_not_exist_has_no_detail() {
        assert!(detail(&snapshot(stack()), &node("VPC", "other")).is_none());
    }
}
