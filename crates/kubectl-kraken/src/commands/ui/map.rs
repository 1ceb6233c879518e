//! The map of a namespace: VPCs with their zones, subnets and what is in these, load balancers with listeners and targets, and everything
//! else as a graph by references. Which kinds belong where is known for AWS; a resource of an unknown kind is in the graph. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{layers::layers, live::key};
use crate::graph::{Graph, Node};

/// The resources of a namespace, and how they hang together.
struct Links<'a> {
    graph: &'a Graph,
    /// What each names by a reference or by its id.
    to: BTreeMap<&'a Node, BTreeSet<&'a Node>>,
    from: BTreeMap<&'a Node, BTreeSet<&'a Node>>,
    /// The published states of some resources, which have values that a spec only refers to.
    states: &'a BTreeMap<Node, Value>,
}

/// The map of the resources of one namespace.
pub(super) fn map(graph: &Graph, namespace: &str, states: &BTreeMap<Node, Value>) -> Value {
    let links = Links::of(graph, namespace, states);
    let mut placed = BTreeSet::new();
    let vpcs: Vec<Value> = links.of_kind("VPC").map(|vpc| links.vpc(vpc, &mut placed)).collect();
    // Accounts are named by everything, and exports have a table of their own.
    let is_left = |node: &&&Node| !placed.contains(**node) && node.kind != "Account";
    let left: Vec<&Node> = links.to.keys().filter(is_left).copied().collect();
    json!({"vpcs": vpcs, "others": layers(graph, &left)})
}

/// The published states by their resource.
pub(super) fn states(graph: &Graph, states: &[DynamicObject]) -> BTreeMap<Node, Value> {
    let owned = |node: &Node| {
        let kind = kraken_api::names::owner_kind(&node.kind, &node.group);
        (node.namespace.clone(), kraken_api::names::owned_name(&kind, &node.name))
    };
    let owners: BTreeMap<_, _> =
        graph.resources().map(|resource| (owned(&resource.node), resource.node.clone())).collect();
    let state = |state: &DynamicObject| {
        let name = (state.metadata.namespace.clone()?, state.metadata.name.clone()?);
        Some((owners.get(&name)?.clone(), state.data["spec"]["data"].clone()))
    };
    states.iter().filter_map(state).collect()
}

impl<'a> Links<'a> {
    fn of(graph: &'a Graph, namespace: &str, states: &'a BTreeMap<Node, Value>) -> Self {
        let own: Vec<_> = graph.resources().filter(|one| one.node.namespace == namespace).collect();
        let mut ids: BTreeMap<&str, &Node> = BTreeMap::new();
        for resource in &own {
            ids.extend(resource.status.external_ids.iter().map(|id| (id.as_str(), &resource.node)));
        }
        let mut links = Self { graph, to: BTreeMap::new(), from: BTreeMap::new(), states };
        for resource in own {
            let mut to: BTreeSet<&Node> = BTreeSet::new();
            for used in graph.uses(&resource.node) {
                to.extend(graph.get(&used.of).map(|known| &known.node));
            }
            named(&resource.spec, &ids, &mut to);
            to.remove(&resource.node);
            for other in &to {
                links.from.entry(other).or_default().insert(&resource.node);
            }
            links.to.insert(&resource.node, to);
        }
        links
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &'a Node> {
        self.to.keys().filter(move |node| node.kind == kind).copied()
    }

    /// Those of a kind that a resource names.
    fn uses(&self, node: &Node, kind: &str) -> Vec<&'a Node> {
        let to = self.to.get(node).into_iter().flatten();
        to.filter(|other| other.kind == kind).copied().collect()
    }

    /// Those of a kind that name it.
    fn users(&self, node: &Node, kind: &str) -> Vec<&'a Node> {
        let from = self.from.get(node).into_iter().flatten();
        from.filter(|other| other.kind == kind).copied().collect()
    }

    fn vpc(&self, vpc: &'a Node, placed: &mut BTreeSet<&'a Node>) -> Value {
        placed.insert(vpc);
        let subnets = self.users(vpc, "Subnet");
        let mut zones: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for subnet in &subnets {
            let zone = self.text(subnet, "availabilityZone", "/subnet/AvailabilityZone");
            zones.entry(zone).or_default().push(self.subnet(subnet, placed));
        }
        let is_in = |balancer: &&Node| self.uses(balancer, "Subnet").iter().any(|one| subnets.contains(one));
        let balancers: Vec<Value> =
            self.of_kind("LoadBalancer").filter(is_in).map(|one| self.balancer(one, placed)).collect();
        let mut direct = |kinds: &[&str]| -> Vec<Value> {
            let found: Vec<_> = kinds.iter().flat_map(|kind| self.users(vpc, kind)).collect();
            placed.extend(&found);
            found.into_iter().map(item).collect()
        };
        let gateways = direct(&["InternetGateway"]);
        let others = direct(&["RouteTable", "SecurityGroup", "TargetGroup"]);
        let zone = |(name, subnets): (String, Vec<Value>)| json!({"name": name, "subnets": subnets});
        json!({
            "key": key(vpc), "label": self.text(vpc, "cidrBlock", "/vpc/CidrBlock"), "gateways": gateways,
            "zones": zones.into_iter().map(zone).collect::<Vec<_>>(), "balancers": balancers, "others": others,
        })
    }

    fn subnet(&self, subnet: &'a Node, placed: &mut BTreeSet<&'a Node>) -> Value {
        placed.insert(subnet);
        let users = self.from.get(subnet).into_iter().flatten();
        // What names several subnets, such as a load balancer, is in none of them.
        let is_in = |user: &&&Node| {
            self.uses(user, "Subnet").len() == 1 && user.kind != "LoadBalancer" && user.kind != "RouteTable"
        };
        let inside: Vec<&Node> = users.filter(is_in).copied().collect();
        placed.extend(&inside);
        json!({
            "key": key(subnet), "label": self.text(subnet, "cidrBlock", "/subnet/CidrBlock"),
            "inside": inside.into_iter().map(item).collect::<Vec<_>>(),
        })
    }

    fn balancer(&self, balancer: &'a Node, placed: &mut BTreeSet<&'a Node>) -> Value {
        placed.insert(balancer);
        let mut listeners = vec![];
        for listener in self.users(balancer, "Listener") {
            placed.insert(listener);
            let rules: Vec<Value> = self
                .users(listener, "ListenerRule")
                .into_iter()
                .map(|rule| {
                    placed.insert(rule);
                    let label = self.text(rule, "priority", "/rule/Priority");
                    json!({"key": key(rule), "label": label, "targets": self.targets(rule)})
                })
                .collect();
            let protocol = self.text(listener, "protocol", "/listener/Protocol");
            let port = self.text(listener, "port", "/listener/Port");
            let label = format!("{protocol} {port}").trim().to_owned();
            listeners.push(json!({"key": key(listener), "label": label, "targets": self.targets(listener), "rules": rules}));
        }
        json!({"key": key(balancer), "label": self.text(balancer, "scheme", ""), "listeners": listeners})
    }

    /// The target groups to which a listener or a rule forwards, with their targets.
    fn targets(&self, of: &Node) -> Vec<Value> {
        let group = |group: &'a Node| {
            let inside = self.to.get(group).into_iter().flatten();
            let targets = inside.filter(|one| !["VPC", "Account"].contains(&one.kind.as_str()));
            json!({"key": key(group), "targets": targets.map(|one| item(one)).collect::<Vec<_>>()})
        };
        self.uses(of, "TargetGroup").into_iter().map(group).collect()
    }

    /// A literal of the spec, or else the value of the published state; empty if neither is known.
    fn text(&self, node: &Node, field: &str, pointer: &str) -> String {
        let literal = self.graph.get(node).map(|resource| resource.spec[field]["value"].clone());
        let published = || self.states.get(node).and_then(|state| state.pointer(pointer).cloned());
        match literal.filter(|literal| !literal.is_null()).or_else(published) {
            Some(Value::String(text)) => text,
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => String::new(),
        }
    }
}

fn item(node: &Node) -> Value {
    json!({"key": key(node)})
}

/// The resources whose ids a spec has as literals.
fn named<'a>(value: &Value, ids: &BTreeMap<&str, &'a Node>, found: &mut BTreeSet<&'a Node>) {
    match value {
        Value::String(text) => found.extend(ids.get(text.as_str())),
        Value::Array(items) => items.iter().for_each(|item| named(item, ids, found)),
        Value::Object(fields) => {
            // The ids of an adoption are of the resource itself.
            let fields = fields.iter().filter(|(name, _)| *name != "lifecycle");
            fields.for_each(|(_, inner)| named(inner, ids, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, node, object, ready, using};

    fn keys(items: &Value) -> Vec<String> {
        let name = |item: &Value| item["key"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        items.as_array().unwrap().iter().map(name).collect()
    }

    fn tier() -> Graph {
        let list = |targets: &[&str]| {
            let one = |target: &&str| json!({"valueFrom": {"ref": target}});
            json!({"value": targets.iter().map(one).collect::<Vec<_>>()})
        };
        let subnet = |name: &str, zone: &str| {
            object(
                "Subnet",
                name,
                json!({"vpcID": {"valueFrom": {"ref": "VPC/main"}}, "availabilityZone": {"value": zone}}),
                ready(),
            )
        };
        let with_id = |id: &str| {
            let mut status = ready();
            status["externalIds"] = json!([id]);
            status
        };
        graph([
            object("VPC", "main", json!({"cidrBlock": {"value": "10.0.0.0/16"}}), with_id("vpc-1")),
            subnet("a", "us-east-1a"),
            subnet("b", "us-east-1b"),
            object("InternetGateway", "main", json!({"vpcID": {"value": "vpc-1"}}), ready()),
            using("EC2Instance", "web", &[("subnetID", "Subnet/a")], ready()),
            object(
                "LoadBalancer",
                "web",
                json!({"subnetIDs": list(&["Subnet/a", "Subnet/b"])}),
                with_id("arn:lb"),
            ),
            object(
                "Listener",
                "http",
                json!({"loadBalancerARN": {"value": "arn:lb"}, "targetGroupARN": {"valueFrom": {"ref": "TargetGroup/web"}}}),
                ready(),
            ),
            using("ListenerRule", "api", &[("listenerARN", "Listener/http")], ready()),
            object(
                "TargetGroup",
                "web",
                json!({"vpcID": {"valueFrom": {"ref": "VPC/main"}}, "targets": list(&["EC2Instance/web"])}),
                ready(),
            ),
            using("Bucket", "logs", &[("name", "ConfigMap/settings/bucket")], ready()),
        ])
    }

    #[test]
    fn everything_is_at_its_place() {
        let map = map(&tier(), "shop", &BTreeMap::new());
        let vpc = &map["vpcs"][0];
        assert_eq!(vpc["label"], "10.0.0.0/16");
        assert_eq!(keys(&vpc["gateways"]), ["main"], "by its id");
        assert_eq!(
            (vpc["zones"][0]["name"].as_str(), vpc["zones"][1]["name"].as_str()),
            (Some("us-east-1a"), Some("us-east-1b"))
        );
        assert_eq!(keys(&vpc["zones"][0]["subnets"]), ["a"]);
        assert_eq!(keys(&vpc["zones"][0]["subnets"][0]["inside"]), ["web"]);
        let balancer = &vpc["balancers"][0];
        assert_eq!(keys(&balancer["listeners"]), ["http"]);
        assert_eq!(keys(&balancer["listeners"][0]["rules"]), ["api"]);
        assert_eq!(keys(&balancer["listeners"][0]["targets"][0]["targets"]), ["web"]);
        let others: Vec<_> = map["others"]["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["object"].as_str().unwrap())
            .collect();
        assert_eq!(others, ["ConfigMap/settings", "Bucket/logs"], "what is no part of a VPC");
    }

    #[test]
    fn a_zone_that_the_spec_does_not_name_is_that_of_the_state() {
        let graph = graph([
            object("VPC", "main", json!({}), ready()),
            using("Subnet", "a", &[("vpcID", "VPC/main")], ready()),
        ]);
        let state =
            BTreeMap::from([(node("Subnet", "a"), json!({"subnet": {"AvailabilityZone": "us-east-1c"}}))]);
        assert_eq!(map(&graph, "shop", &state)["vpcs"][0]["zones"][0]["name"], "us-east-1c");
        assert_eq!(map(&graph, "shop", &BTreeMap::new())["vpcs"][0]["zones"][0]["name"], "");
        assert_eq!(map(&graph, "other", &state)["vpcs"], json!([]));
    }
}
