//! The request that applies one document: first as a dry run, then in earnest if nobody else edited the object since. Client required.

use std::collections::BTreeMap;

use anyhow::Result;
use kraken_api::{DOMAIN, PREVIEW_ANNOTATION};
use kube::{
    Api, Resource as _,
    api::{DynamicObject, Patch, PatchParams},
    core::ApiResource,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    ask,
    patch::{self, Apply},
};
use crate::{cluster::Cluster, failure::explain, graph::Node};

/// How often a request that conflicts with another one is repeated: controllers write at any time.
const ATTEMPTS: usize = 5;

/// A document, and the object as it was when it was planned.
pub(super) struct Request {
    pub(super) node: Node,
    pub(super) resource: ApiResource,
    /// `None` for the object as it is stored.
    pub(super) document: Option<Value>,
    /// `None` if it did not exist.
    pub(super) planned: Option<DynamicObject>,
    /// Whether its dry run is compared with what exists in the cloud.
    pub(super) previews: bool,
}

/// What became of a request.
pub(super) enum Sent {
    Done,
    /// Another client edited the object since the plan.
    Moved,
}

impl Request {
    pub(super) fn new(node: Node, resource: ApiResource, document: Option<Value>) -> Self {
        Self { node, resource, document, planned: None, previews: false }
    }

    /// Differs for each other document, and for each other object that it edits.
    pub(super) fn digest(&self) -> String {
        let all = json!([self.document, edited_part(self.planned.as_ref())]).to_string();
        hex::encode(&Sha256::digest(all)[..16])
    }

    /// The answer to a dry run. Remembers the object that it was about.
    pub(super) async fn try_out(&mut self, cluster: &Cluster) -> Result<Result<ask::Answer, kube::Error>> {
        let mut answer = Ok(ask::Answer::default());
        for _ in 0..ATTEMPTS {
            self.planned = self.live(cluster).await?;
            answer = self.patch(cluster, self.planned.as_ref(), true).await;
            if !is_conflict(&answer) {
                break;
            }
        }
        Ok(answer)
    }

    /// Applies the document, unless the object is not the one that was planned any more.
    pub(super) async fn send(&self, cluster: &Cluster) -> Result<Sent> {
        let doing = || format!("apply {}", self.node);
        for _ in 0..ATTEMPTS {
            let live = self.live(cluster).await?;
            if edited_part(live.as_ref()) != edited_part(self.planned.as_ref()) {
                return Ok(Sent::Moved);
            }
            let answer = self.patch(cluster, live.as_ref(), false).await;
            if !is_conflict(&answer) {
                return match answer {
                    Ok(_) => Ok(Sent::Done),
                    Err(error) => Err(explain(error, &doing(), &cluster.server)),
                };
            }
        }
        Ok(Sent::Moved)
    }

    async fn live(&self, cluster: &Cluster) -> Result<Option<DynamicObject>> {
        let Node { namespace, name, .. } = &self.node;
        let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), namespace, &self.resource);
        let live = api.get_opt(name).await;
        live.map_err(|error| {
            explain(error, &format!("get {} in namespace {namespace}", self.node), &cluster.server)
        })
    }

    async fn patch(
        &self,
        cluster: &Cluster,
        live: Option<&DynamicObject>,
        dry_run: bool,
    ) -> Result<ask::Answer, kube::Error> {
        let path = DynamicObject::url_path(&self.resource, Some(&self.node.namespace));
        let previews = dry_run && self.previews;
        let apply = match &self.document {
            Some(document) if previews => patch::apply(&previewed(document), live),
            Some(document) => patch::apply(document, live),
            None => Apply { params: PatchParams::default(), patch: Patch::Merge(previewed(&json!({}))) },
        };
        let params = PatchParams { dry_run, ..apply.params };
        ask::patch(&cluster.client, &path, &self.node.name, &params, &apply.patch).await
    }
}

/// The document with the question what exists in the cloud.
fn previewed(document: &Value) -> Value {
    let mut document = document.clone();
    patch::merge_at(&mut document, &["metadata", "annotations", PREVIEW_ANNOTATION], json!("cloud"));
    document
}

fn is_conflict(answer: &Result<ask::Answer, kube::Error>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 409)
}

/// What people edit of an object. Controllers write its status, its finalizers and their own annotations, which changes its version.
pub(super) fn edited_part(object: Option<&DynamicObject>) -> Option<Value> {
    let object = object?;
    let own = |key: &String| {
        !key.split('/').next().is_some_and(|domain| domain.ends_with(DOMAIN)) && key != patch::LAST_APPLIED
    };
    let without_own = |map: &Option<BTreeMap<String, String>>| {
        map.iter()
            .flatten()
            .filter(|(key, _)| own(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let mut data = object.data.clone();
    if let Some(fields) = data.as_object_mut() {
        fields.remove("status");
    }
    Some(serde_json::json!({
        "uid": object.metadata.uid,
        "labels": without_own(&object.metadata.labels),
        "annotations": without_own(&object.metadata.annotations),
        "data": data,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(change: impl FnOnce(&mut Value)) -> Option<Value> {
        let mut object = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "annotations": {"team": "x"}},
            "spec": {"a": 1}, "status": {}});
        change(&mut object);
        edited_part(Some(&serde_json::from_value(object).unwrap()))
    }

    #[test]
    fn what_a_controller_writes_is_no_edit() {
        let same = part(|_| {});
        let by_controllers = part(|object| {
            object["metadata"]["resourceVersion"] = json!("2");
            object["metadata"]["finalizers"] = json!(["x"]);
            object["metadata"]["annotations"]["kraken-iac.eoinfennessy.com/intent"] = json!("{}");
            object["status"] = json!({"a": 1});
        });
        assert_eq!(same, by_controllers);
        for path in ["/spec/a", "/metadata/uid", "/metadata/annotations/team"] {
            assert_ne!(same, part(|object| *object.pointer_mut(path).unwrap() = json!("other")), "{path}");
        }
        assert_ne!(same, edited_part(None));
    }
}
