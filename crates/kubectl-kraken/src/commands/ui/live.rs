//! The state that the page shows, kept by watches, and what changed of it since a page got it last.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
};

use anyhow::Result;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::{
    status::{fix_first_json, headline, resource_json},
    watch::{Objects, changes},
};
use crate::{
    cluster::Cluster,
    discovery::{Kind, Kinds},
    graph::{Graph, Node},
};

/// The kind whose objects say what is in use in the cloud although no spec names it any more.
const REQUESTS: &str = "DependencyRequest";

/// Everything at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) graph: Graph,
    /// The objects of the resources, for their manifests.
    pub(super) objects: BTreeMap<Node, Arc<DynamicObject>>,
    /// One row for each resource, by its key.
    rows: BTreeMap<String, Value>,
    /// What is shown around the rows.
    frame: Value,
}

/// The state, and the watches that keep it.
pub(super) struct Live {
    objects: Objects,
    kinds: Vec<Kind>,
    /// The kinds that the user may not list.
    forbidden: Vec<String>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

/// What one page has got.
#[derive(Default)]
pub(super) struct Sent(Option<Arc<Snapshot>>);

/// The name of a resource in addresses and messages: `shop/aws.example.com/VPC/main`.
pub(super) fn key(node: &Node) -> String {
    format!("{}/{}/{}/{}", node.namespace, node.group, node.kind, node.name)
}

impl Live {
    /// Lists everything once.
    pub(super) async fn start(cluster: &Cluster) -> Result<Self> {
        let mut listed = cluster.resources().await?;
        listed.warn();
        let requests: Vec<&Kind> = cluster.kinds.named(REQUESTS).into_iter().collect();
        let in_place = cluster.list(&requests).await?;
        listed.objects.extend(in_place.objects);
        let is_allowed = |kind: &&Kind| {
            let plural = &kind.resource.plural;
            !listed.forbidden.contains(plural) && !in_place.forbidden.contains(plural)
        };
        let kinds = cluster.kinds.users().chain(requests).filter(is_allowed).cloned().collect();
        let live = Self {
            objects: Objects::of(listed.objects),
            kinds,
            forbidden: listed.forbidden,
            snapshots: watch::Sender::new(Arc::default()),
        };
        live.publish(&cluster.kinds);
        Ok(live)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.subscribe()
    }

    /// Publishes every change, until the watches end.
    pub(super) async fn follow(&mut self, cluster: &Cluster) {
        let mut changes = pin!(changes(cluster, self.kinds.clone().into_iter()));
        while self.objects.follow(&mut changes).await {
            self.publish(&cluster.kinds);
        }
    }

    fn publish(&self, kinds: &Kinds) {
        let snapshot = Snapshot::of(kinds, &self.objects, &self.forbidden);
        self.snapshots.send_replace(Arc::new(snapshot));
    }
}

impl Snapshot {
    /// Pure.
    pub(super) fn of(kinds: &Kinds, objects: &Objects, forbidden: &[String]) -> Self {
        let (requests, objects_of_users): (Vec<_>, Vec<_>) =
            objects.known.iter().partition(|(node, _)| node.kind == REQUESTS);
        let whole = |(_, object): &(&Node, &Arc<DynamicObject>)| (***object).clone();
        let mut graph = Graph::of(kinds, objects_of_users.iter().map(whole));
        graph.add_in_place(kinds, &requests.iter().map(whole).collect::<Vec<_>>());
        let nodes: Vec<Node> = graph.resources().map(|resource| resource.node.clone()).collect();
        let namespaces: BTreeSet<&str> = nodes.iter().map(|node| node.namespace.as_str()).collect();
        let in_namespace = |namespace: &str| -> Vec<Node> {
            nodes.iter().filter(|node| node.namespace == namespace).cloned().collect()
        };
        let headlines: Vec<String> = namespaces
            .iter()
            .map(|namespace| headline(&graph, namespace, &in_namespace(namespace)))
            .collect();
        let mut rows = BTreeMap::new();
        for (position, row) in graph.tree(&nodes).into_iter().enumerate() {
            let Some(resource) = graph.get(&row.node) else { continue };
            let mut value = resource_json(&graph, resource);
            value["key"] = json!(key(&row.node));
            value["position"] = json!(position);
            value["branch"] = json!(row.branch);
            value["next"] = json!(format!("{:?}", resource.next()));
            rows.insert(key(&row.node), value);
        }
        let ranked = graph.ranked(&nodes);
        let mut fix_first = fix_first_json(&ranked);
        for (one, ranked) in fix_first.as_array_mut().into_iter().flatten().zip(&ranked) {
            one["key"] = json!(key(&ranked.root.node));
        }
        let frame = json!({
            "namespaces": namespaces, "headlines": headlines, "fixFirst": fix_first, "forbidden": forbidden,
            "problem": objects.problem,
        });
        let objects = objects_of_users.into_iter().map(|(node, object)| (node.clone(), object.clone()));
        Self { objects: objects.collect(), graph, rows, frame }
    }

    /// All resources, as `status -o json` has them.
    pub(super) fn nodes(&self) -> Vec<Node> {
        self.graph.resources().map(|resource| resource.node.clone()).collect()
    }
}

impl Sent {
    /// What is new, if anything is: the first time everything.
    pub(super) fn update(&mut self, now: &Arc<Snapshot>) -> Option<Value> {
        let before = self.0.replace(now.clone());
        let is_new = |(key, row): &(&String, &Value)| {
            before.as_ref().is_none_or(|before| before.rows.get(*key) != Some(*row))
        };
        let rows: Vec<&Value> = now.rows.iter().filter(is_new).map(|(_, row)| row).collect();
        let known = before.iter().flat_map(|before| before.rows.keys());
        let removed: Vec<&String> = known.filter(|key| !now.rows.contains_key(*key)).collect();
        let is_same_frame = before.as_ref().is_some_and(|before| before.frame == now.frame);
        if before.is_some() && rows.is_empty() && removed.is_empty() && is_same_frame {
            return None;
        }
        let frame = if is_same_frame { &Value::Null } else { &now.frame };
        Some(json!({"isFirst": before.is_none(), "rows": rows, "removed": removed, "frame": frame}))
    }
}

#[cfg(test)]
pub(super) fn snapshot(objects: Vec<DynamicObject>) -> Snapshot {
    Snapshot::of(&crate::discovery::tests::kinds(), &Objects::of(objects), &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{node, object, ready, request, stack, using};

    #[test]
    fn the_first_update_is_everything_and_the_next_one_what_changed() {
        let mut sent = Sent::default();
        let first = sent.update(&Arc::new(snapshot(stack()))).unwrap();
        assert_eq!(
            (first["isFirst"].as_bool(), first["rows"].as_array().map(Vec::len)),
            (Some(true), Some(7))
        );
        assert_eq!(first["frame"]["fixFirst"][0]["object"], "Secret/db");
        assert_eq!(first["frame"]["fixFirst"][0]["key"], "shop//Secret/db");
        assert_eq!(sent.update(&Arc::new(snapshot(stack()))), None, "nothing is sent if nothing changed");

        let mut objects = stack();
        objects.pop();
        objects[0] = object("VPC", "shop", json!({"lifecycle": {"protect": true}}), ready());
        let next = sent.update(&Arc::new(snapshot(objects))).unwrap();
        let changed: Vec<_> =
            next["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert!(changed.contains(&"shop") && !changed.contains(&"a"), "{changed:?}");
        assert_eq!(next["removed"], json!([key(&node("ListenerRule", "static"))]));
    }

    #[test]
    fn five_thousand_resources_are_a_state_in_no_time() {
        let mut objects = vec![object("VPC", "main", json!({}), ready())];
        for index in 0..5000 {
            let on = if index == 0 { "VPC/main".to_owned() } else { format!("Subnet/s{}", (index - 1) / 10) };
            objects.push(using("Subnet", &format!("s{index}"), &[("of", &on)], ready()));
        }
        let objects = Objects::of(objects);
        let start = std::time::Instant::now();
        let snapshot = Arc::new(Snapshot::of(&crate::discovery::tests::kinds(), &objects, &[]));
        let update = Sent::default().update(&snapshot).unwrap().to_string();
        println!("{:?}, {} bytes", start.elapsed(), update.len());
        assert_eq!(snapshot.rows.len(), 5001);
        // Without optimization.
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }

    #[test]
    fn rows_are_in_the_order_of_the_tree() {
        let snapshot = snapshot(stack());
        let mut rows: Vec<_> = snapshot.rows.values().collect();
        rows.sort_by_key(|row| row["position"].as_u64());
        let lines: Vec<_> = rows
            .iter()
            .map(|row| format!("{}{}", row["branch"].as_str().unwrap(), row["name"].as_str().unwrap()))
            .collect();
        assert_eq!(lines[..3], ["shop", "└ a", "  ├ web-a"]);
    }

    #[test]
    fn requests_for_dependencies_are_no_resources_and_show_what_is_in_place() {
        let spec = json!({"inPlaceDependencies": [{"kind": "subnet", "name": "old"}]});
        let snapshot = snapshot(vec![
            object("Subnet", "old", json!({}), ready()),
            object("EC2Instance", "web", json!({}), ready()),
            request("ec2instance.aws.web", spec),
        ]);
        assert_eq!(snapshot.rows.len(), 2);
        assert_eq!(snapshot.graph.users(&node("Subnet", "old")).len(), 1);
    }
}
