//! What a resource uses, as objects of the graph. Pure.

use std::collections::BTreeSet;

use kraken_api::{DependsOn, state_declaration::STATIC_KIND};
use kraken_options::{Dependency, KeyRef, ResourceRef, kind_key};
use serde_json::Value;

use super::{Node, Use, Via, walk};
use crate::{discovery::Kinds, resource::Resource};

/// The kind of the objects with the credentials of others.
const ACCOUNT: &str = "Account";
/// The Account of resources that name none.
const DEFAULT_ACCOUNT: &str = "default";

/// What a resource uses: references in the order of the spec, then `dependsOn`, then its Account. `names`: the resources that exist.
pub(super) fn uses(resource: &Resource, kinds: &Kinds, names: &BTreeSet<Node>) -> Vec<Use> {
    let namespace = &resource.node.namespace;
    let mut uses: Vec<Use> = walk::references(&resource.spec)
        .into_iter()
        .map(|reference| {
            let (of, entry) = target(namespace, &reference.dependency, kinds, names);
            Use { of, via: Via::Field { path: reference.field, entry } }
        })
        .collect();
    let listed = resource.spec.pointer("/lifecycle/dependsOn").and_then(Value::as_array);
    for on in listed.into_iter().flatten() {
        if let Ok(DependsOn { kind, name, namespace: other }) = serde_json::from_value(on.clone()) {
            let namespace = other.as_deref().unwrap_or(namespace);
            let of = resource_node(namespace, &kind_key(&kind), &name, kinds, names);
            uses.push(Use { of, via: Via::DependsOn });
        }
    }
    uses.extend(account(resource, names));
    uses
}

/// The ConfigMap or Secret that a ConfigExport writes.
pub(super) fn written(resource: &Resource) -> BTreeSet<Node> {
    let (namespace, spec) = (&resource.node.namespace, &resource.spec);
    let of_spec = spec["configType"].as_str().zip(spec["configMetadata"]["name"].as_str());
    let of_status = resource.target.as_deref().and_then(|target| target.split_once('/'));
    of_spec.into_iter().chain(of_status).map(|(kind, name)| Node::new(namespace, "", kind, name)).collect()
}

/// The object that a dependency refers to, and the key or path in it.
fn target(namespace: &str, dependency: &Dependency, kinds: &Kinds, names: &BTreeSet<Node>) -> (Node, String) {
    let of_key =
        |kind: &str, key: &KeyRef| (Node::new(namespace, "", kind, &key.name), format!("key {}", key.key));
    match dependency {
        Dependency::ConfigMap(key) => of_key("ConfigMap", key),
        Dependency::Secret(key) => of_key("Secret", key),
        Dependency::Resource(ResourceRef { kind, name, namespace: other, path }) => {
            let namespace = other.as_deref().unwrap_or(namespace);
            let entry = if path.is_empty() { String::new() } else { format!("path {path}") };
            (resource_node(namespace, kind, name, kinds, names), entry)
        }
    }
}

/// The resource of this kind, in the form of references, and name: one that exists, or else the one that is meant.
pub(super) fn resource_node(
    namespace: &str,
    kind: &str,
    name: &str,
    kinds: &Kinds,
    names: &BTreeSet<Node>,
) -> Node {
    if kind == STATIC_KIND {
        return Node::new(namespace, "", STATIC_KIND, name);
    }
    let candidates: Vec<_> = kinds
        .of_reference(kind)
        .map(|kind| Node::new(namespace, &kind.resource.group, &kind.resource.kind, name))
        .collect();
    let existing = candidates.iter().find(|node| names.contains(node));
    existing.or(candidates.first()).cloned().unwrap_or_else(|| Node::new(namespace, "", kind, name))
}

/// The Account whose credentials are used. Without `spec.account`, it is `default` if that exists.
fn account(resource: &Resource, names: &BTreeSet<Node>) -> Option<Use> {
    let Node { namespace, group, kind, .. } = &resource.node;
    let named = resource.spec["account"]["name"].as_str();
    let of = Node::new(namespace, group, ACCOUNT, named.unwrap_or(DEFAULT_ACCOUNT));
    (kind != ACCOUNT && (named.is_some() || names.contains(&of))).then_some(Use { of, via: Via::Account })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::graph::fixtures::*;

    fn uses(spec: serde_json::Value, others: &[(&str, &str)]) -> Vec<String> {
        let others = others.iter().map(|(kind, name)| object(kind, name, json!({}), ready()));
        let graph = graph(others.chain([object("EC2Instance", "web", spec, ready())]));
        let web = node("EC2Instance", "web");
        let shown = |one: &super::Use| format!("{} {}", one.of.seen_from(&web), one.via);
        graph.uses(&web).iter().map(shown).collect()
    }

    #[test]
    fn references_lead_to_objects_whether_they_exist_or_not() {
        let spec = json!({
            "imageID": {"valueFrom": {"configMap": {"name": "c", "key": "image"}}},
            "subnetID": {"valueFrom": {"ref": "sub-net.aws/a"}},
            "unknown": {"valueFrom": {"ref": "Bucket/b/Arn"}},
            "static": {"valueFrom": {"ref": "static/vpc"}},
            "shared": {"valueFrom": {"ref": "VPC/platform:main"}},
            "lifecycle": {"dependsOn": [{"kind": "InternetGateway", "name": "main"}, {"wrong": true}]},
        });
        assert_eq!(
            uses(spec, &[("Subnet", "a")]),
            [
                "ConfigMap/c spec.imageID (its key image)",
                "VPC/platform:main spec.shared",
                "static/vpc spec.static",
                "Subnet/a spec.subnetID",
                "bucket/b spec.unknown (its path Arn)",
                "InternetGateway/main spec.lifecycle.dependsOn",
            ]
        );
    }

    #[test]
    fn an_account_is_used_if_it_is_named_or_the_default_exists() {
        assert_eq!(uses(json!({}), &[]), [""; 0]);
        assert_eq!(uses(json!({}), &[("Account", "default")]), ["Account/default spec.account"]);
        assert_eq!(
            uses(json!({"account": {"name": "prod"}}), &[("Account", "default")]),
            ["Account/prod spec.account"]
        );
    }
}
