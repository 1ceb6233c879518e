//! The resources that a command is about, as a graph. Client required.

use anyhow::Result;
use kraken_api::REFERENCES_PREFIX;
use kube::api::{DynamicObject, ListParams};

use crate::{
    cluster::Cluster,
    graph::{Graph, Node},
    target,
};

/// All resources of the scope as a graph.
pub(super) async fn graph(cluster: &Cluster) -> Result<Graph> {
    let listed = cluster.resources().await?;
    listed.warn();
    Ok(Graph::of(&cluster.kinds, listed.objects))
}

/// The resources that the words of a command line name, or else all of the scope.
pub(super) async fn selected(cluster: &Cluster, words: &[String]) -> Result<Graph> {
    let targets = target::parse(words)?;
    if targets.is_empty() {
        return graph(cluster).await;
    }
    let mut objects = vec![];
    for target in &targets {
        objects.push(cluster.get(target).await?.1);
    }
    Ok(Graph::of(&cluster.kinds, objects))
}

/// All resources of the scope, with what is still in use in the cloud.
pub(super) async fn graph_in_place(cluster: &Cluster) -> Result<Graph> {
    graph_of(std::slice::from_ref(cluster)).await
}

/// The same of several scopes of one cluster.
pub(super) async fn graph_of(scopes: &[Cluster]) -> Result<Graph> {
    let (mut objects, mut requests, mut from_others) = (vec![], vec![], vec![]);
    for cluster in scopes {
        let kind = cluster.kinds.named("DependencyRequest");
        let found = async {
            match kind {
                // Without the right to list them the answer lacks only what an edit removed.
                Some(kind) => cluster.list(&[kind]).await.map(|listed| listed.objects),
                None => Ok(Vec::<DynamicObject>::new()),
            }
        };
        let (listed, found) = futures::try_join!(cluster.resources(), found)?;
        listed.warn();
        objects.extend(listed.objects);
        requests.extend(found);
        if let (Some(namespace), Some(kind)) = (&cluster.scope, kind) {
            let label = format!("{REFERENCES_PREFIX}{namespace}");
            // Without the right to list those of all namespaces, the answer lacks users in others.
            let params = ListParams::default().labels(&label);
            if let Ok(list) = cluster.api(kind, None).list(&params).await {
                from_others.push((namespace, list.items));
            }
        }
    }
    let kinds = scopes.first().map(|cluster| cluster.kinds.clone()).unwrap_or_default();
    let mut graph = Graph::of(&kinds, objects);
    graph.add_in_place(&kinds, &requests);
    for (namespace, requests) in from_others {
        graph.add_from_others(&kinds, namespace, &requests);
    }
    Ok(graph)
}

/// The resource that the words of a command line name; it must exist.
pub(super) async fn existing(cluster: &Cluster, graph: &Graph, words: &[String]) -> Result<Node> {
    let target = target::one(words)?;
    let kind = cluster.kind(&target.kind)?;
    let node = Node::new(&cluster.namespace, &kind.resource.group, &kind.resource.kind, &target.name);
    if graph.get(&node).is_none() {
        // With an error that says whether it does not exist or may not be read.
        cluster.get(&target).await?;
    }
    Ok(node)
}
