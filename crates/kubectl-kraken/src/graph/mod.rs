//! The resources of a cluster and what each uses: built once from lists, then asked. Pure.

mod advice;
mod causes;
mod node;
pub(crate) mod note;
mod ranking;
mod references;
mod roots;
mod tree;
pub(crate) mod walk;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod seeded;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kraken_api::{
    DependencyRequest, DependencyRequestSpec, dependency_request::ResourceDependency, names::owner_kind,
};
use kube::api::DynamicObject;

use crate::{discovery::Kinds, resource::Resource};

pub(crate) use node::Node;
pub(crate) use ranking::Ranked;
pub(crate) use roots::Root;

/// How an object uses another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Via {
    /// A reference in this field of the spec to this key or path, empty for the main id.
    Field { path: String, entry: String },
    /// `lifecycle.dependsOn`.
    DependsOn,
    /// `spec.account`, or the Account `default`.
    Account,
    /// The remote object still uses it: the edit that removed the reference is not in place.
    InPlace,
    /// A permitted reference of a resource of another namespace, which is not listed.
    Elsewhere,
    /// The ConfigMap or Secret is written by this ConfigExport.
    WrittenBy,
    /// The hub resolves its references.
    Hub,
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { path, entry } if entry.is_empty() => write!(f, "spec.{path}"),
            Self::Field { path, entry } => write!(f, "spec.{path} (its {entry})"),
            Self::DependsOn => f.write_str("spec.lifecycle.dependsOn"),
            Self::Account => f.write_str("spec.account"),
            Self::InPlace => f.write_str("in use in the cloud: the edit is not in place"),
            Self::Elsewhere => f.write_str("a reference of another namespace"),
            Self::WrittenBy => f.write_str("written by"),
            Self::Hub => f.write_str("its references"),
        }
    }
}

/// One use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    pub(crate) of: Node,
    pub(crate) via: Via,
}

/// Resources, and what uses what.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    resources: BTreeMap<Node, Resource>,
    uses: BTreeMap<Node, Vec<Use>>,
    users: BTreeMap<Node, Vec<Use>>,
}

impl Graph {
    /// From all listed objects of the kinds that users write.
    pub(crate) fn of(kinds: &Kinds, objects: impl IntoIterator<Item = DynamicObject>) -> Self {
        let resources: BTreeMap<_, _> =
            objects.into_iter().filter_map(Resource::of).map(|one| (one.node.clone(), one)).collect();
        let mut graph = Self { resources, ..Self::default() };
        let names: BTreeSet<Node> = graph.resources.keys().cloned().collect();
        for node in &names {
            let Some(resource) = graph.resources.get(node) else { continue };
            let used = references::uses(resource, kinds, &names);
            let written = references::written(resource);
            for one in used {
                graph.add(node.clone(), one);
            }
            for target in written {
                graph.add(target, Use { of: node.clone(), via: Via::WrittenBy });
            }
        }
        graph
    }

    /// Adds what the remote objects of resources still use, according to their DependencyRequests.
    pub(crate) fn add_in_place(&mut self, kinds: &Kinds, requests: &[DynamicObject]) {
        let names: BTreeSet<Node> = self.resources.keys().cloned().collect();
        let owners: BTreeMap<(String, String), Node> = names
            .iter()
            .map(|node| {
                let owned = kraken_api::names::owned_name(&owner_kind(&node.kind, &node.group), &node.name);
                ((node.namespace.clone(), owned), node.clone())
            })
            .collect();
        for request in requests {
            let metadata = &request.metadata;
            let key =
                (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
            let spec = serde_json::from_value::<DependencyRequestSpec>(request.data["spec"].clone());
            let (Some(owner), Ok(spec)) = (owners.get(&key), spec) else { continue };
            for used in spec.in_place_dependencies {
                let namespace = used.namespace.as_deref().unwrap_or(&owner.namespace);
                let of = references::resource_node(namespace, &used.kind, &used.name, kinds, &names);
                if !self.uses(owner).iter().any(|known| known.of == of) {
                    self.add(owner.clone(), Use { of, via: Via::InPlace });
                }
            }
        }
    }

    /// Adds what resources of other namespaces use of this one, according to their DependencyRequests: what is or was permitted.
    pub(crate) fn add_from_others(&mut self, kinds: &Kinds, namespace: &str, requests: &[DynamicObject]) {
        let names: BTreeSet<Node> = self.resources.keys().cloned().collect();
        for request in requests {
            let Ok(request) = request.clone().try_parse::<DependencyRequest>() else { continue };
            let there = request.metadata.namespace.clone().unwrap_or_default();
            let mut owners = request.metadata.owner_references.iter().flatten();
            let Some(owner) = owners.find(|owner| owner.controller == Some(true)) else { continue };
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            let user = Node::new(&there, group, &owner.kind, &owner.name);
            // Of a resource in the graph, its spec and its request were read.
            if self.resources.contains_key(&user) {
                continue;
            }
            let wanted = request.spec.kraken_resource_dependencies.iter().map(ResourceDependency::reference);
            let wanted = wanted.filter(|wanted| request.may_use(wanted));
            let wanted = wanted.map(|wanted| (wanted.kind, wanted.name, wanted.namespace));
            let in_place = request.spec.in_place_dependencies.iter().cloned();
            let used = wanted.chain(in_place.map(|used| (used.kind, used.name, used.namespace)));
            let used: BTreeSet<_> = used
                .filter(|(_, _, of)| there != namespace && of.as_deref() == Some(namespace))
                .map(|(kind, name, _)| references::resource_node(namespace, &kind, &name, kinds, &names))
                .collect();
            for of in used {
                self.add(user.clone(), Use { of, via: Via::Elsewhere });
            }
        }
    }

    fn add(&mut self, user: Node, used: Use) {
        if user == used.of {
            return;
        }
        let back = Use { of: user.clone(), via: used.via.clone() };
        self.users.entry(used.of.clone()).or_default().push(back);
        self.uses.entry(user).or_default().push(used);
    }

    /// All resources, sorted by namespace, kind and name.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }

    /// Whether an object is missing, and not only outside of what was listed.
    pub(crate) fn is_missing(&self, node: &Node) -> bool {
        self.get(node).is_none() && self.resources.keys().any(|known| known.namespace == node.namespace)
    }

    /// A resource that exists.
    pub(crate) fn get(&self, node: &Node) -> Option<&Resource> {
        self.resources.get(node)
    }

    /// What an object uses, in the order of its spec.
    pub(crate) fn uses(&self, node: &Node) -> &[Use] {
        self.uses.get(node).map_or(&[], Vec::as_slice)
    }

    /// The resources that the deletion of one waits for: those that use it, or still use it in the cloud.
    pub(crate) fn delays_deletion(&self, node: &Node) -> BTreeSet<&Node> {
        let is_dependent = |one: &&Use| {
            let is_use = matches!(one.via, Via::Field { .. } | Via::DependsOn | Via::InPlace | Via::Account);
            // A ConfigExport loses its values and is not waited for.
            let is_listed = is_use && one.of.kind != "ConfigExport" && self.get(&one.of).is_some();
            is_listed || one.via == Via::Elsewhere
        };
        self.users(node).iter().filter(is_dependent).map(|one| &one.of).collect()
    }

    /// What uses an object: in each [`Use`], the user.
    pub(crate) fn users(&self, node: &Node) -> &[Use] {
        self.users.get(node).map_or(&[], Vec::as_slice)
    }

    /// Everything that is reached from an object in one direction, the object included.
    pub(crate) fn reached(&self, from: &Node, is_reverse: bool) -> BTreeSet<Node> {
        let mut reached = BTreeSet::from([from.clone()]);
        let mut left = vec![from.clone()];
        while let Some(node) = left.pop() {
            let next = if is_reverse { self.users(&node) } else { self.uses(&node) };
            left.extend(next.iter().filter(|one| reached.insert(one.of.clone())).map(|one| one.of.clone()));
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{fixtures::*, *};

    #[test]
    fn a_config_export_connects_its_target_with_those_who_use_it() {
        let export = object(
            "ConfigExport",
            "app",
            json!({"configType": "ConfigMap", "configMetadata": {"name": "app"},
            "entries": [{"key": "vpc", "valueFrom": {"ref": "VPC/main"}}]}),
            ready(),
        );
        let subnet = object(
            "Subnet",
            "a",
            json!({"vpcID": {"valueFrom": {"configMap": {"name": "app", "key": "vpc"}}}}),
            ready(),
        );
        let graph = graph([export, subnet, object("VPC", "main", json!({}), ready())]);
        let reached: Vec<_> =
            graph.reached(&node("VPC", "main"), true).iter().map(ToString::to_string).collect();
        assert_eq!(reached, ["ConfigMap/app", "Subnet/a", "VPC/main", "ConfigExport/app"]);
    }

    #[test]
    fn permitted_dependents_in_other_namespaces_delay_a_deletion() {
        let mut graph = graph([object("VPC", "main", json!({}), ready())]);
        let request = |name: &str, unmet: serde_json::Value| {
            let spec =
                json!({"krakenResourceDependencies": [{"kind": "vpc", "name": "main", "namespace": "shop"}]});
            let mut request = request(&format!("subnet.aws.{name}"), spec);
            request.metadata.namespace = Some("other".to_owned());
            let owner = json!([{"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "Subnet", "name": name,
                "uid": "u", "controller": true}]);
            request.metadata.owner_references = serde_json::from_value(owner).unwrap();
            request.data["status"] = json!({"unmet": [unmet]});
            request
        };
        let unmet = |reason: &str| json!({"kind": "vpc", "name": "shop:main", "entry": "", "reason": reason, "message": "m"});
        let requests = [request("a", unmet("StateNotFound")), request("stranger", unmet("RefNotPermitted"))];
        graph.add_from_others(&crate::discovery::tests::kinds(), "shop", &requests);
        let main = node("VPC", "main");
        let shown: Vec<_> = graph.delays_deletion(&main).iter().map(|user| user.seen_from(&main)).collect();
        assert_eq!(shown, ["Subnet/other:a"]);
    }

    #[test]
    fn what_is_in_place_is_used_although_the_spec_does_not_name_it() {
        let mut graph = graph([
            object("Subnet", "old", json!({}), ready()),
            object("EC2Instance", "web", json!({"subnetID": {"valueFrom": {"ref": "Subnet/new"}}}), ready()),
        ]);
        let request = request(
            "ec2instance.aws.web",
            json!({"inPlaceDependencies": [{"kind": "subnet", "name": "old"}]}),
        );
        graph.add_in_place(&crate::discovery::tests::kinds(), &[request]);
        assert_eq!(graph.users(&node("Subnet", "old"))[0].via, Via::InPlace);
        assert_eq!(graph.users(&node("Subnet", "new")).len(), 1);
    }
}
