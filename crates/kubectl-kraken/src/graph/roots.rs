//! The root causes for which a resource is not ready: the causes that no other resource explains. Pure.

use std::collections::{BTreeSet, VecDeque};

use super::{Graph, Node, Via, advice, causes::causes};
use crate::resource::{Next, Ready, Resource};

/// A root cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    /// The object to fix or to create.
    pub(crate) node: Node,
    /// What is wrong, in one line.
    pub(crate) message: String,
    /// What to do.
    pub(crate) remedy: Option<String>,
    /// Who acts next.
    pub(crate) next: Next,
    /// The way from the root to the resource, the root's direct user first.
    pub(crate) trail: Vec<Hop>,
}

/// One user on the way from a root to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) node: Node,
    /// Where it names what is before it on the way.
    pub(crate) via: Via,
}

/// A resource whose causes are to be found, and the way to it.
struct Step<'a> {
    resource: &'a Resource,
    trail: Vec<Hop>,
}

impl Graph {
    /// The root causes for which a resource is not ready, each with a shortest way to it. Empty if it is ready.
    pub(crate) fn roots(&self, node: &Node) -> Vec<Root> {
        let Some(resource) = self.get(node).filter(|resource| resource.ready != Ready::Yes) else {
            return vec![];
        };
        let mut roots: Vec<Root> = vec![];
        let mut seen = BTreeSet::from([node.clone()]);
        let mut left = VecDeque::from([Step { resource, trail: vec![] }]);
        while let Some(step) = left.pop_front() {
            let causes = causes(self, step.resource);
            if causes.is_empty() {
                add(&mut roots, itself(&step));
            }
            for cause in causes {
                let hop = Hop { node: step.resource.node.clone(), via: cause.via.clone() };
                let trail = std::iter::once(hop).chain(step.trail.iter().cloned()).collect();
                if let Some(next) = self.explained_by(&cause.on) {
                    if seen.insert(next.node.clone()) {
                        left.push_back(Step { resource: next, trail });
                    }
                    continue;
                }
                // A message that is cut off does not say why.
                let message = cause.message.unwrap_or_else(|| format!("{} has no value yet", cause.on));
                let (remedy, next) = advice::of(self, &cause.on, &cause.via, &message, &step.resource.node);
                add(&mut roots, Root { node: cause.on, message, remedy, next, trail });
            }
        }
        // In a cycle each explains the other.
        if roots.is_empty() {
            roots.push(itself(&Step { resource, trail: vec![] }));
        }
        roots
    }

    /// The resource that is not ready and explains why an object has no value: itself, or the ConfigExport that writes it.
    fn explained_by(&self, node: &Node) -> Option<&Resource> {
        let is_waiting = |node: &Node| self.get(node).filter(|resource| resource.ready != Ready::Yes);
        let writer = || {
            let mut writers = self.uses(node).iter().filter(|one| one.via == Via::WrittenBy);
            writers.find_map(|one| is_waiting(&one.of))
        };
        is_waiting(node).or_else(writer)
    }
}

fn itself(step: &Step<'_>) -> Root {
    let Resource { node, reason, message, .. } = step.resource;
    Root {
        node: node.clone(),
        message: format!("{reason}: {message}"),
        remedy: step.resource.remedy(),
        next: step.resource.next(),
        trail: step.trail.clone(),
    }
}

/// Several fields, or several resources, can lead to the same cause. The first one has the shortest way.
fn add(roots: &mut Vec<Root>, root: Root) {
    if !roots.iter().any(|known| known.node == root.node && known.message == root.message) {
        roots.push(root);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::fixtures::*, *};

    fn roots(objects: Vec<kube::api::DynamicObject>, kind: &str, name: &str) -> Vec<(String, String)> {
        let graph = graph(objects);
        let text = |root: Root| {
            let trail: Vec<_> = root.trail.iter().map(|hop| hop.node.to_string()).collect();
            (format!("{}: {}", root.node, root.message), trail.join(" "))
        };
        graph.roots(&node(kind, name)).into_iter().map(text).collect()
    }

    #[test]
    fn root_causes_are_found_four_hops_away() {
        let found = roots(stack(), "ListenerRule", "static");
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].0, "ConfigMap/shop: ConfigMap shop has no key \"certificate\" (it has: env)");
        assert_eq!(found[0].1, "Listener/https ListenerRule/static");
        assert_eq!(found[1].0, "Secret/db: Secret db does not exist");
        assert_eq!(found[1].1, "EC2Instance/web-a TargetGroup/web Listener/https ListenerRule/static");
    }

    #[test]
    fn a_ready_resource_has_no_root_cause() {
        assert_eq!(roots(stack(), "VPC", "shop"), []);
        assert_eq!(roots(stack(), "VPC", "other"), []);
    }

    #[test]
    fn a_resource_that_waits_for_nothing_is_its_own_root_cause() {
        let vpc = object("VPC", "x", json!({}), not_ready("CloudRefused", "VpcLimitExceeded"));
        let waiting =
            not_ready("DependenciesNotReady", "spec.vpcID: vpc x exists and has not published a state yet");
        let subnet = using("Subnet", "a", &[("vpcID", "VPC/x")], waiting);
        let found = roots(vec![vpc, subnet], "Subnet", "a");
        assert_eq!(found, [("VPC/x: CloudRefused: VpcLimitExceeded".to_owned(), "Subnet/a".to_owned())]);
    }

    #[test]
    fn a_cycle_is_reported_at_the_resource_itself() {
        let waiting = |on: &str| {
            not_ready(
                "DependenciesNotReady",
                &format!("spec.vpcID: reference cycle: vpc a -> vpc b -> vpc a ({on})"),
            )
        };
        let objects = vec![
            using("VPC", "a", &[("vpcID", "VPC/b")], waiting("b")),
            using("VPC", "b", &[("vpcID", "VPC/a")], waiting("a")),
        ];
        let found = roots(objects, "VPC", "a");
        assert!(found.len() == 1 && found[0].0.contains("reference cycle"), "{found:?}");
    }

    #[test]
    fn a_config_map_that_an_export_writes_leads_to_what_the_export_waits_for() {
        let spec = json!({"configType": "ConfigMap", "configMetadata": {"name": "app"},
            "entries": [{"key": "vpc", "valueFrom": {"ref": "VPC/gone"}}]});
        let objects = vec![
            object(
                "ConfigExport",
                "app",
                spec,
                not_ready("WaitingForValues", "spec.entries[0]: vpc gone does not exist"),
            ),
            using(
                "Subnet",
                "a",
                &[("vpcID", "ConfigMap/app/vpc")],
                not_ready("DependenciesNotReady", "spec.vpcID: ConfigMap app does not exist"),
            ),
        ];
        let found = roots(objects, "Subnet", "a");
        assert_eq!(
            found,
            [("VPC/gone: vpc gone does not exist".to_owned(), "ConfigExport/app Subnet/a".to_owned())]
        );
    }

    #[test]
    fn all_resources_that_wait_for_the_hub_have_one_root_cause() {
        let waiting = || not_ready("WaitingForHub", "the hub has not answered");
        let objects = vec![
            using("Subnet", "a", &[("vpcID", "VPC/x")], waiting()),
            using("Subnet", "b", &[("vpcID", "VPC/x")], waiting()),
        ];
        let graph = graph(objects);
        let ranked = graph.ranked(&[node("Subnet", "a"), node("Subnet", "b")]);
        assert_eq!(ranked.len(), 1);
        assert_eq!(ranked[0].root.node.to_string(), "Deployment/kraken-hub");
        assert_eq!(ranked[0].root.remedy.as_deref(), Some("kubectl kraken check"));
    }

    #[test]
    fn a_missing_account_is_the_root_cause_of_all_who_name_it() {
        let missing = not_ready("AccountNotFound", "Account prod does not exist");
        let resource =
            |name: &str| object("VPC", name, json!({"account": {"name": "prod"}}), missing.clone());
        let graph = graph([resource("a"), resource("b")]);
        let ranked = graph.ranked(&[node("VPC", "a"), node("VPC", "b")]);
        assert_eq!((ranked.len(), ranked[0].holds_back.len()), (1, 2));
        assert_eq!(ranked[0].root.node.to_string(), "Account/prod");
    }

    #[test]
    fn a_blocked_deletion_leads_to_those_who_still_use_the_resource() {
        let message =
            "waiting until these dependents are deleted or no longer refer to this resource: subnet a";
        let objects = vec![
            object("VPC", "x", json!({}), not_ready("DeletionBlocked", message)),
            using("Subnet", "a", &[("vpcID", "VPC/x")], ready()),
            using("Subnet", "b", &[("vpcID", "VPC/x")], ready()),
        ];
        let graph = graph(objects);
        let roots = graph.roots(&node("VPC", "x"));
        assert_eq!(roots.len(), 1);
        assert_eq!(roots[0].message, "Subnet/a still refers to VPC/x");
        assert_eq!(roots[0].remedy.as_deref(), Some("delete Subnet/a, or remove its reference to VPC/x"));
    }
}
