//! The immediate causes for which a resource is not ready, from its Ready condition and its references. Pure.

use kraken_api::{
    HUB_NAME, SYSTEM_NAMESPACE,
    reasons::{ExportReason, Reason},
};

use super::{Graph, Node, Use, Via};
use crate::resource::{Ready, Resource};

/// One cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// The object that is waited for.
    pub(super) on: Node,
    /// Where it is named.
    pub(super) via: Via,
    /// What the condition says about it; `None` if its message was too long to contain it.
    pub(super) message: Option<String>,
}

/// The objects that a resource waits for; none if the resource itself is the cause.
pub(super) fn causes(graph: &Graph, resource: &Resource) -> Vec<Cause> {
    let uses = graph.uses(&resource.node);
    if ExportReason::of(&resource.reason) == Some(ExportReason::WaitingForValues) {
        return named_in_message(graph, resource, uses);
    }
    match Reason::of(&resource.reason) {
        Some(Reason::DependenciesNotReady) => named_in_message(graph, resource, uses),
        Some(Reason::AccountNotFound | Reason::AccountNotReady) => {
            let accounts = uses.iter().filter(|one| one.via == Via::Account);
            accounts.map(|one| cause(one, Some(resource.message.clone()))).collect()
        }
        Some(Reason::DeletionBlocked) => {
            // A list of users that is cut off does not name all of them.
            let is_named = |node: &Node| {
                names(&resource.message, &node.name)
                    || resource.message.contains(" more")
                    || resource.message.ends_with('…')
            };
            let users = graph.delays_deletion(&resource.node).into_iter().filter(|node| is_named(node));
            let refers = |node: &Node| format!("{node} still refers to {}", resource.node);
            let via = |node: &Node| {
                let back = graph.users(&resource.node).iter().find(|one| one.of == *node);
                back.map_or(Via::InPlace, |one| one.via.clone())
            };
            users
                .map(|node| Cause { on: node.clone(), via: via(node), message: Some(refers(node)) })
                .collect()
        }
        // One cause of all resources that wait for it.
        Some(Reason::WaitingForHub) => {
            let on = Node::new(SYSTEM_NAMESPACE, "apps", "Deployment", HUB_NAME);
            let message = "the hub does not resolve references".to_owned();
            vec![Cause { on, via: Via::Hub, message: Some(message) }]
        }
        _ => vec![],
    }
}

/// The references that the message names. Of a message that is cut off, also those whose object is not ready.
fn named_in_message(graph: &Graph, resource: &Resource, uses: &[Use]) -> Vec<Cause> {
    let message = &resource.message;
    let is_cut = message.contains(" … and ") || message.ends_with('…');
    let is_waiting = |used: &Use| graph.get(&used.of).is_some_and(|one| one.ready != Ready::Yes);
    let mut causes = vec![];
    for used in uses {
        let text = match &used.via {
            Via::Field { path, .. } => about_field(message, path, &used.of.name),
            Via::DependsOn => about_field(message, "lifecycle.dependsOn", &used.of.name),
            _ => None,
        };
        if text.is_some() || (is_cut && is_waiting(used)) {
            causes.push(cause(used, text));
        }
    }
    causes
}

fn cause(used: &Use, message: Option<String>) -> Cause {
    Cause { on: used.of.clone(), via: used.via.clone(), message }
}

/// What a message such as `spec.a: x does not exist; spec.b: ...` says about one field: a template can have several references, so
/// the name of the object must be in it too.
fn about_field(message: &str, path: &str, name: &str) -> Option<String> {
    message.split("; spec.").find_map(|part| {
        let part = part.strip_prefix("spec.").unwrap_or(part);
        let rest = part.strip_prefix(path)?;
        // `dependsOn` may be followed by an index.
        let (index, text) = rest.split_once(": ")?;
        let text = text.split(" … and ").next().unwrap_or(text);
        let is_field = index.is_empty() || (index.starts_with('[') && path == "lifecycle.dependsOn");
        (is_field && names(text, name)).then(|| text.to_owned())
    })
}

/// Whether a text has a name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        // `static-vpc` is the name of the StateDeclaration of the static state `vpc`.
        (before.is_none_or(|c| !is_part(c)) || text[..at].ends_with("static-"))
            && after.is_none_or(|c| !is_part(c))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::fixtures::*, *};

    fn found(
        objects: Vec<kube::api::DynamicObject>,
        kind: &str,
        name: &str,
    ) -> Vec<(String, Option<String>)> {
        let graph = graph(objects);
        let resource = graph.get(&node(kind, name)).unwrap();
        causes(&graph, resource).into_iter().map(|cause| (cause.on.to_string(), cause.message)).collect()
    }

    #[test]
    fn each_part_of_the_message_is_about_one_reference() {
        let causes = found(stack(), "Listener", "https");
        assert_eq!(causes[0].0, "ConfigMap/shop");
        assert_eq!(causes[0].1.as_deref(), Some("ConfigMap shop has no key \"certificate\" (it has: env)"));
        assert_eq!(causes[1].0, "TargetGroup/web");
        assert_eq!(causes.len(), 2);
    }

    #[test]
    fn a_template_waits_only_for_the_objects_that_the_message_names() {
        let spec = json!({"userData": {"valueFrom": {"templateString": "{{ .ConfigMap.a.k }}{{ .ConfigMap.a-b.k }}"}}});
        let status = not_ready("DependenciesNotReady", "spec.userData: ConfigMap a-b does not exist");
        let causes = found(vec![object("EC2Instance", "web", spec, status)], "EC2Instance", "web");
        assert_eq!(causes.len(), 1);
        assert_eq!(causes[0].0, "ConfigMap/a-b");
    }

    #[test]
    fn of_a_message_that_is_cut_off_what_is_not_ready_counts() {
        let status = not_ready("DependenciesNotReady", "spec.a: vpc x does not exist … and 1 more");
        let fields = [("a", "VPC/x"), ("b", "VPC/y"), ("c", "VPC/z")];
        let objects = vec![
            using("Subnet", "s", &fields, status),
            object("VPC", "y", json!({}), not_ready("Paused", "paused")),
            object("VPC", "z", json!({}), ready()),
        ];
        let on: Vec<_> = found(objects, "Subnet", "s").into_iter().map(|(on, _)| on).collect();
        assert_eq!(on, ["VPC/x", "VPC/y"]);
    }

    #[test]
    fn a_blocked_deletion_waits_for_the_users() {
        let blocked = not_ready("DeletionBlocked", "waiting until these dependents are deleted: subnet a");
        let objects = vec![
            object("VPC", "x", json!({}), blocked),
            using("Subnet", "a", &[("vpcID", "VPC/x")], ready()),
        ];
        assert_eq!(found(objects, "VPC", "x")[0].0, "Subnet/a");
    }
}
