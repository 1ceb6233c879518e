//! The immediate causes for which a resource is not ready, from its Ready condition and its references. Pure.

use kraken_api::{
    HUB_NAME, SYSTEM_NAMESPACE,
    reasons::{ExportReason, Reason},
    state_declaration::STATIC_KIND,
};

use super::{Graph, Node, Use, Via};
use crate::resource::{Ready, Resource};

/// The field with the resources that are created before.
const DEPENDS_ON: &str = "lifecycle.dependsOn";

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
        // Of a change in progress, the references that are only set after the creation.
        Some(Reason::DependenciesNotReady | Reason::Creating | Reason::Updating | Reason::Replacing) => {
            named_in_message(graph, resource, uses)
        }
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
            let refers =
                |node: &Node| format!("{} still refers to {}", node.seen_from(&resource.node), resource.node);
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
        let path = match &used.via {
            Via::Field { path, .. } => path,
            Via::DependsOn => DEPENDS_ON,
            _ => continue,
        };
        // A template has several references, and each entry of `dependsOn` is one.
        let is_only_one = path != DEPENDS_ON && uses.iter().filter(|one| is_at(&one.via, path)).count() == 1;
        let is_about = |text: &str| is_only_one || names_object(text, &used.of);
        let text = about_field(message, path).find(|text| is_about(text));
        if text.is_some() || (is_cut && is_waiting(used)) {
            causes.push(cause(used, text.map(str::to_owned)));
        }
    }
    causes
}

fn is_at(via: &Via, path: &str) -> bool {
    matches!(via, Via::Field { path: at, .. } if at == path)
}

fn cause(used: &Use, message: Option<String>) -> Cause {
    Cause { on: used.of.clone(), via: used.via.clone(), message }
}

/// What a message such as `spec.a: x does not exist; spec.b: ...` says about one field, or an entry of `dependsOn`.
fn about_field<'a>(message: &'a str, path: &str) -> impl Iterator<Item = &'a str> {
    let field = format!("spec.{path}");
    let is_list = path == DEPENDS_ON;
    let starts: Vec<usize> = message.match_indices(&field).map(|(at, _)| at).collect();
    starts.into_iter().filter_map(move |at| {
        // A key of a map in another field may look like a field.
        if at > 0 && !message[..at].ends_with("; ") {
            return None;
        }
        let (index, text) = message[at + field.len()..].split_once(": ")?;
        let is_field = index.is_empty() || (is_list && index.starts_with('['));
        let end = text.find("; spec.").or_else(|| text.find(" … and ")).unwrap_or(text.len());
        is_field.then(|| &text[..end])
    })
}

/// Whether a text is about an object: it names the kind and then the name, as all messages of the hub do.
fn names_object(text: &str, node: &Node) -> bool {
    // `static-vpc` is the name of the StateDeclaration of the static state `vpc`.
    let phrase = match node.kind.as_str() {
        STATIC_KIND => format!("static-{}", node.name),
        kind => format!("{} {}", kind.to_lowercase(), node.name),
    };
    // A reference may name the group of the kind.
    let with_group = format!("{}.", node.kind.to_lowercase());
    let with_namespace = format!("{} {}:{}", node.kind.to_lowercase(), node.namespace, node.name);
    let text = text.to_lowercase();
    names(&text, &phrase)
        || names(&text, &with_namespace)
        || (text.contains(&with_group) && names(&text, &node.name))
}

/// Whether a text has a name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        before.is_none_or(|c| !is_part(c)) && after.is_none_or(|c| !is_part(c))
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
    fn references_that_follow_the_creation_are_waited_for_too() {
        let message = "spec.ingress[0].securityGroupIDs.value[0]: securitygroup b does not exist";
        let rule = json!({"securityGroupIDs": {"value": [{"valueFrom": {"ref": "SecurityGroup/b"}}]}});
        let group = |message: &str| {
            vec![object("SecurityGroup", "a", json!({"ingress": [rule]}), not_ready("Creating", message))]
        };
        assert_eq!(found(group(message), "SecurityGroup", "a")[0].0, "SecurityGroup/b");
        assert_eq!(found(group("created sg-1; waiting until it is ready"), "SecurityGroup", "a"), []);
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
