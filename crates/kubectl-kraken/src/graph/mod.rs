//! The resources of a cluster and what each uses: built once from lists, then asked. Pure.

mod advice;
mod causes;
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

use kraken_api::{DependencyRequestSpec, names::owner_kind};
use kube::api::DynamicObject;

use crate::{discovery::Kinds, resource::Resource};

pub(crate) use ranking::Ranked;
pub(crate) use roots::Root;

/// An object in a namespace: a resource, a ConfigMap, a Secret or a static state, whether it exists or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) namespace: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Node {
    pub(crate) fn new(namespace: &str, group: &str, kind: &str, name: &str) -> Self {
        let [namespace, group, kind, name] = [namespace, group, kind, name].map(str::to_owned);
        Self { namespace, group, kind, name }
    }

    /// As an argument of kubectl: `ec2instance/web`.
    pub(crate) fn argument(&self) -> String {
        format!("{}/{}", self.kind.to_lowercase(), self.name)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

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
            is_use && one.of.kind != "ConfigExport" && self.get(&one.of).is_some()
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
