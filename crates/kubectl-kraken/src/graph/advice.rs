//! What to do about a root cause that is not a resource with a reason of its own. Pure.

use super::{Graph, Node, Via};
use crate::resource::{Next, Ready};

/// What to do about an object that has no value, and who does it. `user` names it.
pub(super) fn of(
    graph: &Graph,
    node: &Node,
    via: &Via,
    message: &str,
    user: &Node,
) -> (Option<String>, Next) {
    let Node { namespace, kind, name, .. } = node;
    let is_absent = message.contains("does not exist");
    let key = match via {
        Via::Field { entry, .. } => entry.strip_prefix("key ").unwrap_or("KEY"),
        _ => "KEY",
    };
    if message.contains("has no ReferenceGrant") {
        let advice = format!(
            "ask an administrator of namespace {namespace} for a ReferenceGrant, or edit {via} of {user}"
        );
        return (Some(advice), Next::Person);
    }
    // The resource that waits is the one that is used, and the user is not listed.
    if *via == Via::Elsewhere {
        return (Some(without_reference(node, user)), Next::Person);
    }
    if let Some(resource) = graph.get(node) {
        if *via != Via::InPlace
            && message.contains("has not published a state")
            && resource.ready == Ready::Yes
        {
            return (Some("Wait: it became ready a moment ago.".to_owned()), Next::Controller);
        }
        if graph.users(user).iter().any(|one| one.of == *node) {
            return (Some(without_reference(node, user)), Next::Person);
        }
        return (Some(format!("edit {via} of {user}")), Next::Person);
    }
    let advice = match kind.as_str() {
        "Deployment" => "kubectl kraken check".to_owned(),
        "ConfigMap" if is_absent => {
            format!("kubectl create configmap {name} -n {namespace} --from-literal {key}=...")
        }
        "Secret" if is_absent => {
            format!("kubectl create secret generic {name} -n {namespace} --from-literal {key}=...")
        }
        "ConfigMap" if message.contains("has no key") => {
            format!(
                "kubectl patch configmap {name} -n {namespace} --type merge -p '{{\"data\":{{\"{key}\":\"...\"}}}}'"
            )
        }
        "Secret" if message.contains("has no key") => {
            format!(
                "kubectl patch secret {name} -n {namespace} --type merge -p '{{\"stringData\":{{\"{key}\":\"...\"}}}}'"
            )
        }
        "static" => format!("apply a StateDeclaration static-{name}, or edit {via} of {user}"),
        _ if is_absent => format!("apply {}, or edit {via} of {user}", node.seen_from(user)),
        _ => format!("edit {via} of {user}"),
    };
    (Some(advice), Next::Person)
}

fn without_reference(node: &Node, used: &Node) -> String {
    format!("delete {}, or remove its reference to {used}", node.seen_from(used))
}

#[cfg(test)]
mod tests {
    use crate::graph::fixtures::*;

    fn advice(target: &str, message: &str) -> String {
        let status = not_ready("DependenciesNotReady", &format!("spec.field: {message}"));
        let graph = graph([using("EC2Instance", "web", &[("field", target)], status)]);
        let roots = graph.roots(&node("EC2Instance", "web"));
        roots[0].remedy.clone().unwrap()
    }

    #[test]
    fn the_advice_is_a_command_where_there_is_one() {
        for (target, message, expected) in [
            (
                "Secret/db/password",
                "Secret db does not exist",
                "kubectl create secret generic db -n shop --from-literal password=...",
            ),
            (
                "ConfigMap/c/k",
                "ConfigMap c does not exist",
                "kubectl create configmap c -n shop --from-literal k=...",
            ),
            (
                "ConfigMap/c/k",
                "ConfigMap c has no key \"k\"",
                r#"kubectl patch configmap c -n shop --type merge -p '{"data":{"k":"..."}}'"#,
            ),
            ("Subnet/a", "subnet a does not exist", "apply Subnet/a, or edit spec.field of EC2Instance/web"),
            (
                "static/a",
                "StateDeclaration static-a does not exist",
                "apply a StateDeclaration static-a, or edit spec.field of EC2Instance/web",
            ),
        ] {
            assert_eq!(advice(target, message), expected);
        }
    }
}
